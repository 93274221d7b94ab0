/*
 * gpu/solve/cuda/sums.cuh - sums in double over a block and over a grid, by a fixed tree
 *
 * All kernels of a solver have SUM_THREADS threads. For .cu files alone.
 */
#ifndef BS_GPU_SOLVE_CUDA_SUMS_CUH
#define BS_GPU_SOLVE_CUDA_SUMS_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#define SUM_THREADS 256

/* Sums two numbers over a block. The result is valid in thread 0. */
static __device__ double2 block_sum(double2 v)
{
	__shared__ double2 warp[SUM_THREADS / 32];

	for (int n = 16; n > 0; n >>= 1) {
		v.x += __shfl_down_sync(0xffffffffu, v.x, n);
		v.y += __shfl_down_sync(0xffffffffu, v.y, n);
	}
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		warp[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x < 32) {
		v = threadIdx.x < SUM_THREADS / 32 ? warp[threadIdx.x] : make_double2(0.0, 0.0);
		for (int n = SUM_THREADS / 64; n > 0; n >>= 1) {
			v.x += __shfl_down_sync(0xffffffffu, v.x, n);
			v.y += __shfl_down_sync(0xffffffffu, v.y, n);
		}
	}
	return v;
}

/*
 * Returns true in the block that ends last. There *sum, in thread 0, is the sum over all blocks of
 * the grid's x, added in the order of their numbers. partial: [2][blocks]; *tickets: 0 before the
 * launch and after it.
 */
static __device__ bool grid_sum(double *partial, unsigned *tickets, double2 v, double2 *sum)
{
	__shared__ bool last;

	v = block_sum(v);
	if (threadIdx.x == 0) {
		partial[blockIdx.x] = v.x;
		partial[gridDim.x + blockIdx.x] = v.y;
		__threadfence();
		last = atomicAdd(tickets, 1u) == gridDim.x - 1;
	}
	__syncthreads();
	if (!last)
		return false;
	__threadfence();
	v = make_double2(0.0, 0.0);
	for (unsigned i = threadIdx.x; i < gridDim.x; i += SUM_THREADS) {
		v.x += __ldcg(partial + i);
		v.y += __ldcg(partial + gridDim.x + i);
	}
	*sum = block_sum(v);
	if (threadIdx.x == 0)
		*tickets = 0;
	return true;
}

#endif
