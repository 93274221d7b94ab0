/* test/paper/ladder/table.cu - table: as aligned, the window precomputed in constant memory */
#include "test/paper/ladder/spread.cuh"

static __constant__ float window_table[SPREAD_TABLE];

static __global__ void __launch_bounds__(SPREAD_WIDE *SPREAD_WIDE) table(const ladder_spread a)
{
	spread_from_neighbors(
		a,
		[&](float dx, float dy) {
			return spread_look(window_table, dx) * spread_look(window_table, dy);
		},
		[&](int i) { return a.wide.word[i]; });
}

int ladder_table(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why)
{
	table<<<spread_wide_blocks(a), SPREAD_WIDE * SPREAD_WIDE, 0, s>>>(*a);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

int ladder_table_fill(const float *values, struct bs_fail *why)
{
	BS_CUDA(cudaMemcpyToSymbol(window_table, values, SPREAD_TABLE * sizeof(float)), why);
	return 0;
}
