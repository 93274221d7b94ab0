/* core/tool/spread.c - see spread.h */
#include "core/tool/spread.h"

#include <math.h>
#include <stddef.h>

static double value(const float *image, const uint32_t matrix[3], const uint32_t at[3],
		    uint32_t axis, int64_t step)
{
	uint32_t n = matrix[axis];
	uint32_t to[3] = { at[0], at[1], at[2] };
	size_t v;

	to[axis] = (uint32_t)(((int64_t)at[axis] + step % (int64_t)n + n) % n);
	v = ((size_t)to[2] * matrix[1] + to[1]) * matrix[0] + to[0];
	return hypot((double)image[2 * v], (double)image[2 * v + 1]);
}

/*
 * The distance from the voxel to where one flank crosses half of the peak; infinite: it never does.
 */
static double flank(const float *image, const uint32_t matrix[3], const uint32_t at[3],
		    uint32_t axis, int direction, double peak)
{
	double before = peak;

	for (uint32_t i = 1; i <= matrix[axis] / 2; i++) {
		double here = value(image, matrix, at, axis, (int64_t)direction * i);

		if (here <= 0.5 * peak)
			return i - 1 + (before - 0.5 * peak) / (before - here);
		before = here;
	}
	return INFINITY;
}

double bs_spread_width(const float *image, const uint32_t matrix[3], const uint32_t at[3],
		       uint32_t axis)
{
	double peak = value(image, matrix, at, axis, 0);
	double width;

	if (!(peak > 0.0) || !isfinite(peak))
		return 0.0;
	width = flank(image, matrix, at, axis, 1, peak) + flank(image, matrix, at, axis, -1, peak);
	return isfinite(width) ? width : matrix[axis];
}
