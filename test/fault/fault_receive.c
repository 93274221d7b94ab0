/*
 * test/fault/fault_receive.c - an archive that asks has every image once, by its own books: over
 * its kills, emit's, the service's end and start, and all of them during scans
 */
/* Holds: W60 */
#define _GNU_SOURCE
#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "test/support/service.h"

#define SITE                                                                                       \
	"endpoints: { archive = \"\"; viewers = \"\";\n"                                           \
	"	images = \"ipc://run/images.ipc\"; };\n"
#define ON_DISK "overload: { spill_dir = \"spill\"; spill_mib = 16; };\n"
#define SCANS   6u
#define FRAMES  12u

#define SLOW_IMAGES 12u /* and so long for each: in all longer than BS_IMAGES_LAST_NS */
#define SLOW_MS     300

static struct service service;
static struct peer p;
static char folder[160];

static bool start(const char *overload)
{
	char body[4096];
	bool up;

	(void)snprintf(body, sizeof(body), "%s%s%s", SITE, overload, SERVICE_PROTOCOLS);
	up = service_start_with(&service, SERVICE_PATIENT, body, NULL);
	(void)snprintf(folder, sizeof(folder), "%s/filed", service.dir);
	CHECK(up && peer_open(&p, &service), "the service starts");
	return up;
}

static void stop(void)
{
	peer_close(&p);
	(void)service_end(&service);
}

static pid_t archive(bool once)
{
	const pid_t pid = fork();

	if (pid == 0) {
		if (freopen("/dev/null", "a", stderr) == NULL)
			_exit(126);
		(void)execl(getenv("BORESIDE"), "boreside", "receive", "-c", service.site, "-o",
			    folder, "--type", "cfl", once ? "--once" : (char *)NULL, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static int ended(pid_t pid, int signal)
{
	int status = 0;

	if (signal != 0)
		(void)kill(pid, signal);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct filed {
	unsigned series, index;
	uint64_t number;
};

static int by_number(const void *a, const void *b)
{
	const struct filed *x = a;
	const struct filed *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* What the archive has, in the order of its numbers. */
static unsigned books(struct filed *out, unsigned cap)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	unsigned n = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		struct filed *f = &out[n];
		const size_t len = strlen(e->d_name);

		if (n < cap && len > 4 && strcmp(e->d_name + len - 4, ".cfl") == 0 &&
		    sscanf(e->d_name, "uid%*8x-s%u-i%u-n%" SCNx64, &f->series, &f->index,
			   &f->number) == 3)
			n++;
	}
	if (d != NULL)
		(void)closedir(d);
	qsort(out, n, sizeof(*out), by_number);
	return n;
}

/* Each scan's images, one after the other, none twice, none missing; within it without a gap. */
static bool whole(const struct filed *f, unsigned n, unsigned frames)
{
	bool good = true;

	for (unsigned i = 0; i < n; i++) {
		good = good && f[i].index == i % frames + 1;
		if (i % frames > 0)
			good = good && f[i].number == f[i - 1].number + 1;
	}
	for (unsigned i = 0; !good && i < n; i++)
		printf("# series %u image %u: %016" PRIx64 "\n", f[i].series, f[i].index,
		       f[i].number);
	return good;
}

static bool kill_emit(void)
{
	long pid = service_number(&service, "\"name\":\"emit\"", "pid");

	return pid > 0 && kill((pid_t)pid, SIGKILL) == 0;
}

/* An archive that was there, was not, and came after the service's end. */
static void test_returns(void)
{
	static struct filed f[200];
	pid_t a;

	if (!start(ON_DISK))
		return;
	a = archive(false);
	CHECK(peer_good_scan(&p, "cart", FRAMES),
	      "a scan, and every image is kept for whoever asks");
	AWAIT(books(f, 200) == FRAMES);
	CHECK(books(f, 200) == FRAMES && whole(f, FRAMES, FRAMES), "an archive that asks has them");
	CHECK(service_reaches(&service, "\"stage\":\"taken\"", "n", FRAMES) == FRAMES,
	      "the status has how long each was on its way to it");
	CHECK(ended(a, SIGTERM) == 0, "it ends with 0");
	CHECK(peer_good_scan(&p, "cart", FRAMES) && p.outcome.undelivered == 0,
	      "a scan while it is away");
	CHECK(service_number(&service, "\"asker\":\"archive\"", "missed") == 0, "it missed none");
	CHECK(service_stop(&service) == 0 && books(f, 200) == FRAMES, "the service ends");
	CHECK(service_spawn(&service, NULL) && service_until(&service, "\"state\":\"idle\""),
	      "and starts again");
	CHECK(ended(archive(true), 0) == 0 && books(f, 200) == 2 * FRAMES &&
		      whole(f, 2 * FRAMES, FRAMES),
	      "an archive that returns has what it missed");
	CHECK(peer_good_scan(&p, "cart", FRAMES) && ended(archive(true), 0) == 0 &&
		      books(f, 200) == 3 * FRAMES && whole(f, 3 * FRAMES, FRAMES),
	      "and what came since");
	CHECK(ended(archive(true), 0) == 0 && books(f, 200) == 3 * FRAMES, "nothing twice");
	stop();
}

/* The archive and emit are killed again and again while scans run. */
static void test_killed(void)
{
	static struct filed f[400];
	unsigned kills = 0;
	bool good = true;
	pid_t a;

	if (!start(ON_DISK))
		return;
	a = archive(false);
	for (unsigned s = 0; s < SCANS && good; s++) {
		good = peer_begin(&p, "cart");
		for (unsigned i = 0; good && i < FRAMES * 32; i++) {
			good = peer_acq(&p, "cart", i % 32, i / 32);
			if (i % 97 == 50 + s) { /* from a readout of any place in a frame */
				(void)ended(a, SIGKILL);
				a = archive(false);
				kills++;
			}
			if (i == 101 * (s + 1) && s % 2 == 0)
				good = good && kill_emit();
		}
		good = good && peer_end(&p, FRAMES * 32) && p.outcome.code == 0 &&
		       p.outcome.images == FRAMES && p.outcome.undelivered == 0;
	}
	CHECK(good, "%u scans, in which the archive is killed %u times, emit %u: %s", SCANS, kills,
	      (SCANS + 1) / 2, p.outcome.text);
	(void)ended(a, SIGKILL);
	CHECK(ended(archive(true), 0) == 0 && books(f, 400) == SCANS * FRAMES &&
		      whole(f, SCANS * FRAMES, FRAMES),
	      "the archive has all %u, each once: %u", SCANS * FRAMES, books(f, 400));
	stop();
}

/* The folder of the images is deleted while the service runs: it is made again, what was in it is
 * missed by name, and what comes later arrives. */
static void test_deleted(void)
{
	static struct filed f[100];
	char command[200];

	if (!start(ON_DISK))
		return;
	CHECK(ended(archive(true), 0) == 0 && peer_good_scan(&p, "cart", 3),
	      "an archive is known; a scan while it is away");
	(void)snprintf(command, sizeof(command), "rm -rf '%s/spill/images' 2>/dev/null",
		       service.dir);
	AWAIT(system(command) == 0); /* a spare file may be made while it goes */
	CHECK(peer_good_scan(&p, "cart", 4), "somebody deletes the images; another scan");
	CHECK(ended(archive(true), 0) == 0 && books(f, 100) == 4 && whole(f, 4, 4),
	      "the archive has the later ones: %u", books(f, 100));
	AWAIT(service_number(&service, "\"asker\":\"archive\"", "missed") == 3);
	CHECK(service_number(&service, "\"asker\":\"archive\"", "missed") == 3,
	      "the other three are counted");
	stop();
}

#define LONGEST 256u /* what is longer is not read, and not answered */

/* One question by hand; the answer's kind, and a refusal's code in *code. -1: none came. */
static int question(struct bs_endpoint *s, const void *bytes, size_t len, int *code)
{
	static unsigned char in[1 << 20];
	const unsigned char *payload;
	struct bs_wire_reply a = { 0 };
	struct bs_wire w;
	size_t n;

	if (bs_endpoint_send(s, bytes, len, NULL, 0, AWAIT_MS, NULL) != 0 ||
	    bs_endpoint_recv(s, in, sizeof(in), &n, len <= LONGEST ? AWAIT_MS : 200, NULL) != 0 ||
	    bs_wire_decode(&w, in, n, &payload, NULL) != 0)
		return -1;
	if (w.kind == BS_WIRE_REFUSE)
		(void)bs_wire_get_reply(&a, payload, (size_t)w.payload_len, NULL);
	*code = a.code;
	return w.kind;
}

static int ask(struct bs_endpoint *s, struct bs_wire w, const char *name, int *code)
{
	unsigned char msg[BS_WIRE_BYTES + BS_WIRE_TAKER];

	bs_wire_put_next(msg + BS_WIRE_BYTES, name);
	bs_wire_encode(msg, &w, msg + BS_WIRE_BYTES, BS_WIRE_TAKER);
	return question(s, msg, sizeof(msg), code);
}

static int next_of(struct bs_endpoint *s, unsigned kind, const char *name, int *code)
{
	return ask(s, (struct bs_wire){ .kind = (uint16_t)kind }, name, code);
}

static int ask_after(struct bs_endpoint *s, uint64_t had, int *code)
{
	return ask(s, (struct bs_wire){ .kind = BS_WIRE_NEXT, .seq = had }, "slow", code);
}

/* What is no question is refused in words, and does no harm. */
static void test_refused(void)
{
	unsigned char junk[300];
	struct bs_endpoint s;
	char url[160];
	int code = 0;
	int kind;

	if (!start(ON_DISK))
		return;
	(void)snprintf(url, sizeof(url), "ipc://%s/run/images.ipc", service.dir);
	CHECK(bs_endpoint_connect(&s, BS_ENDPOINT_IMAGES_ASK, url, 1 << 20, NULL) == 0,
	      "connected");
	memset(junk, 'x', sizeof(junk));
	for (size_t len = 0; len <= 200; len += 50) {
		kind = question(&s, junk, len, &code);
		CHECK(kind == BS_WIRE_REFUSE &&
			      code == (len < BS_WIRE_BYTES ? BS_ERR_LENGTH : BS_ERR_MAGIC),
		      "%zu bytes of anything: %s", len, bs_err_name(code));
	}
	CHECK(question(&s, junk, sizeof(junk), &code) == -1, "300 are not read");
	CHECK(next_of(&s, BS_WIRE_IMAGE, "a", &code) == BS_WIRE_REFUSE && code == BS_ERR_KIND,
	      "another kind: %s", bs_err_name(code));
	CHECK(next_of(&s, BS_WIRE_NEXT, "../a", &code) == BS_WIRE_REFUSE && code == BS_ERR_VALUE,
	      "a name that is a path: %s", bs_err_name(code));
	for (char name[2] = "a"; name[0] < 'i'; name[0]++)
		CHECK(next_of(&s, BS_WIRE_NEXT, name, &code) == BS_WIRE_NONE, "archive %s", name);
	CHECK(next_of(&s, BS_WIRE_NEXT, "i", &code) == BS_WIRE_REFUSE && code == BS_ERR_STATE,
	      "the ninth: %s", bs_err_name(code));
	CHECK(peer_good_scan(&p, "cart", 2) &&
		      next_of(&s, BS_WIRE_NEXT, "a", &code) == BS_WIRE_STORED,
	      "the first has its image");
	bs_endpoint_close(&s);
	stop();
}

/* A clean stop while an archive is behind: what run_dir alone holds is fetched first. */
static void test_stop(void)
{
	static struct filed f[100];
	pid_t a;

	if (!start(""))
		return;
	a = archive(false);
	AWAIT(service_number(&service, "\"asker\":\"archive\"", "has") == 0);
	CHECK(kill(a, SIGSTOP) == 0 && peer_good_scan(&p, "cart", 3) && kill(a, SIGCONT) == 0,
	      "a scan while the archive is stopped");
	peer_close(&p);
	CHECK(service_stop(&service) == 0, "the service ends at once");
	(void)ended(a, SIGTERM);
	CHECK(books(f, 100) == 3 && whole(f, 3, 3), "the archive has all three: %u", books(f, 100));
	service_remove(&service);
}

/* A drain waits for an archive that takes its time over each image, longer than any fixed limit. */
static void test_slow(void)
{
	struct bs_endpoint s;
	char url[160];
	unsigned had = 0;
	int code = 0;

	if (!start("overload: { queue = 64; };\n"))
		return;
	(void)snprintf(url, sizeof(url), "ipc://%s/run/images.ipc", service.dir);
	CHECK(bs_endpoint_connect(&s, BS_ENDPOINT_IMAGES_ASK, url, 1 << 20, NULL) == 0 &&
		      ask_after(&s, 0, &code) == BS_WIRE_NONE,
	      "an archive asks, and nothing follows");
	CHECK(peer_good_scan(&p, "cart", SLOW_IMAGES), "a scan of %u images", SLOW_IMAGES);
	CHECK(ask_after(&s, 0, &code) == BS_WIRE_STORED && kill(service.pid, SIGUSR1) == 0,
	      "the archive begins to take them, and the service is told to drain");
	peer_close(&p);
	while (ask_after(&s, had, &code) == BS_WIRE_STORED && ++had < SLOW_IMAGES)
		await_pause_ms(SLOW_MS);
	(void)ask_after(&s, had, &code);
	CHECK(had == SLOW_IMAGES, "it has all %u", had);
	CHECK(service_wait(&service) == 0, "then the service ends with 0");
	bs_endpoint_close(&s);
	service_remove(&service);
}

/* Without a folder the newest images are kept, and who was known misses the others by name. */
static void test_bounded(void)
{
	static struct filed f[400];
	unsigned n;
	long missed;

	if (!start("overload: { queue = 4; };\n"))
		return;
	CHECK(ended(archive(true), 0) == 0, "an archive is known, and leaves");
	for (unsigned s = 0; s < 6; s++)
		(void)peer_good_scan(&p, "cart", 30);
	AWAIT((missed = service_number(&service, "\"asker\":\"archive\"", "missed")) ==
	      service_number(&service, "\"consumer\":\"images\"", "shed"));
	CHECK(missed > 0 && p.outcome.undelivered > 0 && p.outcome.code == 0,
	      "%ld images are counted as missed, of the last scan %u", missed,
	      p.outcome.undelivered);
	CHECK(service_logs(&service, "images does not keep up"), "and the log says so");
	CHECK(ended(archive(true), 0) == 0, "it comes back");
	n = books(f, 400);
	CHECK(n >= 4 && n + (unsigned)missed == 180 && f[n - 1].index == 30,
	      "it has the newest %u of 180 and misses %ld", n, missed);
	stop();
}

int main(void)
{
	test_returns();
	test_killed();
	test_deleted();
	test_refused();
	test_stop();
	test_slow();
	test_bounded();
	return check_done();
}
