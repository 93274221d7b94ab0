/*
 * board/ingest/ingest.h - the parts of the receiving process, which share one struct
 *
 * ingest.c   the loop: time, the other workers' news; what a predecessor left
 * reload.c   takes up a changed site, between two scans
 * reopen.c   at start: a scan that a service before this one was killed in goes on from its log
 * feed.c     the scan out of its log: from its beginning, for a recon that replaces another; or
 *            what this service has not had, of a scan that is reopened
 * receive.c  a message from its peer to its place, a readout to its slot
 * line.c     headers that wait until a scan can begin
 * deliver.c  messages that are next: a readout on to recon; when they came, by the sender's clock
 * scan.c     a scan from its header to its outcome
 * await.c    scans that go on from their logs: whose turn it is, and their senders, who are awaited
 * commit.c   writes what has been done of the scan as one step to shared memory, for a successor
 * order.c    which message is next, which is a duplicate, what is missing; see order.h
 * reply.c    what the service says to the sender
 * log.c      the scan's log: gets every message that is taken
 * Each calls only those below it. The conversation is that of ipc/WIRE.md. One thread. Allocates
 * nothing once its socket is open, but for expat while a header is read (no scan is running then).
 */
#ifndef BS_BOARD_INGEST_INGEST_H
#define BS_BOARD_INGEST_INGEST_H

#include "board/ingest/order.h"
#include "board/log/keeper.h"
#include "board/service/worker.h"
#include "core/frame/intake.h"
#include "core/frame/state.h"
#include "ipc/gate.h"
#include "ipc/wire/wire.h"

#define BS_REFUSES_MAX 16u                /* refusals that wait for the scan's sender to read */
#define BS_LINE_MAX    (BS_GATE_KEEP - 1) /* headers of scans to come that wait */
#define BS_LOST_MAX    16u
#define BS_OUTCOME_NS  INT64_C(200000000)   /* an outcome is said again at most so often */
#define BS_LOOK_NS     INT64_C(4000000)     /* a scan's socket is read at least so often */
#define BS_AWAY_NS     INT64_C(5000000)     /* not read for longer: messages may have waited */
#define BS_OPEN_NS     INT64_C(60000000000) /* a header waits at most this long */
#define BS_RETURN_NS   INT64_C(1000000000)  /* a start's grace for a scan's sender to come back */
#define BS_WINDOW_LOG  8192u                /* the sender's window where a log is kept */
#define BS_DEATHS_MAX  5u /* of processes by one message, before its scan is given up */

/*
 * One scan. What a function does to a scan that may be either of the two gets it beside *in; what
 * concerns the newest alone takes in->now.
 */
struct bs_ingest_scan {
	struct bs_scan_record *record; /* in shared memory */
	enum bs_state state;           /* of the newest scan: also the service's */
	const struct bs_protocol *p;
	struct bs_traj table;
	bool has_table;
	uint64_t id, session;
	uint64_t peer; /* of its sender; 0: not heard yet by this process */
	int pid;       /* of its sender's process; 0: not known */
	struct bs_order order;
	uint64_t heard_from;  /* since a new start its sender's least number; 0: no start */
	uint64_t acqs;        /* ACQ messages that came, used or not */
	struct bs_fail fault; /* the first; code 0: none */
	struct bs_scan_counts count;
	uint64_t resumed_at; /* numbers below this are resent after a restart: no duplicates */
	uint32_t deaths;     /* as struct bs_scan_step has it */
	uint64_t died_at;
	uint32_t recon_deaths;
	uint64_t recon_died_at;
	int64_t heard_ns;
	int64_t apart_ns;       /* least time from a message's time_ns to its receipt */
	enum bs_clock clock;    /* the clock that the sender stamps its messages with */
	int64_t clock_ahead_ns; /* how far that is ahead of this process's */
	int64_t said_ns;        /* when its sender was told something */
	bool accept_due, ack_due;
	uint32_t unacked;
	int64_t ack_time_ns;
	uint64_t durable_said; /* by the last ACK */
};

/* A REFUSE that waits. */
struct bs_refusal {
	uint64_t peer, session, seq;
	uint16_t version; /* of the wire, as its sender speaks it */
	int32_t code;
	char text[sizeof(((struct bs_fail *)0)->text)];
};

struct bs_log_reader; /* drivers/log/reader.h */

struct ingest {
	struct bs_worker_env *env;
	struct bs_gate gate;
	size_t message_max;
	uint64_t from; /* the peer whose message is at hand */
	struct bs_totals *totals;
	uint32_t recon_epoch; /* of the recon that this process counts on */
	bool keeps_noise;     /* some protocol of the site whitens: every scan's noise is summed */

	struct bs_ingest_scan now;    /* the newest, in flight or over */
	struct bs_ingest_scan before; /* closed, its last images are being made; id 0: none is */

	/* a message of the scan that waits for a slot */
	const unsigned char *waiting;
	size_t waiting_len;
	uint64_t waiting_peer;
	int64_t waits_said_ns; /* its sender was told something */

	/* headers that wait for the scan before to end, or for recon to arm; the oldest first */
	struct bs_line {
		const unsigned char *msg;
		size_t len;
		uint64_t peer, session;
		int64_t since_ns, said_ns;
		bool alone; /* its scan begins when no other is open */
	} line[BS_LINE_MAX];
	uint32_t lined;

	struct bs_feed *feed; /* recon is given scans from their logs; NULL: it is not */
	uint64_t reopens;     /* number of the scan whose OPEN is at hand, as its log has it; 0 */
	int64_t empty_ns;     /* when the socket was last seen empty */

	/* the newest scan's log */
	struct bs_keeper *log; /* NULL: none is kept */
	bool unprotected;      /* as last reported */
	bool was_early;        /* of the scan that has its outcome: its log was sealed before */

	uint64_t lost[BS_LOST_MAX]; /* sessions that are not open, as last logged */
	unsigned losts;
	/* what is to be said */
	struct bs_refusal refuse[BS_REFUSES_MAX];
	uint32_t refuses;  /* the oldest first */
	uint64_t refusals; /* of recon's refusals, those already answered */
	struct {
		struct bs_scan_end *end; /* in shared memory */
		uint64_t peer;           /* who is told it */
		bool due;
		int64_t said_ns;
	} outcome[2]; /* of the last scans, number n in place n % 2 */
};

/* Every scan's noise is summed: some protocol may need it later. */
static inline bool bs_ingest_sums_noise(const struct bs_site *site)
{
	bool whitens = false;

	for (uint32_t i = 0; i < site->protocols; i++)
		whitens |= site->protocol[i].whiten != BS_WHITEN_OFF;
	return whitens;
}

static inline bool bs_ingest_in_scan(const struct bs_ingest_scan *scan)
{
	return scan->state == BS_STATE_SCANNING || scan->state == BS_STATE_DRAINING ||
	       scan->state == BS_STATE_ABORTING;
}

/* A message before this one never came, or was refused. */
static inline bool bs_ingest_lost(const struct bs_ingest_scan *scan, uint64_t seq)
{
	return scan->count.lost != 0 && scan->count.lost < seq;
}

static inline bool bs_ingest_is_closed(const struct bs_ingest_scan *scan)
{
	return scan->state == BS_STATE_DRAINING || scan->state == BS_STATE_ABORTING;
}

/* The scan's last image has left. */
static inline bool bs_ingest_is_over(const struct bs_ingest_scan *scan)
{
	return bs_ingest_is_closed(scan) && atomic_load(&scan->record->ended) == scan->id;
}

/* A scan of a service before this one may go on from its log. */
static inline bool bs_ingest_may_reopen(const struct ingest *in)
{
	const struct bs_reopened *o = in->env->shm.s->reopened;

	return atomic_load(&o[0].step) != BS_REOPEN_OVER ||
	       atomic_load(&o[1].step) != BS_REOPEN_OVER;
}

/* That whose turn it is of those that a service before this one was killed in. */
static inline struct bs_reopened *bs_ingest_reopened(const struct ingest *in)
{
	struct bs_shared *s = in->env->shm.s;

	return &s->reopened[atomic_load(&s->reopening) & 1];
}

/* ingest.c */
/* Is there work that another process rings the bell for? Checked between announce and sleep. */
bool bs_ingest_has_work(const struct ingest *in);
/* At start: goes on with the scans that a predecessor left. */
void bs_ingest_resume(struct ingest *in);

/* reload.c */
/* A changed site is being armed: headers wait. */
bool bs_ingest_held(const struct ingest *in);
/* A reload has waited for the scan in flight, which has ended; or the site has changed. */
bool bs_ingest_reloads(const struct ingest *in);
/* Does ingest's part of it. False: the tables cannot be mapped; only a new process helps. */
bool bs_ingest_reload(struct ingest *in, struct bs_fail *why);

/* reopen.c */
/*
 * A process's start, before it takes messages: is the newest log of a scan that was left open, and
 * had the one before it all of its images?
 */
void bs_ingest_reopen_start(struct ingest *in);
/* Once it can be, such a scan is opened, by the same checks as any; the older one first. */
void bs_ingest_reopen(struct ingest *in);
/* True: it is awaited, and time does not run out otherwise; too long, and the scan ends. */
bool bs_ingest_reopen_waits(struct ingest *in, int64_t now);

/* feed.c */
/*
 * Recon was replaced: all readouts of the open scans that its predecessor was given are read from
 * their logs and given to it, one scan after the other, before any further message is taken. A scan
 * without a complete log ends. Allocates (the log's reader).
 */
void bs_ingest_feed_begin(struct ingest *in);
/*
 * At the start, before any message is taken: where a predecessor was giving recon the log, recon,
 * which may have a part of it, is given all of it again.
 */
void bs_ingest_feed_resume(struct ingest *in);
/*
 * What stands in the log of a scan that was left open and has not been taken yet is, in the order
 * of its numbers, as if it came from the sender; whose messages wait.
 */
void bs_ingest_feed_rest(struct ingest *in);
/* The next part of it. False: it waits for recon, a slot or the disk. */
bool bs_ingest_feed(struct ingest *in);
bool bs_ingest_feed_has_work(const struct ingest *in);
/* No scan is open any more: stops. */
void bs_ingest_feed_end(struct ingest *in);

/* receive.c */
/* A message of the scan, from its log, that this service has not had. False: no slot is free. */
bool bs_ingest_take_logged(struct ingest *in, struct bs_ingest_scan *scan, const unsigned char *msg,
			   size_t len);
/* Gives recon a readout again, as the log has it. False: no slot is free. */
bool bs_ingest_again(struct ingest *in, struct bs_ingest_scan *scan, const unsigned char *msg,
		     size_t len);
/* Takes what is there, a bounded number so that time and replies get their turn. True: some. */
bool bs_ingest_receive(struct ingest *in);

/* line.c */
/* May the scan in flight be ended for a header of peer `to`? It is the same sender's, or the
 * scan's sender has been silent for too long, or cannot say anything (WIRE.md, 11); or it has not
 * come back after a start (10). */
bool bs_ingest_gives_way(const struct ingest *in, uint64_t to);
/*
 * A header that must wait; alone: until no scan is open. False: it is refused instead. Its message
 * stays unreleased.
 */
bool bs_ingest_line_up(struct ingest *in, const struct bs_wire *w, const unsigned char *payload,
		       bool alone);
void bs_ingest_refuse_draining(struct ingest *in, uint64_t session);
/* The scan ends because this session's header came. */
void bs_ingest_end_for(struct ingest *in, uint64_t session);
/*
 * The headers that wait: those whose peer has left, or that waited for too long, go; the first
 * opens when it can, and may end the scan.
 */
void bs_ingest_serve_line(struct ingest *in);

/* deliver.c */
/*
 * When a message was received: now, if the socket was seen empty a moment ago. Else it may have
 * waited there, because no slot was free or this process did not run. Then its receipt follows from
 * its sender's clock, whose offset is that of the message that was taken soonest after its time_ns;
 * it is not before the socket was last seen empty.
 */
int64_t bs_ingest_receipt(struct ingest *in, struct bs_ingest_scan *scan, int64_t sent_ns,
			  int64_t taken_ns);
/* Of a message that is read again from the log: when it was first received. */
int64_t bs_ingest_first_receipt(const struct bs_ingest_scan *scan, int64_t sent_ns, int64_t now_ns);
/*
 * Counts how long a readout was on its way, from its sender's stamp. Only if the stamps are of a
 * clock of this host: the scan's first readout was stamped less than 10 s before it came. A readout
 * that seems to have come before it was sent is not counted.
 */
void bs_ingest_note_sent(struct ingest *in, struct bs_ingest_scan *scan,
			 const struct bs_acq_meta *m);
/* What the scan's readouts are taken in with; their places are slots of the pool. */
struct bs_intake bs_ingest_intake(struct ingest *in, struct bs_ingest_scan *scan);
/* The message that is next; and those behind it that are held. */
void bs_ingest_deliver(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_item *item);
void bs_ingest_deliver_held(struct ingest *in, struct bs_ingest_scan *scan);
/*
 * Gives up the messages missing before those that are held, or were passed over, or before number
 * seq, which is at hand (BS_NUMBER_NONE: none is): the scan goes on without them.
 */
void bs_ingest_give_up_gap(struct ingest *in, struct bs_ingest_scan *scan, uint64_t seq);
/* The scan ends now, for this reason; what is held beyond gaps is used first. */
void bs_ingest_abort(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_fail *why,
		     enum bs_happening on);

/* scan.c */
/* Goes to the next state and commits, with this entry for recon (0: none). */
void bs_ingest_step(struct ingest *in, struct bs_ingest_scan *scan, enum bs_happening on,
		    uint64_t entry);
/*
 * A scan may begin, since none of a service before comes first, and: none is open; or one is, all
 * of it is in the ring and in its log, and no reload waits for its end. alone: none is open.
 */
bool bs_ingest_may_open(struct ingest *in, bool alone);
/*
 * The payload lies in the gate's buffer; nothing of it is kept. BS_INGEST_ALONE: it has to wait
 * until no other scan is open, since it takes what that one may leave, or has a budget.
 */
#define BS_INGEST_ALONE 1
int bs_ingest_open(struct ingest *in, const struct bs_wire *w, const unsigned char *payload);
/* The scan goes on with a fault; its outcome names the first. */
void bs_ingest_fault(struct bs_ingest_scan *scan, const struct bs_fail *why);
void bs_ingest_close(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_item *close);
/* No more readouts: what is still held is dropped and counted, recon makes its last images. */
void bs_ingest_drain(struct ingest *in, struct bs_ingest_scan *scan, enum bs_happening on);
/* The scan is over: makes its outcome, sends it, and steps. */
void bs_ingest_end(struct ingest *in, struct bs_ingest_scan *scan, enum bs_happening on);

/* await.c */
/*
 * Such a scan will be opened: messages of its sender wait. That of a log with an end will if its
 * sender asks.
 */
bool bs_ingest_reopen_due(struct ingest *in, uint64_t session);
/* It will be, or its sender has the time to ask for that: no other scan is opened before it. */
bool bs_ingest_reopen_first(const struct ingest *in);
/* Its log is read, so many records: its sender is awaited. */
void bs_ingest_reopen_read(struct ingest *in, uint64_t records);
/* Its sender is here. */
void bs_ingest_reopen_heard(struct ingest *in);
/* The log has its CLOSE, behind numbers that it lacks: they were refused, or never came. */
bool bs_ingest_reopen_closed(const struct ingest *in);
/* All that the log has was taken, and its sender had its grace: another scan's OPEN may end it. */
bool bs_ingest_reopen_yields(const struct ingest *in);

/* commit.c */
/*
 * Makes what stands in *scan the next step in shared memory and pushes the entry (0: none). If the
 * process dies before this, nothing of the step was done; if it dies within, a successor completes
 * all of it. The slot of an ACQ entry must be ingest's.
 */
void bs_ingest_commit(struct ingest *in, struct bs_ingest_scan *scan, uint64_t entry);
/* Sums the noise readout that is handed on next; a successor undoes it if no commit follows. */
void bs_ingest_add_noise(struct ingest *in, struct bs_ingest_scan *scan,
			 const struct bs_item *item);
/* At start: takes up what a predecessor left. False: there was no scan. */
bool bs_ingest_restore(struct ingest *in);

/* reply.c */
/* The scan's sender is this peer now. */
void bs_ingest_follow(struct ingest *in, uint64_t peer);
/* A message that is not used: reports and answers it, counts it in the totals (not the scan's). */
void bs_ingest_reject(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_wire *w,
		      const struct bs_fail *why);
/* Answers readouts that recon could not use (recon has counted and reported them). */
void bs_ingest_refusals(struct ingest *in);
/* As reject, for a header. */
void bs_ingest_refuse_open(struct ingest *in, uint64_t session, const struct bs_fail *why);
/* Sends what is due, to each peer as far as that takes it. */
void bs_ingest_flush(struct ingest *in);
void bs_ingest_heartbeat(struct ingest *in, int64_t now_ns);

/* log.c; without a log these do nothing, and durable equals held. */
int bs_ingest_log_start(struct ingest *in, struct bs_fail *why);
/* The scan's log was left open by a service before this one, and does not go on yet. */
bool bs_ingest_log_apart(const struct ingest *in, const struct bs_ingest_scan *scan);
/* The same, and it will not: it has its end, which the scan's sender did not hear of. */
bool bs_ingest_log_sealed(const struct ingest *in, const struct bs_ingest_scan *scan);
/* That log is no scan's any more: it is sealed. */
void bs_ingest_log_leave(struct ingest *in);
/* The older one's scan is over: that of the newest log is at hand. */
void bs_ingest_log_newer(struct ingest *in);
/* Give a message to the log. put: before it is handed on or held. */
void bs_ingest_log_open(struct ingest *in, const unsigned char *msg, size_t len);
void bs_ingest_log_put(struct ingest *in, struct bs_ingest_scan *scan, uint64_t seq,
		       const unsigned char *msg, size_t len);
/* False: it is not said yet. The OPEN is on its way to the disk, or its sender may know of more. */
bool bs_ingest_log_ack(struct ingest *in, struct bs_ingest_scan *scan, struct bs_wire_ack *ack);
/* All of the scan is there; its log is to be sealed. */
void bs_ingest_log_end(struct ingest *in, struct bs_ingest_scan *scan);
/*
 * The scan has its outcome, and the step after it holds: what its log was sealed without is made,
 * or named; a log apart is left, not sooner: until then no scan but its own is opened.
 */
void bs_ingest_log_made(struct ingest *in, struct bs_ingest_scan *scan);
/* The log is sealed, or given up; it may also be that its disk is too slow to wait for. */
bool bs_ingest_log_ended(const struct ingest *in, const struct bs_ingest_scan *scan);
/* Not the latter: a log that still changes is not left behind for the next scan's. */
bool bs_ingest_log_closed(const struct ingest *in);
/* It is: notes in shared memory what is to be known of it while the next scan has another. */
void bs_ingest_log_note(struct ingest *in);
/* Why the log cannot give all of the scan; NULL: it can. */
const char *bs_ingest_log_lacks(const struct ingest *in, const struct bs_ingest_scan *scan);
/* The log's name. "": it has none. */
const char *bs_ingest_log_name(const struct ingest *in, const struct bs_ingest_scan *scan);
/* settled: ACK will call what is read durable. */
int bs_ingest_log_read(const struct ingest *in, const char *log, struct bs_log_reader **r,
		       bool settled, struct bs_fail *why);
/* All of it is on the disk. */
bool bs_ingest_log_written(const struct ingest *in, const struct bs_ingest_scan *scan);
/* Appends the log's name and what it lacks to the outcome's text. Ends the log. */
void bs_ingest_log_words(struct ingest *in, struct bs_ingest_scan *scan, char *text, size_t cap);
bool bs_ingest_log_has_work(const struct ingest *in);
void bs_ingest_log_watch(struct ingest *in, int64_t now);
int64_t bs_ingest_log_due(const struct ingest *in);

#endif
