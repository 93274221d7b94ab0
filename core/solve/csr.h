/*
 * core/solve/csr.h - a sparse matrix in compressed rows: the anatomical constraint W
 *
 * Row i holds the entries start[i] .. start[i+1]-1: column col[e] (from 0, increasing within the
 * row), value[e] (real) or value[2e], value[2e+1] (complex). Columns are voxels, x fastest.
 * open -> (fill start, col, value) -> seal -> use -> close. seal checks every entry and builds the
 * transpose, so that both products (gpu/solve/csr.h) sum row by row, in one order. open and seal
 * allocate. After seal it is only read, unless values change while nobody reads it: then
 * bs_csr_transpose makes the transpose's values anew. Test: test/unit/core/test_csr.c
 */
#ifndef BS_CORE_SOLVE_CSR_H
#define BS_CORE_SOLVE_CSR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

BS_C_BEGIN

struct bs_csr {
	uint64_t rows, cols, entries;
	bool is_complex;
	uint64_t *start; /* [rows + 1] index of each row's first entry */
	uint32_t *col;   /* [entries] column of each entry */
	float *value;    /* [entries] real, or [entries][2] complex */
	/* The transpose, in the same form, made by seal; values are not conjugated. */
	uint64_t *t_start; /* [cols + 1] index of each column's first entry */
	uint32_t *t_row;
	float *t_value;
};

/* Opens a matrix of zeros. rows, cols: 1 .. 2^32 - 1. */
int bs_csr_open(struct bs_csr *m, uint64_t rows, uint64_t cols, uint64_t entries, bool is_complex,
		struct bs_fail *why);
/* Returns BS_ERR_FORMAT, naming the row (counted from 1) of the first fault. */
int bs_csr_seal(struct bs_csr *m, struct bs_fail *why);
void bs_csr_transpose(struct bs_csr *m);
void bs_csr_close(struct bs_csr *m);

/* Computes diagonal[col], the sum over rows of |value|^2: the diagonal of W^H W. */
void bs_csr_gram_diagonal(const struct bs_csr *m, float *diagonal);
/*
 * Returns a bound of the largest eigenvalue of W^H W: the largest sum of a row's moduli times the
 * largest of a column's.
 */
double bs_csr_bound(const struct bs_csr *m);

BS_C_END
#endif
