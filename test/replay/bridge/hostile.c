/*
 * test/replay/bridge/hostile.c - what a bridge must bear: a thousand connections, messages that are
 * never finished, nonsense, silence; beside them and after them scans have their images
 */
#define _GNU_SOURCE
#include "test/support/service.h"

#include <sys/resource.h>

#include "test/support/mrd_client.h"

#define CROWD    1000u
#define NONSENSE 300u
#define HALVES   40u
#define GROWN    (96L << 20) /* bytes: what 64 clients may hold before they have a scan */

#define SITE                                                                                       \
	"endpoints: { archive = \"\"; images = \"ipc://run/images.ipc\"; };\n"                     \
	"overload: { spill_dir = \"spill\"; spill_mib = 16; };\n"                                  \
	"bridges: { mrd: { listen = \"tcp://127.0.0.1:0\"; pixels = \"float\";\n"                  \
	"  sessions = 2; wait_s = 60.0; idle_s = 10.0; }; };\n" SERVICE_PROTOCOLS

static struct service service;
static struct mrd_client crowd[CROWD];
static int port;

static pid_t bridge(void)
{
	static char log[1 << 20];
	const int fd = open(service.log, O_RDONLY);
	const ssize_t n = fd >= 0 ? read(fd, log, sizeof(log) - 1) : 0;
	const char *words = "bridge mrd: process ";
	const char *at;
	long pid = 0;

	if (fd >= 0)
		(void)close(fd);
	log[n > 0 ? n : 0] = '\0';
	for (at = strstr(log, words); at != NULL; at = strstr(at + 1, words))
		pid = strtol(at + strlen(words), NULL, 10);
	return (pid_t)pid;
}

/* Bytes that a process holds; 0: it is no more. */
static long resident(pid_t pid)
{
	char path[64];
	long pages[2] = { 0, 0 };
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "r");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%ld %ld", &pages[0], &pages[1]) != 2)
		pages[1] = 0;
	(void)fclose(f);
	return pages[1] * sysconf(_SC_PAGESIZE);
}

/* Connections that say nothing, while a scan is under way. */
static void thousand(void)
{
	struct rlimit files;
	struct mrd_client c;
	unsigned n = 0;
	bool good;

	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max < 4096 ? files.rlim_max : 4096;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	good = mrd_open(&c, port) && mrd_begin(&c, "cart") && mrd_line(&c, 0, 0) &&
	       service_until(&service, "\"state\":\"scanning\"");
	CHECK(good, "a scan is under way");
	for (unsigned line = 1; good && line < 32; line++) { /* it is never silent for long */
		while (n < line * CROWD / 31 && n + 100 < files.rlim_cur &&
		       mrd_open(&crowd[n], port))
			n++;
		good = mrd_line(&c, line, 0);
	}
	CHECK(n > 64, "%u connections that say nothing", n);
	CHECK(good && mrd_id(&c, MRD_CLOSE) && mrd_images(&c) == 1, "the scan has its image");
	mrd_shut(&c);
	CHECK(n == 0 || mrd_refused(&crowd[0], "too many clients are connected"),
	      "the first of them was told that it had to go: %s", crowd[0].said);
	CHECK(mrd_scan(port, "cart", 1) == 1, "one that comes after them is served");
	for (unsigned i = 0; i < n; i++)
		mrd_shut(&crowd[i]);
}

/* Messages that say that they are long and of which little comes. */
static void halves(void)
{
	static const unsigned char header[] = { MRD_HEADER, 0, 0, 0, 0x10, 0, '<' };
	static const unsigned char long_text[] = { MRD_SCRIPT, 0, 0xff, 0xff, 0xff, 0xff };
	struct mrd_client c;
	unsigned n = 0;

	while (n < HALVES && mrd_open(&crowd[n], port) && mrd_config(&crowd[n], "cart") &&
	       mrd_send(&crowd[n], header, sizeof(header)))
		n++;
	CHECK(n == HALVES, "%u headers of 1 MiB of which a byte comes", n);
	CHECK(mrd_scan(port, "cart", 1) == 1, "beside them a scan has its image");
	CHECK(mrd_open(&c, port) && mrd_send(&c, long_text, sizeof(long_text)) &&
		      mrd_refused(&c, "says 4294967295 bytes"),
	      "a text of 4 GiB is refused at once: %s", c.said);
	mrd_shut(&c);
}

static void given_up(void)
{
	bool all = true;

	for (unsigned i = 0; i < HALVES; i++) {
		all = all && mrd_refused(&crowd[i], "did not come whole: 7 of 1048582 bytes");
		mrd_shut(&crowd[i]);
	}
	CHECK(all, "what is not finished is given up");
}

static void nonsense(void)
{
	uint64_t seed = 13;
	unsigned sent = 0;

	for (unsigned i = 0; i < NONSENSE; i++) {
		unsigned char bytes[3000];
		const size_t n = 1 + (size_t)(check_uniform(&seed) * (sizeof(bytes) - 1));
		struct mrd_client c;

		for (size_t b = 0; b < n; b++)
			bytes[b] = (unsigned char)(check_uniform(&seed) * 256);
		/* a good beginning more often than by chance */
		if (i % 2 == 0)
			memcpy(bytes, (unsigned char[]){ 1, 0 }, n > 1 ? 2 : 1);
		if (mrd_open(&c, port)) {
			(void)mrd_send(&c, bytes, n);
			if (i % 4 < 2)
				(void)shutdown(c.fd, SHUT_WR);
			while (i % 4 == 0 && mrd_hear(&c) != 0)
				;
			sent++;
		}
		mrd_shut(&c);
	}
	CHECK(sent == NONSENSE, "%u clients that send nonsense", sent);
	CHECK(mrd_scan(port, "cart", 2) == 2, "after them a scan has its images");
}

/* Lines of another size, within a scan: refused one by one, the scan goes on. */
static void wrong_lines(void)
{
	_Alignas(8) unsigned char acq[4096];
	struct mrd_client c;
	bool told = false;
	int images = 0;

	bool good = mrd_open(&c, port) && mrd_begin(&c, "cart");

	(void)peer_readout(acq, "cart", 5, 0);
	acq[34] = 32; /* samples */
	good = good && mrd_id(&c, MRD_ACQ) && mrd_send(&c, acq, BS_MRD_ACQ_BYTES + 32 * 2 * 8);
	for (unsigned i = 0; good && i < 32; i++)
		good = mrd_line(&c, i, 0);
	good = good && mrd_id(&c, MRD_CLOSE);
	while (good && (mrd_hear(&c) == MRD_TEXT || c.id == MRD_IMAGE)) {
		images += c.id == MRD_IMAGE;
		told = told || strstr(c.said, "32 samples") != NULL;
	}
	CHECK(good && c.id == MRD_CLOSE && images == 1 && told,
	      "a line of half the samples is named, the others make an image");
	mrd_shut(&c);
}

/* A client that does not read: its images wait, and others have theirs. */
static void mute(void)
{
	struct mrd_client c;
	bool good = mrd_open(&c, port) && mrd_begin(&c, "cart");

	for (unsigned i = 0; good && i < 32 * 8; i++)
		good = mrd_line(&c, i % 32, i / 32);
	good = good && mrd_id(&c, MRD_CLOSE);
	CHECK(good && mrd_scan(port, "cart", 1) == 1, "beside one that does not read, a scan");
	CHECK(good && mrd_images(&c) == 8, "it reads at last, and has its own");
	mrd_shut(&c);
}

/* One that has to wait for another's scan for longer than bridges.mrd.idle_s is not silent. */
static void patient(void)
{
	const int64_t until = bs_now_ns() + 11 * INT64_C(1000000000);
	struct mrd_client a;
	struct mrd_client b;
	unsigned lines = 0;
	bool good = mrd_open(&a, port) && mrd_begin(&a, "cart") && mrd_line(&a, lines++, 0) &&
		    service_until(&service, "\"state\":\"scanning\"");

	good = good && mrd_open(&b, port) && mrd_begin(&b, "cart");
	for (unsigned i = 0; good && i < 32; i++)
		good = mrd_line(&b, i, 0);
	CHECK(good && mrd_id(&b, MRD_CLOSE), "a client sends all of a scan within another's");
	for (; good && (bs_now_ns() < until || lines % 32 != 0); lines++) {
		good = mrd_line(&a, lines % 32, lines / 32);
		await_pause_ms(bs_now_ns() < until ? 100 : 0);
	}
	CHECK(good && mrd_id(&a, MRD_CLOSE) && mrd_images(&a) == (int)(lines / 32),
	      "that one takes 11 s, and has its %u images", lines / 32);
	CHECK(mrd_images(&b) == 1, "then the one that waited has its own: %s", b.said);
	mrd_shut(&a);
	mrd_shut(&b);
}

/* Silent within a scan for longer than bridges.mrd.idle_s, and, early, before one. */
static void silent(struct mrd_client *early)
{
	struct mrd_client c;

	CHECK(mrd_open(&c, port) && mrd_begin(&c, "cart") && mrd_line(&c, 0, 0),
	      "a client that falls silent");
	CHECK(mrd_refused(&c, "nothing came for 10 s (bridges.mrd.idle_s)"),
	      "within a scan it is ended: %s", c.said);
	mrd_shut(&c);
	CHECK(mrd_scan(port, "cart", 1) == 1, "and the next one begins");
	CHECK(mrd_refused(early, "nothing came for 10 s"), "before one: %s", early->said);
	mrd_shut(early);
}

int main(void)
{
	static struct mrd_client early;
	pid_t pid;
	long before;

	CHECK(service_start_with(&service, SERVICE_PATIENT, SITE, NULL), "a service with a bridge");
	port = mrd_port(&service, 1);
	pid = bridge();
	CHECK(port > 0 && pid > 0 && mrd_scan(port, "cart", 1) == 1, "a scan has its image");
	before = resident(pid);
	thousand();
	CHECK(mrd_open(&early, port), "a client that says nothing");
	halves();
	nonsense();
	wrong_lines();
	mute();
	patient();
	silent(&early);
	given_up();
	CHECK(bridge() == pid && (CHECK_SANITIZED || resident(pid) - before < GROWN),
	      "it is the process of the beginning, %ld KiB larger",
	      (resident(pid) - before) / 1024);
	return service_end(&service);
}
