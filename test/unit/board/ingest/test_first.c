/*
 * test/unit/board/ingest/test_first.c - after a start the scans of the service before come first:
 * no other one is opened before them, nor ends one whose log is still read; one that waits for its
 * sender has a second
 */
/* Holds: W64 */
#include "test/unit/board/ingest/successor.h"

#include "core/thread/clock.h"

#define HOUR_NS INT64_C(3600000000000)

static bool may_open(void)
{
	return bs_ingest_may_open(&in, false);
}

static struct bs_reopened *log_at(int place)
{
	return &env.shm.s->reopened[place];
}

/* Two logs at most wait, in either place. */
static void test_found(void)
{
	for (int i = 0; i < 2; i++) {
		CHECK(may_open(), "no log: a scan may be opened");
		atomic_store(&log_at(i)->step, BS_REOPEN_FOUND);
		CHECK(!may_open(), "the log in place %d waits: its scan comes first", i);
		in.lined = 1;
		CHECK(!bs_ingest_has_work(&in), "a header waits in line for that, asleep");
		atomic_store(&log_at(i)->step, BS_REOPEN_OVER);
		CHECK(may_open() && bs_ingest_has_work(&in), "it has gone on: the header's turn");
		in.lined = 0;
	}
	open_scan();
	close_it();
	CHECK(may_open(), "a scan is closed: another one may be opened beside it");
	atomic_store(&log_at(1)->step, BS_REOPEN_FOUND);
	CHECK(!may_open(), "the log's comes first there, too");
	atomic_store(&log_at(1)->step, BS_REOPEN_OVER);
	in.now.state = BS_STATE_IDLE;
}

/* The newest scan was over; its sender, which may not know that, has a second to ask. */
static void test_ended(void)
{
	struct bs_reopened *o = log_at(1);

	o->session = 6;
	atomic_store(&o->step, BS_REOPEN_ENDED);
	o->alone_ns = bs_now_ns() + HOUR_NS;
	CHECK(!may_open(), "no other scan is opened meanwhile");
	o->alone_ns = bs_now_ns();
	CHECK(may_open(), "a second later it is");
	CHECK(bs_ingest_reopen_due(&in, 6) && !may_open(), "but not once the sender has asked");
	atomic_store(&o->step, BS_REOPEN_ENDED);
	keep_log();
	in.env->site.log.mode = BS_LOG_MODE_DURABLE;
	open_scan();
	CHECK(atomic_load(&o->step) == BS_REOPEN_OVER && !bs_ingest_reopen_due(&in, 6),
	      "when another scan has been opened it is too late");
}

/* The scan at hand goes on from its log. */
static void test_yields(void)
{
	struct bs_reopened *o = log_at(1);
	const uint64_t sender = in.now.peer = 5;

	atomic_store(&env.shm.s->reopening, 1);
	atomic_store(&o->scan, in.now.id);
	o->alone_ns = bs_now_ns();
	atomic_store(&o->step, BS_REOPEN_READS);
	CHECK(!bs_ingest_gives_way(&in, 9) && !bs_ingest_gives_way(&in, sender),
	      "its log is read: it gives way to nobody, its own sender's next header included");
	in.now.peer = 0;
	in.now.heard_ns = 0;
	CHECK(!bs_ingest_gives_way(&in, 9), "nor where its sender has not come back");
	atomic_store(&o->step, BS_REOPEN_WAITS);
	o->alone_ns = bs_now_ns() + HOUR_NS;
	CHECK(!bs_ingest_gives_way(&in, 9), "the log is read: the sender has a second");
	o->alone_ns = bs_now_ns();
	CHECK(bs_ingest_gives_way(&in, 9), "and no more");
	bs_ingest_end_for(&in, 9);
	CHECK(in.now.so_far.fault.code == BS_ERR_STATE &&
		      strstr(in.now.so_far.fault.text, "did not come back within 1 s") != NULL &&
		      strstr(in.now.so_far.fault.text,
			     "another header (session 0000000000000009)") != NULL,
	      "which is said: %s", in.now.so_far.fault.text);
}

/*
 * The log has its CLOSE, number 3, but not number 2, which was refused: it is no other scan's to
 * end, and closed with a gap when its sender has not come. What was held outlives a process.
 */
static void test_closed(void)
{
	const struct bs_item close = { .seq = 3, .kind = BS_WIRE_CLOSE, .used = true };
	struct bs_reopened *o = log_at(1);

	in.now.state = BS_STATE_IDLE;
	open_scan();
	bs_order_passed(&in.now.order, 1);
	bs_ingest_commit(&in, &in.now, 0);
	atomic_store(&o->scan, in.now.id);
	atomic_store(&o->step, BS_REOPEN_WAITS);
	succeed();
	bs_ingest_reopen_start(&in);
	CHECK(atomic_load(&o->step) == BS_REOPEN_READS && in.feed != NULL,
	      "ingest ended while the sender was awaited: its successor reads the log again");
	bs_ingest_feed_end(&in);
	in.env->site.log.resume_s = 3600.0;
	bs_order_hold(&in.now.order, &close, bs_now_ns());
	bs_ingest_reopen_read(&in, 3);
	CHECK(bs_ingest_reopen_waits(&in, bs_now_ns()) && in.now.state == BS_STATE_SCANNING,
	      "its sender is awaited");
	o->alone_ns = bs_now_ns();
	CHECK(!bs_ingest_gives_way(&in, 9), "another scan's header does not end it");
	CHECK(bs_ingest_reopen_waits(&in, o->until_ns) && in.now.state == BS_STATE_DRAINING &&
		      in.now.so_far.fault.code == BS_ERR_SEQUENCE && in.now.so_far.count.gaps == 1,
	      "after a second it is closed, with a gap: %s", in.now.so_far.fault.text);
	CHECK(o->until_ns < bs_now_ns() + BS_RETURN_NS, "not after log.resume_s");
}

int main(void)
{
	open_memory();
	test_found();
	test_ended();
	test_yields();
	test_closed();
	bs_shm_close(&env.shm);
	return check_done();
}
