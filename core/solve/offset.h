/*
 * core/solve/offset.h - how far an image lies from a reference of another contrast
 *
 * Where two contrasts of one object have edges, their gradients are large, whatever their signs:
 * the offset is the shift of the reference's gradient magnitudes that has the largest product with
 * the image's, among whole voxels up to BS_OFFSET_MOST on each axis (every second one, and then
 * neighbors of the best), refined by a parabola along each axis. found: the largest product lies
 * within that range, and stands out from the mean by more than noise makes it (by chance less than
 * 0.1 of it on 32^3). On a sodium image with noise (test/unit/gpu/penalty/test_sodium.c) it is
 * right to 0.1 voxels.
 * image      [images][z][y][x] complex, of which the root of the sum of squares counts
 * reference  [z][y][x] complex, magnitudes in the real part
 * work       2 floats a voxel. No state, no allocation; any thread.
 * The same idea, normalized: Haber, Modersitzki, Methods Inf Med 2007;46:292-299.
 */
#ifndef BS_CORE_SOLVE_OFFSET_H
#define BS_CORE_SOLVE_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

#define BS_OFFSET_MOST 4

struct bs_offset {
	bool found;
	float voxels[3]; /* image minus reference, along x, y, z */
	float length;    /* length of voxels; where not found BS_OFFSET_MOST */
};

void bs_offset_find(struct bs_offset *o, const uint32_t n[3], const float *image, uint32_t images,
		    const float *reference, float *work);

#endif
