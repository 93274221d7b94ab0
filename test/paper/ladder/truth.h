/* test/paper/ladder/truth.h - what the gridding ladder's rungs should make, in double precision */
#ifndef BS_TEST_PAPER_LADDER_TRUTH_H
#define BS_TEST_PAPER_LADDER_TRUTH_H

#include <math.h>
#include <string.h>

#include "test/paper/ladder/ladder.h"

/* Inputs as bs_ladder_grid_open takes them, the grid as bs_ladder_grid_step leaves it. */
static inline void true_grid(double *grid, int cells, const float *x, const float *d,
			     uint64_t samples, double sigma)
{
	memset(grid, 0, 2 * (size_t)cells * (size_t)cells * sizeof(*grid));
	for (uint64_t m = 0; m < samples; m++) {
		const int fx = (int)ceil(x[2 * m] - BS_LADDER_WINDOW / 2);
		const int fy = (int)ceil(x[2 * m + 1] - BS_LADDER_WINDOW / 2);

		for (int j = fy; j < fy + BS_LADDER_WINDOW; j++)
			for (int i = fx; i < fx + BS_LADDER_WINDOW; i++) {
				const double dx = i - (double)x[2 * m];
				const double dy = j - (double)x[2 * m + 1];
				const double w = exp(-(dx * dx + dy * dy) / (2.0 * sigma * sigma));
				double *to =
					grid + 2 * ((size_t)((j + cells) % cells) * (size_t)cells +
						    (size_t)((i + cells) % cells));

				to[0] += w * d[2 * m];
				to[1] += w * d[2 * m + 1];
			}
	}
}

#endif
