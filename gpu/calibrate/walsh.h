/*
 * gpu/calibrate/walsh.h - coil maps from coil images: adaptive combination
 *
 * A voxel's map is the largest eigenvector of R, R_cd = sum of I_c conj(I_d) over the box of
 * 2 half + 1 voxels an axis around the voxel. For white noise it is the combination of coils with
 * the highest signal to noise there. Voxels outside of the image count as zeros. A map has length 1
 * in every voxel, also where the images hold only noise or zeros.
 *
 * images  in  [coil][z][y][x] complex float
 * maps    out [coil][z][y][x] complex float
 * Phase: the map's combination with the first principal component of all voxels is real and
 * positive (as gpu/calibrate/espirit.h).
 * need -> plan -> run* -> close. Only plan and close allocate. One caller; the same bytes for any
 * team. Errors: BS_ERR_CONFIG (a spec), BS_ERR_VALUE (images of zeros, or not finite).
 * Test: test/unit/gpu/calibrate/test_walsh.c
 * Source: Walsh, Gmitro & Marcellin, Magn Reson Med 2000;43:682-690.
 */
#ifndef BS_GPU_CALIBRATE_WALSH_H
#define BS_GPU_CALIBRATE_WALSH_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/thread/team.h"

#define BS_WALSH_HALF_MAX 16u

struct bs_walsh_spec {
	uint32_t coils, matrix[3];
	uint32_t half[3]; /* half the size of the box in voxels along x, y, z */
};

struct bs_walsh;

int bs_walsh_need(const struct bs_walsh_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_walsh_plan(struct bs_walsh **plan, const struct bs_walsh_spec *spec, struct bs_arena *arena,
		  struct bs_team *team, struct bs_fail *why);
int bs_walsh_run(struct bs_walsh *plan, const float *images, float *maps, struct bs_fail *why);
void bs_walsh_close(struct bs_walsh *plan);

#endif
