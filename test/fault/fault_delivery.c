/*
 * test/fault/fault_delivery.c - images that were counted as delivered have arrived: by the books of
 * an archive that takes its time, over emit's kills and the service's end; by the files, over a
 * disk that is read only for a while
 *
 * fault_delivery [ROUNDS [CASE]]: all of it so many times, each policy, 30 images of 3.5 MB; or the
 * case of that number alone, from 0
 */
/* Holds: W62 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/files.h"
#include "test/support/wide.h"

#define SIDE    470u
#define LARGEST (WIDE_BYTES(SIDE) + 65536u)
#define MOST    64u

/* What is done to emit, or to the service, in the middle of a scan. */
enum deed { KILL, CRASH, TERM };

static const char *const deeds[] = { "emit is killed", "emit crashes", "the service is ended" };
static struct service service;
static struct peer p;

/* ---- the archive, a thread with a book of its own ---- */

static struct {
	_Atomic unsigned came[MOST], have;
	char url[160];
	int pause_ms; /* how long it is at each image */
	bool asks;
	_Atomic bool quit, there;
	_Atomic int64_t at_ns; /* the last image came */
	pthread_t thread;
} archive;

static void note(const unsigned char *msg, size_t len)
{
	const unsigned char *payload;
	struct bs_wire w;

	if (bs_wire_decode(&w, msg, len, &payload, NULL) != 0 || w.seq >= MOST)
		return;
	atomic_store(&archive.at_ns, bs_now_ns());
	if (atomic_fetch_add(&archive.came[w.seq], 1) == 0)
		atomic_fetch_add(&archive.have, 1);
	await_pause_ms(archive.pause_ms);
}

/* One question on the images socket; *have: the number of the last image that it has. */
static void ask(struct bs_endpoint *e, unsigned char *msg, uint64_t *have)
{
	unsigned char question[BS_WIRE_BYTES + BS_WIRE_TAKER];
	struct bs_wire next = { .kind = BS_WIRE_NEXT, .seq = *have };
	const unsigned char *payload;
	const unsigned char *image;
	struct bs_wire w;
	uint64_t before;
	size_t len;

	bs_wire_put_next(question + BS_WIRE_BYTES, "slow");
	bs_wire_encode(question, &next, question + BS_WIRE_BYTES, BS_WIRE_TAKER);
	if (bs_endpoint_send(e, question, sizeof(question), NULL, 0, 100, NULL) != 0 ||
	    bs_endpoint_recv(e, msg, LARGEST, &len, 1000, NULL) != 0 ||
	    bs_wire_decode(&w, msg, len, &payload, NULL) != 0)
		return;
	atomic_store(&archive.there, true);
	if (w.kind != BS_WIRE_STORED) {
		await_pause_ms(2);
	} else if (bs_wire_get_stored(&before, &image, &len, payload, (size_t)w.payload_len,
				      NULL) == 0) {
		note(image, len);
		*have = w.seq;
	}
}

static void *take(void *arg)
{
	static unsigned char msg[LARGEST];
	struct bs_endpoint e;
	uint64_t have = 0;
	size_t len;

	(void)arg;
	if (bs_endpoint_connect(&e, archive.asks ? BS_ENDPOINT_IMAGES_ASK : BS_ENDPOINT_ARCHIVE_IN,
				archive.url, sizeof(msg), NULL) != 0)
		exit(1);
	while (!atomic_load(&archive.quit)) {
		if (archive.asks)
			ask(&e, msg, &have);
		else if (bs_endpoint_recv(&e, msg, sizeof(msg), &len, 50, NULL) == 0)
			note(msg, len);
		if (bs_endpoint_connections_now(&e) != 0 && !archive.asks)
			atomic_store(&archive.there, true);
	}
	bs_endpoint_close(&e);
	return NULL;
}

static bool archive_comes(bool asks, int pause_ms)
{
	memset(&archive, 0, sizeof(archive));
	archive.asks = asks;
	archive.at_ns = bs_now_ns();
	archive.pause_ms = pause_ms;
	(void)snprintf(archive.url, sizeof(archive.url), "%s", service.archive);
	if (asks)
		(void)snprintf(archive.url, sizeof(archive.url), "ipc://%s/run/images.ipc",
			       service.dir);
	if (pthread_create(&archive.thread, NULL, take, NULL) != 0)
		return false;
	AWAIT(atomic_load(&archive.there));
	return service_number(&service, "", "uptime_s") >= 0 &&
	       service_number(&service, "", "uptime_s") >= 0; /* it is admitted, service_meets */
}

static unsigned twice(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MOST; i++)
		n += archive.came[i] > 1 ? archive.came[i] - 1 : 0;
	return n;
}

/* ---- one scan ---- */

static bool hit_emit(int number)
{
	long pid = service_number(&service, "\"name\":\"emit\"", "pid");

	return pid > 0 && kill((pid_t)pid, number) == 0;
}

/* The archive has got nothing for so long that nothing comes any more. */
static bool idle(void)
{
	return bs_now_ns() - atomic_load(&archive.at_ns) > INT64_C(5000000000);
}

static long archive_number(const char *what)
{
	return service_number(&service, "\"consumer\":\"archive\"", what);
}

struct scan {
	const char *policy; /* of the PUSH archive; NULL: one that asks */
	enum deed deed;
	const char *protocol; /* cart, or big */
	unsigned images;
	int pause_ms; /* how slow the archive is */
	int pace_ms;  /* from frame to frame */
	unsigned queue;
};

static bool start(const struct scan *s)
{
	char body[4096];
	bool up;

	(void)snprintf(body, sizeof(body),
		       "overload: { archive = \"%s\"; queue = %u; spill_dir = \"spill\"; };\n"
		       "endpoints: { viewers = \"\"; %s };\nprotocols = ( " SERVICE_CART WIDE_ROW(
			       "big", "470") " );\n",
		       s->policy != NULL ? s->policy : "wait", s->queue,
		       s->policy != NULL ? ""
					 : "archive = \"\"; images = \"ipc://run/images.ipc\";");
	up = service_start_with(&service, SERVICE_PATIENT, body, NULL);
	CHECK(up && peer_open(&p, &service) && archive_comes(s->policy == NULL, s->pause_ms),
	      "the service starts, an archive is there");
	return up;
}

static void send_frame(const char *protocol, unsigned frame)
{
	for (unsigned i = 0; i < 32; i++)
		(void)peer_acq(&p, protocol, i, frame);
}

/*
 * Frames at their pace; twice on the way emit ends, for which nobody waits. It crashes with another
 * image in hand each time, once the archive has those of the frames before: one that is there at
 * two crashes is given up (board/emit/emit.h).
 */
static void send_frames(const struct scan *s)
{
	for (unsigned f = 0; f < s->images; f++) {
		send_frame(s->protocol, f);
		if (s->deed != TERM && (f == s->images / 3 || f == 2 * s->images / 3)) {
			AWAIT(s->deed != CRASH ||
			      (service_number(&service, "\"queues\"", "emit") == 0 &&
			       atomic_load(&archive.have) >= f));
			CHECK(hit_emit(s->deed == KILL ? SIGKILL : SIGABRT), "%s", deeds[s->deed]);
		}
		await_pause_ms(s->pace_ms); /* the scanner's */
	}
}

/*
 * An emit that dies with an image in hand that it has just sent: its successor sends that again,
 * and cannot tell, so that it counts as lost (named), once for each death.
 */
static void deliver(const struct scan *s)
{
	const char *who = s->policy != NULL ? s->policy : "one that asks";
	uint64_t close_seq;
	long shed = 0;
	long named = 0;
	unsigned have;

	if (!start(s))
		return;
	CHECK(s->protocol[0] == 'b' ? wide_begin(&p, s->protocol, SIDE)
				    : peer_begin(&p, s->protocol),
	      "%s: a scan begins", who);
	send_frames(s);
	close_seq = p.seq++;
	p.w.kind = 0;
	CHECK(peer_close_scan(&p, close_seq, 32 * s->images), "it is closed");
	while (p.acked < close_seq && p.w.kind != BS_WIRE_OUTCOME && !service_ended(&service))
		(void)peer_hear(&p, 100);
	if (s->deed == TERM)
		CHECK(kill(service.pid, SIGTERM) == 0, "%s", deeds[s->deed]);
	CHECK(p.w.kind == BS_WIRE_OUTCOME || peer_await(&p, BS_WIRE_OUTCOME), "its outcome");
	if (s->deed != TERM) {
		AWAIT(atomic_load(&archive.have) >= s->images || (s->queue < s->images && idle()));
		p.outcome.undelivered =
			(uint32_t)service_number(&service, "\"scan\":", "undelivered");
		shed = archive_number("shed");
		named = archive_number("lost");
		(void)kill(service.pid, SIGTERM);
	}
	CHECK(service_wait(&service) == 0, "the service ends with 0");
	atomic_store(&archive.quit, true);
	(void)pthread_join(archive.thread, NULL);
	have = atomic_load(&archive.have);
	named = named > 0 && named <= 2 ? named : 0;
	CHECK(p.outcome.images == s->images && have + p.outcome.undelivered >= s->images &&
		      (s->queue < s->images ||
		       (have == s->images && p.outcome.undelivered == (uint32_t)named &&
			shed <= 0)),
	      "%s, %s: of %u images an archive at %d ms each has %u, %u twice; %u undelivered", who,
	      deeds[s->deed], s->images, s->pause_ms, have, twice(), p.outcome.undelivered);
	for (unsigned i = 1; have < s->images && i <= s->images; i++)
		if (archive.came[i] == 0)
			printf("# image %u did not come\n", i);
	peer_close(&p);
	service_remove(&service);
}

/* ---- a connection that is full when emit is killed ---- */

/*
 * The archive's socket takes what it can, and the archive none of it, until emit is killed. more:
 * images then follow which it has no room for.
 */
static void test_full(const char *policy, unsigned more)
{
	static unsigned char msg[LARGEST];
	const unsigned most = 12;
	struct bs_endpoint e;
	unsigned frames = 0;
	char body[2000];
	long named;
	size_t len;

	(void)snprintf(body, sizeof(body),
		       "overload: { archive = \"%s\"; queue = 2; };\n"
		       "endpoints: { viewers = \"\"; };\n"
		       "protocols = ( " WIDE_ROW("big", "256") " );\n",
		       policy);
	CHECK(service_start_with(&service, SERVICE_PATIENT, body, NULL) &&
		      peer_open(&p, &service) && wide_begin(&p, "big", 256) &&
		      bs_endpoint_connect(&e, BS_ENDPOINT_ARCHIVE_IN, service.archive, sizeof(msg),
					  NULL) == 0 &&
		      service_meets(&service, &e),
	      "%s: a scan begins, an archive reads nothing", policy);
	for (bool full = false; !full && frames < most; frames++) {
		send_frame("big", frames);
		AWAIT(archive_number("handed") == (long)frames + 1 ||
		      archive_number("in_hand_ms") > 20);
		full = archive_number("handed") <= (long)frames;
	}
	for (unsigned i = 0; i < more; i++)
		send_frame("big", frames++);
	AWAIT(service_number(&service, "\"totals\"", "images") == (long)frames);
	CHECK(hit_emit(SIGKILL), "its connection is full, of %u images; emit is killed", frames);
	memset(&archive, 0, sizeof(archive));
	for (int64_t limit = await_limit(); archive.have < frames && bs_now_ns() < limit;) {
		const bool handed = more > 0 && archive_number("waiting") == 0;

		if (bs_endpoint_recv(&e, msg, sizeof(msg), &len, 1500, NULL) == 0)
			note(msg, len);
		else if (handed)
			break;
	}
	CHECK(peer_end(&p, 32 * frames), "its outcome");
	named = service_number(&service, "\"scan\":", "undelivered");
	CHECK(archive.have + named >= frames && (more > 0 || archive.have == frames),
	      "the archive has %u of %u, %u twice; %ld undelivered", archive.have, frames, twice(),
	      named);
	bs_endpoint_close(&e);
	peer_close(&p);
	(void)service_end(&service);
}

/* ---- a sink's disk that is read only ---- */

/* Half a second of EROFS, of 40 images the tenth: what is refused is offered again. */
static void test_read_only(const char *policy)
{
	const unsigned frames = 40;
	char hook[512];
	char gate[160];
	char body[2000];

	(void)snprintf(hook, sizeof(hook), "%s/test/support/block_hook.so",
		       getenv("BUILD") ? getenv("BUILD") : "");
	if (CHECK_SANITIZED || access(hook, R_OK) != 0) {
		SKIP("no %s, or a library preloaded before the sanitizer's own", hook);
		return;
	}
	(void)snprintf(gate, sizeof(gate), "/tmp/boreside-readonly-%d", (int)getpid());
	(void)setenv("READONLY_HOOK", gate, 1);
	(void)snprintf(body, sizeof(body),
		       "overload: { sinks = \"%s\"; queue = 4; spill_dir = \"spill\"; };\n"
		       "endpoints: { archive = \"\"; };\n" SERVICE_SINKS SERVICE_PROTOCOLS,
		       policy);
	CHECK(service_start_with(&service, SERVICE_PATIENT, body, hook) &&
		      peer_open(&p, &service) && peer_begin(&p, "cart"),
	      "%s: a scan begins", policy);
	for (unsigned f = 0; f < frames; f++) {
		send_frame("cart", f);
		if (f == 10)
			(void)close(open(gate, O_WRONLY | O_CREAT, 0600));
		if (f == 20)
			CHECK(service_until(&service, "Read-only file system"),
			      "its sink's disk is read only");
		if (f == 30)
			(void)unlink(gate);
		await_pause_ms(25); /* the scanner's pace */
	}
	CHECK(peer_end(&p, 32 * frames) && p.outcome.images == frames && p.outcome.undelivered == 0,
	      "its outcome: %llu images, %u undelivered", (unsigned long long)p.outcome.images,
	      p.outcome.undelivered);
	AWAIT(files_in(service.out, ".cfl") == frames);
	CHECK(files_in(service.out, ".cfl") == frames, "%s: %u of %u are filed", policy,
	      files_in(service.out, ".cfl"), frames);
	peer_close(&p);
	(void)service_end(&service);
}

int main(int argc, char **argv)
{
	static const struct scan cases[] = {
		{ "wait", TERM, "cart", 8, 300, 10, 64 },
		{ "wait", TERM, "big", 30, 60, 40, 64 },
		{ "wait", KILL, "big", 30, 60, 40, 64 },
		{ "wait", CRASH, "cart", 30, 0, 40, 64 },
		{ "keep_newest", TERM, "cart", 8, 300, 10, 64 },
		{ "keep_newest", TERM, "big", 30, 60, 40, 64 },
		{ "keep_newest", KILL, "big", 30, 60, 40, 64 },
		{ "keep_newest", KILL, "big", 30, 60, 40, 2 },
		{ "keep_newest", CRASH, "cart", 30, 0, 40, 64 },
		{ "spill", TERM, "cart", 8, 300, 10, 64 },
		{ "spill", TERM, "big", 30, 60, 40, 64 },
		{ "spill", KILL, "big", 30, 60, 40, 64 },
		{ "spill", CRASH, "cart", 30, 0, 40, 64 },
		{ NULL, TERM, "cart", 8, 300, 10, 64 },
		{ NULL, TERM, "big", 30, 60, 40, 64 },
		{ NULL, KILL, "big", 30, 60, 40, 64 },
		{ NULL, CRASH, "cart", 30, 0, 40, 64 },
	};
	const unsigned n = sizeof(cases) / sizeof(cases[0]);
	const unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;

	if (argc < 3)
		test_read_only("spill");
	if (rounds == 0) {
		test_full("wait", 0);
		test_full("keep_newest", 6);
		deliver(&(struct scan){ "wait", TERM, "cart", 6, 300, 10, 64 });
		deliver(&(struct scan){ "keep_newest", CRASH, "cart", 12, 0, 40, 64 });
	}
	for (unsigned i = 0; i < n * rounds; i++)
		if (argc < 3 || i % n == (unsigned)strtoul(argv[2], NULL, 10))
			deliver(&cases[i % n]);
	return check_done();
}
