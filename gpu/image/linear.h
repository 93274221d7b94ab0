/*
 * gpu/image/linear.h - linear interpolation of a real map to another matrix of the same field of
 * view
 *
 * in [z][y][x], N = from; out [z][y][x], M = to. Voxel n of N lies at (n - N/2)/N of the field of
 * view, halves truncated, as in gpu/image/resize.h. Beyond the outermost voxels their value stays.
 * For maps that are smooth between voxels and may jump (a field map): no value lies outside those
 * of its neighbors, unlike after a Fourier transform. Allocates nothing; any thread.
 * Test: test/unit/gpu/test_phasestep.c
 */
#ifndef BS_GPU_IMAGE_LINEAR_H
#define BS_GPU_IMAGE_LINEAR_H

#include <stdint.h>

void bs_linear_resize(const float *in, const uint32_t from[3], float *out, const uint32_t to[3]);

#endif
