/*
 * gpu/nufft_cuda.h - the CUDA twin of gpu/nufft.h: convolution gridding on the device
 *
 * Same transforms, shapes and units as nufft.h; image and data are device memory, work is queued on
 * the caller's stream and not waited for. Dense layout: data [coil][sample].
 *   adjoint:  image[c][n] = sum_m w_m d[c][m] exp(+i2pi k_m.n)
 *   forward:  d[c][m]     = sum_n image[c][n] exp(-i2pi k_m.n)
 * How: samples are sorted into sectors (tiles) of the oversampled grid and, inside, by the first
 * cell of their window. A warp owns a piece of a sector's samples and a padded copy of the sector
 * in shared memory; each lane owns window cells and sums runs of samples with the same first cell
 * in registers. The padded sectors are then added up cell by cell, in a fixed order: no atomics,
 * the same bytes in every run. The window is a polynomial per cell, fitted when planned.
 * plan computes on the host and copies the tables; only plan and close may allocate (host memory,
 * cuFFT's tables; device memory comes from mem, cuFFT's work area too). One stream at a time.
 * Errors: BS_ERR_GPU, BS_ERR_UNSUPPORTED (1D, windows wider than 8 cells, grids under 16 cells).
 * Host twin: nufft.c. Test: test/twin/twin_nufft.c
 */
#ifndef BS_GPU_NUFFT_CUDA_H
#define BS_GPU_NUFFT_CUDA_H

#include "gpu/devmem.h"
#include "gpu/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bs_nufft_cuda;

/* Adds the bytes of device memory, an upper bound for any trajectory of that many samples. */
int bs_nufft_cuda_need(const struct bs_nufft_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_nufft_cuda_plan(struct bs_nufft_cuda **plan, const struct bs_nufft_spec *spec, const float *k,
		       const float *weight, struct bs_devmem *mem, struct bs_fail *why);
void bs_nufft_cuda_close(struct bs_nufft_cuda *plan);

/* stream: a cudaStream_t. data and image: device memory, 16-byte aligned. */
int bs_nufft_cuda_adjoint(struct bs_nufft_cuda *plan, const float *data, float *image, void *stream,
			  struct bs_fail *why);
int bs_nufft_cuda_forward(struct bs_nufft_cuda *plan, const float *image, float *data, void *stream,
			  struct bs_fail *why);

#ifdef __cplusplus
}
#endif
#endif
