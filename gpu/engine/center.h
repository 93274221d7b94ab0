/*
 * gpu/engine/center.h - a block of k-space around its center, on the grid, from a trajectory
 *
 * Coil maps are made from this block where no lines of the grid come (image.maps of protocols that
 * are not on the grid). The samples around k = 0 of each coil become a small image of the whole
 * field of view by weighted least squares (method ls on the host, a few steps; Pipe and Menon's
 * weights). The transform of that image at the points of the grid is the block. Samples up to two
 * points beyond the block count as well, and the small image has half as many voxels again as the
 * block has points: with neither, 6 percent of the block are wrong. Off resonance is not corrected
 * here.
 *
 * block   [coil][z][y][x] complex float, k = 0 at index size/2 on each axis, in samples of the
 *         protocol's field of view; at most calibration_lines an axis, and at most the matrix. It
 *         is the largest block of which each point has a sample within 3/4 of a point on every
 *         axis; arm refuses a trajectory where that is less than `fewest`, BS_ERR_CONFIG.
 * need -> arm -> { begin -> add* -> block, or with a window fold, then block }* -> disarm. As in
 * core/engine.h for engines: frames, readouts, groups, held (NULL without a window), data.
 * Only arm and disarm allocate. need knows no trajectory: it assumes that all samples count, and
 * arm takes as much. One caller; the same bytes for any team.
 * Tests: test/unit/gpu/engine/test_center.c, test/twin/engine/twin_center.c
 */
#ifndef BS_GPU_ENGINE_CENTER_H
#define BS_GPU_ENGINE_CENTER_H

#include "core/engine.h"

struct bs_center;

int bs_center_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_center_arm(struct bs_center **center, const struct bs_protocol *p, uint32_t fewest,
		  const struct bs_traj *traj, const struct bs_arm_env *env, struct bs_fail *why);
void bs_center_disarm(struct bs_center *center); /* frees a center, which may be NULL */

int bs_center_begin(struct bs_center *center, uint32_t frame);
int bs_center_add(struct bs_center *center, uint32_t frame, uint32_t readout, const float *data,
		  size_t coil_stride);
int bs_center_fold(struct bs_center *center, uint32_t frame, uint32_t group);
/* Makes the block of a frame. block: memory of this engine, valid until the next call. */
int bs_center_block(struct bs_center *center, uint32_t frame, const uint8_t *held, uint32_t size[3],
		    const float **block, struct bs_fail *why);

#endif
