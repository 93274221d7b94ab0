/*
 * gpu/solve/csr_cuda.h - a sparse matrix on the GPU and its products, the twin of csr.h
 *
 * product: out[row] = scale sum_col M[row][col] in[col]   (add: is added to out)
 * in, out complex float in device memory. M is W, its adjoint, or the Gram matrix W^H W, laid out
 * in slices of 32 rows (column by column, padded to the slice's longest row), so that a warp reads
 * whole sectors; each sum runs in the order of the columns: the same bits every run.
 *
 * gram computes W^H W on the host, without its transpose; BS_ERR_UNSUPPORTED where it would have
 * more than `most` entries: then two products take its place.
 * need -> plan -> product*; plan copies and waits, product only queues work. One caller.
 * Source: Bell & Garland, SC 2009 (ELLPACK and slices). Test: test/twin/twin_pcg.c
 */
#ifndef BS_GPU_SOLVE_CSR_CUDA_H
#define BS_GPU_SOLVE_CSR_CUDA_H

#include "core/solve/csr.h"
#include "gpu/device/memory.h"

BS_C_BEGIN

struct CUstream_st; /* what a cudaStream_t points to */

enum bs_csr_form { BS_CSR_PLAIN, BS_CSR_ADJOINT };

struct bs_csr_cuda {
	uint64_t rows, cols;
	bool is_complex;
	/* [slices + 1] index of each slice's first entry, in device memory */
	const uint64_t *slice;
	const uint32_t *col;
	const float *value;
};

int bs_csr_gram(struct bs_csr *gram, const struct bs_csr *w, uint64_t most, struct bs_fail *why);

uint64_t bs_csr_cuda_need(const struct bs_csr *m, enum bs_csr_form form);
int bs_csr_cuda_plan(struct bs_csr_cuda *out, const struct bs_csr *m, enum bs_csr_form form,
		     struct bs_devmem *mem, struct bs_fail *why);
int bs_csr_cuda_product(const struct bs_csr_cuda *m, float scale, const float *in, float *out,
			bool add, struct CUstream_st *stream, struct bs_fail *why);

BS_C_END
#endif
