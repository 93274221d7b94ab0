/* gpu/engine/pattern.c - see pattern.h */
#include "gpu/engine/pattern.h"

/* Finds the first and the last line, their number, and the least distance of two. */
static uint32_t range_of(const uint8_t *have, uint32_t lines, uint32_t range[2], uint32_t *least)
{
	uint32_t count = 0;

	*least = lines;
	range[0] = range[1] = 0;
	for (uint32_t y = 0; y < lines; y++) {
		if (have[y] != 1)
			continue;
		if (count++ == 0)
			range[0] = y;
		else if (y - range[1] < *least)
			*least = y - range[1];
		range[1] = y;
	}
	return count;
}

/* Finds the longest run of lines, where that is a full center. */
static bool find_center(const struct bs_pattern_spec *s, const struct bs_pattern *at,
			const uint8_t *have, uint32_t center[2])
{
	uint32_t beside = 0;
	uint32_t length = 0;

	center[0] = center[1] = 0;
	for (uint32_t y = 0; y < s->lines; y++) {
		length = have[y] == 1 ? length + 1 : 0;
		beside += have[y] == 1 && bs_pattern_beside(at, y);
		if (length <= center[1] - center[0])
			continue;
		center[0] = y + 1 - length;
		center[1] = y + 1;
	}
	for (uint32_t y = center[0]; y < center[1]; y++)
		beside -= bs_pattern_beside(at, y);
	if (!s->centers || at->step == 1 || beside > 0 || center[1] - center[0] < s->kernel)
		center[0] = center[1] = 0;
	return center[1] > 0;
}

uint32_t bs_pattern_find(const struct bs_pattern_spec *s, const uint8_t *have,
			 struct bs_pattern *at, uint32_t center[2], bool *gaps)
{
	uint32_t range[2];
	uint32_t on = 0;
	uint32_t least;
	const uint32_t count = range_of(have, s->lines, range, &least);

	*at = (struct bs_pattern){ range[0], s->step > 1 ? s->step : 1, 0 };
	*gaps = false;
	if (!find_center(s, at, have, center)) {
		if (count >= s->kernel && (s->step <= 1 || least < s->step))
			at->step = least;
		for (uint32_t y = range[0]; y <= range[1]; y += at->step)
			on += have[y] == 1;
		*gaps = on < count || ((at->step == 1 || at->step != s->step) &&
				       on < (range[1] - range[0]) / at->step + 1);
	}
	if (*gaps)
		at->step = 1;
	at->first = range[0] % at->step;
	at->lines = (s->lines - at->first - 1) / at->step + 1;
	return count;
}
