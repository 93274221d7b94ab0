/*
 * gpu/calibrate/maps_simd.h - the inner loops of coil maps, built once per instruction set
 *
 * Complex arrays here are planar where a length is given as (n): n real parts, then n imaginary
 * ones; n is a multiple of BS_MAPS_PAD. All memory is the caller's, aligned to BS_ALIGN.
 */
#ifndef BS_GPU_CALIBRATE_MAPS_SIMD_H
#define BS_GPU_CALIBRATE_MAPS_SIMD_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/device/isa.h"

#define BS_MAPS_PAD   16u
#define BS_MAPS_BATCH 64u /* kernels that are worked on at a time, one in each lane */
#define BS_MAPS_REACH 16u /* most samples of a kernel, and of half a block, on an axis */

/* A row of voxels along x, whose maps are made together. */
struct bs_maps_row {
	uint32_t coils, sets, n;
	float crop; /* maps are 0 where the eigenvalue is less */
	/* [coil] complex: each map's component along this vector becomes real */
	const float *reference;
	float *maps; /* output [set][coil][x] complex, strides in complex values */
	size_t set_stride, coil_stride;
	float *values; /* output [set][x], eigenvalues; NULL: not wanted */
	size_t value_stride;
	float *scratch; /* scratch of bs_maps_scratch(coils) floats */
};

/* The samples of a coil under a kernel, at each place where the kernel fits. */
struct bs_maps_patch {
	const float *samples; /* samples of a coil's block, [z][y][x] complex */
	uint32_t block[3], kernel[3], places[3];
};

struct bs_maps_kernels {
	/* Sums from (n) times factor[k] complex over k, at k stride, into to (n). */
	void (*weigh)(float *to, const float *from, size_t stride, const float *factor,
		      uint32_t terms, uint32_t n);
	/* Sums samples times u [place] (BATCH) over the places, into v [kernel element] (BATCH). */
	void (*patch)(const struct bs_maps_patch *p, const float *u, float *v);
	/*
	 * Adds f_c conj(f_d), summed over the batch, to g (pairs), d <= c. f: [coil] (BATCH),
	 * stride floats apart.
	 */
	void (*outer)(float *g, const float *f, size_t stride, uint32_t coils, uint32_t pairs);
	/*
	 * Makes the maps of a row from its correlations [pair][2 reach + 1] (n) at lags -reach ..
	 * reach. phases [lag 1 .. reach][cos, sin][x]: rows of phase_stride floats.
	 */
	void (*correlated)(const struct bs_maps_row *r, const float *corr, uint32_t n,
			   uint32_t reach, const float *phases, size_t phase_stride);
	/*
	 * Makes the maps of a row from the images of the rows around it, [coil][row] (width). Each
	 * row of images begins half voxels before x = 0 and ends half voxels after the last x; a
	 * voxel's box takes 2 half + 1 voxels of each row.
	 */
	void (*covariance)(const struct bs_maps_row *r, const float *images, uint32_t rows,
			   uint32_t width, uint32_t half);
};

BS_ISA_DECLARE(const struct bs_maps_kernels, bs_maps_kernels);

static inline uint32_t bs_maps_padded(uint32_t n)
{
	return (n + BS_MAPS_PAD - 1) / BS_MAPS_PAD * BS_MAPS_PAD;
}
/* Returns the number of pairs of coils c >= d. */
static inline uint32_t bs_maps_pairs(uint32_t coils)
{
	return coils * (coils + 1) / 2;
}
/*
 * Floats of scratch: two matrices, the rows of the eigenvectors, a vector, and the lags of a row.
 */
static inline size_t bs_maps_scratch(uint32_t coils)
{
	return (size_t)BS_MAPS_PAD * (4 * (size_t)bs_maps_pairs(coils) + 12 * (size_t)coils) +
	       (size_t)bs_maps_pairs(coils) * (2 + 4 * BS_MAPS_REACH);
}

#endif
