/* test/paper/ladder/sectors.cu - sectors: a block a padded sector of 16 x 16 cells */
#include "test/paper/ladder/padded.cuh"

int ladder_sectors(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why)
{
	return run_padded<SPREAD_WIDE, 192, 1>(a, &a->wide, s, why);
}

int ladder_sectors_fill(const float *table, struct bs_fail *why)
{
	return fill_table(table, why);
}
