/* gpu/device/split.c - see split.h */
#include "gpu/device/split.h"

struct bs_split bs_split_part(uint64_t total, uint64_t grain, uint32_t parts, uint32_t i)
{
	struct bs_split s = { total, 0 };
	uint64_t grains;
	uint64_t each;
	uint64_t more;
	uint64_t end;

	if (grain == 0)
		grain = 1;
	if (parts == 0 || i >= parts)
		return s;
	grains = total / grain + (total % grain != 0);
	each = grains / parts;
	more = grains % parts;
	s.first = each * i + (i < more ? i : more);
	end = s.first + each + (i < more);
	/* The last grain may be short: an end, or a beginning, beyond it is cut to total. */
	s.first = s.first >= grains ? total : s.first * grain;
	end = end >= grains ? total : end * grain;
	s.count = end - s.first;
	return s;
}

uint64_t bs_split_grain(uint64_t total, uint64_t grain, uint32_t parts)
{
	uint64_t g = 1;

	while (2 * g <= grain)
		g *= 2;
	while (g > 1 && total / g + (total % g != 0) < parts)
		g /= 2;
	return g;
}
