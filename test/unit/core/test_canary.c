/* test/unit/core/test_canary.c - on a scripted clock: a canary's lateness, and what it explains */
/* Holds: D9 */
#include "core/thread/canary.h"

#include <string.h>

#include "test/support/check.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static struct bs_canary canary[2];

static void reset(void)
{
	memset(canary, 0, sizeof(canary));
}

/* Woken on time until to; returns the next due time. */
static int64_t tick(struct bs_canary *c, int64_t due, int64_t to)
{
	while (due < to)
		due = bs_canary_wake(c, due, due + 20 * US);
	return due;
}

static void test_wake(void)
{
	int64_t due = 100 * MS;

	reset();
	due = tick(&canary[0], due, 150 * MS);
	CHECK(due == 150 * MS && atomic_load(&canary[0].wakes) == 50, "50 wakes, one each ms");
	CHECK(atomic_load(&canary[0].stalls) == 0, "20 us late is no stall");
	due = bs_canary_wake(&canary[0], due, due + 199 * US);
	CHECK(atomic_load(&canary[0].stalls) == 0 && due == 151 * MS, "199 us are none");
	due = bs_canary_wake(&canary[0], due, due + 200 * US);
	CHECK(atomic_load(&canary[0].stalls) == 1 && due == 152 * MS, "200 us are one");
	due = bs_canary_wake(&canary[0], due, due + 9 * MS + 300 * US);
	CHECK(due == 162 * MS, "after 9.3 ms it goes on with the next beat, at %lld us",
	      (long long)(due / US));
	CHECK(bs_hist_quantile(&canary[0].late, 1.0) == (uint64_t)(9 * MS + 300 * US),
	      "the greatest lateness is exact");
	due = bs_canary_wake(&canary[0], due, due - 5);
	CHECK(due == 163 * MS && atomic_load(&canary[0].stalls) == 2,
	      "too early counts as on time");
}

static void test_overlap(void)
{
	int64_t due;

	reset();
	due = tick(&canary[0], 100 * MS, 200 * MS);
	due = bs_canary_wake(&canary[0], due, due + 5 * MS); /* 200 .. 205 */
	due = tick(&canary[0], due, 300 * MS);
	(void)bs_canary_wake(&canary[0], due, due + 3 * MS); /* 300 .. 303 */
#define STALLED(n, from, to) bs_canary_stalled(canary, n, (from)*MS, (to)*MS, 303 * MS)
	CHECK(STALLED(1, 100, 200) == 0, "before it: nothing");
	CHECK(STALLED(1, 190, 210) == 5 * MS, "around it: all of it");
	CHECK(STALLED(1, 202, 210) == 3 * MS, "from within: the rest");
	CHECK(STALLED(1, 190, 202) == 2 * MS, "to within: the beginning");
	CHECK(STALLED(1, 202, 203) == 1 * MS, "inside: all of the wait");
	CHECK(STALLED(1, 205, 300) == 0, "between the two: nothing");
	CHECK(STALLED(1, 100, 400) == 8 * MS, "around both: their sum");
	CHECK(STALLED(0, 100, 400) == 0, "no canary, no stall");
#undef STALLED
#define STALLED(n, from, to) bs_canary_stalled(canary, n, (from)*MS, (to)*MS, 207 * MS)
	due = tick(&canary[1], 150 * MS, 203 * MS);
	(void)bs_canary_wake(&canary[1], due, due + 4 * MS); /* 203 .. 207 */
	CHECK(STALLED(2, 190, 220) == 7 * MS,
	      "two canaries' stalls that overlap count once: %lld us",
	      (long long)(STALLED(2, 190, 220) / US));
}

static void test_explains(void)
{
	int64_t due;

	reset();
	due = tick(&canary[0], 100 * MS, 200 * MS);
	(void)bs_canary_wake(&canary[0], due, due + 5 * MS); /* 200 .. 205 */
#define EXPLAINS(from, to, budget)                                                                 \
	bs_canary_explains(canary, 1, (from)*MS, (to)*MS, (budget)*MS, 206 * MS)
	CHECK(!EXPLAINS(199, 206, 10), "a budget that was kept needs no explanation");
	CHECK(EXPLAINS(199, 206, 2), "7 ms of a budget of 2, 5 of them stalled: explained");
	CHECK(!EXPLAINS(199, 206, 1), "the same of a budget of 1: 2 ms are ours");
	CHECK(!EXPLAINS(190, 199, 2), "late before the stall: not explained");
	CHECK(!EXPLAINS(206, 216, 2), "late after it: not explained");
}

/* The canary has not woken yet: it counts as stalled for whoever runs before it. */
static void test_stalled_now(void)
{
	int64_t due;

	reset();
	due = tick(&canary[0], 100 * MS, 200 * MS);
	CHECK(bs_canary_stalled(canary, 1, 199 * MS, 206 * MS, due + 100 * US) == 0,
	      "late by 100 us: not stalled yet");
	CHECK(bs_canary_stalled(canary, 1, 199 * MS, 206 * MS, 206 * MS) == 6 * MS,
	      "due at 200, it is 206: stalled since 200");
	CHECK(bs_canary_stalled(canary, 1, 195 * MS, 201 * MS, 206 * MS) == 1 * MS,
	      "of it what lies in the wait");
	reset();
	CHECK(bs_canary_stalled(canary, 2, 0, 206 * MS, 206 * MS) == 0,
	      "a canary that does not run explains nothing");
}

static void test_many(void)
{
	int64_t due = 1000 * MS;
	int64_t first;

	reset();
	for (unsigned i = 0; i < 3 * BS_CANARY_STALLS; i++)
		due = bs_canary_wake(&canary[0], due, due + 500 * US);
	first = due - (int64_t)(BS_CANARY_STALLS - 1) * MS;
	CHECK(bs_canary_stalled(canary, 1, first, first + 10 * MS, due) == 10 * 500 * US,
	      "the oldest that are kept count");
	CHECK(bs_canary_stalled(canary, 1, 0, first - MS, due) == 0, "older ones are forgotten");
	CHECK(bs_canary_stalled(canary, 1, 0, due, due) == 256 * 500 * US,
	      "in one wait at most 256 are looked at: never more explained than was");
}

int main(void)
{
	test_wake();
	test_overlap();
	test_explains();
	test_stalled_now();
	test_many();
	return check_done();
}
