/*
 * gpu/toeplitz/q_cuda.h - Q by the CUDA gridding; twin of q.h's nufft
 *
 * Array and accuracy rule are those of q.h. It is one adjoint on 2N - 1 voxels an axis, with the
 * samples' weights times phi^2 as data, planned for spec.accuracy; single precision adds its own
 * error. Input and output are in host memory; its own device memory is freed before it returns. The
 * plan is never a measured one: the same bytes in every run on a device. spec.sum is ignored.
 * rounding: a number for gpu/toeplitz/qcache.h that stands for the window, the grid, the order of
 * the sums and the device's architecture; never the host's number.
 * Errors: BS_ERR_CONFIG; BS_ERR_GPU; BS_ERR_NOMEM with the need and the free bytes; BS_ERR_SIZE and
 * BS_ERR_UNSUPPORTED where the device's gridding has no such transform. At arm only, one thread.
 * Only with GPU=1. Host twin: q.c. Test: test/twin/twin_q.c
 */
#ifndef BS_GPU_TOEPLITZ_Q_CUDA_H
#define BS_GPU_TOEPLITZ_Q_CUDA_H

#include "gpu/toeplitz/q.h"

BS_C_BEGIN

/* k, weight: as in bs_q_make. name: the protocol's name, for messages. */
int bs_q_cuda_make(float *q, const struct bs_q_spec *spec, const float *k, const float *weight,
		   const char *name, struct bs_fail *why);
int bs_q_cuda_rounding(const struct bs_q_spec *spec, uint32_t *number, struct bs_fail *why);

BS_C_END
#endif
