/*
 * gpu/exact/exact_simd.h - the inner loops of gpu/exact, built once per instruction set
 *
 * real is float (single) or double (twice); tables are [column][sample], ld samples apart.
 * inner   samples of one product; a panel and a tile together fit the first-level cache
 * rows    rows of a panel; with cols the most that fits the registers
 * cols    columns of a tile
 * A panel is [rows][inner + BS_EXACT_PAD]; a tile of B is [inner][cols], packed.
 */
#ifndef BS_GPU_EXACT_EXACT_SIMD_H
#define BS_GPU_EXACT_EXACT_SIMD_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/device/isa.h"

/*
 * Padding of a panel's rows beyond inner, in reals, so that rows do not fall on the same cache
 * sets.
 */
#define BS_EXACT_PAD 16

struct bs_exact_half {
	uint32_t rows, cols, inner, real_bytes;
	/*
	 * Writes cosines, then sines, of 2 pi k n' for the half axis of N voxels; n samples of k,
	 * stride floats apart.
	 */
	void (*phases)(void *table, size_t ld, const float *k, uint32_t stride, uint32_t n,
		       uint32_t N);
	/*
	 * Packs columns [column][sample] into tiles [tile][sample][cols]; columns beyond N are
	 * zero.
	 */
	void (*pack)(void *tiles, const void *table, size_t ld, uint32_t n, uint32_t N);
	/* row[m] = d[m] e[m] y[m]; y may be NULL (ones); e NULL: a row of zeros */
	void (*form)(void *row, const void *d, const void *e, const void *y, uint32_t n);
	/* Adds the sum over k of a[row][k] b[k][col] to t[row][col]. */
	void (*add)(const void *a, const void *b, uint32_t n, double *t, size_t ldt);
};

struct bs_exact_kernels {
	struct bs_exact_half single, twice;
};

BS_ISA_DECLARE(const struct bs_exact_kernels, bs_exact_kernels);

#endif
