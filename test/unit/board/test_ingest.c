/*
 * test/unit/board/test_ingest.c - parts of the receiving process: what it looks at before it
 * sleeps, messages that it held and drops, an OPEN that is refused, a message that waits
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "board/ingest/ingest.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "test/support/await.h"
#include "test/support/check.h"
#include "test/support/plan/planned.h"

static const struct bs_gate_spec plain;

static struct bs_worker_env env;
static struct ingest in;

static void open_memory(void)
{
	static struct bs_site site;
	static struct bs_traj tables[BS_PROTOCOLS_MAX];
	struct bs_fail why = { 0 };

	site.protocols = 1;
	site.protocol[0] = with_name(path_of(BS_METHOD_NOOP, BS_TRAJ_FILE, 8, 8, 1, 1), "p");
	readouts_of(&site.protocol[0], 8, 16);
	site.acq_slots = 8;
	site.image_slots = 2;
	CHECK(bs_shm_create(&env.shm, &site, tables, &why) == 0, "shared memory %s", why.text);
	env.who = BS_WORKER_INGEST;
	env.me = &env.shm.s->worker[BS_WORKER_INGEST];
	atomic_store(&env.me->generation, 1);
	in.env = &env;
	in.now.record = &env.shm.s->scan[1];
	in.totals = &env.shm.s->totals;
	for (int i = 0; i < 2; i++)
		in.outcome[i].end = &env.shm.s->ended[i];
	in.recon_epoch = 1;
	atomic_store(&env.shm.s->worker[BS_WORKER_RECON].epoch, 1);
	in.now.id = 5;
	atomic_store(&in.now.record->id, 5);
}

/*
 * Before ingest sleeps it looks once more at everything that others ring its bell for; what is
 * missing there costs a lost wake-up, up to a tick of the loop.
 */
static void test_scanning(void)
{
	struct bs_pool *pool = env.shm.acq_pool;
	unsigned char message[BS_WIRE_BYTES];
	uint32_t slot = 0;

	in.now.state = BS_STATE_SCANNING;
	CHECK(!bs_ingest_has_work(&in), "a scan, and nothing to do");
	atomic_store(&in.now.record->over_budget, 4);
	CHECK(!bs_ingest_has_work(&in), "an earlier scan was over its budget");
	atomic_store(&in.now.record->over_budget, 5);
	CHECK(bs_ingest_has_work(&in), "this one is: it is to be ended now");
	atomic_store(&in.now.record->over_budget, 0);
	atomic_store(&in.now.record->lacking, 4);
	CHECK(!bs_ingest_has_work(&in), "an earlier scan lacked what its protocol needs");
	atomic_store(&in.now.record->lacking, 5);
	CHECK(bs_ingest_has_work(&in), "this one does: it is to be ended now");
	in.now.state = BS_STATE_ABORTING;
	CHECK(!bs_ingest_has_work(&in), "it is being ended: its last images are waited for");
	atomic_store(&in.now.record->ended, 5);
	CHECK(bs_ingest_has_work(&in), "they are out");
	atomic_store(&in.now.record->lacking, 0);
	in.now.state = BS_STATE_SCANNING;
	in.now.session = 3;
	bs_wire_encode(message, &(struct bs_wire){ .kind = BS_WIRE_ACQ, .session = 4 }, NULL, 0);
	in.waiting[0].msg = message;
	for (uint32_t i = 0; i < pool->slots; i++)
		(void)bs_pool_take(pool, BS_OWNER_INGEST, &slot);
	CHECK(!bs_ingest_has_work(&in), "a message that waits for a slot, and none is free");
	bs_pool_give(pool, slot);
	CHECK(!bs_ingest_has_work(&in), "one is free, and another scan's message waits");
	in.now.session = 4;
	CHECK(bs_ingest_has_work(&in), "one is free");
	in.waiting[0].msg = NULL;
}

static void test_others(void)
{
	struct bs_worker_state *recon = &env.shm.s->worker[BS_WORKER_RECON];

	in.now.state = BS_STATE_STARTING;
	CHECK(!bs_ingest_has_work(&in), "recon is arming");
	atomic_store(&recon->phase, BS_PHASE_READY);
	CHECK(bs_ingest_has_work(&in), "it is ready");
	in.now.state = BS_STATE_IDLE;
	CHECK(!bs_ingest_has_work(&in), "idle");
	atomic_store(&env.shm.s->reload.step, BS_RELOAD_WAIT);
	CHECK(bs_ingest_has_work(&in), "a reload waits for the end of a scan, and none is open");
	in.now.state = BS_STATE_SCANNING;
	CHECK(!bs_ingest_has_work(&in), "one is");
	in.now.state = BS_STATE_STARTING;
	atomic_store(&env.shm.s->reload.step, BS_RELOAD_ARMED);
	CHECK(!bs_ingest_has_work(&in), "recon is ready, and the site changes");
	atomic_fetch_add(&env.shm.s->generation, 1);
	CHECK(bs_ingest_has_work(&in), "it has changed");
	atomic_fetch_sub(&env.shm.s->generation, 1);
	atomic_store(&env.shm.s->reload.step, BS_RELOAD_NONE);
	in.now.state = BS_STATE_IDLE;
	atomic_store(&recon->epoch, 2);
	CHECK(bs_ingest_has_work(&in), "recon was replaced");
}

/* What is held beyond a gap and dropped is counted, and said. */
static void test_dropped(void)
{
	struct bs_event e = { 0 };
	uint32_t slot = 0;

	for (uint32_t s = 0; s < env.shm.acq_pool->slots; s++)
		bs_pool_give(env.shm.acq_pool, s);
	bs_order_start(&in.now.order, 10);
	for (uint64_t seq = 12; seq < 15; seq++) {
		CHECK(bs_pool_take(env.shm.acq_pool, BS_OWNER_INGEST, &slot), "a slot");
		bs_order_hold(&in.now.order,
			      &(struct bs_item){
				      .seq = seq, .slot = slot, .kind = BS_WIRE_ACQ, .used = true },
			      1);
	}
	bs_ingest_drain(&in, &in.now, BS_HAPPENINGS);
	CHECK(in.now.order.held_count == 0 && bs_pool_in_use(env.shm.acq_pool) == 0,
	      "their slots are free");
	CHECK(atomic_load(&in.now.record->late) == 3 && atomic_load(&in.totals->late) == 3,
	      "counted");
	CHECK(bs_event_take(&env.me->events, &e) && e.number == BS_EVENT_REJECTED &&
		      strstr(e.text, "3 messages that were held") != NULL,
	      "said: %s", e.text);
	while (bs_event_take(&env.me->events, &e))
		CHECK(e.number != BS_EVENT_REJECTED, "once");
	bs_ingest_drain(&in, &in.now, BS_HAPPENINGS);
	CHECK(atomic_load(&in.now.record->late) == 3, "and no second time");
}

/* How long readouts were on their way, by their stamps: n, and the longest. */
static void sent(int64_t stamp_ns, int64_t received_ns)
{
	const struct bs_acq_meta m = { .sender_ns = stamp_ns, .received_ns = received_ns };

	bs_ingest_note_sent(&in, &in.now, &m);
}

static bool on_the_way(uint64_t n, int64_t most_ns)
{
	const struct bs_hist *h = bs_shm_hist(&env.shm, 0, BS_STAGE_SEND);

	return atomic_load(&h->count) == n && atomic_load(&h->max_ns) == (uint64_t)most_ns;
}

static bool clock_is(enum bs_clock clock)
{
	return in.now.clock == clock && atomic_load(&env.shm.s->kspace.clock) == (uint32_t)clock;
}

/* The machine's clocks are the test's: late_ns pass behind the next read of one of them. */
static int64_t machine_ns = INT64_C(5000000000000), late_ns;
#define UTC_AHEAD INT64_C(1760000000000000000)

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	*t = bs_timespec(machine_ns + (clock == CLOCK_REALTIME ? UTC_AHEAD : 0));
	machine_ns += late_ns;
	late_ns = 0;
	return 0;
}

static void test_clock(void)
{
	const int64_t ms = 1000000;
	const int64_t now = bs_now_ns();

	in.now.record->protocol = 0;
	in.now.clock = BS_CLOCK_UNKNOWN;
	sent(now - 10 * ms, now);
	CHECK(clock_is(BS_CLOCK_MONOTONIC) && on_the_way(1, 10 * ms),
	      "stamped 10 ms in the past, by this host's clock");
	sent(now + 100 * ms, now + 112 * ms);
	CHECK(on_the_way(2, 12 * ms), "the next one 12");
	sent(now + 200 * ms, now + 199 * ms);
	sent(INT64_MAX, now + 199 * ms);
	CHECK(on_the_way(2, 12 * ms), "received before it was sent, or absurd: not counted");
	in.now.clock = BS_CLOCK_UNKNOWN;
	late_ns = 7 * ms; /* the thread is stopped for a moment while it compares the clocks */
	sent(now + UTC_AHEAD - 500 * ms, now);
	CHECK(clock_is(BS_CLOCK_REALTIME) && on_the_way(3, 500 * ms) && late_ns == 0,
	      "stamped half a second ago, in the time of day");
	for (int i = 0; i < 3; i++) {
		const int64_t others[] = { now - 20000 * ms, now + 5000 * ms, INT64_MIN };

		in.now.clock = BS_CLOCK_UNKNOWN;
		sent(others[i], now);
		sent(now - ms, now);
		CHECK(clock_is(BS_CLOCK_OTHER) &&
			      atomic_load(&bs_shm_hist(&env.shm, 0, BS_STAGE_SEND)->count) == 3,
		      "another clock, %d: nothing is counted in this scan", i);
	}
}

/* OPEN's name is read by the wire's one decoder: nothing but zeros may follow its end. */
static void test_open(void)
{
	static const char header[] =
		"<ismrmrdHeader><encoding><encodedSpace><matrixSize><x>8</x><y>8</y><z>1</z>"
		"</matrixSize></encodedSpace><reconSpace><matrixSize><x>8</x><y>8</y><z>1</z>"
		"</matrixSize></reconSpace></encoding></ismrmrdHeader>";
	unsigned char payload[BS_WIRE_OPEN_NAME + sizeof(header)] = "p\0more";
	struct bs_wire w = { .kind = BS_WIRE_OPEN, .session = 7, .payload_len = sizeof(payload) };

	memcpy(payload + BS_WIRE_OPEN_NAME, header, sizeof(header));
	in.env->site = in.env->shm.s->site;
	in.now.state = BS_STATE_IDLE;
	in.refuses = 0;
	CHECK(bs_ingest_open(&in, &w, payload) == BS_ERR_PROTOCOL &&
		      in.now.state == BS_STATE_IDLE && in.refuses == 1 &&
		      in.refuse[0].code == BS_ERR_PROTOCOL,
	      "bytes after the name's end: %s", in.refuse[0].text);
	memset(payload + 2, 0, 4);
	CHECK(bs_ingest_open(&in, &w, payload) == 0 && in.now.state == BS_STATE_SCANNING &&
		      in.now.session == 7,
	      "zeros: the scan begins");
}

/* A peer that says one WAVEFORM, number 1 of a scan. -1: it cannot. */
static int say_waveform(const char *path, uint64_t session)
{
	static const unsigned char hello[8] = { 0, 'S', 'P', 0, 0, 0x10, 0, 0 };
	unsigned char message[9 + BS_WIRE_BYTES] = { 1, [8] = BS_WIRE_BYTES };
	struct bs_wire w = { .kind = BS_WIRE_WAVEFORM, .session = session, .seq = 1 };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	bs_wire_encode(message + 9, &w, NULL, 0);
	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    write(fd, hello, sizeof(hello)) != (ssize_t)sizeof(hello) ||
	    write(fd, message, sizeof(message)) != (ssize_t)sizeof(message))
		return -1;
	return fd;
}

/* The peer of the message that waits in this place has not been told that it was read. */
static bool is_unread(uint32_t place)
{
	for (uint32_t i = 0; i < in.gate.places; i++)
		if (in.gate.peer[i].id == in.waiting[place].peer)
			return in.gate.peer[i].stage == BS_GATE_WHOLE;
	return false;
}

/*
 * The scan is the one that a service before this one ended, as its sender does not know: its log
 * has its end. What comes beyond that waits for the scan's end, also where its peer hangs up.
 */
static void test_waiting(void)
{
	struct bs_reopened *o = &env.shm.s->reopened[0];
	char url[64];
	int fd = -1;

	(void)snprintf(url, sizeof(url), "ipc:///tmp/boreside-ingest-%d", (int)getpid());
	CHECK(bs_gate_open(&in.gate, url, 4096, &plain, NULL) == 0 &&
		      (fd = say_waveform(url + strlen("ipc://"), in.now.session)) >= 0,
	      "a peer says a number of the scan");
	o->sealed = 1;
	atomic_store(&o->scan, in.now.id);
	atomic_store(&o->step, BS_REOPEN_WAITS);
	in.now.accept_due = false;
	in.refuses = 0;
	AWAIT((bs_ingest_receive(&in),
	       in.waiting[0].msg != NULL || in.now.so_far.count.waveforms != 0));
	CHECK(in.waiting[0].msg != NULL && in.now.order.next == 1,
	      "it is not taken: no log would have it");
	in.now.peer = 0;
	(void)close(fd);
	(void)bs_ingest_receive(&in);
	CHECK(in.waiting[0].msg != NULL && is_unread(0),
	      "its peer hangs up: it is kept as long as it waits");
	atomic_store(&o->step, BS_REOPEN_OVER);
	(void)bs_ingest_receive(&in);
	CHECK(in.waiting[0].msg == NULL && in.now.so_far.count.waveforms == 1 &&
		      in.now.order.next == 2,
	      "once it can be taken it is");
	bs_gate_close(&in.gate);
}

/* Two scans are to go on from their logs, and both senders are here: the message of each waits. */
static void test_both_wait(void)
{
	struct bs_reopened *o = env.shm.s->reopened;
	const uint64_t session = in.now.session;
	char url[64];
	int fd[2];

	(void)snprintf(url, sizeof(url), "ipc:///tmp/boreside-ingest-%d", (int)getpid());
	CHECK(bs_gate_open(&in.gate, url, 4096, &plain, NULL) == 0, "an endpoint");
	in.now.state = BS_STATE_IDLE;
	for (int i = 0; i < 2; i++) {
		o[i].session = session + 10 + (uint64_t)i;
		atomic_store(&o[i].step, BS_REOPEN_FOUND);
		fd[i] = say_waveform(url + strlen("ipc://"), o[i].session);
		AWAIT((bs_ingest_receive(&in), bs_ingest_waits(&in, o[i].session)));
	}
	CHECK(bs_ingest_waits(&in, o[0].session) && bs_ingest_waits(&in, o[1].session),
	      "the second one that comes does not drop the first");
	CHECK(is_unread(0) && is_unread(1), "neither sender is read on");
	for (int i = 0; i < 2; i++) {
		atomic_store(&o[i].step, BS_REOPEN_OVER);
		(void)close(fd[i]);
		in.waiting[i].msg = NULL;
	}
	bs_gate_close(&in.gate);
}

static bool is_known(uint64_t session)
{
	return in.outcome[0].end->session == session || in.outcome[1].end->session == session;
}

static void end_scan(struct bs_ingest_scan *scan, uint64_t id, uint64_t session)
{
	scan->id = id;
	scan->state = BS_STATE_DRAINING;
	scan->record = &env.shm.s->scan[id & 1];
	scan->record->session = session;
	bs_ingest_end(&in, scan, BS_ON_DONE);
}

/* The outcomes of the two scans that ended last are kept, also where the newer one ended first. */
static void test_outcomes(void)
{
	const struct bs_ingest_scan now = in.now;

	in.before = in.now;
	end_scan(&in.now, 6, 106);
	end_scan(&in.before, 5, 105);
	CHECK(is_known(106) && is_known(105), "two have ended");
	end_scan(&in.now, 7, 107);
	CHECK(is_known(107) && is_known(105) && !is_known(106), "the one that ended first goes");
	in.now = now;
	in.before.id = 0;
	in.outcome[0].due = in.outcome[1].due = false;
}

/*
 * A scan that a dead recon lost has ended, and emit has not yet read its images' record: the scan
 * after the next would take that record, with another patient's name in it.
 */
static void test_record(void)
{
	struct bs_ring *ring = env.shm.image_ring;

	in.now.state = BS_STATE_IDLE;
	in.before.id = 0;
	CHECK(bs_ingest_may_open(&in, false), "nothing is open");
	(void)bs_ring_push(ring, bs_entry(BS_ENTRY_IMAGE, in.now.id, 0));
	CHECK(bs_ingest_may_open(&in, false), "an image of the scan whose place is not taken");
	atomic_store(&env.shm.s->images.ready, 1);
	(void)bs_ring_push(ring, bs_entry(BS_ENTRY_IMAGE, in.now.id + 1, 0));
	CHECK(!bs_ingest_may_open(&in, false), "one of the scan before: it waits");
	atomic_store(&env.shm.s->images.ready, 2);
	CHECK(bs_ingest_may_open(&in, false), "emit has its message: it waits no longer");
	atomic_store(&env.shm.s->images.ready, 0);
	bs_ring_advance(ring);
	bs_ring_advance(ring);
}

/* Two scans go on from their logs: what is said of the newer one waits until the older is over. */
static void test_turn(void)
{
	struct bs_reopened *o = env.shm.s->reopened;

	o[0].session = in.now.session;
	o[1].session = in.now.session + 1;
	atomic_store(&o[0].scan, in.now.id);
	atomic_store(&o[0].step, BS_REOPEN_READS);
	atomic_store(&o[1].step, BS_REOPEN_FOUND);
	in.now.state = BS_STATE_SCANNING;
	CHECK(bs_ingest_reopen_due(&in, o[1].session) && !bs_ingest_reopen_due(&in, o[0].session),
	      "the older one is at hand: the newer one's messages wait");
	atomic_store(&o[1].step, BS_REOPEN_ENDED);
	CHECK(bs_ingest_reopen_due(&in, o[1].session) && atomic_load(&o[1].step) == BS_REOPEN_FOUND,
	      "it has its end, and its sender asks: it will be read then");
	atomic_store(&o[0].step, BS_REOPEN_OVER);
	in.now.state = BS_STATE_IDLE;
	CHECK(bs_ingest_reopen_due(&in, o[1].session) && atomic_load(&env.shm.s->reopening) == 1,
	      "the older one is over: it is the newer one's turn");
	atomic_store(&o[1].step, BS_REOPEN_OVER);
	CHECK(!bs_ingest_reopen_due(&in, o[1].session), "and once only");
	atomic_store(&env.shm.s->reopening, 0);
}

/* What reached nobody is not said: it goes to the sender when that is on another connection. */
static void test_unheard(void)
{
	unsigned char heard[8 + 9 + BS_WIRE_BYTES]; /* the greeting, and the first message's */
	struct bs_fail why;
	char url[64];
	int fd = -1;

	(void)snprintf(url, sizeof(url), "ipc:///tmp/boreside-ingest-%d", (int)getpid());
	CHECK(bs_gate_open(&in.gate, url, 4096, &plain, NULL) == 0, "an endpoint");
	in.now.state = BS_STATE_SCANNING;
	bs_order_start(&in.now.order, 1);
	in.now.peer = in.from = 0;
	in.refuses = 0;
	in.now.ack_due = in.now.accept_due = in.outcome[0].due = true;
	(void)bs_fail(&why, BS_ERR_VALUE, "a fault");
	bs_ingest_reject(&in, &in.now, &(struct bs_wire){ .session = in.now.session, .seq = 9 },
			 &why);
	bs_ingest_flush(&in);
	CHECK(in.now.accept_due && in.now.ack_due && in.refuses == 1 && in.outcome[0].due,
	      "the sender is gone: all that is due to it stays due");
	in.now.accept_due = in.outcome[0].due = false;
	fd = say_waveform(url + strlen("ipc://"), in.now.session);
	AWAIT((bs_ingest_receive(&in), in.now.peer != 0));
	AWAIT((bs_ingest_flush(&in), !in.now.accept_due && !in.now.ack_due));
	CHECK(!in.now.accept_due && !in.now.ack_due && in.refuses == 0,
	      "it is back, and told everything");
	CHECK(recv(fd, heard, sizeof(heard), MSG_WAITALL) == (ssize_t)sizeof(heard) &&
		      heard[8 + 9 + 6] == BS_WIRE_ACCEPT,
	      "ACCEPT first, as nothing of it had come: it may not have heard that");
	/* a new start: it goes on at 2, and its sender was told of numbers up to 9 */
	in.now.heard_from = BS_NUMBER_NONE;
	in.now.ack_due = true;
	bs_ingest_flush(&in);
	CHECK(in.now.ack_due, "until a number has come nobody knows what it was told: no ACK");
	in.now.heard_from = 10;
	bs_ingest_flush(&in);
	CHECK(in.now.ack_due, "it keeps what is beyond 9 alone: no ACK that goes back");
	in.now.heard_from = 2;
	bs_ingest_flush(&in);
	CHECK(!in.now.ack_due, "it keeps what is next: ACK");
	in.now.heard_from = 0;
}

/* A sender whose session is lost is told at each message; the log says so once. */
static void test_lost(void)
{
	struct bs_event_ring *r = &env.me->events;
	struct bs_event e;
	struct bs_fail why;
	unsigned said = 0;

	while (bs_event_take(r, &e))
		continue;
	in.from = in.now.peer + 1;
	(void)bs_fail(&why, BS_ERR_STATE, "it is not open");
	for (uint64_t i = 0; i < 60; i++)
		bs_ingest_reject(&in, &in.now,
				 &(struct bs_wire){ .session = in.now.session + 1 + i % 3 }, &why);
	while (bs_event_take(r, &e))
		said++;
	CHECK(said == 3, "60 messages of 3 lost sessions: %u lines", said);
	(void)bs_fail(&why, BS_ERR_CRC, "damaged");
	for (unsigned i = 0; i < 2; i++)
		bs_ingest_reject(&in, &in.now, &(struct bs_wire){ .session = 0 }, &why);
	while (bs_event_take(r, &e))
		said++;
	CHECK(said == 5, "what is damaged is said each time");
}

/* Of a scan that goes on in another file of its log nothing is said before that is there. */
static void test_acknowledged(void)
{
	struct bs_log_record *r = &env.shm.s->log;
	struct bs_keeper keeper = { .o.spec = &env.site.log, .r = r, .progress_ns = bs_now_ns() };

	in.log = &keeper;
	in.now.durable_said = 0;
	in.now.ack_due = true;
	atomic_store(&r->put, 2);
	bs_ingest_flush(&in);
	CHECK(in.now.ack_due && in.now.durable_said == 0, "the log has not begun: no ACK");
	atomic_store(&r->done, 2);
	bs_ingest_flush(&in);
	CHECK(!in.now.ack_due && in.now.durable_said == in.now.order.next - 1,
	      "it has all: ACK says so");
	in.log = NULL;
	bs_gate_close(&in.gate);
}

int main(void)
{
	open_memory();
	test_scanning();
	test_others();
	test_dropped();
	test_clock();
	test_open();
	test_waiting();
	test_both_wait();
	test_outcomes();
	test_record();
	test_turn();
	test_unheard();
	test_lost();
	test_acknowledged();
	bs_shm_close(&env.shm);
	return check_done();
}
