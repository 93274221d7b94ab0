/*
 * gpu/penalty/proximal.h - least squares with a prior on the host: a row of gpu/solve/solve.h
 *
 * The prior (gpu/penalty/penalty.h) around F^H F: of the lines that came (gpu/image/unfold.h), or
 * by Q or the encoding (gpu/solve/ls.h), with ls.lambda's quadratic term in it. The minimum of
 *   1/2 ||F x - d||^2 / N + lambda/2 ||W x||^2 + lambda_prior P(x),   N voxels; on the grid N = 1.
 * With the noise's standard deviation, 1 in whitened data, that of a voxel of F^H d is the root of
 * the mean of F^H F's diagonal; a weight from the noise is so many of these.
 * Priors along frames: the frames are a sliding window's groups, in the order of time, each with a
 * Q of its own; the newest is the image. A group that the window lacks has no data, and the prior
 * alone makes it.
 * Without a prior (solve.start, solve.damp alone; the ladder's rung quadratic) conjugate gradients
 * solve for the difference from where the solve starts; of several frames the newest alone.
 * The largest eigenvalue of F^H F is found when maps are known or have changed; of the grid's lines
 * it is bounded by the maps alone; where a path comes with the stream it is found in each solve, by
 * fewer steps.
 * Test: test/unit/gpu/engine/test_engine_prior.c
 */
#ifndef BS_GPU_PENALTY_PROXIMAL_H
#define BS_GPU_PENALTY_PROXIMAL_H

#include "gpu/solve/solve.h"

extern const struct bs_solving bs_solving_proximal;

#endif
