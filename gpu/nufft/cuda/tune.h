/*
 * gpu/nufft/cuda/tune.h - the choices of the CUDA gridding that can be measured
 *
 * taps   width of the window in cells; the grid is then the smallest with which the accuracy is met
 * steps  that grid is taken `steps` less one sizes larger
 * route  1 padded sectors (spread and gather), 2 cells collect their samples (3D; where samples are
 *        sparse and evenly spread), 3 cells collect few samples of one coil in 2D
 * lanes  coils of a block
 * mixed  1 samples are read where they are, 2 they are laid out first with all coils side by side
 * run    samples of a task
 * crowd  copies of a sector beyond which they are added up first
 * fold   (2D) copies are added up 1 by a kernel of its own, 2 by the last block of the sector
 * cols   lines of a block
 * lines  1 the general transforms, 2 those in registers (lengths that have one)
 * parts  1 one thread for each sample of the forward, 4 several
 * close  of the adjoint: 1 a kernel waits for the one before it, 2 its blocks may start while that
 *        one ends
 * follow as close, for the forward
 * taps, steps and route decide the grid and the order of sums; lanes to fold decide how the sums
 * are split. Each value rounds differently at the same accuracy. The other fields only lay out
 * blocks.
 *
 * tuned: reads the choice from the cache, or measures it in about `seconds` (tune.h), with the
 * protocol's own trajectory and random samples. Each variant is run by graph replays in turns with
 * the best one (two plans at once where memory allows); their device memory lies beside the arenas
 * and is freed before the return. Of the adjoint it measures the time after the last readout: the
 * last chunk (in a sliding window the last group) and the transform; with one chunk, all of the
 * adjoint. Any failure is logged and leaves the defaults. Arm only, one thread.
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

/* Writes the key, one line: device, driver, sizes, accuracy and the trajectory's hash. */
void bs_nufft_tune_key(char *key, size_t size, const struct bs_nufft_spec *spec, const float *k,
		       const char *device, uint32_t driver);

#if BS_GPU
/* spec.tune is ignored. cache_dir "": the cache is neither read nor written. */
int bs_nufft_tuned(struct bs_tuning *t, const struct bs_nufft_spec *spec, const float *k,
		   const char *cache_dir, double seconds, struct bs_fail *why);
#endif

BS_C_END
#endif
