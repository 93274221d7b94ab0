/*
 * test/fault/step/fault_step.c - a site's step in the whole service: images with it and without it,
 * and a step that is killed, hangs and answers wrongly in random order while images come
 *
 *     fault_step [IMAGES SEED]   the campaign alone, of so many images
 */
/* Holds: T1, T2 */
#define _GNU_SOURCE
#include <dirent.h>
#include <glob.h>

#include "test/support/recovery.h"

#define FLOATS (2u * 32u * 32u) /* of a file, complex */
#define STEP_BY(program, ms, more, words)                                                          \
	SERVICE_SINKS "endpoints: { archive = \"\"; };\nsteps = ( { name = \"quirk\"; on = "       \
		      "\"cart\"; budget_ms = " ms "; " more " command = \"" program                \
		      "%s/test/support/step/unruly " words "\"; } );\n" SERVICE_PROTOCOLS
#define STEP_(ms, more, words) STEP_BY("", ms, more, words)

static struct service service;
static struct peer p;
static float plain[8][FLOATS]; /* the frames of a site without a step */

static bool start(const char *body, const char *words)
{
	char text[4096];
	bool up;

	(void)snprintf(text, sizeof(text), body, getenv("BUILD"), words);
	up = service_start_with(&service, SERVICE_PATIENT, text, NULL);
	CHECK(up && peer_open(&p, &service), "the service starts");
	return up;
}

static void stop(void)
{
	peer_close(&p);
	(void)service_end(&service);
}

static long count(const char *verdict)
{
	char where[64];

	(void)snprintf(where, sizeof(where), "\"verdict\":\"%s\"", verdict);
	return service_number(&service, where, "n");
}

static long step_is(const char *what)
{
	return service_number(&service, "\"name\":\"quirk\"", what);
}

/* Sends frame f of a scan, and waits until the sink has its image. */
static void frame(unsigned f, long had)
{
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, "cart", i, f % 8);
	(void)service_reaches(&service, "\"consumer\":\"cfl", "handed", had + f + 1);
}

/* The file of image number of the scan. sign: what its pixels are times those of frame f. */
static bool is_plain(unsigned scan, unsigned number, float sign)
{
	static float is[FLOATS];
	const float *want = plain[(number - 1) % 8];
	bool same =
		image_bytes(&service, scan, number, (unsigned char *)is, sizeof(is)) == sizeof(is);

	for (unsigned i = 0; same && i < FLOATS; i += 2)
		same = is[i] == sign * want[i];
	return same && (sign < 0.0f || memcmp(is, want, sizeof(is)) == 0);
}

/* What leaves without a step, to the byte. */
static void test_without(void)
{
	unsigned n = 0;

	if (!start(SERVICE_SINKS "endpoints: { archive = \"\"; };\n" SERVICE_PROTOCOLS, ""))
		return;
	CHECK(peer_begin(&p, "cart"), "a scan of a site that has no step");
	for (unsigned f = 0; f < 8; f++)
		frame(f, 0);
	CHECK(peer_end(&p, 8 * 32) && p.outcome.images == 8, "8 images");
	for (unsigned f = 0; f < 8; f++)
		n += image_bytes(&service, 1, f + 1, (unsigned char *)plain[f], sizeof(plain[f])) ==
		     sizeof(plain[f]);
	CHECK(n == 8, "%u files", n);
	stop();
}

/* Each kind of answer, one image after the other, with all the time there is. */
static void test_answers(void)
{
	static const float sign[8] = { 1, -1, 1, 1, 1, 1, 1, -1 };

	if (!start(STEP_("60000.0", "on_late = \"mark\";",
			 "identity invert number size many nan odd invert"),
		   ""))
		return;
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "ready", 1) == 1,
	      "the step is ready");
	CHECK(peer_begin(&p, "cart"), "a scan with a step");
	for (unsigned f = 0; f < 8; f++)
		frame(f, 0);
	CHECK(peer_end(&p, 8 * 32) && p.outcome.images == 8 && p.outcome.undelivered == 0,
	      "8 images leave");
	for (unsigned i = 1; i <= 8; i++)
		CHECK(is_plain(1, i, sign[i - 1]), "image %u is %s", i,
		      sign[i - 1] < 0 ? "the step's" : "as without a step, to the byte");
	CHECK(count("used") == 3 && count("numbers") == 1 && count("size") == 2 &&
		      count("nan") == 2,
	      "and the status says which: %ld used, %ld numbers, %ld size, %ld nan", count("used"),
	      count("numbers"), count("size"), count("nan"));
	CHECK(peer_good_scan(&p, "brief", 2) && p.outcome.images == 2 && count("used") == 3,
	      "another protocol's images do not pass it");
	stop();
}

/* A step that hangs: images leave within its budget, it is cut off, killed, started again. */
static void test_hung(void)
{
	if (!start(STEP_("5.0", "", "hang"), ""))
		return;
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "ready", 1) == 1,
	      "the step is ready");
	CHECK(peer_begin(&p, "cart"), "a scan with a step that hangs");
	for (unsigned f = 0; f < 8; f++)
		frame(f, 0);
	CHECK(peer_end(&p, 8 * 32) && p.outcome.images == 8, "8 images leave");
	for (unsigned i = 1; i <= 8; i++)
		CHECK(is_plain(1, i, 1.0f), "image %u as without a step, to the byte", i);
	CHECK(count("late") >= 1 && count("used") == 0, "%ld late, %ld busy", count("late"),
	      count("busy"));
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "starts", 2) >= 2 &&
		      step_is("cut") >= 1 &&
		      service_logs(&service, "step 'quirk': hung, cut off") &&
		      service_logs(&service, "step 'quirk' ended: signal 9"),
	      "it is cut off, killed and started again");
	stop();
}

/* How many processes have this last word. */
static unsigned running(const char *word)
{
	char said[1024];
	unsigned n = 0;
	glob_t all;

	if (glob("/proc/[0-9]*/cmdline", 0, NULL, &all) != 0)
		return 0;
	for (size_t i = 0; i < all.gl_pathc; i++) {
		FILE *f = fopen(all.gl_pathv[i], "r");
		const size_t len = f != NULL ? fread(said, 1, sizeof(said), f) : 0;
		const size_t its = strlen(word) + 1;

		n += len > its && memcmp(said + len - its, word, its) == 0;
		if (f != NULL)
			(void)fclose(f);
	}
	globfree(&all);
	return n;
}

/* The same of one that another program has started, which waits for it. */
static void test_hung_child(void)
{
	char word[32];

	(void)snprintf(word, sizeof(word), "mine.%d", (int)getpid());
	if (!start(STEP_BY("/usr/bin/timeout 900 ", "5.0", "", "hang %s"), word))
		return;
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "ready", 1) == 1 &&
		      running(word) == 2,
	      "a step by way of another program is ready");
	CHECK(peer_begin(&p, "cart"), "a scan with such a step, which hangs");
	for (unsigned f = 0; f < 8; f++)
		frame(f, 0);
	CHECK(peer_end(&p, 8 * 32) && p.outcome.images == 8, "8 images leave");
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "starts", 2) >= 2 &&
		      service_reaches(&service, "\"name\":\"quirk\"", "ready", 1) == 1 &&
		      running(word) == 2,
	      "it is killed with what it has started: %u processes", running(word));
	stop();
	AWAIT(running(word) == 0);
	CHECK(running(word) == 0, "nor is any left when the service has ended: %u", running(word));
}

/* What arming says of a step that is too slow, that hangs at once, and that never gets ready. */
static void test_armed(void)
{
	if (!start(STEP_("5.0", "", "slow"), ""))
		return;
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "trials", 1) >= 1 &&
		      step_is("trial_worst_us") > 5000 &&
		      service_logs(&service, "of a budget of 5 ms"),
	      "a slow step is timed: at most %ld us", step_is("trial_worst_us"));
	CHECK(service_logs(&service, "late: images will leave without it"), "and told so");
	CHECK(count("late") + count("busy") == 0, "its trial images are no images");
	stop();
	if (!start(STEP_("60000.0", "", "identity invert"), ""))
		return;
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "trials", 3) >= 3 &&
		      step_is("trial_worst_us") > 0 &&
		      service_logs(&service, "step 'quirk' armed: p50"),
	      "a good one has %ld trial images", step_is("trials"));
	CHECK(peer_good_scan(&p, "cart", 2) && count("used") == 2, "and the scan's images pass it");
	stop();
	if (!start(STEP_("5.0", "", "wild"), ""))
		return;
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "starts", 2) >= 2 &&
		      step_is("cut") >= 1,
	      "one that hangs at its first trial image is cut off and started again");
	CHECK(peer_good_scan(&p, "cart", 2), "and no scan waits for it");
	stop();
}

/* A step that never gets ready: the service is, scans pass, the log says it, the end comes soon. */
static void test_loading(void)
{
	int64_t from_ns;

	if (!start(STEP_("5.0", "", "load"), ""))
		return;
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "there", 1) == 1 &&
		      peer_good_scan(&p, "cart", 3) && count("loading") == 3,
	      "a scan while it loads: %ld", count("loading"));
	CHECK(service_logs(&service, "step 'quirk' is not ready after 5 s (loading)"), "is told");
	CHECK(step_is("starts") == 1 && step_is("trials") == 0, "it may go on loading");
	peer_close(&p);
	from_ns = await_now_ns();
	CHECK(service_end(&service) == 0 && await_now_ns() - from_ns < 10 * INT64_C(1000000000),
	      "the service ends in %.1f s", (double)(await_now_ns() - from_ns) * 1e-9);
}

/* emit ends: its successor goes on with the step, which has come back. */
static void test_emit(void)
{
	pid_t emit;

	if (!start(STEP_("60000.0", "", "invert"), ""))
		return;
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "ready", 1) == 1,
	      "the step is ready");
	CHECK(peer_begin(&p, "cart"), "a scan");
	for (unsigned f = 0; f < 4; f++)
		frame(f, 0);
	emit = ready_pid(&service, "emit");
	CHECK(emit > 0 && kill(emit, SIGKILL) == 0, "emit is killed");
	AWAIT(ready_pid(&service, "emit") > 0 && ready_pid(&service, "emit") != emit &&
	      step_is("ready") == 1);
	for (unsigned f = 4; f < 8; f++)
		frame(f, 0);
	CHECK(peer_end(&p, 8 * 32) && p.outcome.images == 8, "8 images leave");
	for (unsigned i = 1; i <= 8; i++)
		CHECK(is_plain(1, i, -1.0f), "image %u is the step's", i);
	stop();
}

static unsigned descriptors(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		(void)closedir(d);
	return n;
}

/*
 * Kills or stops the step's process, now and then. One that is stopped before it was ready would
 * load for ever, which the service lets it.
 */
static void strike(unsigned *strikes)
{
	const long pid = step_is("pid");

	if (pid > 0 && step_is("ready") == 1 && random() % 3 == 0)
		*strikes += kill((pid_t)pid, random() % 2 == 0 ? SIGKILL : SIGSTOP) == 0;
}

/* Counts the images that are neither the step's nor the plain ones, as the verdicts say. */
static unsigned judge(unsigned scan, unsigned images)
{
	unsigned lost = 0;

	for (unsigned i = 1; i <= images; i++)
		lost += !is_plain(scan, i, 1.0f) && !is_plain(scan, i, -1.0f);
	return lost;
}

/* So many images, but no more than come in so many seconds. */
static void campaign(unsigned images, unsigned seed, int64_t seconds)
{
	const int64_t until_ns = await_now_ns() + seconds * INT64_C(1000000000);
	char words[32];
	unsigned before[2], after = 0, strikes = 0;
	long all = 0, slow = 0;
	pid_t emit;

	(void)snprintf(words, sizeof(words), "random %u", seed);
	if (!start(STEP_("20.0", "", "%s"), words))
		return;
	srandom(seed);
	CHECK(service_reaches(&service, "\"name\":\"quirk\"", "ready", 1) == 1,
	      "the step is ready");
	emit = ready_pid(&service, "emit");
	before[0] = descriptors(service.pid);
	before[1] = descriptors(emit);
	CHECK(peer_begin(&p, "cart"), "a scan of at most %u images, seed %u", images, seed);
	for (unsigned f = 0; f < images; f++) {
		if (await_now_ns() > until_ns) {
			images = f;
			break;
		}
		/* else most images would leave while the step is away, or hangs */
		AWAIT(f % 2 != 0 || step_is("ready") == 1);
		if (count("late") + count("busy") != slow)
			await_pause_ms(100);
		slow = count("late") + count("busy");
		strike(&strikes);
		frame(f, 0);
	}
	CHECK(peer_end(&p, images * 32) && p.outcome.images == images && p.outcome.undelivered == 0,
	      "%u of %u images left", (unsigned)p.outcome.images, images);
	CHECK(judge(1, images) == 0, "each is the step's, or the byte-equal one without it");
	for (const char *const *v =
		     (const char *const[]){ "used", "numbers", "absent", "loading", "busy", "late",
					    "died", "hung", "size", "nan", "stale", NULL };
	     *v != NULL; v++) {
		printf("# %s %ld\n", *v, count(*v));
		all += count(*v);
	}
	printf("# images were at the step for at most %ld us, of a budget of 20000\n",
	       service_number(&service, "\"stage\":\"step\"", "max_us"));
	CHECK(all == (long)images && strikes > 0,
	      "%ld verdicts; killed or stopped %u times, started %ld times, cut off %ld times", all,
	      strikes, step_is("starts"), step_is("cut"));
	AWAIT(step_is("ready") == 1);
	CHECK(emit == ready_pid(&service, "emit"), "emit is the one that began");
	AWAIT((after = descriptors(emit)) <= before[1]); /* who asks the status has one, too */
	CHECK(descriptors(service.pid) == before[0] && after <= before[1],
	      "descriptors of serve %u, %u before; of emit %u, %u before", descriptors(service.pid),
	      before[0], after, before[1]);
	stop();
}

int main(int argc, char **argv)
{
	test_without();
	if (argc == 3) {
		campaign((unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]), 36000);
		return check_done();
	}
	test_answers();
	test_armed();
	test_loading();
	test_hung();
	test_hung_child();
	test_emit();
	campaign(1000, 1, 60);
	return check_done();
}
