/*
 * gpu/exact/basis.h - the box as voxel basis: phi(k) = sinc(k_x) sinc(k_y) sinc(k_z)
 *
 * Host code. Test: test/unit/gpu/test_exact.c
 */
#ifndef BS_GPU_EXACT_BASIS_H
#define BS_GPU_EXACT_BASIS_H

#include <math.h>
#include <stdint.h>

/* Returns amount times phi(k); k [dims] in cycles per voxel. */
static inline double bs_basis_box(double amount, const float *k, uint32_t dims)
{
	for (uint32_t a = 0; a < dims; a++) {
		const double t = 3.14159265358979323846 * (double)k[a];

		amount *= fabs(t) < 1e-9 ? 1.0 : sin(t) / t;
	}
	return amount;
}

#endif
