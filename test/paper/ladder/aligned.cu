/* test/paper/ladder/aligned.cu - aligned: as cache, a sample being one aligned word of 16 bytes */
#include "test/paper/ladder/spread.cuh"

static __global__ void __launch_bounds__(SPREAD_WIDE *SPREAD_WIDE) aligned(const ladder_spread a)
{
	spread_from_neighbors(
		a, [&](float dx, float dy) { return expf(-(dx * dx + dy * dy) * a.falloff); },
		[&](int i) { return a.wide.word[i]; });
}

int ladder_aligned(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why)
{
	aligned<<<spread_wide_blocks(a), SPREAD_WIDE * SPREAD_WIDE, 0, s>>>(*a);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
