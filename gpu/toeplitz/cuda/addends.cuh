/*
 * gpu/toeplitz/cuda/addends.cuh - the sum, at one voxel, of the addends that coils or GPUs have
 * left
 *
 * addends: [part][voxel], at least one part, added in the order of the parts. Loads are plain,
 * since kernels that begin early read them (gpu/device/launch.cuh). For .cu files alone.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_ADDENDS_CUH
#define BS_GPU_TOEPLITZ_CUDA_ADDENDS_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "gpu/device/launch.cuh"

static __device__ __forceinline__ float2 bs_sum_addends(const float2 *addends, uint32_t parts,
							uint64_t voxels, uint64_t at)
{
	float2 sum = addends[at];

	for (uint32_t i = 1; i < parts; i++) {
		const float2 s = addends[i * voxels + at];

		sum.x += s.x;
		sum.y += s.y;
	}
	return sum;
}

#define ADDENDS_THREADS 256

/* Sums all voxels, unless *stop is set; stop may be NULL. */
static __global__ __launch_bounds__(ADDENDS_THREADS) void add_addends(
	float2 *out, const float2 *addends, uint32_t parts, uint64_t voxels, const int *stop)
{
	const uint64_t at = (uint64_t)blockIdx.x * ADDENDS_THREADS + threadIdx.x;

	bs_after_previous();
	if (at < voxels && (stop == NULL || *stop == 0))
		out[at] = bs_sum_addends(addends, parts, voxels, at);
}

#endif
