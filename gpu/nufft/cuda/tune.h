/*
 * gpu/nufft/cuda/tune.h - what the CUDA gridding lets be chosen by measuring
 *
 * taps   width of the window in cells; the grid is the least with which the accuracy is met,
 * steps  less one, sizes up
 * route  1 padded sectors (spread and gather), 2 cells collect their samples (3D; where samples are
 *        sparse and evenly spread), 3 the same for few samples of one coil in 2D
 * lanes  coils of a block
 * mixed  1 samples are read where they are, 2 laid out first with all coils side by side
 * run    samples of a task
 * crowd  copies of a sector beyond which they are added up first
 * fold   (2D) 1 by a kernel of its own, 2 by the last block of the sector
 * cols   lines of a block
 * lines  1 the general transforms, 2 those in registers (lengths that have one)
 * parts  1 a thread for each sample of the forward, 4 several
 * close  of the adjoint: 1 a kernel waits for the one before it, 2 its blocks may start while that
 *        one ends
 * follow the same of the forward
 * taps, steps and route decide the grid and the order of sums, lanes to fold how the sums are
 * split: each is another rounding of the same accuracy. The rest is how blocks are laid out.
 *
 * tuned: from the cache, or measured (device memory beside the arenas, freed before it returns)
 * with the protocol's own trajectory and random samples, by graph replays, each variant in turns
 * with the best (two plans at once where memory allows), in about `seconds` (tune.h). Of the
 * adjoint it is the time after the last readout that is measured: the last chunk (in a sliding
 * window the last group) and the transform; all of it where there is one chunk. Any failure leaves
 * the defaults: it is logged. Arm only, one thread.
 * Test: test/unit/gpu/test_nufft_tune.c, test/twin/nufft/twin_nufft_choices.c
 */
#ifndef BS_GPU_NUFFT_CUDA_TUNE_H
#define BS_GPU_NUFFT_CUDA_TUNE_H

#include "gpu/nufft/nufft.h"
#include "gpu/device/tune.h"

BS_C_BEGIN

enum bs_nufft_field {
	BS_NUFFT_TAPS,
	BS_NUFFT_STEPS,
	BS_NUFFT_ROUTE,
	BS_NUFFT_LANES,
	BS_NUFFT_MIXED,
	BS_NUFFT_RUN,
	BS_NUFFT_CROWD,
	BS_NUFFT_FOLD,
	BS_NUFFT_COLS,
	BS_NUFFT_LINES,
	BS_NUFFT_PARTS,
	BS_NUFFT_CLOSE,
	BS_NUFFT_FOLLOW,
	BS_NUFFT_FIELDS
};

extern const struct bs_tune_kind bs_nufft_tunable;
extern const struct bs_tune_stage bs_nufft_stages[];
extern const uint32_t bs_nufft_stage_count;

/* One line: device, driver, sizes, accuracy and the trajectory's hash. */
void bs_nufft_tune_key(char *key, size_t size, const struct bs_nufft_spec *spec, const float *k,
		       const char *device, uint32_t driver);

#if BS_GPU
/* spec.tune is not read. cache_dir "": neither read nor kept. */
int bs_nufft_tuned(struct bs_tuning *t, const struct bs_nufft_spec *spec, const float *k,
		   const char *cache_dir, double seconds, struct bs_fail *why);
#endif

BS_C_END
#endif
