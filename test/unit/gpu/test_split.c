/* test/unit/gpu/test_split.c - work divided among devices: every thing once, in order, evenly */
#include "gpu/device/split.h"
#include "test/support/check.h"

/* Every size, grain and number of parts: no gap, no overlap, none larger by more than a grain. */
static void check_all(void)
{
	static const uint64_t grains[] = { 0, 1, 2, 3, 8, 16, 64 };
	int good = 1;
	int cases = 0;

	for (uint64_t total = 0; total <= 300; total++)
		for (unsigned g = 0; g < sizeof(grains) / sizeof(grains[0]); g++)
			for (uint32_t parts = 1; parts <= BS_DEVICES_MAX; parts++) {
				const uint64_t grain = grains[g] == 0 ? 1 : grains[g];
				uint64_t at = 0;
				uint64_t least = UINT64_MAX;
				uint64_t most = 0;

				for (uint32_t i = 0; i < parts; i++) {
					struct bs_split s =
						bs_split_part(total, grains[g], parts, i);

					good &= s.first == at && s.first + s.count <= total;
					good &= s.first % grain == 0 || s.first == total;
					at = s.first + s.count;
					least = s.count < least ? s.count : least;
					most = s.count > most ? s.count : most;
				}
				/* the short last grain can make a part smaller by less than one
				 * more */
				good &= at == total && most - least < 2 * grain;
				cases++;
			}
	CHECK(good, "%d splits have neither gap nor overlap, and are even to a grain", cases);
}

static void check_named(void)
{
	struct bs_split s = bs_split_part(128, 1, 2, 1);

	CHECK(s.first == 64 && s.count == 64, "128 planes on two devices: the second has 64..127");
	s = bs_split_part(129, 1, 2, 0);
	CHECK(s.first == 0 && s.count == 65, "129 planes: the first has one more");
	s = bs_split_part(3, 1, 8, 2);
	CHECK(s.first == 2 && s.count == 1, "three planes on eight devices: one each");
	s = bs_split_part(3, 1, 8, 7);
	CHECK(s.first == 3 && s.count == 0, "and none for the last");
	s = bs_split_part(100, 64, 2, 1);
	CHECK(s.first == 64 && s.count == 36, "whole tiles: the last is short");
	s = bs_split_part(UINT64_MAX, 1, 8, 7);
	CHECK(s.first + s.count == UINT64_MAX, "the largest size does not overflow");
	s = bs_split_part(UINT64_MAX, 64, 8, 7);
	CHECK(s.first + s.count == UINT64_MAX, "nor in tiles");
	s = bs_split_part(10, 1, 0, 0);
	CHECK(s.count == 0, "no parts: nothing");
	s = bs_split_part(10, 1, 2, 2);
	CHECK(s.count == 0, "a part that is not there: nothing");
	CHECK(bs_split_grain(128, 64, 2) == 64, "two tiles for two devices");
	CHECK(bs_split_grain(128, 64, 4) == 32, "half tiles for four");
	CHECK(bs_split_grain(128, 64, 8) == 16, "quarter tiles for eight");
	CHECK(bs_split_grain(5, 64, 8) == 1, "more devices than planes: single planes");
}

int main(void)
{
	check_all();
	check_named();
	return check_done();
}
