/*
 * board/ingest/order.h - messages in the order of their numbers, whatever order they come in
 *
 * start -> { look -> hold | pass_over | passed -> next* }*: look says what a number is before its
 * message is read. The message that is next is handed on by the caller, who says so (passed); one
 * beyond it is held until those before it have come, or until the caller gives the missing ones up.
 * One for which there is no room is passed over: its sender sends it again. next then returns what
 * is held and due, one by one. Nothing here acts: no counter, no reply, no clock.
 * ipc/WIRE.md, rules 7 and 8. Test: test/unit/board/test_order.c
 */
#ifndef BS_BOARD_INGEST_ORDER_H
#define BS_BOARD_INGEST_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/shm/scan.h"
#include "ipc/wire/wire.h"

#ifndef BS_HELD_MAX
#define BS_HELD_MAX 256u /* messages beyond a gap that are held, at most */
#endif
#define BS_JUMP_MAX (UINT64_C(1) << 24) /* a number this far ahead is a fault, not a gap */
/*
 * A sender resends after 1, 2, then each 4 s without progress (WIRE.md, 6): what is missing after
 * this is lost.
 */
#define BS_GAP_NS INT64_C(4500000000)
/* A scan gives way to another sender's header once its own sender was not heard for so long, */
#define BS_SILENT_NS INT64_C(1000000000)
#define BS_GONE_NS   INT64_C(250000000) /* or for so long, and is not connected, */
#define BS_MUTE_NS   INT64_C(50000000)  /* or for so long, and its process is stopped or no more */

/* A message that was checked, and where its samples lie. */
struct bs_item {
	uint64_t seq;
	int64_t time_ns; /* the sender's */
	uint32_t slot;   /* kind ACQ and used */
	enum bs_wire_kind kind;
	bool used;      /* false: it was rejected, only its number counts */
	uint64_t count; /* CLOSE */
};

/* What a numbered message other than a readout says. BS_ERR_STATE: it is a second OPEN. */
int bs_item_check(struct bs_item *item, const struct bs_wire *w, const unsigned char *payload,
		  struct bs_fail *why);
/* CLOSE against the ACQ messages that came, where no number is missing. */
int bs_item_closes(const struct bs_item *close, uint64_t acqs, uint64_t gaps, struct bs_fail *why);

struct bs_order {
	uint64_t next;   /* the first number that was neither handed on nor given up */
	uint32_t window; /* as the sender knows it */
	uint32_t room;   /* messages that may be held; at most BS_HELD_MAX */
	uint32_t held_count;
	uint64_t over;        /* the least number that was passed over; believed beyond next */
	int64_t gap_since_ns; /* how long next has been waited for; believed while it is missing */
	struct bs_item held[BS_HELD_MAX]; /* by seq % BS_HELD_MAX */
	struct bs_gap gap[BS_GAPS_MAX];
	uint32_t gaps;
};

enum bs_number {
	BS_NUMBER_NEW,
	BS_NUMBER_DUPLICATE, /* it came before */
	BS_NUMBER_LATE,      /* it was given up before it came */
	BS_NUMBER_ABSURD     /* BS_JUMP_MAX or more ahead */
};

/* A stream begins (nothing is held): its first number is next. */
void bs_order_start(struct bs_order *o, uint64_t next);
enum bs_number bs_order_look(const struct bs_order *o, uint64_t seq);
/* seq is further ahead than the window allows: what is missing will not come. */
bool bs_order_beyond(const struct bs_order *o, uint64_t seq);
/* There is no room for seq: its sender sends it again once what is missing has come. */
bool bs_order_full(const struct bs_order *o, uint64_t seq);

/* Some number beyond next has come: next is missing. */
static inline bool bs_order_lacks(const struct bs_order *o)
{
	return o->held_count > 0 || o->over > o->next;
}

/* Number seq, beyond next and neither bs_order_beyond nor _full, came at now_ns. */
void bs_order_hold(struct bs_order *o, const struct bs_item *item, int64_t now_ns);
/* The same, but there is no room for it (bs_order_full). */
void bs_order_pass_over(struct bs_order *o, uint64_t seq, int64_t now_ns);
static inline void bs_order_passed(struct bs_order *o, uint64_t seq)
{
	o->next = seq + 1;
}
/* True: *item was held and is next; it is not held any more. */
bool bs_order_next(struct bs_order *o, struct bs_item *item);
/*
 * Gives up the numbers from next on, up to the first that is held or was passed over, or to seq,
 * which is at hand, whichever comes first (BS_NUMBER_NONE: none is at hand). Returns how many.
 */
#define BS_NUMBER_NONE UINT64_MAX
uint64_t bs_order_give_up(struct bs_order *o, uint64_t seq);
/* Any of what is held; true until nothing is. */
bool bs_order_drop(struct bs_order *o, struct bs_item *item);

#endif
