/*
 * gpu/nufft/path_cuda.h - the adjoint along a path that comes with the readouts, in 2D, on the GPU
 *
 * image[c][n] = 1/s sum_m w_m d[c][m] exp(+i2pi k_m.n), as in nufft.h and density.h; w: the ramp or
 * ones; s: the normalization's (1 without it). Nothing is sorted. A readout's cells and weights,
 * and what its samples see of an image of ones, are found as it arrives. Each block of cells
 * collects the samples whose windows reach it, in the order of their numbers; it first tests boxes
 * of 32 consecutive samples of a readout. Groups of readouts are collected as they come, the last
 * one in finish. No sum is atomic: the same bytes for any order of arrival. Readouts that never
 * come have weight 0.
 * For a method that solves, finish also makes Q(n) = 1/s sum_m w_m exp(+i2pi k_m.n), |n| < N, in
 * the same way, and leaves its spectrum in the operator that normal has given.
 *
 * Per frame (state): begin -> { path, its samples, arrived }* -> settle -> finish. path: k
 * [sample][2], cycles per voxel, [-0.5, 0.5), host memory, copied; it may wait until an earlier
 * readout's path has been read. samples: [coil][sample], device, as nufft_cuda.h. settle queues the
 * groups that arrived has not queued; finish queues always the same launches, fit for a graph.
 * bright: the s of the frame, once finish has been executed.
 * Only plan and close allocate. One stream, one caller. Errors: BS_ERR_GPU, BS_ERR_NOMEM,
 * BS_ERR_UNSUPPORTED (not 2D; windows wider than 8 cells), those of nufft.h.
 * Host twin: gpu/encode/path.c. Test: test/twin/engine/twin_path.c
 */
#ifndef BS_GPU_NUFFT_PATH_CUDA_H
#define BS_GPU_NUFFT_PATH_CUDA_H

#include <cuda_runtime.h>

#include "core/engine.h"
#include "gpu/device/memory.h"
#include "gpu/nufft/nufft.h"

struct bs_path_cuda;
struct bs_toeplitz_cuda;

int bs_path_cuda_need(const struct bs_protocol *p, const struct bs_nufft_spec *nufft,
		      struct bs_need *need, struct bs_fail *why);
int bs_path_cuda_plan(struct bs_path_cuda **plan, const struct bs_protocol *p,
		      const struct bs_nufft_spec *nufft, struct bs_devmem *mem,
		      struct bs_fail *why);
void bs_path_cuda_close(struct bs_path_cuda *plan); /* frees a plan, which may be NULL */
void bs_path_cuda_normal(struct bs_path_cuda *plan, struct bs_toeplitz_cuda *normal);

float2 *bs_path_cuda_samples(struct bs_path_cuda *plan, uint32_t state);
int bs_path_cuda_begin(struct bs_path_cuda *plan, uint32_t state, cudaStream_t stream,
		       struct bs_fail *why);
int bs_path_cuda_path(struct bs_path_cuda *plan, uint32_t state, uint32_t readout, const float *k,
		      cudaStream_t stream, struct bs_fail *why);
int bs_path_cuda_arrived(struct bs_path_cuda *plan, uint32_t state, uint32_t readout,
			 cudaStream_t stream, struct bs_fail *why);
int bs_path_cuda_settle(struct bs_path_cuda *plan, uint32_t state, cudaStream_t stream,
			struct bs_fail *why);
int bs_path_cuda_finish(struct bs_path_cuda *plan, uint32_t state, float2 *image,
			cudaStream_t stream, struct bs_fail *why);
double bs_path_cuda_bright(const struct bs_path_cuda *plan, uint32_t state);

#endif
