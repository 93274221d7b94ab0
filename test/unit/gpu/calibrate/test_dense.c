/*
 * test/unit/gpu/calibrate/test_dense.c - dense complex algebra against its definitions, and what
 * it refuses
 *
 * Bounds: a backward stable method leaves a residual of a small multiple of n eps ||A|| (Higham,
 * Accuracy and Stability of Numerical Algorithms, 2nd ed., theorems 10.3 and 19.4); 16 is that
 * multiple for complex arithmetic, with room for the order of the sums.
 */
#include "gpu/calibrate/dense.h"

#include <complex.h>
#include <string.h>

#include "test/support/check.h"

#define N_MAX 64
#define EPS   0x1p-52

typedef double complex z;

static z a[N_MAX * N_MAX], was[N_MAX * N_MAX], l[N_MAX * N_MAX], x[N_MAX * N_MAX];
static z u[N_MAX * N_MAX], vh[N_MAX * N_MAX];
static double values[N_MAX];
static uint64_t seed = 20261122;

static double normal(void)
{
	double r = sqrt(-2.0 * log(1.0 - check_uniform(&seed)));

	return r * cos(2.0 * acos(-1.0) * check_uniform(&seed));
}

static void fill(z *m, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		m[i] = normal() + I * normal();
}

static double norm(const z *m, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += creal(m[i] * conj(m[i]));
	return sqrt(sum);
}

/* ||left right - want|| / ||want|| for left[m][k], right[k][n]. */
static double residual(const z *left, const z *right, const z *want, uint32_t m, uint32_t k,
		       uint32_t n)
{
	double sum = 0.0;

	for (uint32_t j = 0; j < n; j++)
		for (uint32_t i = 0; i < m; i++) {
			z d = -want[i + (size_t)m * j];

			for (uint32_t p = 0; p < k; p++)
				d += left[i + (size_t)m * p] * right[p + (size_t)k * j];
			sum += creal(d * conj(d));
		}
	return sqrt(sum) / norm(want, (size_t)m * n);
}

static void adjoint(z *out, const z *in, uint32_t m, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
		for (uint32_t i = 0; i < m; i++)
			out[j + (size_t)n * i] = conj(in[i + (size_t)m * j]);
}

static void identity(z *m, uint32_t n)
{
	memset(m, 0, sizeof(*m) * n * n);
	for (uint32_t i = 0; i < n; i++)
		m[i + (size_t)n * i] = 1.0;
}

/* B B^H + ridge, of a random B[n][rank]; the upper triangle of `a` is not a number. */
static void make_positive(uint32_t n, uint32_t rank, double ridge)
{
	fill(x, n * rank);
	for (uint32_t j = 0; j < n; j++)
		for (uint32_t i = 0; i < n; i++) {
			z sum = i == j ? ridge : 0.0;

			for (uint32_t p = 0; p < rank; p++)
				sum += x[i + (size_t)n * p] * conj(x[j + (size_t)n * p]);
			was[i + (size_t)n * j] = sum;
			a[i + (size_t)n * j] = i < j ? NAN : sum;
		}
}

static double largest_of(double found, double so_far)
{
	return found > so_far || found != found ? found : so_far;
}

static void test_cholesky(void)
{
	struct bs_fail why;
	double factor = 0.0;
	double inverse = 0.0;
	double above = 0.0;

	for (uint32_t n = 1; n <= N_MAX; n++) {
		make_positive(n, n, n);
		if (bs_dense_cholesky(n, (double *)a, &why) != 0) {
			CHECK(0, "n = %u: %s", n, why.text);
			return;
		}
		for (uint32_t j = 0; j < n; j++)
			for (uint32_t i = 0; i < j; i++)
				above += cabs(a[i + (size_t)n * j]);
		adjoint(x, a, n, n);
		factor = largest_of(residual(a, x, was, n, n, n) / n, factor);
		memcpy(l, a, sizeof(*a) * n * n);
		if (bs_dense_invert_lower(n, (double *)l, &why) != 0) {
			CHECK(0, "n = %u: %s", n, why.text);
			return;
		}
		identity(u, n);
		inverse = largest_of(residual(l, a, u, n, n, n) / n, inverse);
	}
	CHECK(above == 0.0, "L has zeros above its diagonal");
	CHECK(factor < 16.0 * EPS, "L L^H is A, n 1 to %d: %.1e n", N_MAX, factor);
	/* ||A|| / ridge < 5 here: the factor's condition is below its root */
	CHECK(inverse < 64.0 * EPS, "L^-1 L is the identity: %.1e n", inverse);
}

static void test_solve(void)
{
	struct bs_fail why;
	double worst = 0.0;

	for (uint32_t n = 1; n <= N_MAX; n += n < 8 ? 1 : 7)
		for (uint32_t columns = 1; columns <= N_MAX; columns += 9) {
			make_positive(n, n, n);
			fill(u, n * columns);
			memcpy(x, u, sizeof(*u) * n * columns);
			if (bs_dense_solve(n, columns, (double *)a, (double *)x, &why) != 0) {
				CHECK(0, "n = %u: %s", n, why.text);
				return;
			}
			worst = largest_of(residual(was, x, u, n, n, columns) / n, worst);
		}
	CHECK(worst < 64.0 * EPS, "A X is B: %.1e n", worst);
}

static void test_eigen(void)
{
	struct bs_fail why;
	double worst = 0.0;
	double unitary = 0.0;
	int order = 0;

	for (uint32_t n = 1; n <= N_MAX; n++) {
		void *work = malloc(bs_dense_eigen_bytes(n));

		make_positive(n, n, -(double)n); /* some are negative */
		if (bs_dense_eigen(n, (double *)a, values, work, &why) != 0) {
			CHECK(0, "n = %u: %s", n, why.text);
			free(work);
			return;
		}
		free(work);
		for (uint32_t j = 0; j < n; j++) {
			order += j > 0 && values[j] > values[j - 1];
			for (uint32_t i = 0; i < n; i++)
				l[i + (size_t)n * j] = a[i + (size_t)n * j] * values[j];
		}
		adjoint(x, a, n, n);
		worst = largest_of(residual(l, x, was, n, n, n) / n, worst);
		identity(u, n);
		unitary = largest_of(residual(x, a, u, n, n, n) / n, unitary);
	}
	CHECK(order == 0, "eigenvalues descend");
	CHECK(worst < 16.0 * EPS && unitary < 16.0 * EPS,
	      "V D V^H is A: %.1e n, V^H V the identity: %.1e n", worst, unitary);
}

static void test_svd(void)
{
	struct bs_fail why;
	double worst = 0.0;
	double unitary = 0.0;
	double alone = 0.0;
	int order = 0;

	for (uint32_t m = 1; m <= N_MAX; m += m < 6 ? 1 : 11)
		for (uint32_t n = 1; n <= N_MAX; n += n < 6 ? 1 : 13) {
			const uint32_t k = m < n ? m : n;
			double only[N_MAX];
			void *work = malloc(bs_dense_svd_bytes(m, n));

			fill(was, m * n);
			memcpy(a, was, sizeof(*a) * m * n);
			int rc = bs_dense_svd(m, n, (double *)a, values, (double *)u, (double *)vh,
					      work, &why);
			memcpy(a, was, sizeof(*a) * m * n);
			if (rc == 0)
				rc = bs_dense_svd(m, n, (double *)a, only, NULL, NULL, work, &why);
			free(work);
			if (rc != 0) {
				CHECK(0, "%u x %u: %s", m, n, why.text);
				return;
			}
			adjoint(x, u, m, k);
			identity(l, k);
			unitary = largest_of(residual(x, u, l, k, m, k) / (m + n), unitary);
			for (uint32_t j = 0; j < k; j++) {
				order += j > 0 && values[j] > values[j - 1];
				alone = largest_of(fabs(only[j] - values[j]) / values[0], alone);
				for (uint32_t i = 0; i < m; i++)
					u[i + (size_t)m * j] *= values[j];
			}
			worst = largest_of(residual(u, vh, was, m, k, n) / (m + n), worst);
		}
	CHECK(order == 0, "singular values descend");
	CHECK(worst < 16.0 * EPS && unitary < 16.0 * EPS,
	      "U S V^H is A: %.1e (m + n), U^H U the identity: %.1e (m + n)", worst, unitary);
	CHECK(alone < 16.0 * (N_MAX + N_MAX) * EPS, "values alone are the same: %.1e", alone);
}

static void test_refusals(void)
{
	struct bs_fail why = { 0 };
	static double work[1 << 16];

	make_positive(12, 11, 0.0);
	CHECK(bs_dense_cholesky(12, (double *)a, &why) == BS_ERR_VALUE &&
		      strstr(why.text, "singular") != NULL,
	      "rank 11 of 12: %s", why.text);
	make_positive(12, 12, 0.0);
	for (uint32_t i = 0; i < 12; i++) /* channel 5 is dead */
		a[i < 5 ? 5 + 12 * i : i + 12 * 5] = 0.0;
	fill(u, 12);
	CHECK(bs_dense_solve(12, 1, (double *)a, (double *)u, &why) == BS_ERR_VALUE &&
		      strstr(why.text, "row 5") != NULL,
	      "a row of zeros: %s", why.text);
	make_positive(7, 7, -100.0);
	CHECK(bs_dense_cholesky(7, (double *)a, &why) == BS_ERR_VALUE, "indefinite: %s", why.text);
	make_positive(9, 9, 9.0);
	a[8] = INFINITY;
	CHECK(bs_dense_eigen(9, (double *)a, values, work, &why) == BS_ERR_VALUE, "infinite: %s",
	      why.text);
	fill(a, 30);
	a[17] = NAN;
	CHECK(bs_dense_svd(5, 6, (double *)a, values, NULL, NULL, work, &why) == BS_ERR_VALUE,
	      "not a number: %s", why.text);
	memset(a, 0, sizeof(a));
	CHECK(bs_dense_invert_lower(3, (double *)a, &why) == BS_ERR_VALUE, "inverse of 0: %s",
	      why.text);
	CHECK(bs_dense_cholesky(0, (double *)a, &why) == BS_ERR_SIZE &&
		      bs_dense_eigen(BS_DENSE_MAX + 1, (double *)a, values, work, &why) ==
			      BS_ERR_SIZE &&
		      bs_dense_eigen_bytes(0) == 0 && bs_dense_svd_bytes(3, UINT32_MAX) == 0,
	      "sizes: %s", why.text);
}

int main(void)
{
	CHECK(bs_dense_open(NULL) == 0, "LAPACK is loaded");
	test_cholesky();
	test_solve();
	test_eigen();
	test_svd();
	test_refusals();
	return check_done();
}
