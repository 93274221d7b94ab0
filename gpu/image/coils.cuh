/* gpu/image/coils.cuh - a sum over coils, on the GPU */
#ifndef BS_GPU_IMAGE_COILS_CUH
#define BS_GPU_IMAGE_COILS_CUH

#include <cuda_runtime.h>

#include <stdint.h>

/* Returns sum_c conj(a_c) b_c at voxel v. a, b: [coil][voxel], summed in the order of coils. */
static __device__ __forceinline__ float2 bs_coils_inner(const float2 *__restrict__ a,
							const float2 *__restrict__ b,
							uint32_t coils, uint64_t voxels, uint64_t v)
{
	float2 sum = make_float2(0.0f, 0.0f);

	for (uint32_t c = 0; c < coils; c++) {
		const float2 s = __ldg(a + c * voxels + v);
		const float2 d = __ldg(b + c * voxels + v);

		sum.x += s.x * d.x + s.y * d.y;
		sum.y += s.x * d.y - s.y * d.x;
	}
	return sum;
}

#endif
