/*
 * gpu/calibrate/dense.h - dense complex algebra in double precision; only dense.c calls LAPACK
 *
 * A matrix is column-major without gaps, complex as two doubles: element (i, j) of a matrix of m
 * rows is a[2 * (i + m * j)] and the double after it. Rows and columns: 1 .. BS_DENSE_MAX.
 * Nothing is allocated: work is the caller's, aligned to 16 bytes, as many bytes as the _bytes
 * function beside it says (0 for a size that is refused). LAPACK is loaded by bs_dense_open, which
 * a caller calls when it arms, before all other functions here. So a process that needs no such
 * algebra has none of LAPACK's threads. LAPACK is told to use no thread but the caller's, so that
 * results do not depend on a number of threads. Their last bits depend on the library, which
 * bs_dense_library names.
 * Errors: BS_ERR_SIZE (a size), BS_ERR_VALUE (not finite, singular, no convergence), with the
 * reason; the matrices are then undefined. Any thread, each with its own memory.
 * Test: test/unit/gpu/calibrate/test_dense.c
 */
#ifndef BS_GPU_CALIBRATE_DENSE_H
#define BS_GPU_CALIBRATE_DENSE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define BS_DENSE_MAX  16384u
#define BS_DENSE_NAME 512 /* bytes of a library's name */

/* Loads LAPACK. One thread. BS_ERR_UNSUPPORTED: the machine has no LAPACK (liblapack.so.3). */
int bs_dense_open(struct bs_fail *why);
/* The file of LAPACK, and that of its BLAS where that is another file; "": LAPACK is not loaded. */
const char *bs_dense_library(void);

/*
 * A = L L^H of a Hermitian positive definite a [n][n], of which the lower triangle is read. L
 * replaces it, with zeros above the diagonal. Refused as singular when a pivot is smaller than n
 * 2^-52 of its diagonal element: the remainder is then only rounding.
 */
int bs_dense_cholesky(uint32_t n, double *a, struct bs_fail *why);

/* Replaces a lower triangular l [n][n] by its inverse. Elements above the diagonal stay. */
int bs_dense_invert_lower(uint32_t n, double *l, struct bs_fail *why);

/* Solves L L^H X = B for l of bs_dense_cholesky and b [n][columns], which X replaces. */
int bs_dense_substitute(uint32_t n, uint32_t columns, const double *l, double *b,
			struct bs_fail *why);
/* The same for A X = B, a as in bs_dense_cholesky, which is destroyed. */
int bs_dense_solve(uint32_t n, uint32_t columns, double *a, double *b, struct bs_fail *why);

/*
 * Finds all eigenvalues and eigenvectors of a Hermitian a [n][n], of which the lower triangle is
 * read. values are in descending order. Column j of a becomes the eigenvector of values[j], of
 * length 1 and any phase.
 */
size_t bs_dense_eigen_bytes(uint32_t n);
int bs_dense_eigen(uint32_t n, double *a, double *values, void *work, struct bs_fail *why);

/*
 * A = U S V^H of any a [rows][columns], which is destroyed; k = min(rows, columns): s [k]
 * descending, u [rows][k], vh [k][columns]. u and vh both NULL: singular values only.
 */
size_t bs_dense_svd_bytes(uint32_t rows, uint32_t columns);
int bs_dense_svd(uint32_t rows, uint32_t columns, double *a, double *s, double *u, double *vh,
		 void *work, struct bs_fail *why);

#endif
