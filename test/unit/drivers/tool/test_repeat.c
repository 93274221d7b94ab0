/*
 * test/unit/drivers/tool/test_repeat.c - which readouts of a recording a scan of more repetitions
 * has, and what their headers say
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/tool/replay/repeat.h"
#include "test/support/check.h"

/* Two readouts before the rest, and three repetitions of 2, 3 and 2 readouts. */
static const uint16_t recorded[] = { 0, 0, 0, 0, 1, 1, 1, 2, 2 };
#define COUNT (sizeof(recorded) / sizeof(recorded[0]))

static void test_order(void)
{
	/* 6 repetitions: 0, then 1, 2, 1, 2, 1 */
	static const uint32_t want[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 4, 5, 6, 7, 8, 4, 5, 6 };
	struct bs_repeat r;
	struct bs_fail why = { 0 };
	uint32_t wrong = 0;

	CHECK(bs_repeat_find(&r, recorded, COUNT, 6, &why) == 0 && r.from == 4 &&
		      r.repetitions == 2 && r.total == 17,
	      "6 repetitions have %u readouts %s", r.total, why.text);
	r.period_ns = 1000000000;
	r.microseconds = r.last = true;
	for (uint32_t n = 0; n < 17 && r.total == 17; n++) {
		struct bs_mrd_acq h = { 0 };
		uint32_t round;
		const uint32_t at = bs_repeat_at(&r, n, &round);
		const uint32_t again = n < 9 ? 0 : n < 14 ? 1 : 2;

		h.idx.repetition = recorded[at];
		h.scan_counter = at + 1;
		h.acquisition_time_stamp = 500 + at;
		h.user_int[0] = INT32_MAX - 1500000;
		h.flags = BS_MRD_LAST_IN_SLICE | (at == 8 ? BS_MRD_LAST_IN_MEASUREMENT : 0);
		bs_repeat_count(&r, n, &h);
		wrong += at != want[n] || round != again;
		wrong += h.idx.repetition != recorded[at] + 2 * again || h.scan_counter != n + 1 ||
			 h.acquisition_time_stamp != 500 + at + 400 * again;
		wrong += (uint32_t)h.user_int[0] - (uint32_t)(INT32_MAX - 1500000) !=
			 1000000 * again;
		wrong += h.flags !=
			 (BS_MRD_LAST_IN_SLICE | (n == 16 ? BS_MRD_LAST_IN_MEASUREMENT : 0));
	}
	CHECK(wrong == 0, "counters and times go on, the last one is flagged: %u wrong", wrong);
}

static void test_fewer(void)
{
	struct bs_repeat r;
	struct bs_fail why = { 0 };

	CHECK(bs_repeat_find(&r, recorded, COUNT, 2, &why) == 0 && r.total == 7,
	      "2 repetitions: %u readouts", r.total);
	CHECK(bs_repeat_find(&r, recorded, COUNT, 3, &why) == 0 && r.total == COUNT,
	      "as many as it has: %u readouts", r.total);
}

static void test_refused(void)
{
	static const uint16_t mixed[] = { 0, 1, 0, 1 };
	static const uint16_t holes[] = { 0, 2, 3 };
	struct bs_repeat r;
	struct bs_fail why = { 0 };

	CHECK(bs_repeat_find(&r, recorded, 4, 5, &why) == BS_ERR_UNSUPPORTED, "%s", why.text);
	CHECK(bs_repeat_find(&r, mixed, 4, 5, &why) == BS_ERR_UNSUPPORTED, "%s", why.text);
	CHECK(bs_repeat_find(&r, holes, 3, 5, &why) == BS_ERR_UNSUPPORTED, "%s", why.text);
	CHECK(bs_repeat_find(&r, recorded, COUNT, 65536, &why) == BS_ERR_USAGE, "%s", why.text);
}

static void test_header(void)
{
	static const char xml[] = "<a><slice><maximum>7</maximum></slice><repetition><minimum>0"
				  "</minimum><maximum> 2 </maximum></repetition><set><maximum>4";
	static const char want[] = "<a><slice><maximum>7</maximum></slice><repetition><minimum>0"
				   "</minimum><maximum>3599</maximum></repetition><set><maximum>4";
	static const char unsaid[] = "<a><repetition/><set><maximum>4</maximum>";
	char *out = bs_repeat_xml(xml, 3600);
	char *same = bs_repeat_xml(unsaid, 3600);

	CHECK(out != NULL && strcmp(out, want) == 0, "limits: %s", out);
	CHECK(same != NULL && strcmp(same, unsaid) == 0, "no limits: %s", same);
	free(out);
	free(same);
}

int main(void)
{
	test_order();
	test_fewer();
	test_refused();
	test_header();
	return check_done();
}
