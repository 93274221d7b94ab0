/* test/paper/ladder/cache.cu - cache: a thread a cell, samples through shared memory */
#include "test/paper/ladder/spread.cuh"

static __global__ void __launch_bounds__(SPREAD_WIDE *SPREAD_WIDE) cache(const ladder_spread a)
{
	spread_from_neighbors(
		a, [&](float dx, float dy) { return expf(-(dx * dx + dy * dy) * a.falloff); },
		[&](int i) {
			const ladder_packed s = a.packed[i];

			return make_float4(s.x, s.y, s.density * s.re, s.density * s.im);
		});
}

int ladder_cache(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why)
{
	cache<<<spread_wide_blocks(a), SPREAD_WIDE * SPREAD_WIDE, 0, s>>>(*a);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
