/*
 * test/bench/durable.c - what a log costs: the same stream to a service that logs it (durable) and
 * to one that keeps no log (off), in turns of blocks; and how far durable lags behind held
 *
 * usage: bench durable [--rows 'durable latency'|'durable lag']; by the environment:
 *   BORESIDE  the service; the one that was built beside this program unless it is given
 *   LOGS      the folder, on the disk in question, that the log is made in (.)
 *   BACKEND   of the protocols: host or cuda (what was built)
 *   FRAMES    of a block (12000), TURNS of both (2), RATE frames a second (200)
 *   LAG_FRAMES of the lag's stream (3000), at 25 a second
 * bench beside, the same of a service that keeps no log: with the page on, 50 browsers that look
 * and one that never reads, beside alone.
 *
 * Both services run all the time; a block is one scan to one of them, as WIRE.md asks. Latency is
 * that of each image, pooled over the blocks: "service" from the last readout received to the image
 * handed on, by the service's own stamps; "outside" from that readout about to be handed to the
 * sender's socket to the image in the archive's hands.
 * Lag by the sender's books: from the ACK that said that a message is held to the one that said
 * that it is durable; beside it the service's own histogram.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>

#include "test/bench/bench.h"
#include "test/bench/crowd.h"
#include "test/bench/times.h"
#include "test/support/service.h"

#define READOUTS  34u
#define PAYLOAD   (BS_MRD_ACQ_BYTES + 8u * 512u * 8u) /* the longest: 8 coils of 512 samples */
#define IMAGE_MAX ((size_t)1 << 20)
#define SIDES     2
#define WARM      100u /* frames of a scan before those that count */

/* What is compared: the first with the second. */
static const char *const logged[SIDES] = { "durable", "off" };
static const char *const watched[SIDES] = { "beside", "alone" };
static const char *const *modes = logged;
#define BROWSERS 50u
#define STUCK    1u

struct side {
	struct service service;
	struct peer p;
	struct bs_endpoint archive;
	struct times service_us, outside_us; /* of all blocks */
	unsigned held_up;                    /* the window was full so often */
	uint64_t unprotected;
};

/* What is sent, and how it is reconstructed. */
struct stream {
	char backend[8];
	unsigned matrix, coils, samples, rate;
};

static struct side side[SIDES];
static _Alignas(8) unsigned char payload[PAYLOAD];
static _Atomic int64_t *sent_ns; /* [frame] the last readout was about to be sent */
static unsigned frames, turns;
static char logs[PATH_MAX];

/* The block that runs, for the thread that takes its images. */
static struct {
	struct side *to;
	unsigned frames;
	bool counts;
	_Atomic unsigned came;
	_Atomic bool over;
} block;

static unsigned setting(const char *name, unsigned standard)
{
	const char *text = getenv(name);
	const unsigned long n = text != NULL ? strtoul(text, NULL, 10) : 0;

	return n > 0 && n < 10000000 ? (unsigned)n : standard;
}

/* ---- images ---- */

static int64_t received_ns(const unsigned char *msg, size_t len)
{
	static const char key[] = "<name>boreside_received_ns</name><value>";
	const char *found = memmem(msg, len, key, sizeof(key) - 1);

	return found != NULL ? strtoll(found + sizeof(key) - 1, NULL, 10) : 0;
}

static void *take_images(void *arg)
{
	static unsigned char image[IMAGE_MAX];
	struct side *s = block.to;
	size_t len;

	(void)arg;
	while (!atomic_load(&block.over) || atomic_load(&block.came) < block.frames) {
		const unsigned char *body;
		struct bs_wire w;
		int64_t now;

		if (bs_endpoint_recv(&s->archive, image, sizeof(image), &len, 1000, NULL) != 0) {
			if (atomic_load(&block.over))
				break;
			continue;
		}
		now = bs_now_ns();
		if (bs_wire_decode(&w, image, len, &body, NULL) != 0 || w.session != s->p.session ||
		    w.seq < 1 || w.seq > block.frames)
			continue;
		atomic_fetch_add(&block.came, 1);
		if (!block.counts)
			continue;
		keep(&s->service_us, (double)(w.time_ns - received_ns(image, len)) * 1e-3);
		keep(&s->outside_us, (double)(now - atomic_load(&sent_ns[w.seq - 1])) * 1e-3);
	}
	return NULL;
}

/* ---- the sender ---- */

/* Of each message of a window, when its being held was first heard of. */
struct books {
	int64_t held_ns[16384];
	uint64_t held, durable;
	struct times lag_us;
};

static void note_ack(const struct peer *p, struct books *b)
{
	const int64_t now = bs_now_ns();

	while (b->held < p->ack.held)
		b->held_ns[++b->held % 16384] = now;
	while (b->durable < p->ack.durable && b->durable < b->held) {
		const int64_t ns = now - b->held_ns[++b->durable % 16384];

		keep(&b->lag_us, (double)ns * 1e-3);
	}
}

static void hear_all(struct side *s, struct books *b)
{
	while (peer_hear(&s->p, 0)) {
		if (s->p.w.kind != BS_WIRE_ACK)
			continue;
		if (s->p.ack.unprotected > s->unprotected)
			s->unprotected = s->p.ack.unprotected;
		if (b != NULL)
			note_ack(&s->p, b);
	}
}

static void pace(struct side *s, struct books *b, int64_t due_ns)
{
	do {
		struct pollfd fd = { s->p.socket.receive_fd, POLLIN, 0 };

		hear_all(s, b);
		if (bs_now_ns() < due_ns)
			(void)bs_endpoint_wait(&fd, 1, due_ns, NULL);
	} while (bs_now_ns() < due_ns);
}

static bool begin(struct side *s, const struct stream *t)
{
	char xml[SERVICE_XML_MAX];
	int n = snprintf(
		xml, sizeof(xml),
		"<ismrmrdHeader><acquisitionSystemInformation><receiverChannels>%u"
		"</receiverChannels></acquisitionSystemInformation><encoding><encodedSpace>"
		"<matrixSize><x>%u</x><y>%u</y><z>1</z></matrixSize><fieldOfView_mm><x>256</x>"
		"<y>256</y><z>5</z></fieldOfView_mm></encodedSpace><reconSpace><matrixSize>"
		"<x>%u</x><y>%u</y><z>1</z></matrixSize><fieldOfView_mm><x>256</x><y>256</y><z>5"
		"</z></fieldOfView_mm></reconSpace><trajectory>radial</trajectory></encoding>"
		"</ismrmrdHeader>",
		t->coils, t->matrix, t->matrix, t->matrix, t->matrix);

	return peer_begin_with(&s->p, "stream", xml, (size_t)n);
}

static size_t make_readout(const struct stream *t, unsigned line, unsigned frame)
{
	struct bs_mrd_acq a = { .version = 1,
				.scan_counter = line + 1,
				.number_of_samples = (uint16_t)t->samples,
				.available_channels = (uint16_t)t->coils,
				.active_channels = (uint16_t)t->coils };

	a.idx.kspace_encode_step_1 = (uint16_t)line;
	a.idx.repetition = (uint16_t)frame;
	bs_mrd_put_acq(payload, &a);
	return BS_MRD_ACQ_BYTES + (size_t)t->coils * t->samples * 8;
}

/* At most a window of messages that are not durable. */
static bool within_window(struct side *s, struct books *b)
{
	const uint32_t window = s->p.answer.window;

	if (s->p.seq <= s->p.ack.durable + window)
		return true;
	s->held_up++;
	for (int64_t limit = await_limit(); s->p.seq > s->p.ack.durable + window;) {
		if (bs_now_ns() > limit)
			return false;
		pace(s, b, bs_now_ns() + 100000);
	}
	return true;
}

static bool send_frames(struct side *s, const struct stream *t, unsigned n, struct books *b)
{
	const double step_ns = 1e9 / ((double)t->rate * READOUTS);
	const int64_t start = bs_now_ns() + 1000000;

	s->p.ack = (struct bs_wire_ack){ 0 };
	for (unsigned f = 0; f < n; f++)
		for (unsigned i = 0; i < READOUTS; i++) {
			const size_t bytes = make_readout(t, i, f);

			pace(s, b, start + (int64_t)(step_ns * ((double)f * READOUTS + i)));
			if (!within_window(s, b))
				return false;
			if (i == READOUTS - 1)
				atomic_store(&sent_ns[f], bs_now_ns());
			if (!peer_say(&s->p, BS_WIRE_ACQ, s->p.seq++, payload, bytes))
				return false;
		}
	if (b != NULL) /* while the last ones wait for the disk */
		pace(s, b, bs_now_ns() + 50000000);
	return peer_end(&s->p, (uint64_t)n * READOUTS);
}

/* One scan of n frames; its images are taken, and count or do not. */
static bool play(struct side *s, const struct stream *t, unsigned n, bool counts, struct books *b)
{
	pthread_t thread;
	bool good;

	if (!begin(s, t)) {
		printf("not accepted: %s\n", s->p.answer.text);
		return false;
	}
	block.to = s;
	block.frames = n;
	block.counts = counts;
	atomic_store(&block.came, 0);
	atomic_store(&block.over, false);
	if (pthread_create(&thread, NULL, take_images, NULL) != 0)
		return false;
	good = send_frames(s, t, n, b);
	atomic_store(&block.over, true);
	(void)pthread_join(thread, NULL);
	if (good && s->p.outcome.code == 0 && atomic_load(&block.came) == n)
		return true;
	printf("failed: %u of %u images, outcome %d: %s\n", atomic_load(&block.came), n,
	       s->p.outcome.code, s->p.outcome.text);
	return false;
}

/* ---- the services ---- */

/* Scans' logs are removed behind them (keep_mib = 1): that is over before the other one's turn. */
static void await_pruned(void)
{
	const int64_t until = bs_now_ns() + INT64_C(30000000000);
	unsigned there;

	do {
		DIR *d = opendir(logs);

		there = 0;
		for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
			there += strstr(e->d_name, ".bslog") != NULL;
		if (d != NULL)
			(void)closedir(d);
		await_pause_ms(200);
	} while (there > 1 && bs_now_ns() < until);
}

static bool start(struct side *s, const char *mode, const struct stream *t)
{
	char body[1024];
	char more[400];

	if (modes == logged)
		(void)snprintf(more, sizeof(more),
			       "log: { dir = \"%.240s\"; mode = \"%s\"; buffer_mib = 512; "
			       "keep_mib = 1; };\n",
			       logs, mode);
	else
		(void)snprintf(more, sizeof(more), "%s",
			       mode == watched[0] ? "web: { listen = \"127.0.0.1:0\"; };\n" : "");
	(void)snprintf(
		body, sizeof(body),
		"%s"
		"protocols = ( { name = \"stream\"; method = \"gridding\"; backend = \"%s\";\n"
		"    matrix = [%u, %u]; coils = %u; samples = %u; readouts = %u;\n"
		"    trajectory: { type = \"radial2d\"; }; silence_ms = 60000.0;\n"
		"    gridding: { accuracy = 1.0e-3; }; } );\n",
		more, t->backend, t->matrix, t->matrix, t->coils, t->samples, READOUTS);
	if (!service_start_with(&s->service,
				SERVICE_PATIENT " board = \"workstation\"; acq_slots = 1024; "
						"threads = 2; memory_mib = 16384;",
				body, NULL) ||
	    !peer_open(&s->p, &s->service) ||
	    bs_endpoint_connect(&s->archive, BS_ENDPOINT_ARCHIVE_IN, s->service.archive, IMAGE_MAX,
				NULL) != 0 ||
	    !service_meets(&s->service, &s->archive)) {
		service_print_log(&s->service);
		return false;
	}
	return true;
}

static void stop(struct side *s)
{
	if (s->service.pid <= 0)
		return;
	bs_endpoint_close(&s->archive);
	peer_close(&s->p);
	if (service_stop(&s->service) != 0)
		check_failed++;
	service_remove(&s->service);
}

static bool make_logs(void)
{
	const char *where = getenv("LOGS");
	char dir[PATH_MAX];

	(void)snprintf(dir, sizeof(dir), "%.3000s/bench-durable-XXXXXX",
		       where != NULL ? where : ".");
	return mkdtemp(dir) != NULL && realpath(dir, logs) != NULL;
}

static void remove_logs(void)
{
	DIR *d = opendir(logs);

	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
		(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d != NULL)
		(void)closedir(d);
	(void)rmdir(logs);
}

/* Those who look at the page of this side, while it is its turn; 0: nobody may. */
static bool look(const struct side *s)
{
	char path[128];
	unsigned port = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/run/web.url", s->service.dir);
	for (int64_t limit = await_limit(); port == 0 && bs_now_ns() < limit;) {
		f = fopen(path, "r");
		if (f != NULL && fscanf(f, "http://127.0.0.1:%u/", &port) != 1)
			port = 0;
		if (f != NULL)
			(void)fclose(f);
	}
	return port != 0 && crowd_begin(port, BROWSERS, STUCK);
}

static bool play_watched(struct side *s, const struct stream *t)
{
	struct crowd_counts sum = { 0 };
	bool good;

	if (modes[s - side] != watched[0])
		return play(s, t, frames, true, NULL);
	good = look(s) && play(s, t, frames, true, NULL);
	crowd_end(&sum);
	printf("  %u browsers: %llu answers, %llu pictures, %.1f MiB, %llu failures\n", BROWSERS,
	       (unsigned long long)sum.answers, (unsigned long long)sum.pictures,
	       (double)sum.bytes / (1 << 20), (unsigned long long)sum.failures);
	return good;
}

/* ---- latency ---- */

static void print_times(const char *what, const struct times *t)
{
	double low;
	double high;

	interval(t, 0.999, 0.05, &low, &high);
	printf("  %-9s N %6zu  p50 %7.0f  p99 %7.0f  p99.9 %7.0f [%.0f, %.0f]  max %7.0f us\n",
	       what, t->n, at(t, 0.5), at(t, 0.99), at(t, 0.999), low, high, t->us[t->n - 1]);
}

static void print_ratio(const char *what, const struct times *durable, const struct times *off,
			double q)
{
	double low[SIDES];
	double high[SIDES];

	interval(durable, q, 0.025, &low[0], &high[0]);
	interval(off, q, 0.025, &low[1], &high[1]);
	printf("  %-9s %s over %s %.3f [%.3f, %.3f]\n", what, modes[0], modes[1],
	       at(durable, q) / at(off, q), low[0] / high[1], high[0] / low[1]);
}

static void print_json(struct bs_bench *b, const char *name, const struct times *t,
		       double reference)
{
	char detail[200];
	double low;
	double high;

	interval(t, 0.999, 0.05, &low, &high);
	(void)snprintf(detail, sizeof(detail),
		       "p99 %.1f us, p99.9 %.1f us, of that 95 %% in %.1f to %.1f, max %.1f us",
		       at(t, 0.99), at(t, 0.999), low, high, t->us[t->n - 1]);
	bs_bench_json(b, &(struct bs_bench_row){ .name = name,
						 .median_ms = at(t, 0.5) * 1e-3,
						 .min_ms = t->us[0] * 1e-3,
						 .n = (int)t->n,
						 .reference_ms = reference * 1e-3,
						 .detail = detail });
}

/* Of one block alone: whether the machine stayed the same. */
static void print_block(const struct side *s, size_t from)
{
	struct times t = { malloc((s->service_us.n - from + 1) * sizeof(double)), 0 };

	for (size_t i = from; t.us != NULL && i < s->service_us.n; i++)
		keep(&t, s->service_us.us[i]);
	if (t.n > 0) {
		qsort(t.us, t.n, sizeof(double), ascending);
		printf("  block of %s: p50 %.0f, p99 %.0f, p99.9 %.0f, max %.0f us\n",
		       modes[s - side], at(&t, 0.5), at(&t, 0.99), at(&t, 0.999), t.us[t.n - 1]);
	}
	(void)fflush(stdout);
	free(t.us);
}

static void report(struct bs_bench *b)
{
	struct side *d = &side[0];
	struct side *o = &side[1];

	for (int i = 0; i < SIDES; i++) {
		struct side *s = &side[i];

		qsort(s->service_us.us, s->service_us.n, sizeof(double), ascending);
		qsort(s->outside_us.us, s->outside_us.n, sizeof(double), ascending);
		printf("%s, %u blocks; the window was full %u times; at most %llu messages "
		       "unprotected\n",
		       modes[i], turns, s->held_up, (unsigned long long)s->unprotected);
		print_times("service", &s->service_us);
		print_times("outside", &s->outside_us);
	}
	printf("p99; the aim is 1.05 pooled\n");
	print_ratio("service", &d->service_us, &o->service_us, 0.99);
	print_ratio("outside", &d->outside_us, &o->outside_us, 0.99);
	printf("p99.9\n");
	print_ratio("service", &d->service_us, &o->service_us, 0.999);
	print_ratio("outside", &d->outside_us, &o->outside_us, 0.999);
	if (modes == watched) {
		print_json(b, "beside latency service", &d->service_us, at(&o->service_us, 0.5));
		print_json(b, "beside latency service alone", &o->service_us, 0.0);
		return;
	}
	print_json(b, "durable latency service", &d->service_us, at(&o->service_us, 0.5));
	print_json(b, "durable latency service off", &o->service_us, 0.0);
	print_json(b, "durable latency outside", &d->outside_us, at(&o->outside_us, 0.5));
	print_json(b, "durable latency outside off", &o->outside_us, 0.0);
}

static void bench_latency(struct bs_bench *b)
{
	const char *backend = getenv("BACKEND");
	struct stream t = {
		.matrix = 256, .coils = 8, .samples = 512, .rate = setting("RATE", 200)
	};
	bool good = true;

	(void)snprintf(t.backend, sizeof(t.backend), "%s",
		       backend != NULL ? backend
		       : BS_GPU        ? "cuda"
				       : "host");
	for (int i = 0; good && i < SIDES; i++) {
		room(&side[i].service_us, (size_t)turns * frames);
		room(&side[i].outside_us, (size_t)turns * frames);
		good = start(&side[i], modes[i], &t) && play(&side[i], &t, WARM, false, NULL);
	}
	printf("gridding/%s, %u frames/s of %u readouts of %u x %u samples, image %u x %u; blocks "
	       "of %u frames in turns\n",
	       t.backend, t.rate, READOUTS, t.coils, t.samples, t.matrix, t.matrix, frames);
	for (unsigned n = 0; good && n < turns * SIDES; n++) {
		struct side *s = &side[(n + n / SIDES) % SIDES]; /* who is first changes */
		const size_t from = s->service_us.n;

		await_pruned();
		good = play_watched(s, &t);
		print_block(s, from);
	}
	if (good)
		report(b);
	check_failed += !good;
	for (int i = 0; i < SIDES; i++) {
		stop(&side[i]);
		free(side[i].service_us.us);
		free(side[i].outside_us.us);
	}
}

/* ---- lag ---- */

/* What the status says of commits and of the lag: two objects, one after the other. */
static void print_own(const struct service *s)
{
	static char doc[200000];
	const char *from;
	const char *to;

	if (!service_ask(s, "json", doc, sizeof(doc)))
		return;
	from = strstr(doc, "\"commit\":{");
	to = from != NULL ? strstr(from, "\"lag\":{") : NULL;
	if (to != NULL)
		printf("  the service's own: %.*s}\n", (int)(to - from + (long)strcspn(to, "}")),
		       from);
}

static void bench_lag(struct bs_bench *b)
{
	static struct side s;
	static struct books books;
	const struct stream t = {
		.backend = "host", .matrix = 128, .coils = 4, .samples = 128, .rate = 25
	};
	const unsigned n = setting("LAG_FRAMES", 3000);
	bool good;

	room(&books.lag_us, (size_t)n * READOUTS + 2);
	good = start(&s, "durable", &t) && play(&s, &t, n, false, &books) && books.lag_us.n > 0;
	if (good) {
		qsort(books.lag_us.us, books.lag_us.n, sizeof(double), ascending);
		printf("durable behind held, gridding/host, %u frames/s of %u readouts of %u x %u "
		       "samples; the aim is 5000 us at p99; at most %llu unprotected\n",
		       t.rate, READOUTS, t.coils, t.samples, (unsigned long long)s.unprotected);
		print_times("lag", &books.lag_us);
		print_own(&s.service);
		print_json(b, "durable lag", &books.lag_us, 0.0);
	}
	check_failed += !good;
	stop(&s);
	free(books.lag_us.us);
}

int bs_bench_beside(struct bs_bench *b)
{
	modes = watched;
	return bs_bench_durable(b);
}

int bs_bench_durable(struct bs_bench *b)
{
	const unsigned lag_frames = setting("LAG_FRAMES", 3000);
	float *values = (float *)(payload + BS_MRD_ACQ_BYTES); /* 340 is a multiple of 4 */
	char self[512];

	frames = setting("FRAMES", 12000);
	turns = setting("TURNS", 2);
	sent_ns = calloc((size_t)frames + lag_frames + WARM, sizeof(*sent_ns));
	if (sent_ns == NULL || !bs_bench_find_service(self) || !make_logs()) {
		printf("no memory, no service or no folder for logs\n");
		return 1;
	}
	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	bs_endpoint_tune_malloc(PAYLOAD);
	for (size_t i = 0; i < (PAYLOAD - BS_MRD_ACQ_BYTES) / sizeof(float); i++)
		values[i] = (float)(i % 977) - 488.0f;
	if (modes == logged && bs_bench_wanted(b, "durable lag"))
		bench_lag(b);
	if (check_failed == 0 &&
	    bs_bench_wanted(b, modes == logged ? "durable latency" : "beside latency"))
		bench_latency(b);
	remove_logs();
	free(sent_ns);
	return check_failed != 0;
}
