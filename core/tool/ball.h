/*
 * core/tool/ball.h - a lesion of 1 in an image of 0, and what of it is left in another image
 *
 * image [z][y][x] complex float. at: the ball's center in voxels, from 0; radius in voxels; in 2D
 * it is a disk. A voxel has the share of it that lies within, by BS_BALL_POINTS points an axis.
 * kept: the image's real part along the ball, sum of share x image over sum of share^2: 1 where the
 * image is the ball, and linear in the image.
 * Pure; any thread. Test: test/unit/board/tool/test_ball.c
 */
#ifndef BS_CORE_TOOL_BALL_H
#define BS_CORE_TOOL_BALL_H

#include <stdint.h>

#define BS_BALL_POINTS 8

struct bs_ball {
	uint32_t matrix[3];
	double at[3];
	double radius;
};

/* The share of a voxel that lies in the ball. */
double bs_ball_share(const struct bs_ball *b, uint32_t x, uint32_t y, uint32_t z);
void bs_ball_put(const struct bs_ball *b, float *image);
double bs_ball_kept(const struct bs_ball *b, const float *image);

#endif
