/*
 * core/tool/spread.h - the width of a point spread
 *
 * image [z][y][x] complex float: the response to an impulse at voxel `at`. width: full width at
 * half maximum of the magnitude, in voxels, along an axis through that voxel, with flanks
 * interpolated linearly; the line wraps around at its ends. It is 0 where the voxel's value is 0 or
 * not finite, and the length of the axis where neither flank falls to half.
 * Pure; any thread. Test: test/unit/core/tool/test_spread.c
 */
#ifndef BS_CORE_TOOL_SPREAD_H
#define BS_CORE_TOOL_SPREAD_H

#include <stdint.h>

double bs_spread_width(const float *image, const uint32_t matrix[3], const uint32_t at[3],
		       uint32_t axis);

#endif
