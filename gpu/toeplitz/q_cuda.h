/*
 * gpu/toeplitz/q_cuda.h - Q by the CUDA gridding; twin of q.h's nufft
 *
 * Same array, same accuracy rule: one adjoint on 2N - 1 voxels an axis with the samples' weights
 * times phi^2 as data, asked for spec.accuracy; single precision adds its own. Host memory in and
 * out; device memory of its own, given back before it returns. The plan is never a measured one:
 * the same bytes in every run on a device. spec.sum is not read.
 * rounding: a number for gpu/toeplitz/qcache.h, of the window, grid and order of the sums and of
 * the device's architecture; never the host's.
 * Errors: BS_ERR_CONFIG; BS_ERR_GPU; BS_ERR_NOMEM with the need and what was free; BS_ERR_SIZE and
 * BS_ERR_UNSUPPORTED where the device's gridding has no such transform. At arm only, one thread.
 * Only with GPU=1. Host twin: q.c. Test: test/twin/twin_q.c
 */
#ifndef BS_GPU_TOEPLITZ_Q_CUDA_H
#define BS_GPU_TOEPLITZ_Q_CUDA_H

#include "gpu/toeplitz/q.h"

BS_C_BEGIN

/* k, weight: as bs_q_make. name: of the protocol, for words. */
int bs_q_cuda_make(float *q, const struct bs_q_spec *spec, const float *k, const float *weight,
		   const char *name, struct bs_fail *why);
int bs_q_cuda_rounding(const struct bs_q_spec *spec, uint32_t *number, struct bs_fail *why);

BS_C_END
#endif
