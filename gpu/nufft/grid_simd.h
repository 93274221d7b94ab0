/*
 * gpu/nufft/grid_simd.h - the host's gridding kernels, built once per instruction set
 *
 * Sorted samples onto the oversampled grid, and off it. grid_simd.c is compiled for each
 * instruction set (gpu/device/isa.h) into a table of its own. Results differ between sets by
 * rounding only, and never between runs or threads on one set.
 */
#ifndef BS_GPU_NUFFT_GRID_SIMD_H
#define BS_GPU_NUFFT_GRID_SIMD_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/device/isa.h"

BS_C_BEGIN

#define BS_TAPS_MIN 2u
#define BS_TAPS_MAX 12u
#define BS_POLY_MAX 16u /* most coefficients of a tap's polynomial */
#define BS_WIDE     64u

/*
 * The window on one axis, one polynomial for each tap, in t = 2f - 1, where f is the distance of
 * the first tap from the lower end of the window. tap: highest power first. wide: lowest power
 * first; each coefficient is repeated for the floats of a cell, behind as many zeros as a cell has
 * shifts, and zero past the last tap. Where t is beyond cut, the last tap lies outside a window of
 * fractional width.
 */
struct bs_taps {
	uint32_t coefs;
	uint32_t fractional;
	float cut;
	uint32_t pad[13]; /* fills up the plan, so that wide is on a multiple of 64 bytes */
	float tap[BS_TAPS_MAX][BS_POLY_MAX];
	float wide[4][BS_POLY_MAX][BS_WIDE];
};

/*
 * A run of sorted samples and the grid that they are spread to or interpolated from. A cell has
 * `floats` floats.
 */
struct bs_spread {
	const struct bs_taps *taps[3];
	const uint32_t *cell;
	const float *t[3];
	uint64_t count;
	uint32_t rows, planes; /* taps along y and along z; 1 beyond dims */
	/* floats from one row, and from one plane, of the grid to the next */
	size_t row, plane;
	float *grid;
	float *data; /* [sample][floats], input of spread, output of interpolate */
};

typedef void (*bs_spread_fn)(const struct bs_spread *s);

struct bs_grid_kernels { /* kernels [taps][log2 of floats in a cell, 1 .. 4] */
	bs_spread_fn spread[BS_TAPS_MAX + 1][5], interpolate[BS_TAPS_MAX + 1][5];
};

BS_ISA_DECLARE(const struct bs_grid_kernels, bs_grid_kernels);

BS_C_END
#endif
