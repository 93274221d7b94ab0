/* gpu/nufft/cuda/tune.c - see tune.h */
#include "gpu/nufft/cuda/tune.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/hash.h"

const struct bs_tune_kind bs_nufft_tunable = {
	"gridding",
	BS_NUFFT_FIELDS,
	{ { "taps", 4, 8 },
	  { "steps", 1, 6 },
	  { "route", 1, 3 },
	  { "lanes", 1, 4 },
	  { "mixed", 1, 2 },
	  { "run", 32, 8192 },
	  { "crowd", 1, 64 },
	  { "fold", 1, 2 },
	  { "cols", 1, 32 },
	  { "lines", 1, 2 },
	  { "parts", 1, 4 },
	  { "close", 1, 2 },
	  { "follow", 1, 2 } },
};

/*
 * The fields that matter most come first, since the time may not suffice for all. CLOSE, LINES,
 * COLS, FOLLOW and PARTS need no new plan.
 */
const struct bs_tune_stage bs_nufft_stages[] = {
	{ BS_NUFFT_TAPS, 0, { 4, 5, 6, 7, 8 } }, { BS_NUFFT_ROUTE, 0, { 1, 2, 3 } },
	{ BS_NUFFT_STEPS, 0, { 2, 3, 4 } },      { BS_NUFFT_LANES, 0, { 1, 2, 4 } },
	{ BS_NUFFT_MIXED, 0, { 1, 2 } },         { BS_NUFFT_FOLD, 0, { 1, 2 } },
	{ BS_NUFFT_CLOSE, 0, { 1, 2 } },         { BS_NUFFT_LINES, 0, { 1, 2 } },
	{ BS_NUFFT_COLS, 0, { 1, 4, 8, 16 } },   { BS_NUFFT_RUN, 0, { 128, 256, 512, 1024, 2048 } },
	{ BS_NUFFT_CROWD, 0, { 2, 4, 12 } },     { BS_NUFFT_FOLLOW, 1, { 1, 2 } },
	{ BS_NUFFT_PARTS, 1, { 1, 4 } },
};
const uint32_t bs_nufft_stage_count = sizeof(bs_nufft_stages) / sizeof(bs_nufft_stages[0]);

void bs_nufft_tune_key(char *key, size_t size, const struct bs_nufft_spec *s, const float *k,
		       const char *device, uint32_t driver)
{
	uint64_t h = bs_hash_bytes(BS_HASH_START, k, (size_t)s->samples * s->dims * 4);

	(void)snprintf(
		key, size,
		"gridding 7 on %s, driver %" PRIu32 ": %" PRIu32 "D %" PRIu32 "x%" PRIu32
		"x%" PRIu32 ", %" PRIu32 " coils, %" PRIu64 " samples in %" PRIu64 "/%" PRIu64
		", window %d, accuracy %g, width %g, oversampling %g, trajectory %016" PRIx64,
		device, driver, s->dims, s->matrix[0], s->matrix[1], s->matrix[2], s->coils,
		s->samples, s->chunk, s->part, (int)s->window, s->accuracy, s->width,
		s->oversampling, h);
}
