/*
 * board/ingest/ingest.h - the parts of the receiving process, which share one struct
 *
 * ingest.c  the loop: messages in, time, the other workers' news
 * scan.c    a scan from its header to its outcome
 * order.c   messages into the order of their numbers: duplicates, gaps, what came too early
 * reply.c   what the service says to the sender
 * The conversation is that of ipc/WIRE.md. One thread. Allocates nothing once its sockets are open,
 * but for expat while a header is read (no scan is running then); nanomsg allocates each message.
 */
#ifndef BS_BOARD_INGEST_INGEST_H
#define BS_BOARD_INGEST_INGEST_H

#include "board/service/worker.h"
#include "core/frame/state.h"
#include "ipc/endpoint.h"
#include "ipc/wire/wire.h"

#define BS_HELD_MAX    256u /* messages beyond a gap that are held; the window, at most */
#define BS_GAPS_MAX    16u  /* remembered, to tell a late message from a duplicate */
#define BS_REFUSES_MAX 16u  /* refusals that wait for the sender to read */
#define BS_JUMP_MAX    (UINT64_C(1) << 24) /* a number this far ahead is a fault, not a gap */
/* A sender resends after 1 s without progress (WIRE.md, 6): a gap is one when that has not helped.
 */
#define BS_GAP_NS     INT64_C(1500000000)
#define BS_OUTCOME_NS INT64_C(200000000)   /* an outcome is said again at most so often */
#define BS_WATCH_NS   INT64_C(100000000)   /* the socket is looked at so often */
#define BS_OPEN_NS    INT64_C(60000000000) /* a header waits at most this long for recon to arm */

/* A message that is checked, and where its samples lie. */
struct bs_item {
	uint64_t seq;
	int64_t time_ns; /* the sender's */
	uint32_t slot;   /* kind ACQ and used */
	uint16_t kind;   /* enum bs_wire_kind; 0: none */
	bool used;       /* false: it was rejected, only its number counts */
	uint64_t count;  /* CLOSE */
};

struct ingest {
	struct bs_worker_env *env;
	struct bs_endpoint socket;
	size_t message_max;
	struct bs_endpoint_watch watch;
	int64_t watched_ns, message_ns; /* the socket was looked at; a message came */
	struct bs_scan_record *scan;    /* in shared memory */
	struct bs_totals *totals;
	enum bs_state state;
	uint32_t recon_epoch; /* of the recon that this process counts on */

	/* a message that must wait: for a slot, or for the scan before it to end */
	const unsigned char *waiting;
	size_t waiting_len;
	int64_t waiting_since;
	uint64_t waiting_session; /* when it is a header: whom to tell that we live */

	/* the scan in flight */
	const struct bs_protocol *p;
	struct bs_traj table;
	bool has_table;
	uint64_t session;
	uint64_t next;        /* sequence number */
	uint64_t acqs;        /* ACQ messages that came, used or not */
	struct bs_fail fault; /* the first; code 0: none */
	int64_t heard_ns;
	struct bs_item held[BS_HELD_MAX]; /* by seq % BS_HELD_MAX */
	uint32_t held_count;
	int64_t gap_since;
	struct {
		uint64_t first, count;
	} gap[BS_GAPS_MAX];
	uint32_t gaps;

	/* what is to be said */
	uint32_t window;
	int64_t said_ns;
	bool accept_due, ack_due;
	uint32_t unacked;
	int64_t ack_time_ns;
	struct {
		uint64_t session;
		int32_t code;
		char text[sizeof(((struct bs_fail *)0)->text)];
	} refuse[BS_REFUSES_MAX];
	uint32_t refuse_first, refuses;
	struct bs_scan_end *ended; /* the last scan's outcome, in shared memory */
	bool outcome_due;
	int64_t outcome_said_ns;
};

/* ingest.c */
void bs_ingest_step(struct ingest *in, enum bs_happening on);
/* What rings the bell, looked at once more after the announcement: each of it must be here, too. */
bool bs_ingest_has_work(const struct ingest *in);
/* A message that is not used: counted, logged, answered. */
void bs_ingest_reject(struct ingest *in, uint64_t session, const struct bs_fail *why);

/* scan.c. The payloads lie in nanomsg's message; nothing of them is kept. */
int bs_ingest_open(struct ingest *in, const struct bs_wire *w, const unsigned char *payload);
/* *item: what to put in order. BS_INGEST_LATER: no slot is free, the message must wait. */
#define BS_INGEST_LATER 1
int bs_ingest_acq(struct ingest *in, const struct bs_wire *w, const unsigned char *payload,
		  int64_t received_ns, struct bs_item *item);
void bs_ingest_deliver(struct ingest *in, const struct bs_item *item);
/* Remembers the first fault; end: and the scan ends now. */
void bs_ingest_fault(struct ingest *in, const struct bs_fail *why, enum bs_happening on);
/* The scan is over: makes its outcome, sends it, and steps. */
void bs_ingest_end(struct ingest *in, enum bs_happening on);
/* At start: ends what a predecessor left open. */
void bs_ingest_resume(struct ingest *in);

/* order.c */
/* True: the message is next or may be held; false: it was counted and is done with. */
bool bs_ingest_wanted(struct ingest *in, const struct bs_wire *w);
void bs_ingest_put(struct ingest *in, const struct bs_item *item);
/* Gives up on a gap that is too old, or now. */
void bs_ingest_give_up_gap(struct ingest *in, int64_t now_ns, bool now);
/* What is still held is given back; counted, and said, as too late. */
void bs_ingest_drop_held(struct ingest *in);

/* reply.c */
void bs_ingest_refuse(struct ingest *in, uint64_t session, const struct bs_fail *why);
/* Sends what is due, as far as the peer takes it. True: nothing is left. */
bool bs_ingest_flush(struct ingest *in);
void bs_ingest_heartbeat(struct ingest *in, int64_t now_ns);

#endif
