/* test/paper/ladder/blocks.cu - blocks: padded sectors of 8 x 8 cells: more on a multiprocessor */
#include "test/paper/ladder/padded.cuh"

int ladder_blocks_more(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why)
{
	return run_padded<SPREAD_SMALL, 64, 16>(a, &a->small, s, why);
}

int ladder_blocks_fill(const float *table, struct bs_fail *why)
{
	return fill_table(table, why);
}
