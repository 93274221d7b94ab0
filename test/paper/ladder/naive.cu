/* test/paper/ladder/naive.cu - naive: a thread a sample, added to the grid by float atomics */
#include "test/paper/ladder/spread.cuh"

static __global__ void naive(const ladder_spread a)
{
	const int m = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (m >= a.samples)
		return;
	const ladder_packed s = a.arrived[m];
	const float fx = ceilf(s.x - (float)SPREAD_HALF);
	const float fy = ceilf(s.y - (float)SPREAD_HALF);

	for (int j = 0; j < BS_LADDER_WINDOW; j++)
		for (int i = 0; i < BS_LADDER_WINDOW; i++) {
			const float dx = fx + (float)i - s.x;
			const float dy = fy + (float)j - s.y;
			const float w = s.density * expf(-(dx * dx + dy * dy) * a.falloff);
			float2 *to = a.grid + (size_t)spread_wrap((int)fy + j, a.cells) * a.cells +
				     spread_wrap((int)fx + i, a.cells);

			atomicAdd(&to->x, w * s.re);
			atomicAdd(&to->y, w * s.im);
		}
}

int ladder_naive(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why)
{
	BS_CUDA(cudaMemsetAsync(a->grid, 0, (size_t)a->cells * a->cells * sizeof(float2), s), why);
	naive<<<(unsigned)(a->samples + 127) / 128, 128, 0, s>>>(*a);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
