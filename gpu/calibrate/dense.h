/*
 * gpu/calibrate/dense.h - dense complex algebra in double precision; its source alone sees LAPACK
 *
 * A matrix is column-major without gaps, complex as two doubles: element (i, j) of m rows is
 * a[2 * (i + m * j)] and the one after it. Sizes are 1 .. BS_DENSE_MAX, rows and columns.
 * Nothing is allocated: work is the caller's, as many bytes as the function beside it says, aligned
 * to 16; it says 0 for a size that is refused. LAPACK is loaded by bs_dense_open, which a caller
 * calls when it arms, before all else here: a process that does no such algebra has none of its
 * threads, and one that does asks it for no other than the caller's, so that results do not depend
 * on their number. On which library they do, in their last bits: bs_dense_library names it.
 * Errors: BS_ERR_SIZE (a size), BS_ERR_VALUE (not finite, singular, no convergence), with the
 * reason; what the matrices then hold is not defined. Any thread, each with its own memory.
 * Test: test/unit/gpu/calibrate/test_dense.c
 */
#ifndef BS_GPU_CALIBRATE_DENSE_H
#define BS_GPU_CALIBRATE_DENSE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define BS_DENSE_MAX  16384u
#define BS_DENSE_NAME 512 /* bytes of a library's name */

/* One thread. Errors: BS_ERR_UNSUPPORTED, the machine has no LAPACK (liblapack.so.3). */
int bs_dense_open(struct bs_fail *why);
/* Its file and that of its BLAS where it is another; "": it is not loaded. */
const char *bs_dense_library(void);

/*
 * A = L L^H of a Hermitian positive definite a[n][n], of which the lower triangle is read: L takes
 * its place, with zeros above the diagonal. Refused as singular when a pivot is smaller than
 * n 2^-52 of its diagonal element: what is left of it then is rounding.
 */
int bs_dense_cholesky(uint32_t n, double *a, struct bs_fail *why);

/* The inverse of a lower triangular l[n][n], in its place. What is above the diagonal stays. */
int bs_dense_invert_lower(uint32_t n, double *l, struct bs_fail *why);

/*
 * X of A X = B for a as in bs_dense_cholesky and b[n][columns], which X replaces; a is destroyed.
 */
int bs_dense_solve(uint32_t n, uint32_t columns, double *a, double *b, struct bs_fail *why);

/*
 * All eigenvalues and vectors of a Hermitian a[n][n], of which the lower triangle is read: values
 * in descending order; column j of a becomes the vector of values[j], of length 1 and any phase.
 */
size_t bs_dense_eigen_bytes(uint32_t n);
int bs_dense_eigen(uint32_t n, double *a, double *values, void *work, struct bs_fail *why);

/*
 * A = U S V^H of any a[rows][columns], which is destroyed; k = min(rows, columns): s[k] descending,
 * u[rows][k], vh[k][columns]. u and vh NULL, both: values only.
 */
size_t bs_dense_svd_bytes(uint32_t rows, uint32_t columns);
int bs_dense_svd(uint32_t rows, uint32_t columns, double *a, double *s, double *u, double *vh,
		 void *work, struct bs_fail *why);

#endif
