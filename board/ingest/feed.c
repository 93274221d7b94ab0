/* board/ingest/feed.c - scans from logs: given to recon once more, or taken up; see ingest.h */
#include "board/ingest/ingest.h"
#include "core/thread/clock.h"
#include "drivers/log/reader.h"
#include "ipc/wire/envelope.h"

#define AT_ONCE 64u /* most messages fed in one loop iteration */
/* Readouts in recon's ring while a log is read: enough to keep recon busy, too few to queue long */
#define AHEAD 16u

/* A log has its messages as they came: out of order by fewer than BS_HELD_MAX numbers. */
struct bs_feed {
	struct bs_log_reader *log; /* reader of the log; NULL: not open yet */
	bool before;               /* the scan that is fed is in->before; false: it is in->now */
	uint32_t epoch;            /* epoch of the recon that is fed */
	bool again;                /* recon replaced another: it gets the scan from its OPEN on */
	uint64_t next;             /* number of the message that is fed next */
	uint64_t records;          /* records of the log that were read */
	struct {
		uint64_t seq; /* number of the message; 0: none */
		struct bs_log_place at;
	} ahead[BS_HELD_MAX]; /* messages that were read early, by seq % BS_HELD_MAX */
	uint32_t waiting;     /* number of messages in ahead */
	struct {
		uint64_t seq;
		struct bs_log_place at;
	} read;     /* message that was read last and is not in ahead yet; seq 0: none */
	bool ended; /* the log has no more records */
};

static struct bs_feed feed; /* this process feeds one scan at a time */

void bs_ingest_feed_end(struct ingest *in)
{
	bs_log_close(feed.log);
	feed.log = NULL;
	in->feed = NULL;
}

static void give_up(struct ingest *in, struct bs_ingest_scan *scan, const char *reason)
{
	const struct bs_worker_state *recon = &in->env->shm.s->worker[BS_WORKER_RECON];
	struct bs_fail why;

	bs_ingest_feed_end(in);
	(void)bs_fail(&why, BS_ERR_ABORTED,
		      "the reconstruction process ended (%s) and was replaced; what it held of the "
		      "scan is lost: %s",
		      recon->last_end, reason);
	scan->so_far.fault = why; /* the outcome tells this, not an earlier fault */
	/* the step ends the scan's log: a successor process takes no more messages from it */
	if (scan->state == BS_STATE_SCANNING)
		bs_ingest_step(in, scan, BS_ON_FAULT, 0);
	if (scan == &in->now) /* after in->before, in->now still has to be fed to this recon */
		in->recon_epoch = feed.epoch;
	bs_ingest_end(in, scan, BS_ON_LOST);
}

/* True if BS_DEATHS_MAX recons in a row died at the same readout: the next one would, too. */
static bool hopeless(struct ingest *in, struct bs_ingest_scan *scan)
{
	const uint64_t at = atomic_load(&scan->record->recon_at);

	scan->so_far.recon_deaths = scan->so_far.recon_died_at == at && (at & 1) != 0
					    ? scan->so_far.recon_deaths + 1
					    : 1;
	scan->so_far.recon_died_at = at;
	bs_ingest_commit(in, scan, 0);
	return (at & 1) != 0 && scan->so_far.recon_deaths >= BS_DEATHS_MAX;
}

/* Begins to feed recon from the scan's log. reason: why that is impossible;
 * NULL: it is possible. */
static void begin(struct ingest *in, struct bs_ingest_scan *scan, uint32_t epoch,
		  const char *reason)
{
	const struct bs_worker_state *recon = &in->env->shm.s->worker[BS_WORKER_RECON];

	bs_ingest_feed_end(in);
	feed = (struct bs_feed){
		.before = scan == &in->before, .epoch = epoch, .again = true, .next = 1
	};
	if (reason != NULL) {
		give_up(in, scan, reason);
		return;
	}
	in->feed = &feed;
	/* the sender resends messages while it hears of no progress: they are no duplicates */
	scan->resumed_at = scan->order.next + scan->order.window;
	bs_worker_tell(in->env, BS_EVENT_NOTE, 0, scan->id,
		       "the reconstruction process ended (%s) and was replaced: it gets the scan's "
		       "readouts again, from the log; %llu images were handed on",
		       recon->last_end,
		       (unsigned long long)atomic_load(&scan->record->images_made));
}

/* died: the scan is fed because a recon process died. */
static void begin_one(struct ingest *in, struct bs_ingest_scan *scan, uint32_t epoch, bool died)
{
	begin(in, scan, epoch,
	      died && hopeless(in, scan) ? "each of its last processes ended at the same readout"
					 : bs_ingest_log_lacks(in, scan));
}

/* Begins to feed the newest scan. The scan before is fed, or needs no feeding. */
static void begin_newest(struct ingest *in, uint32_t epoch, bool died)
{
	if (bs_ingest_in_scan(&in->now)) {
		begin_one(in, &in->now, epoch, died);
		return;
	}
	bs_ingest_feed_end(in);
	in->recon_epoch = epoch;
	bs_ingest_commit(in, &in->now, 0);
}

static void begin_all(struct ingest *in, bool died)
{
	const uint32_t epoch = atomic_load(&in->env->shm.s->worker[BS_WORKER_RECON].epoch);

	bs_ingest_feed_end(in);
	if (in->before.id != 0 && !bs_ingest_is_over(&in->before))
		begin_one(in, &in->before, epoch, died);
	if (in->feed == NULL)
		begin_newest(in, epoch, died);
}

void bs_ingest_feed_begin(struct ingest *in)
{
	begin_all(in, true);
}

void bs_ingest_feed_resume(struct ingest *in)
{
	if (atomic_load(&in->env->shm.s->worker[BS_WORKER_RECON].epoch) != in->recon_epoch &&
	    !bs_ingest_is_over(&in->now))
		begin_all(in, false);
}

/* True if in->before is being fed and has ended meanwhile. */
static bool is_done_with(const struct ingest *in)
{
	return feed.before && (in->before.id == 0 || bs_ingest_is_over(&in->before));
}

void bs_ingest_feed_rest(struct ingest *in)
{
	atomic_store(&bs_ingest_reopened(in)->step, BS_REOPEN_READS);
	bs_ingest_feed_end(in);
	feed = (struct bs_feed){ .epoch = in->recon_epoch, .next = in->now.order.next };
	in->feed = &feed;
	in->now.resumed_at = in->now.order.next + in->now.order.window;
}

/* True for a reopened scan whose log has messages that this service has not taken yet. */
static bool reads(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	const struct bs_reopened *o = bs_ingest_reopened(in);

	return atomic_load(&o->step) == BS_REOPEN_READS && atomic_load(&o->scan) == scan->id;
}

/* True if the feed reads the log that a dead process left, not the one that is written now. */
static bool reads_left(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	return reads(in, scan) && !feed.again;
}

/* Why the log that the feed reads cannot be used; NULL: it can be. */
static const char *lack(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	return reads_left(in, scan) ? NULL : bs_ingest_log_lacks(in, scan);
}

/* True if the log that the feed reads has all that was put into it. */
static bool is_written(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	return reads_left(in, scan) || bs_ingest_log_written(in, scan);
}

static bool is_full(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	const struct bs_shm *shm = &in->env->shm;

	if (feed.next >= scan->order.next && bs_ring_count(shm->acq_ring) >= AHEAD)
		return true;
	return bs_pool_in_use(shm->acq_pool) == shm->acq_pool->slots;
}

static bool waits_for_recon(const struct ingest *in)
{
	const struct bs_worker_state *recon = &in->env->shm.s->worker[BS_WORKER_RECON];

	return atomic_load(&recon->phase) != BS_PHASE_READY;
}

bool bs_ingest_feed_has_work(const struct ingest *in)
{
	const struct bs_worker_state *recon = &in->env->shm.s->worker[BS_WORKER_RECON];

	if (atomic_load(&recon->epoch) != feed.epoch || is_done_with(in))
		return true;
	if (!feed.before && lack(in, &in->now) != NULL)
		return true;
	if (feed.log == NULL)
		return !waits_for_recon(in) && (feed.before || is_written(in, &in->now));
	return !is_full(in, feed.before ? &in->before : &in->now);
}

static void push(struct ingest *in, struct bs_ingest_scan *scan, enum bs_entry_kind kind)
{
	(void)bs_ring_push(in->env->shm.acq_ring, bs_entry(kind, scan->id, 0));
	bs_shm_ring_bell(&in->env->shm, BS_WORKER_RECON);
}

static int open_log(struct ingest *in, struct bs_ingest_scan *scan, struct bs_fail *why)
{
	const char *name = bs_ingest_log_name(in, scan);
	int rc;

	if (name[0] == '\0') /* the log's thread is done with the scan, and no log was begun */
		return bs_fail(why, BS_ERR_STATE, "the scan has no log");
	rc = bs_ingest_log_read(in, name, &feed.log, false, why);
	if (rc != 0) {
		feed.log = NULL;
		return rc;
	}
	if (feed.again)
		push(in, scan, BS_ENTRY_OPEN);
	return 0;
}

/* True if the message is to be fed to recon; *seq: its number. */
static bool is_wanted(const struct ingest *in, const struct bs_ingest_scan *scan,
		      const struct bs_log_message *m, uint64_t *seq)
{
	const unsigned char *payload;
	struct bs_wire w;

	if (bs_wire_decode(&w, m->bytes, m->len, &payload, NULL) != 0 ||
	    w.session != scan->session || w.kind == BS_WIRE_OPEN || w.seq < feed.next)
		return false;
	*seq = w.seq;
	if (w.seq >= scan->order.next)
		return reads(in, scan);
	return w.kind == BS_WIRE_ACQ && bs_order_look(&scan->order, w.seq) == BS_NUMBER_DUPLICATE;
}

/* Reads the log until it is known whether message feed.next is in it. */
static int read_ahead(struct ingest *in, struct bs_ingest_scan *scan, struct bs_fail *why)
{
	while (feed.ahead[feed.next % BS_HELD_MAX].seq != feed.next) {
		const uint64_t seq = feed.read.seq;
		struct bs_log_message m;

		if (seq != 0 && seq - feed.next >= BS_HELD_MAX)
			return 0; /* no held message is this far ahead: feed.next never came */
		feed.read.seq = 0;
		if (seq != 0) {
			feed.waiting += feed.ahead[seq % BS_HELD_MAX].seq != seq;
			feed.ahead[seq % BS_HELD_MAX].seq = seq;
			feed.ahead[seq % BS_HELD_MAX].at = feed.read.at;
			continue;
		}
		const int rc = feed.ended ? 0 : bs_log_next(feed.log, &m, why);

		feed.ended = rc == 0;
		if (rc <= 0)
			return rc;
		feed.records = m.number + 1;
		if (is_wanted(in, scan, &m, &feed.read.seq))
			feed.read.at = m.place;
		else
			feed.read.seq = 0;
	}
	return 0;
}

/* Returns 1 if message feed.next is done, 0 if it waits for a slot. Negative: the
 * log cannot be read. */
static int give_next(struct ingest *in, struct bs_ingest_scan *scan, struct bs_fail *why)
{
	const uint32_t at = feed.next % BS_HELD_MAX;
	struct bs_log_message m;
	int rc = read_ahead(in, scan, why);

	if (rc == 0 && feed.ahead[at].seq == feed.next) {
		rc = bs_log_again(feed.log, feed.ahead[at].at, &m, why);
		if (rc == 0 && is_full(in, scan))
			return 0;
		if (rc == 0 && !(feed.next < scan->order.next
					 ? bs_ingest_again(in, scan, m.bytes, m.len)
					 : bs_ingest_take_logged(in, scan, m.bytes, m.len)))
			return 0;
		feed.ahead[at].seq = 0;
		feed.waiting--;
	}
	if (rc < 0)
		return rc;
	feed.next++;
	return 1;
}

/* True if the log still has messages to feed. */
static bool goes_on(const struct ingest *in, const struct bs_ingest_scan *scan)
{
	if (feed.next < scan->order.next)
		return true;
	return reads(in, scan) && scan->state == BS_STATE_SCANNING &&
	       (!feed.ended || feed.read.seq != 0 || feed.waiting > 0);
}

/* Ends the feed: recon has all that its predecessor had, and all of a reopened scan's log. */
static void finish(struct ingest *in, struct bs_ingest_scan *scan)
{
	const bool read = reads(in, scan) && scan->state == BS_STATE_SCANNING;

	bs_ingest_feed_end(in);
	if (scan == &in->now)
		in->recon_epoch = feed.epoch;
	if (read)
		bs_ingest_reopen_read(in, feed.records);
	bs_ingest_commit(in, scan,
			 scan->state == BS_STATE_SCANNING ? 0
							  : bs_entry(BS_ENTRY_CLOSE, scan->id, 0));
}

/* Ends a reopened scan whose log is damaged with the messages before the damage. */
static void end_early(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_fail *why)
{
	if (feed.again && feed.log == NULL) /* recon must open a scan before it can end the scan */
		push(in, scan, BS_ENTRY_OPEN);
	bs_ingest_abort(in, scan, why, BS_ON_FAULT);
	finish(in, scan);
}

/* Feeds the next part of a scan, and ends the feed after the last. False: the feed waits. */
static bool give(struct ingest *in, struct bs_ingest_scan *scan)
{
	const bool waits = feed.log == NULL && (waits_for_recon(in) || !is_written(in, scan));
	/* asked after is_written: the log counts given-up messages before it calls them done */
	const char *lacks = lack(in, scan);
	struct bs_fail why;
	int rc = 0;

	if (lacks != NULL) {
		give_up(in, scan, lacks);
		return true;
	}
	if (waits)
		return false;
	if (feed.log == NULL)
		rc = open_log(in, scan, &why);
	for (uint32_t i = 0; rc >= 0 && i < AT_ONCE && goes_on(in, scan); i++) {
		rc = give_next(in, scan, &why);
		if (rc == 0)
			return false;
	}
	if (rc >= 0 && !goes_on(in, scan))
		finish(in, scan);
	if (rc < 0 && reads(in, scan) && feed.next >= scan->order.next)
		end_early(in, scan, &why);
	else if (rc < 0)
		give_up(in, scan, why.text);
	return true;
}

bool bs_ingest_feed(struct ingest *in)
{
	const struct bs_worker_state *recon = &in->env->shm.s->worker[BS_WORKER_RECON];
	bool any = true;

	/* the sender's messages wait meanwhile: neither silence nor a gap counts */
	in->now.heard_ns = in->now.order.gap_since_ns = bs_now_ns();
	if (atomic_load(&recon->epoch) != feed.epoch) {
		bs_ingest_feed_begin(in);
		return true;
	}
	if (!feed.before)
		return give(in, &in->now);
	if (!is_done_with(in))
		any = give(in, &in->before);
	if (in->feed == NULL || is_done_with(in))
		begin_newest(in, feed.epoch, true);
	return any;
}
