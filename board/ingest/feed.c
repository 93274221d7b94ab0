/* board/ingest/feed.c - gives a new recon the scan in flight again, from its log; see ingest.h */
#include "board/ingest/ingest.h"

#include <stdio.h>
#include <string.h>

#include "core/thread/clock.h"
#include "drivers/log/reader.h"
#include "ipc/wire/envelope.h"

#define AT_ONCE 64u /* messages between two looks at the time and the sender */

/* Messages lie in the log as they came: out of order by fewer than BS_HELD_MAX numbers. */
struct bs_feed {
	struct bs_log_reader *log; /* NULL: not yet */
	uint32_t epoch;            /* of the recon that is fed */
	uint64_t next;             /* the number that it is due */
	struct {
		uint64_t seq; /* 0: none */
		struct bs_log_place at;
	} ahead[BS_HELD_MAX]; /* by seq modulo */
	struct {
		uint64_t seq;
		struct bs_log_place at;
	} read;     /* the last one that was read and has no place yet; 0: none */
	bool ended; /* the log has no more */
};

static struct bs_feed feed; /* the one of this process */

/* Why the log cannot give the whole scan; NULL: it can. */
static const char *lacks(const struct ingest *in)
{
	const struct bs_log_record *r = &in->env->shm.s->log;

	if (in->log == NULL)
		return "no log is kept (log.dir, log.mode)";
	if (r->skips != 0 || atomic_load(&r->dropped) != 0 ||
	    atomic_load(&r->given_up) != r->given_before)
		return "its log is not whole";
	if (atomic_load(&r->failed) != 0 && atomic_load(&r->done) != atomic_load(&r->put))
		return "its log cannot be written";
	return NULL;
}

void bs_ingest_feed_end(struct ingest *in)
{
	bs_log_close(feed.log);
	feed.log = NULL;
	in->feed = NULL;
}

static void give_up(struct ingest *in, const char *reason)
{
	const struct bs_worker_state *recon = &in->env->shm.s->worker[BS_WORKER_RECON];
	struct bs_fail why;

	bs_ingest_feed_end(in);
	in->recon_epoch = atomic_load(&recon->epoch);
	(void)bs_fail(&why, BS_ERR_ABORTED,
		      "the reconstruction process ended (%s) and was replaced; what it held of the "
		      "scan is lost: %s",
		      recon->last_end, reason);
	in->fault = why; /* the outcome tells this, not an earlier fault */
	bs_ingest_end(in, BS_ON_LOST);
}

/* Several recons in a row died at the same readout: another one would, too. */
static bool hopeless(struct ingest *in)
{
	const uint64_t at = atomic_load(&in->scan->recon_at);

	in->recon_deaths = in->recon_died_at == at && (at & 1) != 0 ? in->recon_deaths + 1 : 1;
	in->recon_died_at = at;
	bs_ingest_commit(in, 0);
	return (at & 1) != 0 && in->recon_deaths >= BS_DEATHS_MAX;
}

/* reason: why it cannot be; NULL: it can. */
static void begin(struct ingest *in, const char *reason)
{
	const struct bs_worker_state *recon = &in->env->shm.s->worker[BS_WORKER_RECON];
	char words[BS_EVENT_TEXT];

	bs_ingest_feed_end(in);
	feed = (struct bs_feed){ .epoch = atomic_load(&recon->epoch), .next = 1 };
	if (reason != NULL) {
		give_up(in, reason);
		return;
	}
	in->feed = &feed;
	/* what its sender sends again while it hears no progress is not counted as duplicate */
	in->resumed_at = in->order.next + in->order.window;
	(void)snprintf(words, sizeof(words),
		       "the reconstruction process ended (%s) and was replaced: it gets the scan's "
		       "readouts again, from the log; %llu images were handed on",
		       recon->last_end, (unsigned long long)atomic_load(&in->scan->images_made));
	bs_worker_say(in->env, BS_EVENT_NOTE, 0, (const uint64_t[3]){ in->id }, words);
}

void bs_ingest_feed_begin(struct ingest *in)
{
	begin(in,
	      hopeless(in) ? "each of its last processes ended at the same readout" : lacks(in));
}

void bs_ingest_feed_resume(struct ingest *in)
{
	if (atomic_load(&in->env->shm.s->worker[BS_WORKER_RECON].epoch) != in->recon_epoch &&
	    !bs_ingest_is_over(in))
		begin(in, lacks(in));
}

static bool waits_for_recon(const struct ingest *in)
{
	const struct bs_worker_state *recon = &in->env->shm.s->worker[BS_WORKER_RECON];

	return atomic_load(&recon->phase) != BS_PHASE_READY;
}

static bool waits_for_log(const struct ingest *in)
{
	const struct bs_log_record *r = &in->env->shm.s->log;

	return atomic_load(&r->done) != atomic_load(&r->put);
}

bool bs_ingest_feed_has_work(const struct ingest *in)
{
	const struct bs_worker_state *recon = &in->env->shm.s->worker[BS_WORKER_RECON];

	if (atomic_load(&recon->epoch) != feed.epoch || lacks(in) != NULL)
		return true;
	if (feed.log == NULL)
		return !waits_for_recon(in) && !waits_for_log(in);
	return bs_pool_in_use(in->env->shm.acq_pool) < in->env->shm.acq_pool->slots;
}

static void push(struct ingest *in, enum bs_entry_kind kind)
{
	(void)bs_ring_push(in->env->shm.acq_ring, bs_entry(kind, in->id, 0));
	bs_shm_ring_bell(&in->env->shm, BS_WORKER_RECON);
}

static int open_log(struct ingest *in, struct bs_fail *why)
{
	char path[sizeof(in->env->site.log.dir) + sizeof(in->env->shm.s->log.name) + 2];
	int rc;

	if (in->env->shm.s->log.name[0] == '\0') /* although all of it is done with */
		return bs_fail(why, BS_ERR_STATE, "the scan has no log");
	(void)snprintf(path, sizeof(path), "%s/%s", in->env->site.log.dir,
		       in->env->shm.s->log.name);
	rc = bs_log_open(&feed.log, path, why);
	if (rc != 0) {
		feed.log = NULL;
		return rc;
	}
	push(in, BS_ENTRY_OPEN);
	return 0;
}

/* True: the message is a readout that the recon before had; *seq is its number. */
static bool was_handed(const struct ingest *in, const struct bs_log_message *m, uint64_t *seq)
{
	const unsigned char *payload;
	struct bs_wire w;

	if (bs_wire_decode(&w, m->bytes, m->len, &payload, NULL) != 0 || w.session != in->session ||
	    w.kind != BS_WIRE_ACQ)
		return false;
	*seq = w.seq;
	return w.seq >= feed.next && w.seq < in->order.next &&
	       bs_order_look(&in->order, w.seq) == BS_NUMBER_DUPLICATE;
}

/* Reads on until the number that is due is known to be in the log, or not. */
static int read_ahead(struct ingest *in, struct bs_fail *why)
{
	while (feed.ahead[feed.next % BS_HELD_MAX].seq != feed.next) {
		const uint64_t seq = feed.read.seq;
		struct bs_log_message m;

		if (seq != 0 && seq - feed.next >= BS_HELD_MAX)
			return 0; /* further than any that was held: what is due never came */
		feed.read.seq = 0;
		if (seq != 0) {
			feed.ahead[seq % BS_HELD_MAX].seq = seq;
			feed.ahead[seq % BS_HELD_MAX].at = feed.read.at;
			continue;
		}
		const int rc = feed.ended ? 0 : bs_log_next(feed.log, &m, why);

		feed.ended = rc == 0;
		if (rc <= 0)
			return rc;
		if (was_handed(in, &m, &feed.read.seq))
			feed.read.at = m.place;
		else
			feed.read.seq = 0;
	}
	return 0;
}

/* 1: the next number is done with. 0: it waits for a slot. Negative: the log cannot be read. */
static int give_next(struct ingest *in, struct bs_fail *why)
{
	const uint32_t at = feed.next % BS_HELD_MAX;
	struct bs_log_message m;
	int rc = read_ahead(in, why);

	if (rc == 0 && feed.ahead[at].seq == feed.next) {
		rc = bs_log_again(feed.log, feed.ahead[at].at, &m, why);
		if (rc == 0 && !bs_ingest_again(in, m.bytes, m.len))
			return 0;
		feed.ahead[at].seq = 0;
	}
	if (rc < 0)
		return rc;
	feed.next++;
	return 1;
}

/* Recon has all that its predecessor had. */
static void finish(struct ingest *in)
{
	bs_ingest_feed_end(in);
	in->recon_epoch = feed.epoch;
	bs_ingest_commit(in,
			 in->state == BS_STATE_SCANNING ? 0 : bs_entry(BS_ENTRY_CLOSE, in->id, 0));
}

bool bs_ingest_feed(struct ingest *in)
{
	const struct bs_worker_state *recon = &in->env->shm.s->worker[BS_WORKER_RECON];
	struct bs_fail why;
	bool waits;
	int rc = 0;

	in->heard_ns = in->order.gap_since_ns = bs_now_ns(); /* its sender waits meanwhile */
	if (atomic_load(&recon->epoch) != feed.epoch) {
		bs_ingest_feed_begin(in);
		return true;
	}
	waits = feed.log == NULL && (waits_for_recon(in) || waits_for_log(in));
	/* asked after that: what the log gave up is counted before it is done with */
	if (lacks(in) != NULL) {
		give_up(in, lacks(in));
		return true;
	}
	if (waits)
		return false;
	if (feed.log == NULL)
		rc = open_log(in, &why);
	for (uint32_t i = 0; rc >= 0 && i < AT_ONCE && feed.next < in->order.next; i++) {
		rc = give_next(in, &why);
		if (rc == 0)
			return false;
	}
	if (rc < 0)
		give_up(in, why.text);
	else if (feed.next >= in->order.next)
		finish(in);
	return true;
}
