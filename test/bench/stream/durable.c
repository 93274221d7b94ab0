/*
 * test/bench/stream/durable.c - what a log costs: the same stream to a service that logs it
 * (durable) and to one that keeps no log (off), in turns of blocks; and how far durable lags behind
 * held
 *
 * usage: bench durable [--rows 'durable latency'|'durable lag']; by the environment:
 *   BORESIDE  the service; the one that was built beside this program unless it is given
 *   LOGS      the folder, on the disk in question, that the log is made in (.)
 *   BACKEND   of the protocols: host or cuda (what was built)
 *   WAIT      realtime.wait of both services: block or poll (block)
 *   FRAMES    of a block (12000), TURNS of both (2), RATE frames a second (200), WARM frames of a
 *             scan before those that count (100)
 *   LAG_FRAMES of the lag's stream (3000), at 25 a second
 * bench beside, the same of a service that keeps no log: with the page, the metrics and the MRD
 * bridge on, 50 browsers that look (five of them ask for the metrics, too) and one that never
 * reads, beside alone. bench sealed: k-space over tcp, sealed, beside tcp as it is. bench prepared:
 * coils whitened and compressed from 8 to 4 beside the stream as it comes; neither is logged. bench
 * previews: with a preview every PREVIEW readouts of 34 (8), beside without; METHOD ls: ten
 * iterations of ls in gridding's place. bench second: while a second service reconstructs on the
 * same GPU (second.h), beside alone. The last three have one service for both sides, which differ
 * by their protocol or by what runs beside: two services that are alike differ by 10 to 20 %.
 * bench signed: the lag of a service that signs its logs beside one that does not, TURNS blocks of
 * LAG_FRAMES in turns (RATE 25, COILS 4, SAMPLES 128, METHOD gridding).
 *
 * The services run all the time; a block is one scan to one of them, as WIRE.md asks. Latencies
 * (stream.h) are pooled over the blocks.
 * Lag by the sender's books: from the ACK that said that a message is held to the one that said
 * that it is durable; beside it the service's own histogram.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "ipc/seal/keys.h"
#include "test/bench/bench.h"
#include "test/bench/stream/crowd.h"
#include "test/bench/stream/lag.h"
#include "test/bench/stream/second.h"
#include "test/bench/stream/stream.h"

#define READOUTS BS_STREAM_READOUTS
#define SIDES    2
#define BROWSERS 50u
#define STUCK    1u

/* What is compared: the first with the second. */
enum compared { DURABLE, BESIDE, SEALED, PREPARED, PREVIEWS, SECOND, SIGNED };
static const struct {
	const char *mode[SIDES], *aim;
} compare[] = {
	[DURABLE] = { { "durable", "off" }, "p99; the aim is 1.05 pooled" },
	[BESIDE] = { { "beside", "alone" }, "p99; the aim is 1.05 pooled" },
	[SEALED] = { { "sealed", "plain" }, "p99; the aim is 0.2 ms more, pooled" },
	[PREPARED] = { { "prepared", "as it comes" }, "p99; the aim is 1.1 pooled" },
	[PREVIEWS] = { { "previews", "without" }, "p99; the aim is 1.1 pooled" },
	[SECOND] = { { "second", "alone" }, "p99; the aim is 1.1 pooled" },
	[SIGNED] = { { "signed", "unsigned" }, "p99; the aim is 1.05 pooled" },
};
static enum compared compared;

/* Else each side has its own. */
static bool one_service(void)
{
	return compared == PREPARED || compared == PREVIEWS || compared == SECOND;
}

static struct side side[SIDES];
static unsigned frames, turns;
static unsigned warm; /* frames of a scan before those that count */
static char logs[PATH_MAX];
static struct bs_seal_keys keys; /* the sender's */

static const char *waiting(void)
{
	const char *wait = getenv("WAIT");

	return wait != NULL ? wait : "block";
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

/* A port that is free now; another program may take it before the service does: start says so. */
static unsigned free_port(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t n = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&in, n) != 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &n) != 0)
		in.sin_port = 0;
	if (fd >= 0)
		(void)close(fd);
	return ntohs(in.sin_port);
}

/* The part of the site file that is compared; url: where k-space goes, over tcp, or "". */
static bool put_compared(char *out, size_t cap, int which, char url[128])
{
	char path[PATH_MAX + 16], text[BS_KEY_TEXT_MAX];
	struct bs_ik_pair own, sender;

	out[0] = url[0] = '\0';
	if (compared == SIGNED)
		return lag_put_log(out, cap, logs, which);
	if (compared == DURABLE)
		(void)snprintf(out, cap,
			       "log: { dir = \"%s\"; mode = \"%s\"; buffer_mib = 512; "
			       "keep_mib = 1; };\n",
			       logs, compare[DURABLE].mode[which]);
	else if (compared == BESIDE && which == 0)
		(void)snprintf(out, cap,
			       "web: { listen = \"127.0.0.1:0\"; };\n"
			       "overload: { spill_dir = \"%s\"; };\n"
			       "endpoints: { images = \"ipc://%s/images.ipc\"; };\n"
			       "bridges: { mrd: { listen = \"tcp://127.0.0.1:0\"; }; };\n",
			       logs, logs);
	if (compared != SEALED)
		return true;
	(void)snprintf(url, 128, "tcp://127.0.0.1:%u", free_port());
	(void)snprintf(out, cap, "endpoints: { kspace = \"%s\"; };\n", url);
	if (which != 0)
		return true;
	(void)snprintf(path, sizeof(path), "%s/sender.key", logs);
	if (bs_seal_key_make(&sender, path, NULL) != 0)
		return false;
	(void)snprintf(path, sizeof(path), "%s/own.key", logs);
	if (bs_seal_key_make(&own, path, NULL) != 0)
		return false;
	bs_seal_key_text(text, sender.pub);
	(void)snprintf(out + strlen(out), cap - strlen(out),
		       "keys: { own = \"%s\"; peers = ( { name = \"mr1\"; key = \"%s\"; "
		       "roles = [ \"scanner\" ]; } ); };\n",
		       path, text);
	bs_seal_key_text(text, own.pub);
	(void)snprintf(path, sizeof(path), "%s/sender.key", logs);
	return bs_seal_keys_client(&keys, path, text, NULL) == 0;
}

/* What a side sends, in a protocol of its own where one service has both sides'. */
static struct stream stream_of(const struct stream *t, int which)
{
	struct stream its = *t;

	its.protocol = which != 0 && one_service() && compared != SECOND ? "without" : "stream";
	its.preview = compared == PREVIEWS && which == 0 ? lag_setting("PREVIEW", 8) : 0;
	its.prepared = compared == PREPARED && which == 0;
	return its;
}

static bool start(struct side *s, int which, const struct stream *t)
{
	char body[2 * PATH_MAX + 4096], more[2 * PATH_MAX + 400], url[128];
	char protocol[SIDES][1024] = { "", "" };
	const struct stream its[SIDES] = { stream_of(t, which), stream_of(t, 1) };

	if (!put_compared(more, sizeof(more), which, url))
		return false;
	stream_protocol(protocol[0], sizeof(protocol[0]), &its[0]);
	if (strcmp(its[0].protocol, its[1].protocol) != 0)
		stream_protocol(protocol[1], sizeof(protocol[1]), &its[1]);
	(void)snprintf(body, sizeof(body),
		       "%srealtime: { wait = \"%s\"; };\nprotocols = ( %s%s%s );\n", more,
		       waiting(), protocol[0], protocol[1][0] != '\0' ? ", " : "", protocol[1]);
	if (!service_start_with(&s->service,
				SERVICE_PATIENT " board = \"workstation\"; acq_slots = 1024; "
						"threads = 2; memory_mib = 16384;",
				body, NULL) ||
	    bs_endpoint_connect_sealed(
		    &s->p.socket, BS_ENDPOINT_KSPACE, url[0] != '\0' ? url : s->service.kspace,
		    sizeof(s->p.in), compared == SEALED && which == 0 ? &keys : NULL, NULL) != 0 ||
	    bs_endpoint_connect(&s->archive, BS_ENDPOINT_ARCHIVE_IN, s->service.archive,
				BS_STREAM_IMAGE, NULL) != 0 ||
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

/* What its blocks gave goes to the other side. */
static void exchange(struct side *a, struct side *b)
{
	const struct side t = *a;

	a->service_us = b->service_us;
	a->outside_us = b->outside_us;
	a->previews = b->previews;
	a->held_up = b->held_up;
	a->unprotected = b->unprotected;
	b->service_us = t.service_us;
	b->outside_us = t.outside_us;
	b->previews = t.previews;
	b->held_up = t.held_up;
	b->unprotected = t.unprotected;
}

static bool play_by_first(struct side *s, const struct stream *t, unsigned n, bool counts)
{
	bool good;

	if (s == &side[0])
		return stream_play(s, t, n, counts, NULL);
	exchange(s, &side[0]);
	good = stream_play(&side[0], t, n, counts, NULL);
	exchange(s, &side[0]);
	return good;
}

static bool play(struct side *s, const struct stream *t, unsigned n, bool counts)
{
	const struct stream its = stream_of(t, (int)(s - side));

	return one_service() ? play_by_first(s, &its, n, counts)
			     : stream_play(s, &its, n, counts, NULL);
}

static bool play_block(struct side *s, const struct stream *t)
{
	struct crowd_counts sum = { 0 };
	bool good;

	if (s != &side[0] || (compared != SECOND && compared != BESIDE))
		return play(s, t, frames, true);
	if (compared == SECOND) {
		good = second_play() && play(s, t, frames, true);
		return second_rest() && good;
	}
	good = look(s) && play(s, t, frames, true);
	crowd_end(&sum);
	printf("  %u browsers: %llu answers, %llu pictures, %.1f MiB, %llu failures\n", BROWSERS,
	       (unsigned long long)sum.answers, (unsigned long long)sum.pictures,
	       (double)sum.bytes / (1 << 20), (unsigned long long)sum.failures);
	return good;
}

/* ---- latency ---- */

/* Of one block alone: whether the machine stayed the same. */
static void print_block(const struct side *s, size_t from)
{
	struct times t = { malloc((s->service_us.n - from + 1) * sizeof(double)), 0 };

	for (size_t i = from; t.us != NULL && i < s->service_us.n; i++)
		keep(&t, s->service_us.us[i]);
	if (t.n > 0) {
		qsort(t.us, t.n, sizeof(double), ascending);
		printf("  block of %s: p50 %.0f, p99 %.0f, p99.9 %.0f, max %.0f us\n",
		       compare[compared].mode[s - side], at(&t, 0.5), at(&t, 0.99), at(&t, 0.999),
		       t.us[t.n - 1]);
	}
	(void)fflush(stdout);
	free(t.us);
}

/* The stages of a protocol's images, by the service's own histograms. */
static void print_stages(const struct service *s, const char *protocol)
{
	static char doc[200000];
	char *save = NULL;
	char *line;

	if (!service_ask(s, "text", doc, sizeof(doc)))
		return;
	for (line = strtok_r(doc, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
		if (strncmp(line, protocol, strlen(protocol)) == 0 ||
		    strncmp(line, "protocol  ", 10) == 0)
			printf("  %s\n", line);
}

static void report(struct bs_bench *b)
{
	struct side *d = &side[0];
	struct side *o = &side[1];
	const char *const *mode = compare[compared].mode;

	for (int i = 0; i < SIDES; i++) {
		struct side *s = &side[i];

		qsort(s->service_us.us, s->service_us.n, sizeof(double), ascending);
		qsort(s->outside_us.us, s->outside_us.n, sizeof(double), ascending);
		printf("%s, %u blocks, %u previews; the window was full %u times; at most %llu "
		       "messages unprotected\n",
		       compare[compared].mode[i], turns, s->previews, s->held_up,
		       (unsigned long long)s->unprotected);
		lag_print_times("service", &s->service_us);
		lag_print_times("outside", &s->outside_us);
		if (compared != SECOND) /* there the stages are those of both */
			print_stages(&(one_service() ? d : s)->service,
				     one_service() && i != 0 ? "without " : "stream ");
	}
	printf("%s\n", compare[compared].aim);
	lag_print_ratio(mode, "service", &d->service_us, &o->service_us, 0.99);
	lag_print_ratio(mode, "outside", &d->outside_us, &o->outside_us, 0.99);
	printf("p99.9\n");
	lag_print_ratio(mode, "service", &d->service_us, &o->service_us, 0.999);
	lag_print_ratio(mode, "outside", &d->outside_us, &o->outside_us, 0.999);
	for (int i = 0; i < SIDES; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "%s latency service%s%s",
			       compare[compared].mode[0], i != 0 ? " " : "",
			       i != 0 ? compare[compared].mode[1] : "");
		lag_print_json(b, name, &side[i].service_us,
			       i != 0 ? 0.0 : at(&o->service_us, 0.5));
		(void)snprintf(name, sizeof(name), "%s latency outside%s%s",
			       compare[compared].mode[0], i != 0 ? " " : "",
			       i != 0 ? compare[compared].mode[1] : "");
		lag_print_json(b, name, &side[i].outside_us,
			       i != 0 ? 0.0 : at(&o->outside_us, 0.5));
	}
}

static void bench_latency(struct bs_bench *b)
{
	const char *backend = getenv("BACKEND");
	const char *method = getenv("METHOD");
	struct stream t = { .method = method != NULL ? method : "gridding",
			    .matrix = 256,
			    .coils = 8,
			    .samples = 512,
			    .readouts = READOUTS,
			    .rate = lag_setting("RATE", 200),
			    .iterations = method != NULL && strcmp(method, "ls") == 0 ? 10 : 0 };
	bool good = true;

	(void)snprintf(t.backend, sizeof(t.backend), "%s",
		       backend != NULL ? backend
		       : BS_GPU        ? "cuda"
				       : "host");
	if (compared == SECOND)
		good = second_start(t.backend, waiting());
	for (int i = 0; good && i < SIDES; i++) {
		room(&side[i].service_us, (size_t)turns * frames);
		room(&side[i].outside_us, (size_t)turns * frames);
		good = ((one_service() && i > 0) || start(&side[i], i, &t)) &&
		       play(&side[i], &t, warm, false);
	}
	printf("%s/%s, %u frames/s of %u readouts of %u x %u samples, image %u x %u; blocks "
	       "of %u frames in turns, wait %s\n",
	       t.method, t.backend, t.rate, READOUTS, t.coils, t.samples, t.matrix, t.matrix,
	       frames, waiting());
	for (unsigned n = 0; good && n < turns * SIDES; n++) {
		struct side *s = &side[(n + n / SIDES) % SIDES]; /* who is first changes */
		const size_t from = s->service_us.n;

		await_pruned();
		good = play_block(s, &t);
		print_block(s, from);
	}
	if (good)
		report(b);
	check_failed += !good;
	second_stop();
	for (int i = 0; i < SIDES; i++) {
		stop(&side[i]);
		free(side[i].service_us.us);
		free(side[i].outside_us.us);
	}
}

static void bench_lag(struct bs_bench *b, bool signs)
{
	const struct stream t = lag_stream();
	const unsigned n = lag_setting("LAG_FRAMES", 3000);
	const unsigned sides = signs ? SIDES : 1;
	bool good = true;

	for (unsigned i = 0; good && i < sides; i++)
		good = start(&side[i], (int)i, &t);
	good = good && lag_play(b, side, sides, turns, n);
	check_failed += !good;
	for (unsigned i = 0; i < sides; i++)
		stop(&side[i]);
}

static int bench_compared(struct bs_bench *b, enum compared what)
{
	const unsigned lag_frames = lag_setting("LAG_FRAMES", 3000);
	char self[512], row[32];

	compared = what;
	frames = lag_setting("FRAMES", 12000);
	turns = lag_setting("TURNS", 2);
	warm = lag_setting("WARM", 100);
	if (!stream_room(frames + lag_frames + warm) || !bs_bench_find_service(self) ||
	    !make_logs()) {
		printf("no memory, no service or no folder for logs\n");
		return 1;
	}
	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	bs_endpoint_tune_malloc(BS_STREAM_PAYLOAD);
	if (what == SIGNED || (what == DURABLE && bs_bench_wanted(b, "durable lag")))
		bench_lag(b, what == SIGNED);
	(void)snprintf(row, sizeof(row), "%s latency", compare[what].mode[0]);
	if (what != SIGNED && check_failed == 0 && bs_bench_wanted(b, row))
		bench_latency(b);
	remove_logs();
	stream_free();
	return check_failed != 0;
}

int bs_bench_durable(struct bs_bench *b)
{
	return bench_compared(b, DURABLE);
}

int bs_bench_beside(struct bs_bench *b)
{
	return bench_compared(b, BESIDE);
}

int bs_bench_sealed(struct bs_bench *b)
{
	return bench_compared(b, SEALED);
}

int bs_bench_prepared(struct bs_bench *b)
{
	return bench_compared(b, PREPARED);
}

int bs_bench_previews(struct bs_bench *b)
{
	return bench_compared(b, PREVIEWS);
}

int bs_bench_signed(struct bs_bench *b)
{
	return bench_compared(b, SIGNED);
}

int bs_bench_second_protocol(struct bs_bench *b)
{
	return bench_compared(b, SECOND);
}
