/* test/unit/board/tool/certify/test_floor.c - the gaps that a thread which never sleeps sees */
#include "board/tool/certify/floor.h"

#include <string.h>

#include "core/thread/clock.h"
#include "test/support/check.h"

static void test_note(void)
{
	struct bs_floor_seen s;

	memset(&s, 0, sizeof(s));
	bs_floor_note(&s, 99999);
	CHECK(s.over_100 == 0 && s.over_500 == 0 && s.max_us == 99.999, "99.999 us: under");
	bs_floor_note(&s, 100000);
	bs_floor_note(&s, 499999);
	CHECK(s.over_100 == 2 && s.over_500 == 0, "100 and 499.999 us");
	bs_floor_note(&s, 2000000);
	bs_floor_note(&s, 40);
	CHECK(s.over_100 == 3 && s.over_500 == 1 && s.max_us == 2000.0, "2 ms is the longest");
}

static void test_runs(void)
{
	struct bs_floor f;

	memset(&f, 0, sizeof(f));
	bs_floor_stop(&f);
	CHECK(!bs_floor_start(&f, BS_FLOOR_PROCESSORS - 1) && f.seen.seconds == 0.0,
	      "it keeps no processor busy where there are few");
	bs_floor_stop(&f);
	const int64_t start = bs_now_ns();

	CHECK(bs_floor_start(&f, BS_FLOOR_PROCESSORS), "it runs where there are enough");
	bs_sleep_ns(30000000);
	bs_floor_stop(&f);
	const double most = (double)(bs_now_ns() - start) * 1e-9;

	/* its own thread may be left waiting, but never sees more time than went by */
	CHECK(f.seen.seconds >= 0.0 && f.seen.seconds <= most && f.seen.max_us <= most * 1e6,
	      "it spun %.3f of %.3f s, the longest gap %.3f ms", f.seen.seconds, most,
	      f.seen.max_us * 1e-3);
}

int main(void)
{
	test_note();
	test_runs();
	return check_done();
}
