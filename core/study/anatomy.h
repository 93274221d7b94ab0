/*
 * core/study/anatomy.h - an image of one scan on the grid of another, and the mask of its object
 *
 * resample: the magnitude at each voxel's center, in patient coordinates, by linear interpolation;
 * where the image's voxels are smaller, the mean over the grid's voxel, at points at most one of
 * them apart. Any directions at right angles, any distances. A point belongs to the image up to
 * half a voxel beyond its outermost centers. A voxel with a point beyond that is BS_ANATOMY_BEYOND.
 * mask: the object is where the image has `share` of its largest value, and all that such voxels
 * enclose (an inner dark region is the object's). The mask reaches `margin` voxels beyond it. The
 * object must not reach the image's end within the grid (by more than 2 % of its voxels): the rim
 * would be the image's, not the object's. Voxels beyond the image become 0.
 *
 * image  [z][y][x] complex, magnitudes with an imaginary part of 0
 * mask   [z][y][x] complex, for core/solve/prior.h: 0 outside
 * No state, no allocation; any thread. BS_ERR_CALIBRATION: what does not fit, in words.
 * Test: test/unit/core/study/test_anatomy.c
 */
#ifndef BS_CORE_STUDY_ANATOMY_H
#define BS_CORE_STUDY_ANATOMY_H

#include "core/study/study.h"

#define BS_ANATOMY_BEYOND (-1.0f)

/* Where voxels lie. The pose's position is the center of voxel matrix/2, as of MRD images. */
struct bs_grid {
	uint32_t matrix[3];
	float fov_mm[3];
	struct bs_pose pose;
};

/* Both grids tell their place: sizes above 0, directions of length 1 at right angles. */
int bs_anatomy_resample(float *image, const struct bs_grid *to, const float *magnitude,
			const struct bs_grid *from, struct bs_fail *why);
int bs_anatomy_mask(float *mask, float *image, const uint32_t matrix[3], double share,
		    double margin, struct bs_fail *why);

#endif
