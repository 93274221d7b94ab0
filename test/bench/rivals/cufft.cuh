/*
 * test/bench/rivals/cufft.cuh - cuFFT as a rival: its results; its transform of a gridding's grid
 *
 * bs_grid_fft is a work of gpu/device/stopwatch.h: `batch` complex transforms in place, of dims
 * axes (size x, y, z; x fastest), and two empty launches. What a gridding cannot do without is a
 * transform of that size, and a kernel on either side of it. Allocates.
 */
#ifndef BS_TEST_BENCH_RIVALS_CUFFT_CUH
#define BS_TEST_BENCH_RIVALS_CUFFT_CUH

#include <cufft.h>
#include <string.h>

#include "gpu/device/check.h"

#define BS_CUFFT(call, why)                                                                        \
	do {                                                                                       \
		cufftResult bs_r_ = (call);                                                        \
		if (bs_r_ != CUFFT_SUCCESS)                                                        \
			return bs_fail(why, BS_ERR_GPU, "%s: cuFFT result %d", #call, (int)bs_r_); \
	} while (0)

struct bs_grid_fft {
	cufftHandle plan; /* 0: none */
	cufftComplex *grid;
};

static inline int bs_grid_fft_open(struct bs_grid_fft *f, uint32_t dims, const uint32_t size[3],
				   uint32_t batch, struct bs_fail *why)
{
	const size_t cells = (size_t)size[0] * size[1] * size[2];
	int of[3] = { (int)size[2], (int)size[1], (int)size[0] };

	memset(f, 0, sizeof(*f));
	BS_CUDA(cudaMalloc(&f->grid, cells * batch * sizeof(*f->grid)), why);
	BS_CUDA(cudaMemset(f->grid, 0, cells * batch * sizeof(*f->grid)), why);
	BS_CUFFT(cufftPlanMany(&f->plan, (int)dims, of + 3 - dims, NULL, 1, 0, NULL, 1, 0,
			       CUFFT_C2C, (int)batch),
		 why);
	return 0;
}

static __global__ void bs_grid_fft_nothing(void)
{
}

static inline int bs_grid_fft_run(void *arg, cudaStream_t stream, struct bs_fail *why)
{
	struct bs_grid_fft *f = (struct bs_grid_fft *)arg;

	BS_CUFFT(cufftSetStream(f->plan, stream), why);
	bs_grid_fft_nothing<<<1, 32, 0, stream>>>();
	BS_CUFFT(cufftExecC2C(f->plan, f->grid, f->grid, CUFFT_FORWARD), why);
	bs_grid_fft_nothing<<<1, 32, 0, stream>>>();
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

static inline void bs_grid_fft_close(struct bs_grid_fft *f)
{
	if (f->plan != 0)
		(void)cufftDestroy(f->plan);
	(void)cudaFree(f->grid);
	memset(f, 0, sizeof(*f));
}

#endif
