/*
 * gpu/fft/cuda/cufft.h - cuFFT, loaded when it is first asked for
 *
 * open -> run* -> close: one complex transform, forward, in place, unscaled; size [x][y][z], x
 * fastest, 1 beyond dims. work: bytes of device memory that run needs. run queues on the default
 * stream. The library is looked for as the program was linked to find the toolkit; a machine
 * without it runs all that needs no cuFFT. BS_ERR_UNSUPPORTED: it is not there, with the loader's
 * words; BS_ERR_NOMEM; BS_ERR_GPU. The thread that arms. Only with GPU=1.
 * Test: test/twin/twin_toeplitz.c
 */
#ifndef BS_GPU_FFT_CUDA_CUFFT_H
#define BS_GPU_FFT_CUDA_CUFFT_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct bs_cufft {
	int plan;
	size_t work;
};

int bs_cufft_open(struct bs_cufft *f, uint32_t dims, const int size[3], struct bs_fail *why);
int bs_cufft_run(const struct bs_cufft *f, float2 *grid, void *work, struct bs_fail *why);
void bs_cufft_close(struct bs_cufft *f);

#endif
