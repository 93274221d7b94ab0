/*
 * gpu/solve/csr.h - products with a sparse matrix (core/solve/csr.h) and its adjoint
 *
 * forward:  out[row] = sum_col W[row][col] in[col]
 * adjoint:  out[col] += scale sum_row conj(W[row][col]) in[row]
 * in, out complex float. Each sum runs in the order of the entries, in float: the same bits for
 * any number of threads. Allocates nothing. One caller.
 * Twins: csr.c (host), csr.cu (CUDA). Test: test/unit/core/test_csr.c
 */
#ifndef BS_GPU_SOLVE_CSR_H
#define BS_GPU_SOLVE_CSR_H

#include "core/solve/csr.h"
#include "core/thread/team.h"

void bs_csr_forward(struct bs_team *team, const struct bs_csr *w, const float *in, float *out);
void bs_csr_adjoint_add(struct bs_team *team, const struct bs_csr *w, float scale, const float *in,
			float *out);

#endif
