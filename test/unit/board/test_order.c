/* test/unit/board/test_order.c - messages in any order: next, held, a duplicate, late, given up */
/* Holds: W7, W8, W14 */
#include "board/ingest/order.h"

#include <string.h>

#include "drivers/source/sender.h"
#include "test/support/check.h"

static struct bs_order o;

static void start(uint64_t next, uint32_t window)
{
	memset(&o, 0, sizeof(o));
	o.window = o.room = window;
	bs_order_start(&o, next);
}

static void hold(uint64_t first, uint64_t last)
{
	for (uint64_t seq = first; seq <= last; seq++)
		bs_order_hold(&o, &(struct bs_item){ .seq = seq, .kind = 2 }, (int64_t)seq);
}

/* What is held and due, handed on; the number of messages. */
static uint32_t hand_on(void)
{
	struct bs_item item;
	uint32_t n = 0;

	for (; bs_order_next(&o, &item); n++) {
		CHECK(item.seq == o.next, "number %llu in turn", (unsigned long long)item.seq);
		bs_order_passed(&o, item.seq);
	}
	return n;
}

static void test_in_order(void)
{
	start(1, 64);
	CHECK(bs_order_look(&o, 1) == BS_NUMBER_NEW && !bs_order_beyond(&o, 1), "the next one");
	bs_order_passed(&o, 1);
	CHECK(o.next == 2 && bs_order_look(&o, 1) == BS_NUMBER_DUPLICATE && hand_on() == 0,
	      "it came already");
	CHECK(bs_order_look(&o, 1 + BS_JUMP_MAX) == BS_NUMBER_NEW &&
		      bs_order_look(&o, 2 + BS_JUMP_MAX) == BS_NUMBER_ABSURD &&
		      bs_order_look(&o, UINT64_MAX) == BS_NUMBER_ABSURD,
	      "too far ahead to be believed");
}

static void test_swapped(void)
{
	start(1, 64);
	hold(2, 3);
	CHECK(bs_order_look(&o, 3) == BS_NUMBER_DUPLICATE && o.gap_since_ns == 2 && hand_on() == 0,
	      "held, and waiting since the first of them");
	CHECK(bs_order_look(&o, 1) == BS_NUMBER_NEW, "what they wait for");
	bs_order_passed(&o, 1);
	CHECK(hand_on() == 2 && o.next == 4 && o.held_count == 0, "in order, none is left");
}

static void test_gap(void)
{
	start(10, 64);
	hold(13, 14);
	hold(16, 16);
	CHECK(bs_order_give_up(&o, BS_NUMBER_NONE) == 3 && o.next == 13, "10 to 12 are given up");
	CHECK(hand_on() == 2 && o.held_count == 1, "13 and 14 follow, 16 waits");
	CHECK(bs_order_look(&o, 11) == BS_NUMBER_LATE &&
		      bs_order_look(&o, 13) == BS_NUMBER_DUPLICATE,
	      "late is not a duplicate");
	CHECK(bs_order_give_up(&o, BS_NUMBER_NONE) == 1 && hand_on() == 1 && o.next == 17, "all");
	bs_order_start(&o, 10);
	CHECK(bs_order_look(&o, 9) == BS_NUMBER_DUPLICATE, "gaps are forgotten with the scan");
}

/* A sender that goes on beyond its window, or jumps: what it skipped is given up, not what came. */
static void test_beyond(void)
{
	start(5, 8);
	hold(7, 11);
	CHECK(bs_order_beyond(&o, 13) && !bs_order_beyond(&o, 12) && !bs_order_beyond(&o, 5),
	      "the window is eight");
	CHECK(bs_order_give_up(&o, 13) == 2 && o.next == 7, "13 came: 5 and 6 are given up");
	CHECK(hand_on() == 5 && o.next == 12, "and all that is held follows");
	CHECK(bs_order_beyond(&o, 1000) && bs_order_give_up(&o, 1000) == 988 && o.next == 1000,
	      "a jump with nothing held");
}

/* A window of which only a part can be held: the rest is to come again, nothing is given up. */
static void test_full(void)
{
	start(5, 2 * BS_HELD_MAX);
	o.room = 3;
	hold(7, 8);
	CHECK(!bs_order_full(&o, 9), "there is room for one more");
	hold(9, 9);
	CHECK(bs_order_full(&o, 10) && !bs_order_beyond(&o, 10) && !bs_order_full(&o, 5),
	      "and then for what is missing alone");
	bs_order_passed(&o, 5);
	bs_order_passed(&o, 6);
	CHECK(hand_on() == 3 && !bs_order_full(&o, 11) && bs_order_full(&o, 10 + BS_HELD_MAX) &&
		      !bs_order_beyond(&o, 10 + BS_HELD_MAX),
	      "further ahead than can be held");
}

/* What is passed over comes again; what is missing before it may not. */
static void test_passed_over(void)
{
	start(5, 8192);
	bs_order_pass_over(&o, 700, 1);
	bs_order_pass_over(&o, 701, 2);
	bs_order_pass_over(&o, 699, 3);
	CHECK(bs_order_lacks(&o) && o.gap_since_ns == 1 && o.held_count == 0,
	      "none is held, and the next one is missing since the first of them came");
	CHECK(bs_order_give_up(&o, BS_NUMBER_NONE) == 694 && o.next == 699 && !bs_order_lacks(&o),
	      "all before the least of them is given up, nothing is missing before that");
	CHECK(bs_order_look(&o, 699) == BS_NUMBER_NEW && bs_order_look(&o, 698) == BS_NUMBER_LATE,
	      "which comes again");
	hold(701, 701);
	bs_order_passed(&o, 699);
	CHECK(bs_order_give_up(&o, BS_NUMBER_NONE) == 1 && hand_on() == 1 && o.next == 702,
	      "700 does not");
	bs_order_pass_over(&o, 1000, 4);
	hold(705, 705);
	CHECK(bs_order_give_up(&o, BS_NUMBER_NONE) == 3 && o.next == 705,
	      "what is held before that is not given up");
}

static void test_drop(void)
{
	struct bs_item item;
	uint64_t sum = 0;

	start(1, 64);
	hold(3, 5);
	while (bs_order_drop(&o, &item))
		sum += item.seq;
	CHECK(sum == 12 && o.held_count == 0 && bs_order_look(&o, 4) == BS_NUMBER_NEW,
	      "each is dropped once");
}

int main(void)
{
	test_in_order();
	test_swapped();
	test_gap();
	test_beyond();
	test_full();
	test_passed_over();
	test_drop();
	CHECK(BS_GAP_NS > BS_SENDER_RESEND_MAX_NS,
	      "what is missing may come by the last resend, too");
	return check_done();
}
