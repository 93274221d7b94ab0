/* test/unit/core/frame/test_echo.c - echoes that no counter tells, by their order */
/* Holds: W47 */
#include "core/frame/open.h"
#include "test/support/check.h"

static struct bs_echo e;

static unsigned comes(uint16_t line, uint16_t segment)
{
	const struct bs_mrd_idx idx = { .kspace_encode_step_1 = line, .segment = segment };
	uint16_t contrast;

	bs_echo_decide(&e, &idx);
	contrast = bs_echo_next(&e, &idx, 3);
	bs_echo_came(&e, &idx, contrast);
	return contrast;
}

static bool untold(const struct bs_scan_info *info, uint32_t contrasts)
{
	bs_echo_scan(&e, info, contrasts);
	return e.state == BS_ECHO_NONE;
}

static void headers(void)
{
	struct bs_scan_info info = { .echoes = 3 };

	CHECK(untold(&info, 3) && untold(&info, 2), "several TE, no limits");
	CHECK(!untold(&info, 4) && !untold(&info, 1), "more contrasts than TE, or one, are told");
	info.contrast = (struct bs_limit){ 0, 0, 0, 1 };
	CHECK(untold(&info, 3), "one contrast by the limits");
	info.contrast.max = 2;
	CHECK(!untold(&info, 3), "three of them: counters tell");
}

static void order(void)
{
	const struct bs_mrd_idx told = { .contrast = 1 };
	const struct bs_scan_info info = { .echoes = 3 };

	bs_echo_scan(&e, &info, 3);
	CHECK(comes(0, 0) == 0 && comes(1, 0) == 0 && comes(1, 0) == 0 &&
		      e.state == BS_ECHO_BY_COUNTER,
	      "the first two are two lines");
	bs_echo_scan(&e, &info, 3);
	(void)comes(0, 0);
	bs_echo_decide(&e, &told);
	CHECK(e.state == BS_ECHO_BY_COUNTER && bs_echo_next(&e, &told, 3) == 1, "or told");
	bs_echo_scan(&e, &info, 3);
	CHECK(comes(0, 0) == 0 && comes(0, 0) == 1 && comes(0, 1) == 2, "a line's, one by one");
	CHECK(comes(1, 0) == 0 && comes(1, 0) == 1, "the next line's");
	const struct bs_mrd_idx same = e.last;
	const struct bs_mrd_idx next = { .kspace_encode_step_1 = 7 };

	CHECK(bs_echo_breaks(&e, &next, 3) && bs_echo_breaks(&e, NULL, 3) &&
		      !bs_echo_breaks(&e, &same, 3) && !bs_echo_breaks(&e, &next, 2),
	      "two where three are");
	CHECK(comes(2, 0) == 0 && comes(2, 0) == 1 && comes(2, 0) == 2 && comes(2, 0) == 0,
	      "one came too few, one line comes again");
}

int main(void)
{
	headers();
	order();
	return check_done();
}
