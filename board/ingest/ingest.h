/*
 * board/ingest/ingest.h - the parts of the receiving process, which share one struct
 *
 * ingest.c   runs the loop: watches the time and the other workers, resumes a predecessor's scans
 * reload.c   takes up a changed site between two scans
 * reopen.c   continues a scan from its log after the service was killed during that scan
 * feed.c     reads a scan's log: from the beginning for a recon that replaces another; for a
 *            reopened scan only the messages that this service has not had
 * receive.c  brings a message from its peer to its place in the scan, a readout to its slot
 * line.c     keeps headers that wait until a scan can begin
 * deliver.c  hands on the next readout to recon; computes receipt times from the sender's clock
 * scan.c     runs a scan from its header to its outcome
 * await.c    decides which reopened scan comes first, and waits for its sender
 * commit.c   writes each step of a scan to shared memory, where a successor finds it
 * order.c    tells which message is next, which is a duplicate, what is missing; see order.h
 * answer.c   makes answers of a readout, or of an image's step, for the sender
 * reply.c    sends the service's replies to the sender
 * log.c      gives every message that is taken to the scan's log
 * Each file calls only those below it. ipc/WIRE.md defines the protocol. One thread runs all of
 * this. It allocates nothing once its socket is open, except in expat while a header is read (no
 * scan is running then).
 */
#ifndef BS_BOARD_INGEST_INGEST_H
#define BS_BOARD_INGEST_INGEST_H

#include "board/ingest/order.h"
#include "board/log/keeper.h"
#include "board/service/worker.h"
#include "core/frame/intake.h"
#include "core/frame/state.h"
#include "ipc/gate.h"
#include "ipc/wire/answer.h"
#include "ipc/wire/wire.h"

#define BS_TELLS_MAX   16u /* answers that wait for their sender to read */
#define BS_REFUSES_MAX 16u /* refusals that wait for the scan's sender to read */
#define BS_WAITING_MAX 2u  /* messages in ingest.waiting */
/* headers that wait for their scan to begin */
#define BS_LINE_MAX   (BS_GATE_KEEP - BS_WAITING_MAX)
#define BS_LOST_MAX   16u                /* sessions in ingest.lost */
#define BS_OUTCOME_NS INT64_C(200000000) /* least time between two sendings of an outcome */
#define BS_LOOK_NS    INT64_C(4000000)   /* longest time between two reads of a scan's socket */
#define BS_AWAY_NS    INT64_C(5000000)   /* after longer, messages may have waited in the socket */
#define BS_OPEN_NS    INT64_C(60000000000) /* longest wait of a header */
#define BS_RETURN_NS  INT64_C(1000000000)  /* time for a sender to reconnect after a start */
#define BS_WINDOW_LOG 8192u                /* messages in the sender's window with a log */
#define BS_DEATHS_MAX 5u /* processes that end at one message before its scan is given up */

/*
 * One scan. A function that serves either of the two open scans gets the scan beside *in; a
 * function that serves the newest scan alone uses in->now.
 */
struct bs_ingest_scan {
	struct bs_scan_record *record; /* record of the scan in shared memory */
	/* state of the scan; of the newest scan it is the service's, too */
	enum bs_state state;
	const struct bs_protocol *p;
	struct bs_traj table;
	bool has_table;
	uint64_t id, session;
	uint64_t peer; /* the sender's peer number; 0: this process has not heard the sender yet */
	int pid;       /* process of the sender; 0: not known */
	struct bs_order order;
	/* least number that the sender has sent since the service's new start; 0: no new start */
	uint64_t heard_from;
	struct bs_scan_so_far so_far;
	uint64_t resumed_at; /* numbers below this are resent after a restart: no duplicates */
	int64_t heard_ns;
	int64_t apart_ns;       /* least time from a message's time_ns to its receipt */
	enum bs_clock clock;    /* the clock that the sender stamps its messages with */
	int64_t clock_ahead_ns; /* sender's clock minus this process's monotonic clock */
	int64_t said_ns;        /* time of the last message to the sender */
	bool accept_due, ack_due;
	uint32_t unacked;
	uint64_t durable_said, unprotected_said; /* numbers that the last ACK said */
};

/* A REFUSE that waits to be sent. */
struct bs_refusal {
	uint64_t peer, session, seq;
	uint16_t version; /* wire version that the refused sender speaks */
	int32_t code;
	char text[sizeof(((struct bs_fail *)0)->text)];
};

/* An answer that waits to be sent. */
struct bs_telling {
	uint64_t session;
	int64_t sender_ns; /* the sender's time of the readout */
	struct bs_answer answer;
};

struct bs_log_reader; /* defined in drivers/log/reader.h */

struct ingest {
	struct bs_worker_env *env;
	struct bs_gate gate;
	size_t message_max;
	uint64_t from; /* the peer whose message is being handled */
	struct bs_totals *totals;
	uint32_t recon_epoch; /* epoch of the recon process that has the open scans' readouts */
	bool keeps_noise;     /* every scan's noise is summed: some protocol of the site whitens */

	struct bs_ingest_scan now; /* the scan that was opened last, in flight or over */
	/* the scan before, closed, whose last images are being made; id 0: there is none */
	struct bs_ingest_scan before;

	/* messages that wait for a slot, or for their scan to be reopened: one of each session */
	struct bs_waiting {
		const unsigned char *msg; /* message that waits; NULL: the place is free */
		size_t len;
		uint64_t peer;
		int64_t said_ns; /* time of the last heartbeat to peer */
	} waiting[BS_WAITING_MAX];

	/* headers, oldest first, that wait for the open scan to end or for recon to arm */
	struct bs_line {
		const unsigned char *msg;
		size_t len;
		uint64_t peer, session;
		int64_t since_ns, said_ns;
		bool alone; /* the scan begins only when no other scan is open */
	} line[BS_LINE_MAX];
	uint32_t lined;

	struct bs_feed *feed; /* the log that recon is given scans from; NULL: recon is not fed */
	uint64_t reopens;     /* number, from its log, of the scan being reopened; 0: none is */
	int64_t empty_ns;     /* when the socket was last seen empty */

	/* log of the newest scan */
	struct bs_keeper *log; /* keeper of that log; NULL: no log is kept */
	bool unprotected;      /* value last reported */
	bool was_early;        /* the ending scan's log was sealed before its images were made */

	uint64_t lost[BS_LOST_MAX]; /* sessions that are not open, as last reported */
	unsigned losts;
	/* replies that are still to be sent */
	struct bs_refusal refuse[BS_REFUSES_MAX];
	uint32_t refuses;  /* number of refusals in refuse, which has the oldest first */
	uint64_t refusals; /* recon's refusals that were answered */
	struct bs_telling tell[BS_TELLS_MAX];
	uint32_t tells; /* number of answers in tell, which has the oldest first */
	uint64_t steps; /* numbers of steps that were looked at */
	struct {
		struct bs_scan_end *end; /* end of the scan in shared memory */
		uint64_t peer;           /* the peer that the outcome is sent to */
		bool due;
		int64_t said_ns;
	} outcome[2]; /* sessions and outcomes of the two scans that ended last */
};

/* True if some protocol of the site whitens: then the noise of every scan is summed. */
static inline bool bs_ingest_sums_noise(const struct bs_site *site)
{
	bool whitens = false;

	for (uint32_t i = 0; i < site->protocols; i++)
		whitens |= bs_plan_has(&site->protocol[i].plan, BS_PLAN_WHITEN);
	return whitens;
}

static inline bool bs_ingest_in_scan(const struct bs_ingest_scan *scan)
{
	return scan->state == BS_STATE_SCANNING || scan->state == BS_STATE_DRAINING ||
	       scan->state == BS_STATE_ABORTING;
}

/* True if a message before number seq never came or was refused. */
static inline bool bs_ingest_lost(const struct bs_ingest_scan *scan, uint64_t seq)
{
	return scan->so_far.count.lost != 0 && scan->so_far.count.lost < seq;
}

static inline bool bs_ingest_is_closed(const struct bs_ingest_scan *scan)
{
	return scan->state == BS_STATE_DRAINING || scan->state == BS_STATE_ABORTING;
}

/* True if the message in a place of ingest.waiting is of this session; 0: of any. */
static inline bool bs_ingest_waits_at(const struct bs_waiting *m, uint64_t session)
{
	return m->msg != NULL && (session == 0 || bs_wire_session(m->msg) == session);
}

/* True if a message of this session waits; 0: of any. */
static inline bool bs_ingest_waits(const struct ingest *in, uint64_t session)
{
	return bs_ingest_waits_at(&in->waiting[0], session) ||
	       bs_ingest_waits_at(&in->waiting[1], session);
}

/* True if the scan's last image has left recon. */
static inline bool bs_ingest_is_over(const struct bs_ingest_scan *scan)
{
	return bs_ingest_is_closed(scan) && atomic_load(&scan->record->ended) == scan->id;
}

/* True if a scan of an earlier service may still be continued from its log. */
static inline bool bs_ingest_may_reopen(const struct ingest *in)
{
	const struct bs_reopened *o = in->env->shm.s->reopened;

	return atomic_load(&o[0].step) != BS_REOPEN_OVER ||
	       atomic_load(&o[1].step) != BS_REOPEN_OVER;
}

/* Returns the scan that is reopened now, of those that an earlier service was killed in. */
static inline struct bs_reopened *bs_ingest_reopened(const struct ingest *in)
{
	struct bs_shared *s = in->env->shm.s;

	return &s->reopened[atomic_load(&s->reopening) & 1];
}

/* The next functions are in ingest.c. */
/* True if another process has work for ingest. Checked between bell announce and sleep. */
bool bs_ingest_has_work(const struct ingest *in);
/* Continues the scans that a predecessor process left open, at start. */
void bs_ingest_resume(struct ingest *in);

/* The next functions are in reload.c. */
/* True while a changed site is being armed: headers wait. */
bool bs_ingest_held(const struct ingest *in);
/* True if a reload waits and no scan is open, or if the site has changed. */
bool bs_ingest_reloads(const struct ingest *in);
/* Does ingest's part of a reload. False: the tables cannot be mapped; only a new process helps. */
bool bs_ingest_reload(struct ingest *in, struct bs_fail *why);

/* The next functions are in reopen.c. */
/*
 * Finds out at start, before any message is taken, whether the newest log is of a scan that was
 * left open, and whether the log before it lacks images. Such scans are reopened.
 */
void bs_ingest_reopen_start(struct ingest *in);
/* Reopens a scan from its log as soon as it can be opened, with all checks; the older one first. */
void bs_ingest_reopen(struct ingest *in);
/*
 * True while the sender of a reopened scan is awaited: silence and gaps do not end the scan then.
 * Ends the scan when the wait has been too long.
 */
bool bs_ingest_reopen_waits(struct ingest *in, int64_t now);

/* The next functions are in feed.c. */
/*
 * Call when recon was replaced. All readouts of the open scans that the old recon had are read
 * from their logs and given to the new one, one scan after the other, before any further message
 * is taken. A scan without a complete log ends. Allocates (the log's reader).
 */
void bs_ingest_feed_begin(struct ingest *in);
/*
 * Begins a feed anew at start, before any message is taken, if a predecessor process was feeding
 * recon from a log: recon may have only a part of it.
 */
void bs_ingest_feed_resume(struct ingest *in);
/*
 * Takes the rest of a reopened scan's log, in the order of the numbers, as if it came from the
 * sender. The sender's own messages wait meanwhile.
 */
void bs_ingest_feed_rest(struct ingest *in);
/* Feeds the next part of a log. False: the feed waits for recon, a slot or the disk. */
bool bs_ingest_feed(struct ingest *in);
bool bs_ingest_feed_has_work(const struct ingest *in);
/* Stops the feed and closes its log. */
void bs_ingest_feed_end(struct ingest *in);

/* The next functions are in receive.c. */
/* Takes a message from the scan's log that this service has not had. False: no slot is free. */
bool bs_ingest_take_logged(struct ingest *in, struct bs_ingest_scan *scan, const unsigned char *msg,
			   size_t len);
/* Gives recon a readout from the log a second time. False: no slot is free. */
bool bs_ingest_again(struct ingest *in, struct bs_ingest_scan *scan, const unsigned char *msg,
		     size_t len);
/* Takes the messages in the socket, a bounded number, so that the loop goes on. True: some came. */
bool bs_ingest_receive(struct ingest *in);

/* The next functions are in line.c. */
/*
 * True if the scan in flight may be ended for a header of peer `to`. It may, if the header is from
 * the same sender, or if the scan's sender has been silent for too long or cannot say anything
 * (WIRE.md, 11), or if that sender has not come back after a new start (WIRE.md, 10).
 */
bool bs_ingest_gives_way(const struct ingest *in, uint64_t to);
/*
 * Puts a header into the waiting line; alone: it waits until no scan is open. Its message stays in
 * the gate's buffer, and further messages of its peer are read. False: the header was waiting
 * already, or it is refused.
 */
bool bs_ingest_line_up(struct ingest *in, const struct bs_wire *w, const unsigned char *payload,
		       bool alone);
void bs_ingest_refuse_draining(struct ingest *in, uint64_t session);
/* Ends the scan in flight because the header of this session came. */
void bs_ingest_end_for(struct ingest *in, uint64_t session);
/*
 * Serves the headers that wait. A header goes if its peer has left or if it has waited for too
 * long. The first one opens its scan as soon as it can, and may end the scan in flight.
 */
void bs_ingest_serve_line(struct ingest *in);

/* The next functions are in deliver.c. */
/*
 * Returns when a message was received. That is taken_ns, if the socket was seen empty at most
 * BS_AWAY_NS before. Otherwise the message may have waited in the socket, because no slot was free
 * or this process did not run. Then its receipt is sent_ns plus the least difference that any
 * message of the scan had between sending and receipt, but not before the socket was last seen
 * empty.
 */
int64_t bs_ingest_receipt(struct ingest *in, struct bs_ingest_scan *scan, int64_t sent_ns,
			  int64_t taken_ns);
/* Returns when a message that is now read from the log was first received. */
int64_t bs_ingest_first_receipt(const struct bs_ingest_scan *scan, int64_t sent_ns, int64_t now_ns);
/*
 * Counts how long a readout was on its way since its sender's time stamp, if the stamps come from
 * a clock of this host: then the scan's first readout was stamped less than 10 s before it came. A
 * readout that seems to have come before it was sent is not counted.
 */
void bs_ingest_note_sent(struct ingest *in, struct bs_ingest_scan *scan,
			 const struct bs_acq_meta *m);
/* Returns the intake of the scan's readouts, which go to slots of the pool. */
struct bs_intake bs_ingest_intake(struct ingest *in, struct bs_ingest_scan *scan);
/* deliver: hands on the next message. deliver_held: hands on the held messages behind it. */
void bs_ingest_deliver(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_item *item);
void bs_ingest_deliver_held(struct ingest *in, struct bs_ingest_scan *scan);
/*
 * Gives up missing messages: the scan goes on without them. They are those before the first
 * message that is held or was passed over, or before seq, the number of the message being handled
 * (BS_NUMBER_NONE: none is).
 */
void bs_ingest_give_up_gap(struct ingest *in, struct bs_ingest_scan *scan, uint64_t seq);
/* Ends the scan now, for this reason. Messages held beyond a gap are used first. */
void bs_ingest_abort(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_fail *why,
		     enum bs_happening on);

/* The next functions are in scan.c. */
/* Moves the scan to its next state and commits, with an entry for recon (0: none). */
void bs_ingest_step(struct ingest *in, struct bs_ingest_scan *scan, enum bs_happening on,
		    uint64_t entry);
/*
 * True if a scan may begin. No scan may while one of an earlier service is still to be reopened.
 * Otherwise it may if no scan is open. Unless alone, it also may if the only open scan is closed,
 * all of it is in recon's ring and in its log, and no reload waits for its end.
 */
bool bs_ingest_may_open(struct ingest *in, bool alone);
/*
 * Opens the scan of an OPEN message, or refuses it. The payload lies in the gate's buffer; nothing
 * of it is kept. BS_INGEST_ALONE: the header has to wait until no other scan is open, since its
 * protocol uses what another scan may leave (maps, a field), or has a budget.
 */
#define BS_INGEST_ALONE 1
int bs_ingest_open(struct ingest *in, const struct bs_wire *w, const unsigned char *payload);
/* Notes a fault of a scan that goes on; the outcome names the scan's first fault. */
void bs_ingest_fault(struct bs_ingest_scan *scan, const struct bs_fail *why);
void bs_ingest_close(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_item *close);
/* Takes no more readouts. Held ones are dropped and counted; recon makes the last images. */
void bs_ingest_drain(struct ingest *in, struct bs_ingest_scan *scan, enum bs_happening on);
/* Ends a scan whose last image has left: makes its outcome, makes it due, and steps the state. */
void bs_ingest_end(struct ingest *in, struct bs_ingest_scan *scan, enum bs_happening on);

/* The next functions are in await.c. */
/*
 * True if this session's scan is going to be reopened from its log: its sender's messages wait. A
 * scan whose log is sealed is reopened when its sender asks, which this call stands for.
 */
bool bs_ingest_reopen_due(struct ingest *in, uint64_t session);
/* True if a scan will be reopened, or its sender may still ask: no other scan is opened first. */
bool bs_ingest_reopen_first(const struct ingest *in);
/* Call when all records of the reopened scan's log are read: the scan's sender is awaited. */
void bs_ingest_reopen_read(struct ingest *in, uint64_t records);
/* Call when the sender of the reopened scan is connected. */
void bs_ingest_reopen_heard(struct ingest *in);
/* True if the log has a CLOSE after numbers that it lacks: those were refused, or never came. */
bool bs_ingest_reopen_closed(const struct ingest *in);
/*
 * True if another scan's OPEN may end the reopened scan: its log is read, and its sender has had
 * BS_RETURN_NS to come back.
 */
bool bs_ingest_reopen_yields(const struct ingest *in);

/* The next functions are in commit.c. */
/*
 * Makes the contents of *scan the next step in shared memory and pushes the entry (0: none) to
 * recon's ring. If the process dies before this call, nothing of the step was done. If it dies
 * within, a successor completes the step. The slot of an ACQ entry must be ingest's.
 */
void bs_ingest_commit(struct ingest *in, struct bs_ingest_scan *scan, uint64_t entry);
/* Adds the next noise readout to the sum; a successor undoes this if no commit follows. */
void bs_ingest_add_noise(struct ingest *in, struct bs_ingest_scan *scan,
			 const struct bs_item *item);
/* Restores the scans of a predecessor from shared memory, at start. False: there was no scan. */
bool bs_ingest_restore(struct ingest *in);

/* The next functions are in answer.c. */
/* Makes the answers of the readout in a slot, where the scan's sender asks for them. */
void bs_ingest_answer(struct ingest *in, struct bs_ingest_scan *scan, uint32_t slot);
/* The same of the numbers that images' steps gave. */
void bs_ingest_answer_steps(struct ingest *in);
/* True if steps have given numbers that were not looked at. */
static inline bool bs_ingest_steps_said(const struct ingest *in)
{
	return atomic_load(&in->env->shm.s->said.count) != in->steps;
}

/* The next functions are in reply.c. */
/* Makes this peer the sender of the newest scan. */
void bs_ingest_follow(struct ingest *in, uint64_t peer);
/* Reports and answers a message that is not used; counts it in the totals, not in the scan. */
void bs_ingest_reject(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_wire *w,
		      const struct bs_fail *why);
/* Sends an answer, now or as soon as the sender reads; too late, it is dropped and counted. */
void bs_ingest_tell(struct ingest *in, const struct bs_telling *t);
/* Drops the answers of a scan that still wait: it ends. */
void bs_ingest_tell_end(struct ingest *in, const struct bs_ingest_scan *scan);
/* Answers readouts that recon could not use (recon has counted and reported them). */
void bs_ingest_refusals(struct ingest *in);
/* Reports and answers a header that is not used; counts it as refused. */
void bs_ingest_refuse_open(struct ingest *in, uint64_t session, const struct bs_fail *why);
/* Sends outcomes that are due: one of them gives its place to that of a scan that ends. */
void bs_ingest_tell_outcomes(struct ingest *in);
/* Sends the replies that are due, to each peer as many as it takes without blocking. */
void bs_ingest_flush(struct ingest *in);
void bs_ingest_heartbeat(struct ingest *in, int64_t now_ns);

/* In log.c: without a log these do nothing, and ACK's durable equals its held. */
int bs_ingest_log_start(struct ingest *in, struct bs_fail *why);
/* True if the scan was reopened from an earlier service's log that is not continued yet. */
bool bs_ingest_log_apart(const struct ingest *in, const struct bs_ingest_scan *scan);
/* True if that log is sealed already (its sender did not hear the outcome): it never continues. */
bool bs_ingest_log_sealed(const struct ingest *in, const struct bs_ingest_scan *scan);
/* Ends the use of the reopened scan's log: seals it if it is not sealed. */
void bs_ingest_log_leave(struct ingest *in);
/* Reopens the newest log's scan next, if the older of the two reopened scans is over. */
void bs_ingest_log_newer(struct ingest *in);
/* Give a message to the log. put is called before the message is handed on or held. */
void bs_ingest_log_open(struct ingest *in, const unsigned char *msg, size_t len);
void bs_ingest_log_put(struct ingest *in, struct bs_ingest_scan *scan, uint64_t seq,
		       const unsigned char *msg, size_t len);
/* Gives an answer to the log of its scan, as long as that takes messages. */
void bs_ingest_log_answer(struct ingest *in, struct bs_ingest_scan *scan,
			  const struct bs_telling *t);
/*
 * Fills in an ACK. False: no ACK may be sent yet: the OPEN is not on the disk, or the sender may
 * have been told of more durable messages than this log has.
 */
bool bs_ingest_log_ack(struct ingest *in, struct bs_ingest_scan *scan, struct bs_wire_ack *ack);
/* True if a recorded message has to wait until there is room on its way to the log. */
static inline bool bs_ingest_log_full(const struct ingest *in)
{
	return in->log != NULL && bs_keeper_full(in->log);
}
/* Ends the log of a scan whose messages have all come: it is to be sealed. */
void bs_ingest_log_end(struct ingest *in, struct bs_ingest_scan *scan);
/*
 * Call when the scan has its outcome, before its last step. If the log was sealed before the scan's
 * images were made, the folder of logs is told that they are made or named missing; if it could not
 * be sealed then, it is now.
 */
void bs_ingest_log_made(struct ingest *in, struct bs_ingest_scan *scan);
/*
 * Call when the scan's last step is committed: a log that was not continued is left now and not
 * sooner, since until then no other scan is opened.
 */
void bs_ingest_log_over(struct ingest *in, const struct bs_ingest_scan *scan);
/* True if the log is sealed or given up, or its disk is too slow to wait for. */
bool bs_ingest_log_ended(const struct ingest *in, const struct bs_ingest_scan *scan);
/*
 * True if the newest scan's log is sealed, or was given up when its scan was over: only then
 * may the next scan's log begin.
 */
bool bs_ingest_log_closed(const struct ingest *in);
/* Notes facts of the closed log in shared memory, for use while the next scan's log is written. */
void bs_ingest_log_note(struct ingest *in);
/* Returns why the log cannot give all of the scan; NULL: it can. */
const char *bs_ingest_log_lacks(const struct ingest *in, const struct bs_ingest_scan *scan);
/* Returns the name of the scan's log; "": there is none. */
const char *bs_ingest_log_name(const struct ingest *in, const struct bs_ingest_scan *scan);
/* Reads what became of the newest scan's frames, where an earlier service has made images of it. */
void bs_ingest_log_steps(struct ingest *in);
/* Opens a log for reading. settled: brings it to the disk first, so that ACK may say durable. */
int bs_ingest_log_read(const struct ingest *in, const char *log, struct bs_log_reader **r,
		       bool settled, struct bs_fail *why);
/* True if all messages of the scan that were given to its log are written. */
bool bs_ingest_log_written(const struct ingest *in, const struct bs_ingest_scan *scan);
/* Appends the log's name and what it lacks to the outcome's text. Ends the log. */
void bs_ingest_log_words(struct ingest *in, struct bs_ingest_scan *scan, char *text, size_t cap);
bool bs_ingest_log_has_work(const struct ingest *in);
void bs_ingest_log_watch(struct ingest *in, int64_t now);
int64_t bs_ingest_log_due(const struct ingest *in);

#endif
