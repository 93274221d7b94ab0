/*
 * test/unit/board/test_resume.c - ingest's successor: noise that was half summed, recons that are
 * replaced, messages that end processes, two scans at once
 *
 * That it completes what was decided and does nothing twice, between any two steps: test/simulate.
 */
#include "test/unit/board/ingest/successor.h"

static uint64_t last_entry(void)
{
	const struct bs_ring *r = env.shm.acq_ring;

	return r->entry[(atomic_load(&r->head) - 1) & r->mask];
}

static uint32_t decide(uint64_t seq)
{
	uint32_t slot = 0;

	CHECK(bs_pool_take(env.shm.acq_pool, BS_OWNER_INGEST, &slot), "a slot");
	bs_order_passed(&in.now.order, seq);
	in.now.so_far.acqs++;
	in.now.so_far.count.acquisitions++;
	in.now.so_far.ack_time_ns = (int64_t)seq * 10;
	bs_ingest_commit(&in, &in.now, bs_entry(BS_ENTRY_ACQ, in.now.id, slot));
	return slot;
}

static void test_told(void)
{
	open_scan();
	succeed();
	CHECK(in.now.accept_due, "a scan of which nothing has come: its sender is told once more");
}

/* A readout of noise whose sum was half made. */
static void test_noise(void)
{
	struct bs_item item = { .seq = 1, .kind = BS_WIRE_ACQ, .used = true };
	struct bs_scan_noise *n = &in.now.record->noise;
	static struct bs_scan_noise once;
	double *gram;

	CHECK(bs_pool_take(env.shm.acq_pool, BS_OWNER_INGEST, &item.slot), "a slot");
	env.shm.acq_meta[item.slot].head =
		(struct bs_mrd_acq){ .number_of_samples = 16, .active_channels = 2 };
	gram = (double *)bs_shm_samples(&env.shm, item.slot);
	for (int i = 0; i < 4; i++)
		gram[i] = i + 1;
	bs_ingest_add_noise(&in, &in.now, &item);
	CHECK(n->own == 1 && n->noise.samples == 16 && n->noise.sum[3] == 4.0, "it is summed");
	once = *n;
	n->noise.sum[1] = 77.0; /* as another order of the stores may leave it */
	succeed();
	CHECK(n->own == 0 && n->noise.samples == 0, "nothing of it stays without its step");
	bs_ingest_add_noise(&in, &in.now, &item);
	CHECK(memcmp(n, &once, sizeof(once)) == 0, "the second time it is the same");
	bs_order_passed(&in.now.order, 1);
	in.now.so_far.acqs++;
	bs_ingest_commit(&in, &in.now, bs_entry(BS_ENTRY_ACQ, in.now.id, item.slot));
	succeed();
	CHECK(memcmp(n, &once, sizeof(once)) == 0, "with its step it stays");
	CHECK(in.now.resumed_at == 2 + in.now.order.window && in.now.ack_due && !in.now.accept_due,
	      "what comes again because its predecessor ended is no duplicate; ACK is due");
}

/* The next scan has the recon that was there before, and no log. */
static void end_and_open(void)
{
	keeper = in.log = NULL;
	bs_ingest_end(&in, &in.now, BS_ON_DONE);
	succeed();
	CHECK(in.feed == NULL && in.now.state == BS_STATE_IDLE, "nor is there one at rest");
	atomic_store(&env.shm.s->worker[BS_WORKER_RECON].epoch, 1);
	in.recon_epoch = 1;
	open_scan();
}

/*
 * Recon was replaced and ingest died while it gave it the scan again: of the messages that wait
 * already none comes before recon has all of it from its beginning, nor does the scan's close.
 */
static void test_given_again(void)
{
	const uint64_t entries = atomic_load(&env.shm.acq_ring->head);

	keep_log();
	atomic_store(&env.shm.s->worker[BS_WORKER_RECON].epoch, 2);
	atomic_store(&in.now.record->recon_at, 7);
	for (uint32_t i = 1; i <= BS_DEATHS_MAX; i++) {
		atomic_store(&in.now.record->in_hand, 1);
		succeed();
		CHECK(in.feed != NULL && in.now.so_far.recon_deaths == 0,
		      "%u times: recon gets it again, and has not died of it", i);
	}
	CHECK(in.now.state == BS_STATE_ABORTING && atomic_load(&env.shm.acq_ring->head) == entries,
	      "a scan that is given up meanwhile: no close yet");
	atomic_store(&in.now.record->ended, in.now.id);
	succeed();
	CHECK(in.feed == NULL, "one whose last image has left is not given again");
	end_and_open();
}

/*
 * Recon was replaced while the log of a scan was taken up, and the log cannot be opened: the new
 * recon, which knows nothing of the scan, has its OPEN before its close, else it never ends it.
 */
static void test_taken_up(void)
{
	const struct bs_ring *r = env.shm.acq_ring;
	const uint64_t entries = atomic_load(&r->head);
	struct bs_worker_state *recon = &env.shm.s->worker[BS_WORKER_RECON];

	keep_log();
	(void)strcpy(env.site.log.dir, "/nonexistent");
	(void)strcpy(env.shm.s->reopened[0].log, "none.bslog");
	atomic_store(&env.shm.s->reopened[0].scan, in.now.id);
	atomic_store(&env.shm.s->reopened[0].step, BS_REOPEN_READS);
	atomic_store(&recon->epoch, 2);
	atomic_store(&recon->phase, BS_PHASE_READY);
	bs_ingest_feed_begin(&in);
	CHECK(in.feed != NULL && in.now.order.next == 1 && atomic_load(&r->head) == entries,
	      "it is to get what the log has");
	(void)bs_ingest_feed(&in);
	CHECK(in.feed == NULL && in.now.state == BS_STATE_ABORTING &&
		      strstr(in.now.so_far.fault.text, "none.bslog") != NULL,
	      "the scan ends: %s", in.now.so_far.fault.text);
	CHECK(atomic_load(&r->head) == entries + 2 &&
		      r->entry[entries & r->mask] == bs_entry(BS_ENTRY_OPEN, in.now.id, 0) &&
		      last_entry() == bs_entry(BS_ENTRY_CLOSE, in.now.id, 0),
	      "recon gets its OPEN and its close");
	succeed();
	CHECK(in.feed == NULL && atomic_load(&r->head) == entries + 2, "once");
	atomic_store(&env.shm.s->reopened[0].step, BS_REOPEN_OVER);
	end_and_open();
}

/* A message that ends every process that looks at it: the scan is given up, in words. */
static void test_suspect(void)
{
	for (uint32_t i = 1; i < BS_DEATHS_MAX; i++) {
		atomic_store(&in.now.record->in_hand, 1);
		succeed();
		CHECK(in.now.state == BS_STATE_SCANNING, "%u times is not enough to say", i);
	}
	succeed();
	CHECK(in.now.state == BS_STATE_SCANNING,
	      "one that died at rest is not the message's doing");
	atomic_store(&in.now.record->in_hand, 1);
	succeed();
	CHECK(in.now.state == BS_STATE_ABORTING && in.now.so_far.fault.code == BS_ERR_ABORTED &&
		      strstr(in.now.so_far.fault.text,
			     "ended 5 times (signal 9) with a message in hand") != NULL,
	      "%s", in.now.so_far.fault.text);
}

/* A readout that ends every recon that takes it up; here nothing can be fed. */
static void test_recon(void)
{
	for (uint32_t i = 1; i <= BS_DEATHS_MAX + 1; i++) {
		const bool same = i <= BS_DEATHS_MAX;

		in.now.state = BS_STATE_SCANNING;
		atomic_store(&in.now.record->recon_at, same ? 7 : 9);
		bs_ingest_feed_begin(&in);
		CHECK(in.feed == NULL && in.now.state == BS_STATE_STARTING &&
			      in.now.so_far.fault.code == BS_ERR_ABORTED &&
			      (strstr(in.now.so_far.fault.text, "ended at the same readout") !=
			       NULL) == (i == BS_DEATHS_MAX) &&
			      (strstr(in.now.so_far.fault.text, "no log is kept") != NULL) ==
				      (i != BS_DEATHS_MAX),
		      "%u: %s", i, in.now.so_far.fault.text);
	}
	for (uint32_t i = 1; i <= BS_DEATHS_MAX; i++) {
		in.now.state = BS_STATE_SCANNING;
		atomic_store(&in.now.record->recon_at, 8);
		bs_ingest_feed_begin(&in);
		CHECK(strstr(in.now.so_far.fault.text, "no log is kept") != NULL,
		      "between two readouts it is nobody's doing");
	}
}

/* The scan ends while recon is given its readouts again: they come before the close. */
static void test_end_while_fed(void)
{
	const uint64_t entries = atomic_load(&env.shm.acq_ring->head);

	in.now.state = BS_STATE_SCANNING;
	in.feed = (struct bs_feed *)(void *)&in; /* it is not looked into */
	bs_ingest_drain(&in, &in.now, BS_ON_FAULT);
	CHECK(in.now.state == BS_STATE_ABORTING && atomic_load(&env.shm.acq_ring->head) == entries,
	      "no close yet");
	in.feed = NULL;
	in.now.state = BS_STATE_SCANNING;
	bs_ingest_drain(&in, &in.now, BS_ON_FAULT);
	CHECK(atomic_load(&env.shm.acq_ring->head) == entries + 1 &&
		      bs_entry_kind(last_entry()) == BS_ENTRY_CLOSE,
	      "else at once");
}

/* Its log's end is on its way to a disk that hangs: no other scan's log takes its place. */
static void test_slow_end(void)
{
	struct bs_log_record *r = &env.shm.s->log;
	struct bs_keeper k = { .o.spec = &env.site.log, .r = r };

	in.log = &k;
	atomic_store(&r->end, 2);
	atomic_store(&r->done, 1);
	CHECK(bs_ingest_log_ended(&in, &in.now) && !bs_ingest_may_open(&in, false),
	      "its end has been waited for long enough, but the next scan waits for it");
	CHECK(bs_keeper_due(&k) > bs_now_ns(), "nobody looks at it all the time meanwhile");
	atomic_store(&r->done, 2);
	CHECK(bs_ingest_may_open(&in, false), "once it is there, the next scan may be opened");
	atomic_store(&r->end, 0);
	atomic_store(&r->done, 0);
	in.log = NULL;
}

/* A closed scan whose last images are being made, and the one after it. */
static void test_two(void)
{
	struct bs_noise *noise;
	uint64_t entries;
	uint64_t first;

	in.now.state = BS_STATE_IDLE;
	open_scan();
	first = in.now.id;
	CHECK(!bs_ingest_may_open(&in, false), "a scan is being taken: no other is opened");
	noise = &in.now.record->noise.noise;
	in.now.record->noise.own = 1;
	(void)strcpy(noise->scan, "before");
	noise->samples = 16;
	(void)decide(1);
	close_it();
	CHECK(bs_ingest_may_open(&in, false) && !bs_ingest_may_open(&in, true),
	      "it is closed: one that takes nothing of it may be");
	test_slow_end();
	atomic_store(&env.shm.s->reload.step, BS_RELOAD_WAIT);
	CHECK(!bs_ingest_may_open(&in, false), "but a reload comes first");
	atomic_store(&env.shm.s->reload.step, BS_RELOAD_NONE);
	CHECK(ask("taker", 8) == BS_INGEST_ALONE && in.now.id == first && in.before.id == 0,
	      "one that may take its maps waits");
	CHECK(ask("timed", 8) == BS_INGEST_ALONE && in.now.id == first && in.before.id == 0,
	      "so does one whose images have a budget");
	CHECK(ask("nobody", 8) < 0 && in.now.id == first && in.now.p == &env.site.protocol[0] &&
		      in.before.id == 0,
	      "one that is refused changes nothing");
	CHECK(ask("p", 8) == 0 && in.now.id == first + 1 && in.before.id == first &&
		      in.before.state == BS_STATE_DRAINING && in.now.state == BS_STATE_SCANNING,
	      "the second one is open");
	CHECK(strcmp(in.now.record->noise.noise.scan, "before") == 0, "with the first one's noise");
	CHECK(!bs_ingest_may_open(&in, false), "no third one");
	(void)decide(1);
	entries = atomic_load(&env.shm.acq_ring->head);
	succeed();
	CHECK(in.now.id == first + 1 && in.now.session == 8 && in.now.state == BS_STATE_SCANNING &&
		      in.now.order.next == 2 && in.before.id == first && in.before.session == 7 &&
		      in.before.state == BS_STATE_DRAINING && in.before.order.next == 3 &&
		      in.before.p == &env.site.protocol[0],
	      "a successor has both");
	CHECK(atomic_load(&env.shm.acq_ring->head) == entries, "and pushes nothing");
	CHECK(bs_scan_newest(env.shm.s->scan) == in.now.record &&
		      bs_scan_before(env.shm.s->scan) == in.before.record,
	      "which others see, too");
	close_it();
	CHECK(!bs_ingest_may_open(&in, false), "two are closed: a third one waits");
	atomic_store(&in.before.record->ended, first);
	CHECK(bs_ingest_is_over(&in.before) && !bs_ingest_is_over(&in.now),
	      "the first one is over");
	bs_ingest_end(&in, &in.before, BS_ON_DONE);
	CHECK(in.before.id == 0 && in.now.id == first + 1 && in.now.state == BS_STATE_DRAINING &&
		      due_of(7) != NULL && bs_scan_before(env.shm.s->scan) == NULL,
	      "and has its outcome");
	atomic_store(&in.before.record->open, 1); /* its end held, and nobody was shown */
	succeed();
	CHECK(in.before.id == 0 && in.now.id == first + 1 && in.now.state == BS_STATE_DRAINING &&
		      bs_scan_before(env.shm.s->scan) == NULL,
	      "a successor knows that");
	CHECK(bs_ingest_may_open(&in, false), "now a third one may be opened");
}

static uint64_t open_two(void)
{
	in.now.state = BS_STATE_IDLE;
	in.before.id = 0;
	in.outcome[0].due = in.outcome[1].due = false;
	open_scan();
	close_it();
	CHECK(ask("p", 8) == 0 && in.before.id == in.now.id - 1, "two scans are open");
	return in.now.id;
}

/* Recon is replaced within two scans, one of which cannot be given again. */
static void test_one_of_two(void)
{
	struct bs_worker_state *recon = &env.shm.s->worker[BS_WORKER_RECON];
	uint64_t last = open_two();

	keep_log();
	atomic_store(&in.before.record->log.scan, last - 1);
	in.before.record->log.whole = 0;
	atomic_store(&recon->epoch, in.recon_epoch + 1);
	bs_ingest_feed_begin(&in);
	CHECK(in.before.id == 0 && due_of(7) != NULL && in.feed != NULL,
	      "the older one ends, the newer one is given");
	succeed();
	CHECK(in.now.id == last && in.feed != NULL, "which a successor knows: that has not been");
	bs_ingest_feed_end(&in);
	keeper = in.log = NULL;
	last = open_two();
	atomic_store(&in.before.record->ended, last - 1); /* as emit has told, not seen yet */
	atomic_store(&recon->epoch, in.recon_epoch + 1);
	bs_ingest_feed_begin(&in);
	CHECK(in.before.id == last - 1 && in.feed == NULL && due_of(8) != NULL &&
		      in.recon_epoch == atomic_load(&recon->epoch),
	      "the newer one ends: the older one is not given once more for that");
}

int main(void)
{
	open_memory();
	test_told();
	test_noise();
	close_it();
	end_and_open();
	test_given_again();
	test_taken_up();
	test_suspect();
	test_recon();
	test_end_while_fed();
	test_two();
	test_one_of_two();
	bs_shm_close(&env.shm);
	return check_done();
}
