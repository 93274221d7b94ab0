/* gpu/calibrate/compress.c - see compress.h */
#include "gpu/calibrate/compress.h"

#include <complex.h>
#include <string.h>

typedef double complex z;

/*
 * Moves the columns of w from the order of the noise's coils to that of the current scan's coils.
 */
static void reorder(double *w, const struct bs_noise *noise)
{
	const size_t coils = noise->coils;
	z row[BS_COILS_MAX];

	if (noise->match.by != BS_MATCHED_NAME)
		return;
	for (size_t i = 0; i < coils; i++) {
		for (size_t c = 0; c < coils; c++)
			row[noise->match.of[c]] = ((const z *)w)[i + coils * c];
		for (size_t c = 0; c < coils; c++)
			((z *)w)[i + coils * c] = row[c];
	}
}

int bs_whiten(double *w, const struct bs_noise *noise, double scale, struct bs_fail *why)
{
	int rc;

	if (noise->samples < noise->coils)
		return bs_fail(why, BS_ERR_VALUE,
			       "%llu samples of noise do not make a covariance of %u coils",
			       (unsigned long long)noise->samples, noise->coils);
	bs_noise_covariance(noise, scale, w);
	rc = bs_dense_cholesky(noise->coils, w, why);
	if (rc == 0)
		rc = bs_dense_invert_lower(noise->coils, w, why);
	if (rc == 0)
		reorder(w, noise);
	return rc;
}

/* Computes out[m][n] = left[m][k] right[k][n]. */
static void multiply_matrices(z *out, const z *left, const z *right, size_t m, size_t k, size_t n)
{
	memset(out, 0, sizeof(*out) * m * n);
	for (size_t j = 0; j < n; j++)
		for (size_t p = 0; p < k; p++)
			for (size_t i = 0; i < m; i++)
				out[i + m * j] += left[i + m * p] * right[p + k * j];
}

/* Computes out[m][n] = left[m][k] right[n][k]^H. */
static void multiply_adjoint(z *out, const z *left, const z *right, size_t m, size_t k, size_t n)
{
	memset(out, 0, sizeof(*out) * m * n);
	for (size_t p = 0; p < k; p++)
		for (size_t j = 0; j < n; j++)
			for (size_t i = 0; i < m; i++)
				out[i + m * j] += left[i + m * p] * conj(right[j + n * p]);
}

/* Memory of the caller: three matrices of coils x coils, values, and the workspace of dense.h. */
struct work {
	z *c, *t, *u;
	double *values;
	void *dense;
};

size_t bs_compress_bytes(uint32_t coils)
{
	const size_t square = (size_t)coils * coils * sizeof(z);
	const size_t eigen = bs_dense_eigen_bytes(coils);
	const size_t svd = bs_dense_svd_bytes(coils, coils);

	return 3 * square + (size_t)coils * sizeof(z) + (eigen > svd ? eigen : svd);
}

static struct work take_work(void *at, uint32_t coils)
{
	const size_t square = (size_t)coils * coils;
	z *c = at;

	return (struct work){ c, c + square, c + 2 * square, (double *)(c + 3 * square),
			      c + 3 * square + coils };
}

/*
 * Makes V^H: the leading eigenvectors of the (white) Gram matrix as rows. energy: that of these
 * rows, that of all.
 */
static int leading(z *rows, const struct bs_compressing *of, const double *gram, double energy[2],
		   const struct work *k, struct bs_fail *why)
{
	const uint32_t virtual_coils = of->virtual_coils;
	const size_t n = of->coils;
	int rc;

	bs_gram_matrix(gram, of->coils, 1.0, (double *)k->c);
	if (of->w != NULL) {
		multiply_matrices(k->t, (const z *)of->w, k->c, n, n, n);
		multiply_adjoint(k->c, k->t, (const z *)of->w, n, n, n);
	}
	rc = bs_dense_eigen(of->coils, (double *)k->c, k->values, k->dense, why);
	if (rc != 0)
		return rc;
	for (size_t v = 0; v < n; v++) {
		const z *vector = k->c + n * v;
		size_t most = 0;

		energy[1] += k->values[v];
		if (v >= virtual_coils)
			continue;
		energy[0] += k->values[v];
		for (size_t i = 1; i < n; i++)
			if (cabs(vector[i]) > cabs(vector[most]))
				most = i;
		const z phase = vector[most] / cabs(vector[most]);

		for (size_t i = 0; i < n; i++)
			rows[v + virtual_coils * i] = conj(vector[i]) * phase;
	}
	return 0;
}

static int share(double *kept, const double energy[2], struct bs_fail *why)
{
	*kept = energy[1] > 0.0 ? energy[0] / energy[1] : 0.0;
	return energy[1] > 0.0 ? 0
			       : bs_fail(why, BS_ERR_VALUE,
					 "coil compression: the calibration data are all 0");
}

int bs_compress(double *a, const struct bs_compressing *of, double *kept, struct bs_fail *why)
{
	const struct work k = take_work(of->work, of->coils);
	double energy[2] = { 0.0, 0.0 };
	int rc = leading(of->w != NULL ? k.u : (z *)a, of, of->gram, energy, &k, why);

	if (rc != 0)
		return rc;
	if (of->w != NULL)
		multiply_matrices((z *)a, k.u, (const z *)of->w, of->virtual_coils, of->coils,
				  of->coils);
	return share(kept, energy, why);
}

/* Rotates rows toward those of a neighbor: rows = V U^H rows, for U S V^H = rows neighbor^H. */
static int align(z *rows, const z *neighbor, uint32_t virtual_coils, uint32_t coils,
		 const struct work *k, struct bs_fail *why)
{
	const size_t v = virtual_coils;
	z *vh = k->u;
	int rc;

	multiply_adjoint(k->c, rows, neighbor, v, coils, v);
	rc = bs_dense_svd(virtual_coils, virtual_coils, (double *)k->c, k->values, (double *)k->t,
			  (double *)vh, k->dense, why);
	if (rc != 0)
		return rc;
	for (size_t j = 0; j < v; j++) /* c = V U^H */
		for (size_t i = 0; i < v; i++) {
			k->c[i + v * j] = 0.0;
			for (size_t p = 0; p < v; p++)
				k->c[i + v * j] += conj(vh[p + v * i]) * conj(k->t[j + v * p]);
		}
	multiply_matrices(k->t, k->c, rows, v, v, coils);
	memcpy(rows, k->t, sizeof(*rows) * v * coils);
	return 0;
}

int bs_compress_aligned(double *a, const struct bs_compressing *of, double *kept,
			struct bs_fail *why)
{
	const struct work k = take_work(of->work, of->coils);
	const uint32_t virtual_coils = of->virtual_coils;
	const uint32_t coils = of->coils;
	const size_t size = (size_t)virtual_coils * coils;
	const uint32_t center = of->places / 2;
	double energy[2] = { 0.0, 0.0 };
	z *rows = (z *)a;
	int rc = 0;

	for (uint32_t x = 0; rc == 0 && x < of->places; x++)
		rc = leading(rows + size * x, of, of->gram + (size_t)coils * coils * x, energy, &k,
			     why);
	for (uint32_t x = center; rc == 0 && x-- > 0;)
		rc = align(rows + size * x, rows + size * (x + 1), virtual_coils, coils, &k, why);
	for (uint32_t x = center + 1; rc == 0 && x < of->places; x++)
		rc = align(rows + size * x, rows + size * (x - 1), virtual_coils, coils, &k, why);
	for (uint32_t x = 0; rc == 0 && of->w != NULL && x < of->places; x++) {
		multiply_matrices(k.u, rows + size * x, (const z *)of->w, virtual_coils, coils,
				  coils);
		memcpy(rows + size * x, k.u, size * sizeof(z));
	}
	return rc == 0 ? share(kept, energy, why) : rc;
}
