/*
 * core/solve/blocks.h - an image in blocks of voxels, one task of the team each
 *
 * The data of two coils lie step voxels apart. Sums run in the order of the coils: the same bytes
 * for any number of threads.
 */
#ifndef BS_CORE_SOLVE_BLOCKS_H
#define BS_CORE_SOLVE_BLOCKS_H

#include <stdint.h>
#include <string.h>

#define BS_BLOCK 8192u /* voxels in a block */

static inline int bs_blocks(uint64_t voxels)
{
	return (int)((voxels + BS_BLOCK - 1) / BS_BLOCK);
}

/* Returns the number of voxels in the block; *from is the first of them. */
static inline uint64_t bs_block(uint64_t voxels, int block, uint64_t *from)
{
	*from = (uint64_t)block * BS_BLOCK;
	return voxels - *from < BS_BLOCK ? voxels - *from : BS_BLOCK;
}

/* Computes out = sum_c conj(S_c) in_c for n voxels, complex. */
static inline void bs_blocks_combine(float *restrict out, const float *maps, const float *images,
				     uint32_t coils, uint64_t step, uint64_t n)
{
	memset(out, 0, n * 8);
	for (uint32_t c = 0; c < coils; c++) {
		const float *restrict in = images + 2 * c * step;
		const float *restrict s = maps + 2 * c * step;

		for (uint64_t v = 0; v < n; v++) {
			out[2 * v] += s[2 * v] * in[2 * v] + s[2 * v + 1] * in[2 * v + 1];
			out[2 * v + 1] += s[2 * v] * in[2 * v + 1] - s[2 * v + 1] * in[2 * v];
		}
	}
}

#endif
