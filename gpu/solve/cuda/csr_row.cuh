/* gpu/solve/cuda/csr_row.cuh - one row of a sliced matrix times a vector; see csr_cuda.h */
#ifndef BS_GPU_SOLVE_CUDA_CSR_ROW_CUH
#define BS_GPU_SOLVE_CUDA_CSR_ROW_CUH

#include "gpu/solve/csr_cuda.h"

template <bool COMPLEX>
static __device__ __forceinline__ float2 bs_csr_row(const struct bs_csr_cuda &m, uint64_t row,
						    const float2 *in)
{
	const uint64_t first = __ldg(m.slice + row / 32);
	const uint32_t width = (uint32_t)(__ldg(m.slice + row / 32 + 1) - first) / 32;
	float2 sum = make_float2(0.0f, 0.0f);

	for (uint32_t e = 0; e < width; e++) {
		const uint64_t at = first + (uint64_t)e * 32 + row % 32;
		const float2 v = in[__ldcs(m.col + at)];

		if (COMPLEX) {
			const float2 a = __ldcs((const float2 *)m.value + at);

			sum.x += a.x * v.x - a.y * v.y;
			sum.y += a.x * v.y + a.y * v.x;
		} else {
			const float a = __ldcs(m.value + at);

			sum.x = fmaf(a, v.x, sum.x);
			sum.y = fmaf(a, v.y, sum.y);
		}
	}
	return sum;
}

#endif
