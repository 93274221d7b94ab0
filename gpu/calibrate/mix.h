/*
 * gpu/calibrate/mix.h - one small matrix applied to a readout: from coils to virtual coils
 *
 * out[v][s] = sum_c matrix[v][c] data[c][s], in the order of c; complex float throughout.
 * data and out [coil][stride], samples of each; they do not overlap.
 * At most BS_COILS_MAX coils and virtual coils. Allocates nothing; any thread.
 * Test: test/unit/gpu/calibrate/test_compress.c
 */
#ifndef BS_GPU_CALIBRATE_MIX_H
#define BS_GPU_CALIBRATE_MIX_H

#include <stddef.h>
#include <stdint.h>

struct bs_mix {
	const float *matrix; /* [virtual][coils] */
	uint32_t virtual_coils, coils;
};
void bs_mix(float *out, size_t out_stride, const struct bs_mix *by, uint32_t samples,
	    const float *data, size_t stride);

/* Converts the column-major double matrix a of compress.h to the matrix that bs_mix takes. */
void bs_mix_matrix(float *matrix, const double *a, uint32_t virtual_coils, uint32_t coils);

#endif
