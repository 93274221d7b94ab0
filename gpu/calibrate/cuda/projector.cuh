/*
 * gpu/calibrate/cuda/projector.cuh - correlations of the calibration kernels of a block, on the GPU
 *
 * It makes what bs_espirit_calibrate leaves in corr, without computing an eigenvector. The sum over
 * the kept kernels of v_j(c, i) conj(v_j(d, i + lag)) needs only their projector P = sum_j v_j
 * v_j^H. P = (I + sign(A - t I)) / 2, where A is the Gram matrix of the calibration matrix's
 * elements and t = threshold times A's largest eigenvalue. The sign is found by Newton's and
 * Schulz's iteration X <- X (3 - X^2) / 2, scaled so that X grows by 2.6 a step where it is small.
 * It consists of matrix products alone, in double precision, the same number for any data. An
 * eigenvalue within 1e-6 of the largest from t counts in part; the host takes it or leaves it.
 *
 * block  [coil][z][y][x] complex float, device; size: its samples, at least the kernel, at most the
 *        spec's block
 * corr   as in struct bs_espirit_lags, device; line: floats of a real or imaginary part
 * largest  device: A's largest eigenvalue; not above 0 (or not finite): the block is of zeros
 * need -> plan -> make* -> close; bytes: of device memory. make only queues; the same bytes every
 * run. Errors: BS_ERR_GPU, BS_ERR_NOMEM. Test: test/twin/twin_espirit.c
 * Sources: Uecker et al., Magn Reson Med 2014;71:990-1001; Higham, Functions of Matrices, SIAM
 * 2008, ch. 5; Chen & Chow, Argonne National Laboratory ANL/MCS-P5059-0114, 2014 (the scaling).
 */
#ifndef BS_GPU_CALIBRATE_CUDA_PROJECTOR_CUH
#define BS_GPU_CALIBRATE_CUDA_PROJECTOR_CUH

#include <cuda_runtime.h>

#include "gpu/calibrate/espirit.h"
#include "gpu/device/memory.h"

struct bs_projector_cuda;

uint64_t bs_projector_cuda_bytes(const struct bs_espirit_spec *spec);
int bs_projector_cuda_plan(struct bs_projector_cuda **plan, const struct bs_espirit_spec *spec,
			   struct bs_devmem *mem, struct bs_fail *why);
/* Frees a plan, one that failed, too; it may be NULL. */
void bs_projector_cuda_close(struct bs_projector_cuda *plan);
int bs_projector_cuda_make(struct bs_projector_cuda *plan, const uint32_t size[3],
			   const float2 *block, float *corr, uint32_t line, double *largest,
			   cudaStream_t stream, struct bs_fail *why);

#endif
