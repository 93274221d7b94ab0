/*
 * core/tool/phantom/coils.h - smooth coil sensitivities whose k-space is known exactly
 *
 * s_c(x) = sum over terms of a_ct exp(i2pi f_t.x): a constant, a cosine along each axis with a
 * period of three fields of view, highest beside the coil, and a slowly varying phase. A product
 * with a sensitivity is then a sum of shifts in k-space: d_c(k) = sum_t a_ct rho^(k - f_ct).
 * Coils stand on a ring in 2D, on a sphere in 3D (golden spiral); |s| runs from about 1 beside the
 * coil to 0 in the farthest corner. One coil alone is uniform: s = 1.
 * rotated: makes coils whose ring or sphere is rotated about z, as it is seen from slice to slice.
 * cut: makes the sensitivities that coils on a sphere have in a slice, up along z (phantom units):
 * each is a product of ((1 + cos) / 2)^2 along three axes, with a period of two fields of view, so
 * that many coils tell many places apart.
 * Thread rules: made coils are read-only. Allocates nothing. Test:
 * test/unit/core/tool/test_phantom.c
 */
#ifndef BS_CORE_TOOL_PHANTOM_COILS_H
#define BS_CORE_TOOL_PHANTOM_COILS_H

#include <stdint.h>

#include "core/tool/phantom/phantom.h"
#include "core/protocol.h"

#define BS_COIL_TERMS 25u /* most terms of a coil */

struct bs_coils {
	uint32_t coils, dims, terms;
	uint32_t matrix[3];
	double f[BS_COIL_TERMS][3];               /* frequency of each term in cycles per voxel */
	double a[BS_COILS_MAX][BS_COIL_TERMS][2]; /* real and imaginary amplitude of each term */
};

int bs_coils_make(struct bs_coils *c, uint32_t coils, uint32_t dims, const uint32_t matrix[3],
		  struct bs_fail *why);
int bs_coils_rotated(struct bs_coils *c, uint32_t coils, uint32_t dims, const uint32_t matrix[3],
		     double radians, struct bs_fail *why);
int bs_coils_cut(struct bs_coils *c, uint32_t coils, const uint32_t matrix[3], double up,
		 struct bs_fail *why);
/* The sensitivity of one coil at x (voxels, the center is 0). */
void bs_coils_at(const struct bs_coils *c, uint32_t coil, const double x[3], double out[2]);
/* Writes all sensitivities to maps [coil][z][y][x] complex float. */
void bs_coils_maps(const struct bs_coils *c, float *maps);
/* Samples the phantom through every coil: k [samples][dims], data [coil][samples] complex. */
void bs_coils_sample(const struct bs_coils *c, const struct bs_phantom *ph, const float *k,
		     uint32_t samples, float *data);

#endif
