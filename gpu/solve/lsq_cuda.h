/*
 * gpu/solve/lsq_cuda.h - lsq.h on the GPU: weights with the voxel basis, and Q made by the GPU
 *
 * Only in a build with GPU=1. Input and output are in host memory; results are malloc'd, the
 * caller's to free, also after an error. At arm only.
 */
#ifndef BS_GPU_SOLVE_LSQ_CUDA_H
#define BS_GPU_SOLVE_LSQ_CUDA_H

#include "gpu/solve/lsq.h"

BS_C_BEGIN

/*
 * The weights of the samples in F^H d (power 1) or in Q (power 2): those of bs_lsq_weights times
 * the voxel basis to that power. *weight NULL: they are ones.
 */
int bs_lsq_cuda_weights(float **weight, const struct bs_protocol *p, const struct bs_tables *tables,
			struct bs_team *team, int power, struct bs_fail *why);

/*
 * Q as the CUDA engines of ls and sense take it. It comes from the cache where it is there; else
 * the GPU makes it by the sum that the protocol names, and it is kept. Where the device has no
 * room, or no transform, for a NUFFT, the host makes it, with a warning that says why, and it is
 * kept as the host's. from may be NULL.
 */
int bs_lsq_cuda_q(float **q, const struct bs_protocol *p, const struct bs_tables *tables,
		  struct bs_team *team, const char *cache_dir, enum bs_qcache_from *from,
		  struct bs_fail *why);

BS_C_END
#endif
