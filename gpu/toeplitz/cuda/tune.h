/*
 * gpu/toeplitz/cuda/tune.h - ways to launch the CUDA Toeplitz operator, chosen by measuring
 *
 * middle: 1 a pass for each axis; 2 y and z in one pass, a plane in the shared memory of a cluster
 * of blocks. close: 1 a pass waits for the one before it; 2 its blocks may start while that one
 * ends. All give the same bytes.
 * tuned: from the cache or measured (device memory beside the arenas, freed before it returns), for
 * one image and for all coils; one thread, at arm. Test: test/twin/twin_toeplitz.c
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_TUNE_H
#define BS_GPU_TOEPLITZ_CUDA_TUNE_H

#include "gpu/toeplitz/toeplitz.h"
#include "gpu/device/tune.h"

BS_C_BEGIN

enum bs_toeplitz_field { BS_TOEPLITZ_MIDDLE, BS_TOEPLITZ_CLOSE, BS_TOEPLITZ_FIELDS };

#if BS_GPU
extern const struct bs_tune_kind bs_toeplitz_tunable;

int bs_toeplitz_tuned(struct bs_tuning *t, const struct bs_toeplitz_spec *spec,
		      const char *cache_dir, struct bs_fail *why);
/* Uses a measured choice. Without a cache, or after an error, the operator keeps its own choice. */
struct bs_toeplitz_cuda;
void bs_toeplitz_use_tuned(struct bs_toeplitz_cuda *plan, const struct bs_toeplitz_spec *spec,
			   const char *cache_dir);
#endif

BS_C_END
#endif
