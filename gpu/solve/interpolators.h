/*
 * gpu/solve/interpolators.h - how many time segments a field map needs, and their interpolators
 *
 * exp(-i2pi f t) ~ sum_l b_l(t) exp(-i2pi f tau_l), tau_l = first + l step, from the readout's
 * first sample to its last. hz [voxels] Hz; b out [segment][sample] complex float, room for `most`
 * segments. Least squares over the histogram of f, in double precision; the smallest number of
 * segments whose error (root mean square over the voxels, the largest of any t) is at most `error`,
 * looked for at eight times a segment; found->error is that of the samples, of 1,024 or more.
 * At arm only: allocates, one thread. Errors: BS_ERR_VALUE (f not finite; more than `most`
 * segments), BS_ERR_NOMEM, bs_dense_open's. Source: Fessler et al., IEEE Trans Signal Process
 * 2005;53:3393-3402. Test: test/unit/gpu/test_segments.c
 */
#ifndef BS_GPU_SOLVE_INTERPOLATORS_H
#define BS_GPU_SOLVE_INTERPOLATORS_H

#include <stdint.h>

#include "core/err.h"

BS_C_BEGIN

struct bs_interpolators_spec {
	const float *hz;
	uint64_t voxels;
	uint32_t samples; /* samples of a readout */
	uint32_t most;    /* most time segments */
	double dwell_s, start_s, error;
};

struct bs_interpolators {
	uint32_t segments;
	double first_s, step_s, error;
};

int bs_interpolators_find(struct bs_interpolators *found, const struct bs_interpolators_spec *spec,
			  float *b, struct bs_fail *why);

BS_C_END
#endif
