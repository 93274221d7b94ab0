/*
 * core/tool/phantom/field.h - a smooth off-resonance field, and samples of an image in it
 *
 * The field in Hz is its amplitude times a shape between -0.95 and 0.92: a slope and a saddle, and
 * a bump beside the center, in phantom units (core/tool/phantom/phantom.h). It has no closed form
 * in k-space:
 *   s_c(m) = sum_n S_c(n) x(n) exp(-i 2 pi (k_m.n + f(n) t_m)), t_m = t_0 + m x dwell time,
 * in double precision over the voxels of the true image that are not 0. So the true image is what
 * this sum has for its object: no error of discretization remains, and reconstructions look better
 * than those of a continuous object would (phantom.h's closed form has that error).
 * The phase of f advances from sample to sample by multiplication: after 1e5 samples its rounding
 * is below 1e-11.
 * open allocates, sample does not. A made object is read-only. Test:
 * test/unit/core/tool/test_phantom.c
 */
#ifndef BS_CORE_TOOL_PHANTOM_FIELD_H
#define BS_CORE_TOOL_PHANTOM_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "core/tool/phantom/coils.h"

/* Writes the field to hz [z][y][x]. up: place of a 2D slice along z, phantom units. */
void bs_field_map(uint32_t dims, const uint32_t matrix[3], double up, double amplitude_hz,
		  float *hz);

struct bs_field_object;

/* Opens an object in a field; image and hz are [z][y][x]. */
int bs_field_open(struct bs_field_object **o, const struct bs_coils *coils, const float *image,
		  const float *hz, struct bs_fail *why);
void bs_field_close(struct bs_field_object *o);
/* Number of doubles in bs_field_sample's work. */
size_t bs_field_work(const struct bs_field_object *o);
/* Samples it: k [samples][dims] cycles per voxel, data [coil][samples] complex; t0_s in seconds. */
void bs_field_sample(const struct bs_field_object *o, const float *k, double t0_s, double dwell_s,
		     uint32_t samples, float *data, double *work);

#endif
