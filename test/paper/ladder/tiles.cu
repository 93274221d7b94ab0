/*
 * test/paper/ladder/tiles.cu - ConstMem: tiles of samples in constant memory, a launch each;
 * FastTrig: the same, sine and cosine by special function units
 */
#include "test/paper/ladder/exact.cuh"

static __constant__ struct ladder_sample tile[LADDER_TILE];

/* Adds the tile's `count` samples. */
template <bool FAST> static __global__ void tiles(const struct ladder_sum a, int count)
{
	const uint64_t n = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (n >= a.voxels)
		return;
	const float x = a.x[n];
	const float y = a.y[n];
	const float z = a.z[n];
	float re = a.re[n];
	float im = a.im[n];

#pragma unroll 1
	for (int m = 0; m < count; m++) {
		const float t = LADDER_TURN * (tile[m].kx * x + tile[m].ky * y + tile[m].kz * z);
		const float c = FAST ? __cosf(t) : cosf(t);
		const float s = FAST ? __sinf(t) : sinf(t);

		re += a.q ? c : tile[m].dr * c - tile[m].di * s;
		im += a.q ? s : tile[m].di * c + tile[m].dr * s;
	}
	a.re[n] = re;
	a.im[n] = im;
}

template <bool FAST>
static int run(const struct ladder_sum *a, uint64_t samples, cudaStream_t s, struct bs_fail *why)
{
	for (uint64_t m = 0; m < samples; m += LADDER_TILE) {
		const int count = (int)(samples - m < LADDER_TILE ? samples - m : LADDER_TILE);

		BS_CUDA(cudaMemcpyToSymbolAsync(tile, a->sample + m,
						(size_t)count * sizeof(tile[0]), 0,
						cudaMemcpyDeviceToDevice, s),
			why);
		tiles<FAST><<<ladder_blocks(a->voxels, LADDER_THREADS), LADDER_THREADS, 0, s>>>(
			*a, count);
		BS_CUDA(cudaGetLastError(), why);
	}
	return 0;
}

int ladder_constmem(const struct ladder_sum *a, uint64_t samples, cudaStream_t s,
		    struct bs_fail *why)
{
	return run<false>(a, samples, s, why);
}

int ladder_fasttrig(const struct ladder_sum *a, uint64_t samples, cudaStream_t s,
		    struct bs_fail *why)
{
	return run<true>(a, samples, s, why);
}
