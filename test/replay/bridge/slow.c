/*
 * test/replay/bridge/slow.c - clients that hardly read, beside one that does: it has its images as
 * they are made, they have theirs when they read at last, and the bridge holds little of them
 *
 * usage: BORESIDE=path slow [rounds]: so many scans are timed alone and beside the slow (3)
 */
#define _GNU_SOURCE
#include "test/support/service.h"

#include "test/support/mrd_client.h"

#define SLOW   63u
#define FRAMES 2u  /* of a slow client, 4 MiB each */
#define MANY   20u /* of the one that is behind by more than any buffer holds */
#define BYTES  (2u * 512 * 512 * 8)
#define HELD   (256L << 20)
#define ROUNDS 1000u

#define SITE                                                                                       \
	"endpoints: { archive = \"\"; images = \"ipc://run/images.ipc\"; };\n"                     \
	"overload: { spill_dir = \"spill\"; spill_mib = 1024; };\n"                                \
	"bridges: { mrd: { listen = \"tcp://127.0.0.1:0\"; pixels = \"float\"; sessions = 1;\n"    \
	"  wait_s = 3600.0; idle_s = 3600.0; }; };\n"                                              \
	"protocols = (\n" SERVICE_CART "{ name = \"large\"; " SERVICE_LINES                        \
	"silence_ms = 60000.0;\n"                                                                  \
	"  image: { matrix = [512, 512]; output = \"complex\"; }; } );\n"

static struct service service;
static struct mrd_client slow[SLOW];
static int port;
static unsigned rounds = 3;
static unsigned char truth[BYTES]; /* every image of "large" */

/* A whole scan is sent; so little is taken of what comes that images wait in the service. */
static bool send_scan(struct mrd_client *c, unsigned frames)
{
	const int little = 4096;
	bool good = mrd_open_with(c, port, little) && mrd_begin(c, "large");

	for (unsigned i = 0; good && i < frames * 32; i++)
		good = mrd_line(c, i % 32, i / 32);
	return good && mrd_id(c, MRD_CLOSE);
}

/* How many come from now on, each as it should be; -1: one is not. */
static int right_images(struct mrd_client *c)
{
	int n = 0;

	while (mrd_hear(c) == MRD_IMAGE || c->id == MRD_TEXT) {
		if (c->id == MRD_TEXT)
			continue;
		if (c->pixels_len != BYTES || memcmp(c->pixels, truth, BYTES) != 0)
			return -1;
		n++;
	}
	return c->id == MRD_CLOSE && mrd_hear(c) == 0 ? n : -1;
}

/* Bytes that the bridge held at most. */
static long held(void)
{
	static char log[1 << 20];
	const char *words = "bridge mrd: process ";
	const int fd = open(service.log, O_RDONLY);
	const ssize_t n = fd >= 0 ? read(fd, log, sizeof(log) - 1) : 0;
	const char *at = (log[n > 0 ? n : 0] = '\0', strstr(log, words));
	char path[64];
	char line[256];
	long kib = 0;
	FILE *f;

	if (fd >= 0)
		(void)close(fd);
	(void)snprintf(path, sizeof(path), "/proc/%ld/status",
		       at != NULL ? strtol(at + strlen(words), NULL, 10) : 0);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (f != NULL)
		(void)fclose(f);
	return kib * 1024;
}

static void begin(void)
{
	struct mrd_client c;

	port = mrd_port(&service, 1);
	CHECK(port > 0 && send_scan(&c, 1) && mrd_hear(&c) == MRD_IMAGE && c.pixels_len == BYTES,
	      "a scan has its image");
	memcpy(truth, c.pixels, c.pixels_len == BYTES ? BYTES : 0);
	CHECK(right_images(&c) == 0, "and CLOSE");
	mrd_shut(&c);
}

/* One that is behind by 80 MiB, during its scan and after it. */
static void one(void)
{
	struct mrd_client c;
	bool good;

	CHECK(send_scan(&slow[0], MANY), "a client sends a scan of %u images and reads none", MANY);
	CHECK(service_until(&service, "\"active\":0"), "its scan ends");
	good = mrd_scan(port, "cart", 3) == 3;
	CHECK(good, "another one has its images while the first reads nothing");
	CHECK(mrd_open(&c, port) && mrd_begin(&c, "cart"), "a third one begins");
	good = mrd_hear(&slow[0]) == MRD_IMAGE && memcmp(slow[0].pixels, truth, BYTES) == 0;
	for (unsigned i = 0; good && i < 32; i++)
		good = mrd_line(&c, i, 0);
	CHECK(good && mrd_id(&c, MRD_CLOSE) && mrd_images(&c) == 1,
	      "and has its image when the first has read one of its own");
	mrd_shut(&c);
	CHECK(right_images(&slow[0]) == (int)MANY - 1, "which has all of them in the end: %s",
	      slow[0].said);
	mrd_shut(&slow[0]);
}

static int by_size(const void *a, const void *b)
{
	const double d = *(const double *)a - *(const double *)b;

	return (d > 0.0) - (d < 0.0);
}

/* Scans of 16 images, one after the other; the slow, n of them, read a byte each in a second. */
static bool time_scans(unsigned n, const char *how)
{
	static double s[ROUNDS];
	int64_t sipped = 0;

	for (unsigned round = 0; round < rounds; round++) {
		const bool thirsty = bs_now_ns() - sipped >= 1000000000;
		int64_t from;

		for (unsigned i = 0; i < n && thirsty; i++)
			(void)mrd_sip(&slow[i]); /* the first one waits for its first image */
		from = bs_now_ns();
		sipped = thirsty ? from : sipped;
		if (mrd_scan(port, "cart", 16) != 16)
			return false;
		s[round] = 1e-9 * (double)(bs_now_ns() - from);
	}
	qsort(s, rounds, sizeof(s[0]), by_size);
	printf("# 16 images %s: p50 %.4f s, p99 %.4f, max %.4f (N %u)\n", how, s[rounds / 2],
	       s[(99 * rounds + 99) / 100 - 1], s[rounds - 1], rounds);
	return true;
}

/* As many as there may be, each behind with more than a connection holds. */
static void crowd(void)
{
	unsigned n = 0;
	unsigned right = 0;

	CHECK(time_scans(0, "alone"), "one alone has its images");
	while (n < SLOW && send_scan(&slow[n], FRAMES) && service_until(&service, "\"active\":0"))
		n++;
	CHECK(n == SLOW, "%u clients send scans of %u images of 4 MiB", n, FRAMES);
	CHECK(time_scans(n, "beside 63 that read a byte a second"),
	      "beside them, who read a byte each, one has its images");
	printf("# the bridge held at most %.0f MiB\n", (double)held() / 1048576.0);
	CHECK(CHECK_SANITIZED || (held() > 0 && held() < HELD),
	      "the bridge held less than 256 MiB");
	for (unsigned i = 0; i < n; i++) {
		right += right_images(&slow[i]) == (int)FRAMES;
		mrd_shut(&slow[i]);
	}
	CHECK(right == n, "%u of %u read at last, and have all of their images", right, n);
}

/* All places are of clients that wait for another's scan: one more is told so. */
static void waiting(void)
{
	struct mrd_client first;
	struct mrd_client c;
	unsigned n = 0;
	bool good = mrd_open(&first, port) && mrd_begin(&first, "cart") && mrd_line(&first, 0, 0) &&
		    service_until(&service, "\"state\":\"scanning\"");

	while (good && n < SLOW && mrd_open(&slow[n], port) && mrd_begin(&slow[n], "cart") &&
	       mrd_line(&slow[n], 0, 0))
		n++;
	CHECK(n == SLOW && service_until(&service, "\"connected\":64,"),
	      "a scan is under way, and %u clients wait for its end", n);
	CHECK(mrd_open(&c, port) && mrd_begin(&c, "cart") && mrd_line(&c, 0, 0) &&
		      mrd_refused(&c, "too many clients are connected, and each has a scan, waits"),
	      "one more is told that it cannot: %s", c.said);
	mrd_shut(&c);
	for (unsigned i = 1; good && i < 32; i++)
		good = mrd_line(&first, i, 0);
	CHECK(good && mrd_id(&first, MRD_CLOSE) && mrd_images(&first) == 1,
	      "the first one's scan has its image");
	mrd_shut(&first);
	for (unsigned i = 0; i < n; i++)
		mrd_shut(&slow[i]);
	CHECK(mrd_scan(port, "cart", 1) == 1, "when those are gone one is served");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = (unsigned)atoi(argv[1]) < ROUNDS ? (unsigned)atoi(argv[1]) : ROUNDS;
	CHECK(service_start_with(&service, SERVICE_PATIENT, SITE, NULL), "a service with a bridge");
	begin();
	one();
	crowd();
	waiting();
	return service_end(&service);
}
