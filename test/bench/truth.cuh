/*
 * test/bench/truth.cuh - the benches' random numbers, and the sum in double that results are held
 * against
 *
 * For sum.cuh and nufft.cu alone.
 */
#ifndef BS_TEST_BENCH_TRUTH_CUH
#define BS_TEST_BENCH_TRUTH_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK 256 /* threads */

/* The same numbers everywhere, in [0, 1). */
static __host__ __device__ inline double draw(uint64_t i)
{
	i += UINT64_C(0x9e3779b97f4a7c15);
	i = (i ^ (i >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	i = (i ^ (i >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((i ^ (i >> 31)) >> 11) * 0x1p-53;
}

static __global__ void draw_values(float *v, size_t n, uint64_t seed)
{
	const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] = fminf((float)(draw(seed * 1000003 + i) - 0.5), 0.49999997f);
}

static inline void random_values(float *v, size_t n, uint64_t seed)
{
	draw_values<<<(unsigned)((n + BLOCK - 1) / BLOCK), BLOCK>>>(v, n, seed);
}

/* The sum of v over a block of BLOCK threads. */
static __device__ void reduce_into(double2 *out, double2 v)
{
	__shared__ double2 all[BLOCK];

	all[threadIdx.x] = v;
	__syncthreads();
	for (int n = BLOCK / 2; n > 0; n >>= 1) {
		if ((int)threadIdx.x < n) {
			all[threadIdx.x].x += all[threadIdx.x + n].x;
			all[threadIdx.x].y += all[threadIdx.x + n].y;
		}
		__syncthreads();
	}
	if (threadIdx.x == 0)
		*out = all[0];
}

#endif
