/*
 * test/unit/board/tool/certify/test_late.c - whose lateness it is, on made-up times: the sender's
 * own sleep, stalls of the machine, both at once, and a service that holds the sender up, which is
 * never excused
 */
/* Holds: D9, D10 */
#include "board/tool/certify/late.h"

#include <string.h>

#include "test/support/check.h"

#define MS     INT64_C(1000000)
#define BUDGET (2 * MS)
#define DUE    (100 * MS)

static struct bs_canary canary[2];
static struct bs_late m;

/* Due at 100 ms; the sender slept from 99 to woke, and sent at once; received at once, handed. */
static void late(int64_t woke, int64_t handed)
{
	memset(canary, 0, sizeof(canary));
	m = (struct bs_late){ .left = { .due_ns = DUE,
					.slept_ns = 99 * MS,
					.woke_ns = woke * MS,
					.sent_ns = woke * MS },
			      .before_ns = 96 * MS,
			      .received_ns = woke * MS,
			      .handed_ns = handed * MS };
}

/* Canary i asleep until begin wakes at end; times in ms. */
static void stall(int i, int64_t begin, int64_t end)
{
	(void)bs_canary_wake(&canary[i], begin * MS, end * MS);
	atomic_store(&canary[i].due_ns, 0);
}

static void blames(enum bs_blame want, int64_t overslept, int64_t stalled, const char *what)
{
	enum bs_blame got = bs_late_blame(&m, BUDGET, canary, 2, 200 * MS);

	CHECK(got == want && m.overslept_ns == overslept * MS && m.stalled_ns == stalled * MS,
	      "%s: blame %d, overslept %lld, stalled %lld ms", what, (int)got,
	      (long long)(m.overslept_ns / MS), (long long)(m.stalled_ns / MS));
}

static void test_sender(void)
{
	late(104, 106);
	blames(BS_BLAME_SENDER, 4, 0, "4 ms overslept, 2 ms from then: the sender's");
	late(104, 107);
	blames(BS_BLAME_SERVICE, 4, 0, "3 ms from when it woke: late without the sleep as well");
	late(100, 103);
	blames(BS_BLAME_SERVICE, 0, 0, "it woke in time: the service's");
	late(104, 106);
	m.left.slept_ns = 0;
	blames(BS_BLAME_SERVICE, 0, 0, "no sleep is known");
	late(104, 106);
	m.left.woke_ns = 98 * MS;
	blames(BS_BLAME_SERVICE, 0, 0, "it woke before, and sent late");
}

static void test_backpressure(void)
{
	late(104, 106);
	m.left.owed = true;
	blames(BS_BLAME_SERVICE, 0, 0, "the service had not acknowledged all: not excused");
	late(104, 106);
	m.left.slept_ns = 101 * MS;
	blames(BS_BLAME_SERVICE, 0, 0, "a send that ended after the due time: not excused");
	late(104, 106);
	m.before_ns = 101 * MS;
	blames(BS_BLAME_SERVICE, 0, 0, "the image before was still under way: not excused");
	late(100, 106);
	m.left.sent_ns = m.received_ns = 104 * MS;
	blames(BS_BLAME_SERVICE, 0, 0, "it woke in time and its send took 4 ms: not excused");
	late(104, 106);
	m.received_ns = 103 * MS;
	blames(BS_BLAME_SERVICE, 0, 0, "received before it woke: another readout's record");
	memset(&m.left, 0, sizeof(m.left));
	m.left.due_ns = DUE;
	m.before_ns = 0;
	blames(BS_BLAME_SERVICE, 0, 0, "no record of it");
}

static void test_both(void)
{
	late(104, 109);
	stall(0, 105, 108);
	blames(BS_BLAME_MACHINE, 4, 3, "4 overslept and 3 stalled after it of 9 leave 2");
	late(104, 109);
	stall(0, 101, 104);
	blames(BS_BLAME_SERVICE, 4, 3, "the stall lies in the sleep: counted once, 5 are left");
	late(104, 109);
	stall(0, 102, 106);
	blames(BS_BLAME_SERVICE, 4, 4, "half of it does: 3 are left");
	late(104, 109);
	stall(0, 102, 106);
	stall(1, 105, 107);
	blames(BS_BLAME_MACHINE, 4, 5, "another processor's to 107: 2 are left");
	late(104, 106);
	stall(0, 100, 105);
	blames(BS_BLAME_SENDER, 4, 5,
	       "each explains it alone: the sender's, which needs no canary");
	late(104, 109);
	stall(0, 101, 108);
	blames(BS_BLAME_MACHINE, 4, 7, "the machine alone explains it");
	late(104, 109);
	m.left.owed = true;
	stall(0, 105, 108);
	blames(BS_BLAME_SERVICE, 0, 3, "no sleep to take off: the stall alone is too short");
}

int main(void)
{
	test_sender();
	test_backpressure();
	test_both();
	return check_done();
}
