/*
 * board/ingest/order.h - messages in the order of their numbers, whatever order they come in
 *
 * start -> { look -> hold | pass_over | passed -> next* }*. look classifies a number before its
 * message is read. The caller hands on the message that is next and calls passed. A message beyond
 * the next number is held until those before it have come, or until the caller gives up the
 * missing ones. A message for which there is no room is passed over: its sender sends it again.
 * next returns the held messages that are due, one by one. Nothing here counts, replies or reads a
 * clock.
 * ipc/WIRE.md, rules 7 and 8. Test: test/unit/board/test_order.c
 */
#ifndef BS_BOARD_INGEST_ORDER_H
#define BS_BOARD_INGEST_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/shm/scan.h"
#include "ipc/wire/wire.h"

#ifndef BS_HELD_MAX
#define BS_HELD_MAX 256u /* most messages held beyond a gap */
#endif
#define BS_JUMP_MAX (UINT64_C(1) << 24) /* a number this far ahead is a fault, not a gap */
/*
 * A sender resends after 1, 2, then each 4 s without progress (WIRE.md, 6): a message that is
 * missing for longer than this is lost.
 */
#define BS_GAP_NS INT64_C(4500000000)
/* Silence of a scan's sender after which another sender's header may end the scan: */
/* silence after which a sender that is connected loses its scan */
#define BS_SILENT_NS INT64_C(1000000000)
/* silence after which a sender that is not connected loses its scan */
#define BS_GONE_NS INT64_C(250000000)
/* silence after which a sender whose process is stopped or gone loses its scan */
#define BS_MUTE_NS INT64_C(50000000)

/* A message that was checked, and the slot of its samples. */
struct bs_item {
	uint64_t seq;
	int64_t time_ns; /* time_ns of the sender */
	uint32_t slot;   /* slot of the samples, valid for an ACQ message that is used */
	enum bs_wire_kind kind;
	bool used; /* the message is used; false: it was rejected, and only its number counts */
	uint64_t count; /* CLOSE: number of ACQ messages that were sent */
};

/* Reads a numbered message other than a readout. BS_ERR_STATE: a second OPEN. */
int bs_item_check(struct bs_item *item, const struct bs_wire *w, const unsigned char *payload,
		  struct bs_fail *why);
/* Compares CLOSE's count with acqs. BS_ERR_SEQUENCE: they differ although there is no gap. */
int bs_item_closes(const struct bs_item *close, uint64_t acqs, uint64_t gaps, struct bs_fail *why);

struct bs_order {
	uint64_t next;   /* the first number that was neither handed on nor given up */
	uint32_t window; /* window that the sender knows */
	uint32_t room;   /* messages that may be held; at most BS_HELD_MAX */
	uint32_t held_count;
	uint64_t over;        /* the least number that was passed over; valid if beyond next */
	int64_t gap_since_ns; /* when the wait for next began; valid while next is missing */
	struct bs_item held[BS_HELD_MAX]; /* held messages, each at seq % BS_HELD_MAX */
	struct bs_gap gap[BS_GAPS_MAX];
	uint32_t gaps;
};

enum bs_number {
	BS_NUMBER_NEW,
	BS_NUMBER_DUPLICATE, /* the number came before */
	BS_NUMBER_LATE,      /* the number was given up before it came */
	BS_NUMBER_ABSURD     /* the number is BS_JUMP_MAX or more ahead */
};

/* Begins a stream whose first number is next. Nothing may be held. */
void bs_order_start(struct bs_order *o, uint64_t next);
enum bs_number bs_order_look(const struct bs_order *o, uint64_t seq);
/* True if seq is further ahead than the window allows: the missing messages will not come. */
bool bs_order_beyond(const struct bs_order *o, uint64_t seq);
/* True if there is no room for seq: its sender sends it again once the missing ones have come. */
bool bs_order_full(const struct bs_order *o, uint64_t seq);

/* True if next is missing: a number beyond it has come. */
static inline bool bs_order_lacks(const struct bs_order *o)
{
	return o->held_count > 0 || o->over > o->next;
}

/* Holds a message beyond next that came at now_ns. bs_order_beyond and _full must be false. */
void bs_order_hold(struct bs_order *o, const struct bs_item *item, int64_t now_ns);
/* Notes a number beyond next that came at now_ns and has no room (bs_order_full). */
void bs_order_pass_over(struct bs_order *o, uint64_t seq, int64_t now_ns);
static inline void bs_order_passed(struct bs_order *o, uint64_t seq)
{
	o->next = seq + 1;
}
/* Takes the next message out of the held ones. False: next is not held. */
bool bs_order_next(struct bs_order *o, struct bs_item *item);
/*
 * Gives up the numbers from next on, up to the first one that is held or was passed over, or up to
 * seq, the number of the message being handled (BS_NUMBER_NONE: none is), whichever comes first.
 * Returns how many numbers were given up.
 */
#define BS_NUMBER_NONE UINT64_MAX
uint64_t bs_order_give_up(struct bs_order *o, uint64_t seq);
/* Takes out any one of the held messages. False: none is held. */
bool bs_order_drop(struct bs_order *o, struct bs_item *item);

#endif
