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

#endif
