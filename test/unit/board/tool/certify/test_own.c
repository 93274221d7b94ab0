/* test/unit/board/tool/certify/test_own.c - the service's own part, on made-up times */
#include "board/tool/certify/own.h"

#include <string.h>

#include "test/support/check.h"

#define MS INT64_C(1000000)

static struct bs_canary canary;

/* A canary that was stalled from .. to, in ms, and on time otherwise; it has been stopped since. */
static void stall(int64_t from, int64_t to)
{
	(void)bs_canary_wake(&canary, from * MS, to * MS);
	atomic_store(&canary.due_ns, 0);
}

/*
 * Received at 100, taken up at 101, accumulated until 104, begun at 105, made at 115, handed on at
 * 117 ms; of the 10 ms of finishing the operators had 8: the service's own are 1 + 1 + 2 + 2 = 6.
 */
static struct bs_own made_up(void)
{
	return (struct bs_own){ .from_ns = 100 * MS,
				.taken_ns = 101 * MS,
				.added_ns = 104 * MS,
				.begun_ns = 105 * MS,
				.made_ns = 115 * MS,
				.handed_ns = 117 * MS,
				.operators_ns = (3 + 8) * MS };
}

static double quiet_with(const struct bs_own *s, int64_t from, int64_t to)
{
	memset(&canary, 0, sizeof(canary));
	stall(from, to);
	return (double)bs_own_quiet(s, &canary, 1, 200 * MS) / MS;
}

static void test_known(void)
{
	static const struct {
		int64_t from, to;
		double quiet;
		const char *what;
	} table[] = {
		{ 50, 99, 6, "before: nothing is taken off" },
		{ 120, 130, 6, "after: nothing" },
		{ 101, 104, 6, "while the readout was accumulated: the operators', nothing" },
		{ 106, 114, 6, "8 ms of finishing, where operators had 8: nothing" },
		{ 105, 115, 4, "all 10 ms of finishing: the 2 that no operator can have covered" },
		{ 115, 117, 4, "while it was handed on: both ms" },
		{ 100, 101, 5, "before it was taken up: the one ms" },
		{ 104, 105, 5, "before it was begun: the one ms" },
		{ 90, 103, 5, "across the receipt and into the sum: the own ms alone" },
		{ 100, 117, 0, "all of it: the whole own part and not more" },
		{ 0, 200, 0, "longer than all of it: the same" },
	};
	struct bs_own s = made_up();

	CHECK(bs_own_part(&s) == 6 * MS, "of 17 ms, 6 are the service's own: %lld us",
	      (long long)(bs_own_part(&s) / 1000));
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		double got = quiet_with(&s, table[i].from, table[i].to);

		CHECK(got == table[i].quiet, "stalled %lld .. %lld ms, %s: %g ms of 6 remain",
		      (long long)table[i].from, (long long)table[i].to, table[i].what, got);
	}
	CHECK(bs_own_quiet(&s, &canary, 0, 200 * MS) == 6 * MS, "no canary, nothing is taken off");
}

static void test_unknown(void)
{
	struct bs_own s = made_up();

	s.taken_ns = s.added_ns = 0; /* a partial image: 17 ms, 8 of them operators in finishing */
	s.operators_ns = 8 * MS;
	CHECK(bs_own_part(&s) == 9 * MS, "without the readout's stamps: 17 - 8");
	CHECK(quiet_with(&s, 106, 114) == 9, "a stall that the operators may have had is theirs");
	s.begun_ns = s.made_ns = 0; /* nothing known: the operators may be anywhere */
	CHECK(bs_own_part(&s) == 9 * MS, "without any stamp: the same");
	CHECK(quiet_with(&s, 100, 108) == 9, "8 ms stalled may all have been the operators'");
	CHECK(quiet_with(&s, 100, 110) == 7, "of 10, 2 were not");
	s = made_up();
	s.operators_ns = 100 * MS; /* a device that worked before the image was begun */
	CHECK(bs_own_part(&s) == 4 * MS, "operators take off no more than finishing's own length");
	CHECK(quiet_with(&s, 105, 115) == 4, "and a stall in it is theirs");
	s.operators_ns = 0;
	CHECK(bs_own_part(&s) == 14 * MS && quiet_with(&s, 105, 115) == 4,
	      "no operator at all: the stall is the service's whole");
}

int main(void)
{
	test_known();
	test_unknown();
	return check_done();
}
