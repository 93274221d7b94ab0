/*
 * test/fault/fault_resume.c - a worker killed at random moments while a scan is replayed: nothing
 * of the scan is lost, and its images are the same bytes as those of a scan that nobody disturbed
 *
 * usage: BORESIDE=path fault_resume [scans [seed]]. Counted by the sender's report and the files.
 * The moments come from a seed, but what they hit is the machine's. How soon a successor is ready
 * is printed, and judged by nobody.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "test/support/recovery.h"

#define FRAMES   80u
#define LINES    32u
#define TR_US    750 /* a scan takes 2 s */
#define KILLS    7u  /* of a scan: what ends more often in a row is replaced after a pause */
#define SAMPLES  4096u
#define PAUSE_MS 200 /* at most, between a successor's being ready and its end */

static struct service service;
static struct bs_replay *recording;
static const char *const workers[] = { "ingest", "recon" };
static uint64_t random_state = 20261123;
static double ready_ms[2][SAMPLES]; /* ingest, recon */
static unsigned kills[2];

static bool prepare(void)
{
	char command[512];

	(void)snprintf(command, sizeof(command),
		       "'%s' phantom -c %s -p spokes --repetitions %u --tr-us %d --snr 20 -o "
		       "%s/scan.h5 >>%s 2>&1",
		       getenv("BORESIDE"), service.site, FRAMES, TR_US, service.dir, service.log);
	if (system(command) != 0)
		return false;
	(void)snprintf(command, sizeof(command), "%s/scan.h5", service.dir);
	return bs_replay_open(&recording, command, 0, NULL) == 0;
}

/* ---- the workers ---- */

static void hurt(const struct sent *s, unsigned hits[2])
{
	const int which = check_uniform(&random_state) < 0.5 ? 0 : 1;
	const char *worker = workers[which];
	int64_t now;
	pid_t next = -1;
	const pid_t old = ready_pid(&service, worker);

	await_pause_ms((int)(check_uniform(&random_state) * PAUSE_MS));
	if (old <= 0 || atomic_load(&s->over))
		return;
	now = await_now_ns();
	(void)kill(old, SIGKILL);
	AWAIT((next = ready_pid(&service, worker)) > 0 && next != old);
	CHECK(next > 0 && next != old, "a new %s is ready", worker);
	ready_ms[which][kills[which]++ % SAMPLES] = (double)(await_now_ns() - now) * 1e-6;
	hits[which]++;
}

/* ---- the images ---- */

/* Those of the scan that are there and as the undisturbed scan's, which was the first. */
static unsigned same_images(unsigned scan)
{
	static unsigned char a[65536], b[sizeof(a)];
	unsigned same = 0;

	for (unsigned i = 1; i <= FRAMES; i++) {
		const size_t n = image_bytes(&service, 1, i, a, sizeof(a));

		same += n > 0 && image_bytes(&service, scan, i, b, sizeof(b)) == n &&
			memcmp(a, b, n) == 0;
	}
	return same;
}

/* So many files: each image once. */
static bool files_are(unsigned count)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "test $(ls %s/out | grep -c 'cfl$') -eq %u",
		       service.dir, count);
	return system(command) == 0;
}

static bool is_whole(const struct sent *s)
{
	const struct bs_wire_outcome *o = &s->report.outcome;
	const bool good = s->rc == 0 && s->report.code == 0 && o->images == FRAMES &&
			  o->acquisitions == (uint64_t)FRAMES * LINES && o->gaps == 0 &&
			  o->rejected == 0 && o->duplicates == 0;

	if (!good)
		printf("# %d %s: outcome %s \"%s\", %llu acquisitions, %llu images, %llu gaps, "
		       "%llu rejected, %llu duplicates\n",
		       s->rc, s->why.text, bs_err_name(s->report.code), o->text,
		       (unsigned long long)o->acquisitions, (unsigned long long)o->images,
		       (unsigned long long)o->gaps, (unsigned long long)o->rejected,
		       (unsigned long long)o->duplicates);
	return good;
}

static void play(unsigned number, bool disturb)
{
	struct sent s = { .service = &service,
			  .from = recording,
			  .session = 4000 + number,
			  .speed = disturb ? 1.0 : 0.0 };
	unsigned hits[2] = { 0 };

	if (pthread_create(&s.thread, NULL, send_scan, &s) != 0)
		exit(1);
	for (unsigned k = 0; disturb && k < KILLS && !atomic_load(&s.over); k++)
		hurt(&s, hits);
	(void)pthread_join(s.thread, NULL);
	CHECK(is_whole(&s),
	      "scan %u, ingest killed %u times, recon %u: whole (%llu messages sent again)", number,
	      hits[0], hits[1], (unsigned long long)s.report.resent);
	CHECK(same_images(number) == FRAMES, "scan %u: the same images", number);
	CHECK(files_are(number * FRAMES), "scan %u: each image once", number);
	CHECK(!disturb || hits[0] + hits[1] >= 3, "scan %u: %u kills hit it", number,
	      hits[0] + hits[1]);
}

/* ---- numbers out of order, missing and refused ---- */

#define CART_IMAGES 4u
#define JUMP        10000u /* further than any window */

/* Line i of a frame's 32, at its number. */
static void put_line(struct peer *p, uint64_t first, unsigned i, unsigned frame)
{
	p->seq = first + i;
	(void)peer_acq(p, "cart", i, frame);
}

/* A frame backwards, one behind a jump, one with a line that is refused; one more after kill. */
static void send_disorder(struct peer *p, bool disturb)
{
	unsigned char bad[BS_MRD_ACQ_BYTES] = { 0 };
	pid_t old;
	pid_t next = -1;

	CHECK(peer_begin(p, "cart"), "a scan in disorder begins");
	for (unsigned i = 32; i-- > 0;)
		put_line(p, 1, i, 0);
	for (unsigned i = 0; i < 32; i++)
		put_line(p, 33 + JUMP, i, 1);
	for (unsigned i = 0; i < 32; i++)
		if (i != 5)
			put_line(p, 65 + JUMP, i, 2);
		else
			(void)peer_say(p, BS_WIRE_ACQ, 70 + JUMP, bad, sizeof(bad));
	CHECK(service_reaches(&service, "\"scan\":{", "acquisitions", 95) == 95, "they came");
	old = ready_pid(&service, "recon");
	if (disturb) {
		(void)kill(old, SIGKILL);
		AWAIT((next = ready_pid(&service, "recon")) > 0 && next != old);
	}
	for (unsigned i = 0; i < 32; i++)
		put_line(p, 97 + JUMP, i, 3);
	p->seq = 129 + JUMP;
	CHECK(peer_end(p, 128) && p->outcome.code == BS_ERR_SEQUENCE && p->outcome.gaps == JUMP &&
		      p->outcome.acquisitions == 127 && p->outcome.images == CART_IMAGES &&
		      p->outcome.rejected == 1 && p->outcome.duplicates == 0,
	      "%s: %llu gaps, %llu acquisitions, %llu images, %llu rejected: %s",
	      disturb ? "recon killed" : "nobody killed", (unsigned long long)p->outcome.gaps,
	      (unsigned long long)p->outcome.acquisitions, (unsigned long long)p->outcome.images,
	      (unsigned long long)p->outcome.rejected, p->outcome.text);
}

static void test_disorder(unsigned number)
{
	static unsigned char a[65536], b[sizeof(a)];
	struct peer p;
	unsigned same = 0;

	CHECK(peer_open(&p, &service), "a sender connects");
	send_disorder(&p, false);
	send_disorder(&p, true);
	peer_close(&p);
	for (unsigned i = 1; i <= CART_IMAGES; i++) {
		const size_t n = image_bytes(&service, number, i, a, sizeof(a));

		same += n > 0 && image_bytes(&service, number + 1, i, b, sizeof(b)) == n &&
			memcmp(a, b, n) == 0;
	}
	CHECK(same == CART_IMAGES, "a scan in disorder: the same images (%u)", same);
}

static int by_size(const void *a, const void *b)
{
	const double d = *(const double *)a - *(const double *)b;

	return (d > 0.0) - (d < 0.0);
}

static void say_times(int which)
{
	const unsigned n = kills[which] < SAMPLES ? kills[which] : SAMPLES;
	double *ms = ready_ms[which];

	qsort(ms, n, sizeof(*ms), by_size);
	if (n > 0)
		printf("# %s ready again after %u kills: p50 %.1f, p99 %.1f, max %.1f ms\n",
		       workers[which], n, ms[n / 2], ms[(n - 1) * 99 / 100], ms[n - 1]);
}

int main(int argc, char **argv)
{
	const unsigned scans = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

	if (argc > 2)
		random_state = (uint64_t)atoll(argv[2]);
	CHECK(service_start_with(&service, SERVICE_PATIENT,
				 "log: { dir = \"logs\"; };\n"
				 "endpoints: { archive = \"\"; };\n" SERVICE_SINKS
				 "protocols = ( " SERVICE_CART "{ name = \"spokes\"; method = "
				 "\"gridding\"; " SERVICE_SPOKES "} );\n",
				 NULL) &&
		      prepare(),
	      "a service, and a scan to send");
	if (check_failed != 0)
		return check_done();
	play(1, false);
	for (unsigned i = 0; i < scans; i++)
		play(2 + i, true);
	CHECK(kills[1] == 0 ||
		      service_logged(&service, "it gets the scan's readouts again, from the log"),
	      "the log was read");
	test_disorder(2 + scans);
	say_times(0);
	say_times(1);
	CHECK(service_number(&service, "\"acquisitions\",\"slots\"", "in_use") == 0 &&
		      service_number(&service, "\"images\",\"slots\"", "in_use") == 0,
	      "after all that, no slot is lost");
	bs_replay_close(recording);
	return service_end(&service);
}
