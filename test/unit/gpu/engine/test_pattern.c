/* test/unit/gpu/engine/test_pattern.c - at which step lines come, and where their center is full */
#include "gpu/engine/pattern.h"

#include <string.h>

#include "test/support/check.h"

static const struct trial {
	const char *lines; /* x: it has come */
	uint32_t step;     /* the header's */
	uint32_t first, found, center[2];
	bool gaps;
} trials[] = {
	{ "xxxxxxxxxxxx", 0, 0, 1, { 0, 0 }, false },
	{ "x.x.x.x.x.x.", 0, 0, 2, { 0, 0 }, false },
	{ "x.x.x.x.x.x.", 2, 0, 2, { 0, 0 }, false },
	{ "x.x.x.x.x.x.", 4, 0, 2, { 0, 0 }, false },
	{ ".x..x..x..x.", 3, 1, 3, { 0, 0 }, false },
	{ "....x...x...", 4, 0, 4, { 0, 0 }, false },         /* fewer lines than a kernel */
	{ "x.x...x.x.x.", 2, 0, 2, { 0, 0 }, false },         /* one that the header promises */
	{ "x.x...x.x.x.", 0, 0, 1, { 0, 0 }, true },          /* nobody promises it */
	{ "x.xx..x.x.x.", 2, 0, 1, { 0, 0 }, true },          /* one beside the grid */
	{ "x.x.xxxxx.x.x.x.", 2, 0, 2, { 4, 9 }, false },     /* a full center */
	{ "..x..xxxxx.x..x..", 3, 2, 3, { 5, 10 }, false },   /* that ends between lines */
	{ "x.x.xxxxx.x.x.x.", 0, 0, 1, { 0, 0 }, true },      /* no header */
	{ "x.x.xxxxx.x.xxx.", 2, 0, 1, { 0, 0 }, true },      /* not all is in it */
	{ "x.x.xxx.x.x.x.x.", 2, 0, 1, { 0, 0 }, true },      /* it is less than a kernel */
	{ "......xxxxxxx.x.x.x.", 2, 0, 2, { 6, 13 }, false } /* partial Fourier */
};

static void check_trial(const struct trial *t)
{
	const struct bs_pattern_spec spec = { (uint32_t)strlen(t->lines), t->step, 5, true };
	uint32_t count = 0;
	uint8_t have[64] = { 0 };
	uint32_t center[2];
	struct bs_pattern at;
	bool gaps;

	for (uint32_t y = 0; y < spec.lines; y++)
		count += have[y] = t->lines[y] == 'x';
	CHECK(bs_pattern_find(&spec, have, &at, center, &gaps) == count, "%s: %u lines", t->lines,
	      count);
	CHECK(at.first == t->first && at.step == t->found &&
		      at.lines == (spec.lines - at.first - 1) / at.step + 1,
	      "%s: from line %u, step %u, %u lines", t->lines, at.first, at.step, at.lines);
	CHECK(center[0] == t->center[0] && center[1] == t->center[1], "%s: center %u to %u",
	      t->lines, center[0], center[1]);
	CHECK(gaps == t->gaps, "%s: gaps %d", t->lines, gaps);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		check_trial(&trials[i]);
	return check_done();
}
