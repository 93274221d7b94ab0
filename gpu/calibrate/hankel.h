/*
 * gpu/calibrate/hankel.h - the Gram matrix of a block Hankel calibration matrix, without that
 * matrix
 *
 * The calibration matrix has a column for each place where the kernel fits into the block: the
 * samples of all coils under it, [coil][z][y][x] of the kernel. samples: [coil][z][y][x] complex
 * float, the block. to: rows x rows complex double, column-major, lower triangle only:
 *   of places    A^H A, rows = places: their order is z, y, x, x fastest
 *   of elements  A A^H, rows = coils x kernel
 * Both have the same eigenvalues but for zeros. The products for each lag are formed once and
 * summed over boxes: coils (2 places)^3 / 2 or coils^2 / 2 (2 kernel)^3 products of blocks.
 * work: BS_TEAM_MAX times bs_hankel_work doubles. Allocates nothing; the same bytes for any team.
 * Test: test/unit/gpu/calibrate/test_espirit.c
 */
#ifndef BS_GPU_CALIBRATE_HANKEL_H
#define BS_GPU_CALIBRATE_HANKEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sizes.h"

#include "core/thread/team.h"

struct bs_hankel {
	uint32_t coils, block[3], kernel[3], places[3];
	bool of_places;
	uint32_t rows;
};

/* Returns the doubles of a team member's workspace. */
static inline size_t bs_hankel_work(const struct bs_hankel *g)
{
	return 4 * (size_t)bs_box_size(g->block);
}
void bs_hankel_gram(const struct bs_hankel *g, struct bs_team *team, const float *samples,
		    double *work, double *to);

#endif
