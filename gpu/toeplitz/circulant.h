/*
 * gpu/toeplitz/circulant.h - the inverse of a circulant approximation of F^H D F: a preconditioner
 *
 * M = scale C + shift I; C is the circulant matrix nearest to the Toeplitz matrix of q in the
 * Frobenius norm: c(j) = sum over j' in {j, j - N} of (N - |j'|)/N Q(j') on each axis, the fraction
 * of the entries of that diagonal of C that have offset j' in the matrix. C is Hermitian and, as
 * F^H D F is, positive semidefinite: eigenvalues that round-off left below epsilon of the largest
 * are raised to that.
 * apply: out = M^-1 in, one image [z][y][x] complex float; in and out differ.
 * inverse: 1 / (scale eigenvalue + shift) / voxels [z][y][x], in the order of a DFT from 0 on.
 * q as in gpu/toeplitz/q.h. need -> plan -> shift -> apply* -> close. Only plan allocates. One
 * caller.
 * Twins: circulant.c (host), circulant_cuda.h. Tests: test/unit/gpu/test_ls.c, test/twin/twin_ls.c
 * Sources: T. Chan, SIAM J Sci Stat Comput 1988;9:766-771; Chan & Ng, SIAM Rev 1996;38:427-482.
 */
#ifndef BS_GPU_TOEPLITZ_CIRCULANT_H
#define BS_GPU_TOEPLITZ_CIRCULANT_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/thread/team.h"

BS_C_BEGIN

struct bs_circulant;

int bs_circulant_need(uint32_t dims, const uint32_t matrix[3], struct bs_need *need,
		      struct bs_fail *why);
int bs_circulant_plan(struct bs_circulant **plan, uint32_t dims, const uint32_t matrix[3],
		      const float *q, struct bs_arena *arena, struct bs_team *team,
		      struct bs_fail *why);
void bs_circulant_close(struct bs_circulant *plan);
void bs_circulant_shift(struct bs_circulant *plan, double scale, double shift);
const float *bs_circulant_inverse(const struct bs_circulant *plan);
void bs_circulant_apply(struct bs_circulant *plan, const float *in, float *out);

BS_C_END
#endif
