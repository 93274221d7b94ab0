/*
 * gpu/solve/precond.h - quantities of the system that the preconditioners of both twins need
 *
 * The system is that of gpu/solve/ls.h. Host memory, host code; at arm, and when lambda changes.
 * Test: test/unit/gpu/test_ls.c
 */
#ifndef BS_GPU_SOLVE_PRECOND_H
#define BS_GPU_SOLVE_PRECOND_H

#include "core/solve/csr.h"

BS_C_BEGIN

/* Returns sum_c |S_c|^2 at a voxel, 1 without coils. maps: [coil][voxel] complex. */
double bs_precond_power(const float *maps, uint32_t coils, uint64_t voxels, uint64_t voxel);
/* Writes the diagonal of R = W^H W to r [voxel]; w NULL: that of the identity. */
void bs_precond_diagonal(float *r, const struct bs_csr *w, uint64_t voxels);
/*
 * Returns 1 / d for Jacobi's preconditioner; most: the largest d. For a voxel that no coil sees,
 * any positive number would do.
 */
float bs_precond_inverse(double d, double most);

BS_C_END
#endif
