/* gpu/calibrate/dense.c - see dense.h */
#include "gpu/calibrate/dense.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "liblapack.so.3"

/*
 * The functions of LAPACK by their Fortran names. Integers are int (ILP32); each text has a hidden
 * length.
 */
static struct {
	void *library; /* loaded for the process's life; NULL: it is not loaded */
	char name[BS_DENSE_NAME];
	void (*zpotrf)(const char *uplo, const int *n, double *a, const int *lda, int *info,
		       size_t);
	void (*zpotrs)(const char *uplo, const int *n, const int *nrhs, const double *a,
		       const int *lda, double *b, const int *ldb, int *info, size_t);
	void (*ztrtri)(const char *uplo, const char *diag, const int *n, double *a, const int *lda,
		       int *info, size_t, size_t);
	void (*zheevd)(const char *jobz, const char *uplo, const int *n, double *a, const int *lda,
		       double *w, double *work, const int *lwork, double *rwork, const int *lrwork,
		       int *iwork, const int *liwork, int *info, size_t, size_t);
	void (*zgesvd)(const char *jobu, const char *jobvt, const int *m, const int *n, double *a,
		       const int *lda, double *s, double *u, const int *ldu, double *vt,
		       const int *ldvt, double *work, const int *lwork, double *rwork, int *info,
		       size_t, size_t);
} lapack;

/*
 * A BLAS reads these variables when it is loaded, and then starts its threads. They are set before
 * this process has threads, since only then setenv is safe. Processes that this one starts inherit
 * them.
 */
__attribute__((constructor)) static void ask_for_one_thread(void)
{
	static const char *const names[] = { "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS",
					     "OMP_NUM_THREADS", "MKL_NUM_THREADS",
					     "BLIS_NUM_THREADS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)setenv(names[i], "1", 1);
}

/* Writes the file that a function lies in, with links followed. */
static void name_file(const void *function, char out[BS_DENSE_NAME])
{
	Dl_info info;
	char *file = dladdr(function, &info) != 0 ? realpath(info.dli_fname, NULL) : NULL;

	(void)snprintf(out, BS_DENSE_NAME, "%s", file != NULL ? file : "a library without a file");
	free(file);
}

/* Writes "LAPACK", or "LAPACK, BLAS" where the BLAS is another file. */
static void name_libraries(const void *of_lapack, void *library)
{
	/* LAPACK calls a zgemm_ that the process already has */
	const void *preloaded = dlsym(RTLD_DEFAULT, "zgemm_");
	char blas[BS_DENSE_NAME];

	name_file(of_lapack, lapack.name);
	name_file(preloaded != NULL ? preloaded : dlsym(library, "zgemm_"), blas);
	if (strcmp(lapack.name, blas) != 0)
		(void)snprintf(lapack.name + strlen(lapack.name),
			       sizeof(lapack.name) - strlen(lapack.name), ", %s", blas);
}

int bs_dense_open(struct bs_fail *why)
{
	const struct {
		void *to;
		const char *name;
	} all[] = { { &lapack.zpotrf, "zpotrf_" },
		    { &lapack.zpotrs, "zpotrs_" },
		    { &lapack.ztrtri, "ztrtri_" },
		    { &lapack.zheevd, "zheevd_" },
		    { &lapack.zgesvd, "zgesvd_" } };
	void *library;
	void *at = NULL;

	if (lapack.library != NULL)
		return 0;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "LAPACK cannot be loaded: %s", dlerror());
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		at = dlsym(library, all[i].name);
		if (at == NULL)
			return bs_fail(why, BS_ERR_UNSUPPORTED, "LAPACK: %s", dlerror());
		/* copies a function's address, as dlsym gives it */
		memcpy(all[i].to, &at, sizeof(at));
	}
	name_libraries(at, library);
	lapack.library = library;
	return 0;
}

const char *bs_dense_library(void)
{
	return lapack.name;
}

static bool fits(uint32_t n)
{
	return n >= 1 && n <= BS_DENSE_MAX;
}

/* Checks that sizes are legal and elements finite; lower: only those on and below the diagonal. */
static int check_matrix(const char *what, uint32_t rows, uint32_t columns, const double *a,
			bool lower, struct bs_fail *why)
{
	double sum = 0.0;

	if (!fits(rows) || !fits(columns))
		return bs_fail(why, BS_ERR_SIZE, "%s of %u x %u: 1 to %u rows and columns", what,
			       rows, columns, BS_DENSE_MAX);
	for (uint32_t j = 0; j < columns; j++)
		for (size_t i = lower ? (size_t)2 * j : 0; i < (size_t)2 * rows; i++)
			sum += a[(size_t)2 * rows * j + i] * 0.0;
	return sum == 0.0 ? 0
			  : bs_fail(why, BS_ERR_VALUE, "%s of %u x %u: a value is not finite", what,
				    rows, columns);
}

static int failed(const char *what, uint32_t n, int info, struct bs_fail *why)
{
	return bs_fail(why, BS_ERR_VALUE, "%s of %u x %u did not converge (LAPACK says %d)", what,
		       n, n, info);
}

/* Factors a, and compares each pivot with the diagonal element that it came from. */
static int factor(const char *what, uint32_t n, double *a, struct bs_fail *why)
{
	const int size = (int)n;
	double largest = 0.0;
	uint32_t bad = n;
	int info = 0;
	int rc = check_matrix(what, n, n, a, true, why);

	if (rc != 0)
		return rc;
	/*
	 * The diagonal of A is kept in the first row while L is made: zpotrf does not touch that.
	 */
	for (uint32_t j = 1; j < n; j++) {
		a[2 * ((size_t)n * j)] = a[2 * (j + (size_t)n * j)];
		largest = fmax(largest, fabs(a[2 * (j + (size_t)n * j)]));
	}
	largest = fmax(largest, fabs(a[0]));
	const double first = a[0];

	lapack.zpotrf("L", &size, a, &size, &info, 1);
	if (info > 0)
		bad = (uint32_t)info - 1;
	for (uint32_t j = 0; bad == n && j < n; j++) {
		const double pivot = a[2 * (j + (size_t)n * j)];
		const double from = j == 0 ? first : a[2 * ((size_t)n * j)];

		if (!(pivot * pivot > n * 0x1p-52 * from))
			bad = j;
	}
	if (bad < n)
		return bs_fail(why, BS_ERR_VALUE,
			       "%s of %u x %u: the matrix is singular, or not positive definite: "
			       "row %u depends on those before it (largest diagonal element %g)",
			       what, n, n, bad, largest);
	return 0;
}

int bs_dense_cholesky(uint32_t n, double *a, struct bs_fail *why)
{
	int rc = factor("Cholesky factor", n, a, why);

	for (uint32_t j = 1; rc == 0 && j < n; j++)
		memset(a + 2 * (size_t)n * j, 0, (size_t)2 * j * sizeof(*a));
	return rc;
}

int bs_dense_invert_lower(uint32_t n, double *l, struct bs_fail *why)
{
	const int size = (int)n;
	int info = 0;
	int rc = check_matrix("triangular inverse", n, n, l, true, why);

	if (rc != 0)
		return rc;
	lapack.ztrtri("L", "N", &size, l, &size, &info, 1, 1);
	if (info > 0)
		return bs_fail(why, BS_ERR_VALUE,
			       "triangular inverse of %u x %u: diagonal element %d is 0", n, n,
			       info - 1);
	return 0;
}

int bs_dense_substitute(uint32_t n, uint32_t columns, const double *l, double *b,
			struct bs_fail *why)
{
	const int size = (int)n;
	const int many = (int)columns;
	int info = 0;
	int rc = check_matrix("right-hand sides", n, columns, b, false, why);

	if (rc != 0)
		return rc;
	lapack.zpotrs("L", &size, &many, l, &size, b, &size, &info, 1);
	return info == 0 ? 0 : failed("solution", n, info, why);
}

int bs_dense_solve(uint32_t n, uint32_t columns, double *a, double *b, struct bs_fail *why)
{
	int rc = factor("solution", n, a, why);

	return rc != 0 ? rc : bs_dense_substitute(n, columns, a, b, why);
}

/* Sizes of zheevd's three workspaces in elements. */
struct eigen_work {
	int complexes, reals, ints;
};

static struct eigen_work eigen_work(uint32_t n)
{
	const int size = (int)n;

	if (n == 1)
		return (struct eigen_work){ 1, 1, 1 };
	return (struct eigen_work){ size * size + 2 * size, 2 * size * size + 5 * size + 1,
				    5 * size + 3 };
}

size_t bs_dense_eigen_bytes(uint32_t n)
{
	const struct eigen_work w = eigen_work(fits(n) ? n : 1);

	return fits(n) ? (size_t)w.complexes * 16 + (size_t)w.reals * 8 + (size_t)w.ints * 4 : 0;
}

int bs_dense_eigen(uint32_t n, double *a, double *values, void *work, struct bs_fail *why)
{
	const int size = (int)n;
	int info = 0;
	int rc = check_matrix("eigenvectors", n, n, a, true, why);

	if (rc != 0)
		return rc;
	const struct eigen_work w = eigen_work(n);
	double *reals = (double *)work + (size_t)2 * w.complexes;
	int *ints = (int *)(reals + w.reals);

	lapack.zheevd("V", "L", &size, a, &size, values, work, &w.complexes, reals, &w.reals, ints,
		      &w.ints, &info, 1, 1);
	if (info != 0)
		return failed("eigenvectors", n, info, why);
	for (uint32_t i = 0, j = n - 1; i < j; i++, j--) { /* LAPACK's order is ascending */
		const double v = values[i];

		values[i] = values[j];
		values[j] = v;
		for (size_t k = 0; k < (size_t)2 * n; k++) {
			const double e = a[2 * (size_t)n * i + k];

			a[2 * (size_t)n * i + k] = a[2 * (size_t)n * j + k];
			a[2 * (size_t)n * j + k] = e;
		}
	}
	return 0;
}

/* Returns the complex numbers of the workspace: the least, and LAPACK's blocks of
 * at most 64 columns. */
static size_t svd_complexes(uint32_t rows, uint32_t columns)
{
	const size_t least = rows < columns ? rows : columns;

	return 2 * least + 64 * ((size_t)rows + columns) + least * least;
}

size_t bs_dense_svd_bytes(uint32_t rows, uint32_t columns)
{
	const size_t least = rows < columns ? rows : columns;

	return fits(rows) && fits(columns)
		       ? svd_complexes(rows, columns) * 16 + 5 * least * sizeof(double)
		       : 0;
}

int bs_dense_svd(uint32_t rows, uint32_t columns, double *a, double *s, double *u, double *vh,
		 void *work, struct bs_fail *why)
{
	const int m = (int)rows;
	const int n = (int)columns;
	const int least = m < n ? m : n;
	const char *job = u != NULL ? "S" : "N";
	int info = 0;
	int rc = check_matrix("singular values", rows, columns, a, false, why);

	if (rc != 0)
		return rc;
	const int many = (int)svd_complexes(rows, columns);
	double unused[2];

	lapack.zgesvd(job, job, &m, &n, a, &m, s, u != NULL ? u : unused, &m,
		      u != NULL ? vh : unused, &least, work, &many,
		      (double *)work + (size_t)2 * many, &info, 1, 1);
	return info == 0 ? 0
			 : bs_fail(why, BS_ERR_VALUE,
				   "singular values of %u x %u did not converge (LAPACK says %d)",
				   rows, columns, info);
}
