/*
 * test/support/plan/prior.h - the problems of DATA/prior, and their objectives in double precision
 *
 * 1/2 ||A x - y||^2 + l2/2 ||x||^2 + lambda P(x), A = V^-1/2 sum_c S_c exp(-i2pi k.n), V = voxels.
 * An image is [frame][n2][n1][column]: samples lie anywhere in (k1, k2), and along the columns
 * every place is sampled, so that data are transformed along it. All by direct sums: nothing of
 * what is under test is used but, for singular values, gpu/calibrate/dense.h.
 */
#ifndef BS_TEST_SUPPORT_PLAN_PRIOR_H
#define BS_TEST_SUPPORT_PLAN_PRIOR_H

#include <complex.h>
#include <string.h>

#include "drivers/tool/load/cfl.h"
#include "gpu/calibrate/dense.h"
#include "gpu/penalty/penalty.h"
#include "test/support/check.h"

struct prior_problem {
	const char *name;
	enum bs_prior kind;
	double lambda, l2, minimum;
	double excess[4]; /* after 10, 20, 30, 50 applications, by data/prior/README.md */
	uint32_t columns, n1, n2, frames, coils, points;
	uint32_t block;
	/* what follows is loaded */
	double *k;               /* [frame][point][2] cycles per voxel */
	double complex *y;       /* [frame][coil][point][column] */
	double complex *maps;    /* [coil][n2][n1][column] */
	float *reference;        /* [frame][n2][n1][column] */
	float *mask;             /* [n2][n1]: Cartesian problems */
	double complex *e1, *e2; /* [frame][point][n] phases */
};

enum { PRIOR_WAV2D, PRIOR_WAV3D, PRIOR_DYN_LLR, PRIOR_DYN_TV, PRIOR_DYN_TVP, PRIOR_PROBLEMS };

/* A problem of data/prior, which prior_load loads. */
static inline struct prior_problem *prior_problem(uint32_t which)
{
	static struct prior_problem problems[PRIOR_PROBLEMS] = {
		[PRIOR_WAV2D] = { .name = "wav2d",
				  .kind = BS_PRIOR_WAVELET,
				  .lambda = 0.01,
				  .minimum = 7.65897293205,
				  .excess = { 1.3e-3, 1.7e-4, 3.2e-5, 1.7e-7 },
				  .columns = 1,
				  .n1 = 64,
				  .n2 = 64,
				  .frames = 1,
				  .coils = 8 },
		[PRIOR_WAV3D] = { .name = "wav3d",
				  .kind = BS_PRIOR_WAVELET,
				  .lambda = 0.015,
				  .minimum = 109.702485232,
				  .excess = { 3.8e-3, 1.3e-4, 2.7e-5, 2.3e-6 },
				  .columns = 48,
				  .n1 = 48,
				  .n2 = 48,
				  .frames = 1,
				  .coils = 4 },
		[PRIOR_DYN_LLR] = { .name = "dyn_llr",
				    .kind = BS_PRIOR_LOW_RANK,
				    .lambda = 0.3,
				    .minimum = 726.766244036,
				    .l2 = 0.1,
				    .excess = { 2.5e-2, 2.6e-3, 1.9e-4, 1.9e-5 },
				    .columns = 1,
				    .n1 = 48,
				    .n2 = 48,
				    .frames = 20,
				    .coils = 8,
				    .block = 8 },
		[PRIOR_DYN_TV] = { .name = "dyn_tv",
				   .kind = BS_PRIOR_TV_FRAMES,
				   .lambda = 0.1,
				   .minimum = 608.690279308,
				   .l2 = 0.1,
				   .excess = { 3.1e-2, 2.4e-3, 1.7e-3, 2.3e-4 },
				   .columns = 1,
				   .n1 = 48,
				   .n2 = 48,
				   .frames = 20,
				   .coils = 8 },
		[PRIOR_DYN_TVP] = { .name = "dyn_tvp",
				    .kind = BS_PRIOR_TV_CYCLE,
				    .lambda = 0.1,
				    .minimum = 612.115648181,
				    .l2 = 0.1,
				    .excess = { 3.1e-2, 2.1e-3, 1.1e-3, 7.2e-5 },
				    .columns = 1,
				    .n1 = 48,
				    .n2 = 48,
				    .frames = 20,
				    .coils = 8 },
	};

	return &problems[which];
}

static inline size_t prior_voxels(const struct prior_problem *p)
{
	return (size_t)p->columns * p->n1 * p->n2;
}

static inline double complex *prior_pairs(const float *x, size_t n)
{
	double complex *to = malloc(n * sizeof(*to));

	for (size_t i = 0; i < n; i++)
		to[i] = (double)x[2 * i] + (double)x[2 * i + 1] * I;
	return to;
}

static inline bool prior_file(struct bs_cfl *c, const char *name)
{
	struct bs_fail why = { 0 };
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/prior/%s", getenv("DATA"), name);
	CHECK(bs_cfl_read(c, path, &why) == 0, "%s %s", name, why.text);
	return why.code == 0;
}

static inline double complex prior_phase(double cycles)
{
	return cexp(-2.0 * acos(-1.0) * cycles * I);
}

static inline double complex *prior_phases(const struct prior_problem *p, uint32_t axis, uint32_t n)
{
	const size_t points = (size_t)p->frames * p->points;
	double complex *e = malloc(points * n * sizeof(*e));

	for (size_t m = 0; m < points; m++)
		for (uint32_t i = 0; i < n; i++)
			e[m * n + i] = prior_phase(p->k[2 * m + axis] * ((double)i - n / 2));
	return e;
}

/* Lists the points of the mask, n1 fastest. */
static inline void prior_points(struct prior_problem *p)
{
	p->points = 0;
	p->k = malloc((size_t)p->n1 * p->n2 * 2 * sizeof(double));
	for (uint32_t i = 0; i < p->n1 * p->n2; i++) {
		if (p->mask[i] < 0.5f)
			continue;
		p->k[2 * p->points] = ((double)(i % p->n1) - p->n1 / 2) / p->n1;
		p->k[2 * p->points++ + 1] = ((double)(i / p->n1) - p->n2 / 2) / p->n2;
	}
}

static inline void prior_mask(struct prior_problem *p, const struct bs_cfl *mask)
{
	p->mask = malloc((size_t)p->n1 * p->n2 * sizeof(float));
	for (size_t i = 0; i < (size_t)p->n1 * p->n2; i++)
		p->mask[i] = mask->data[2 * i];
	prior_points(p);
}

static inline void prior_wav2d(struct prior_problem *p)
{
	struct bs_cfl y;
	struct bs_cfl maps;
	struct bs_cfl mask;
	const size_t n = (size_t)p->n1 * p->n2;

	if (!prior_file(&y, "wav2d_ksp") || !prior_file(&maps, "wav2d_maps") ||
	    !prior_file(&mask, "wav2d_mask"))
		return;
	prior_mask(p, &mask);
	p->maps = prior_pairs(maps.data, p->coils * n);
	p->y = malloc((size_t)p->coils * p->points * sizeof(*p->y));
	for (uint32_t c = 0, to = 0; c < p->coils; c++)
		for (size_t i = 0; i < n; i++)
			if (p->mask[i] > 0.5f)
				p->y[to++] = (double)y.data[2 * (c * n + i)] +
					     (double)y.data[2 * (c * n + i) + 1] * I;
	bs_cfl_free(&y);
	bs_cfl_free(&maps);
	bs_cfl_free(&mask);
}

/* One axis of a simulated coil's sensitivity, data/prior/README.md: place c, slope s. */
static inline double complex prior_coil(double u, double c, double s)
{
	return (0.5 + 0.5 * cos(acos(-1.0) * (u - c))) * conj(prior_phase(0.5 * s * u));
}

/* wav3d's maps; slopes and phases are numpy's default_rng(13). */
static inline void prior_maps3d(struct prior_problem *p)
{
	static const double slope[4][3] = {
		{ 0.3647975870165865, 0.355302514932059, 0.31102339878434215 },
		{ -0.2385536385835234, -0.4228005422815786, 0.44646578044606333 },
		{ 0.11379169104710185, -0.4973692463737003, 0.4104071780658378 },
		{ 0.4848034752375554, -0.21370339583382958, 0.31366112303897953 }
	};
	static const double phase[4] = { 0.5177843821899157, 2.7537947536468312, 5.137784343101861,
					 2.568147270510931 };
	const uint32_t n = p->columns;
	double most = 0.0;

	p->maps = malloc(p->coils * prior_voxels(p) * sizeof(*p->maps));
	for (size_t i = 0; i < prior_voxels(p); i++) {
		const double u[3] = { ((double)(i % n) - n / 2) / n,
				      ((double)(i / n % n) - n / 2) / n,
				      ((double)(i / n / n) - n / 2) / n };
		double power = 0.0;

		for (uint32_t c = 0; c < p->coils; c++) {
			const double a = 2.0 * acos(-1.0) * (c + 0.25) / p->coils;
			const double at[3] = { 0.45 * cos(a), 0.45 * sin(a), c % 2 ? 0.3 : -0.3 };
			double complex s = cexp(phase[c] * I);

			for (int d = 0; d < 3; d++)
				s *= prior_coil(u[d], at[d], slope[c][d]);
			p->maps[c * prior_voxels(p) + i] = s;
			power += creal(s * conj(s));
		}
		most = power > most ? power : most;
	}
	for (size_t i = 0; i < p->coils * prior_voxels(p); i++) { /* as the reference had them */
		const double complex s = p->maps[i] / sqrt(most);

		p->maps[i] = (double)(float)creal(s) + (double)(float)cimag(s) * I;
	}
}

static inline void prior_wav3d(struct prior_problem *p)
{
	struct bs_cfl y;
	struct bs_cfl mask;
	const uint32_t n = p->columns;

	if (!prior_file(&y, "wav3d_lines") || !prior_file(&mask, "wav3d_mask"))
		return;
	prior_mask(p, &mask);
	prior_maps3d(p);
	p->y = calloc((size_t)p->coils * p->points * n, sizeof(*p->y));
	for (size_t l = 0; l < (size_t)p->coils * p->points; l++)
		for (uint32_t x = 0; x < n; x++)
			for (uint32_t k = 0; k < n; k++)
				p->y[l * n + x] += ((double)y.data[2 * (l * n + k)] +
						    (double)y.data[2 * (l * n + k) + 1] * I) *
						   conj(prior_phase(((double)k - n / 2) *
								    ((double)x - n / 2) / n)) /
						   sqrt((double)n);
	bs_cfl_free(&y);
	bs_cfl_free(&mask);
}

static inline void prior_dyn(struct prior_problem *p)
{
	struct bs_cfl y;
	struct bs_cfl maps;
	const uint32_t samples = 2 * p->n1;
	const uint32_t spokes = 13;

	if (!prior_file(&y, "dyn_ksp") || !prior_file(&maps, "dyn_maps"))
		return;
	p->points = samples * spokes;
	p->k = malloc((size_t)p->frames * p->points * 2 * sizeof(double));
	for (uint32_t j = 0; j < p->frames * spokes; j++)
		for (uint32_t i = 0; i < samples; i++) {
			const double a = acos(-1.0) * (sqrt(5.0) - 1.0) / 2.0 * j;
			const double r = ((double)i - samples / 2) / samples;
			double *k = p->k + 2 * ((size_t)j * samples + i);

			k[0] = (double)(float)(cos(a) * r);
			k[1] = (double)(float)(sin(a) * r);
		}
	p->maps = prior_pairs(maps.data, p->coils * prior_voxels(p));
	p->y = prior_pairs(y.data, (size_t)p->frames * p->coils * p->points);
	bs_cfl_free(&y);
	bs_cfl_free(&maps);
}

/* Loads a problem, whose name is wav2d, wav3d or dyn_*. */
static inline bool prior_load(struct prior_problem *p)
{
	struct bs_cfl reference;
	char name[64];

	if (strcmp(p->name, "wav2d") == 0)
		prior_wav2d(p);
	else if (strcmp(p->name, "wav3d") != 0)
		prior_dyn(p);
	else
		prior_wav3d(p);
	(void)snprintf(name, sizeof(name), "ref/%s%s", p->name,
		       p->kind == BS_PRIOR_WAVELET ? "_w" : "");
	if (p->y == NULL || !prior_file(&reference, name))
		return false;
	p->reference = reference.data;
	p->e1 = prior_phases(p, 0, p->n1);
	p->e2 = prior_phases(p, 1, p->n2);
	return true;
}

static inline void prior_free(struct prior_problem *p)
{
	free(p->k);
	free(p->y);
	free(p->maps);
	free(p->mask);
	free(p->reference);
	free(p->e1);
	free(p->e2);
}

/* Sums over n1, then over n2: what one coil measures of one frame's column. */
static inline void prior_measure(const struct prior_problem *p, uint32_t frame,
				 const double complex *image, double complex *to, size_t stride)
{
	for (uint32_t m = 0; m < p->points; m++) {
		const double complex *e1 = p->e1 + ((size_t)frame * p->points + m) * p->n1;
		const double complex *e2 = p->e2 + ((size_t)frame * p->points + m) * p->n2;
		double complex sum = 0.0;

		for (uint32_t j = 0; j < p->n2; j++) {
			double re = 0.0;
			double im = 0.0;

			for (uint32_t i = 0; i < p->n1; i++) {
				const double complex v = image[(size_t)j * p->n1 + i];

				re += creal(e1[i]) * creal(v) - cimag(e1[i]) * cimag(v);
				im += creal(e1[i]) * cimag(v) + cimag(e1[i]) * creal(v);
			}
			sum += e2[j] * (re + im * I);
		}
		to[m * stride] = sum / sqrt((double)p->n1 * p->n2);
	}
}

/* Adds w conj(e) to n values, columns apart. */
static inline void prior_add(double complex *to, size_t columns, const double complex *e,
			     double complex w, uint32_t n)
{
	double *at = (double *)to; /* the product by hand: the compiler's asks for infinities */

	for (uint32_t i = 0; i < n; i++) {
		at[2 * i * columns] += creal(w) * creal(e[i]) + cimag(w) * cimag(e[i]);
		at[2 * i * columns + 1] += cimag(w) * creal(e[i]) - creal(w) * cimag(e[i]);
	}
}

/* One coil's image of the data, of all its columns. */
static inline void prior_back(const struct prior_problem *p, uint32_t frame, uint32_t coil,
			      double complex *image)
{
	const double complex *y = p->y + ((size_t)frame * p->coils + coil) * p->points * p->columns;
	const double scale = 1.0 / sqrt((double)p->n1 * p->n2);

	memset(image, 0, prior_voxels(p) * sizeof(*image));
	for (uint32_t m = 0; m < p->points; m++)
		for (uint32_t j = 0; j < p->n2 * p->columns; j++) {
			const size_t at = (size_t)frame * p->points + m;
			const uint32_t row = j / p->columns;
			const uint32_t x = j % p->columns;

			prior_add(image + (size_t)row * p->n1 * p->columns + x, p->columns,
				  p->e1 + at * p->n1,
				  scale * conj(p->e2[at * p->n2 + row]) *
					  y[(size_t)m * p->columns + x],
				  p->n1);
		}
}

/* 1/2 ||A x - y||^2 */
static inline double prior_fit(const struct prior_problem *p, const double complex *x)
{
	const size_t plane = (size_t)p->n1 * p->n2;
	double complex *image = malloc(plane * sizeof(*image));
	double complex *line = malloc((size_t)p->points * sizeof(*line));
	double sum = 0.0;

	for (uint32_t t = 0; t < p->frames; t++)
		for (uint32_t c = 0; c < p->coils; c++)
			for (uint32_t v = 0; v < p->columns; v++) {
				for (size_t i = 0; i < plane; i++)
					image[i] = x[(t * plane + i) * p->columns + v] *
						   p->maps[(c * plane + i) * p->columns + v];
				prior_measure(p, t, image, line, 1);
				for (uint32_t m = 0; m < p->points; m++) {
					const double complex d =
						line[m] -
						p->y[(((size_t)t * p->coils + c) * p->points + m) *
							     p->columns +
						     v];

					sum += creal(d * conj(d));
				}
			}
	free(image);
	free(line);
	return 0.5 * sum;
}

/* Sum of |c| over the wavelet coefficients of one image, by the definition, along all axes. */
static inline double prior_wavelet(const double complex *x, const uint32_t n[3])
{
	static const double h[4] = { 0.4829629131445341, 0.8365163037378077, 0.2241438680420134,
				     -0.1294095225512603 };
	const size_t step[3] = { 1, n[0], (size_t)n[0] * n[1] };
	const size_t all = step[2] * n[2];
	double complex *a = malloc(all * sizeof(*a));
	double complex *b = malloc(all * sizeof(*b));
	uint32_t size[3] = { n[0], n[1], n[2] };
	double sum = 0.0;
	bool more = true;

	memcpy(a, x, all * sizeof(*a));
	while (more) {
		uint32_t next[3];

		more = false;
		for (int axis = 0; axis < 3; axis++) {
			const uint32_t m = size[axis];
			const bool halve = m % 2 == 0 && m >= (n[axis] < 16 ? n[axis] : 16);

			next[axis] = halve ? m / 2 : m;
			more = more || halve;
			if (!halve)
				continue;
			memcpy(b, a, all * sizeof(*b));
			for (size_t i = 0; i < all; i++) {
				const uint32_t at[3] = { (uint32_t)(i % n[0]),
							 (uint32_t)(i / step[1] % n[1]),
							 (uint32_t)(i / step[2]) };
				const uint32_t j = at[axis];

				if (at[0] >= size[0] || at[1] >= size[1] || at[2] >= size[2])
					continue;
				a[i] = 0.0;
				for (uint32_t k = 0; k < 4; k++) {
					const uint32_t from =
						(2 * (j % (m / 2)) + 2 * m - 2 + k) % m;

					a[i] += (j < m / 2 ? h[k]
							   : (k % 2 ? -1.0 : 1.0) * h[3 - k]) *
						b[i - j * step[axis] + from * step[axis]];
				}
			}
		}
		memcpy(size, next, sizeof(size));
	}
	for (size_t i = 0; i < all; i++)
		sum += cabs(a[i]);
	free(a);
	free(b);
	return sum;
}

/* Sum of the singular values of one block, from x0, y0 on. */
static inline double prior_block(const struct prior_problem *p, const double complex *x,
				 uint32_t x0, uint32_t y0)
{
	const uint32_t w = p->n1 - x0 < p->block ? p->n1 - x0 : p->block;
	const uint32_t h = p->n2 - y0 < p->block ? p->n2 - y0 : p->block;
	double *a = malloc((size_t)w * h * p->frames * 16);
	double *s = malloc((size_t)p->frames * 8 + (size_t)w * h * 8);
	void *work = malloc(bs_dense_svd_bytes(w * h, p->frames));
	double sum = 0.0;

	for (uint32_t t = 0; t < p->frames; t++)
		for (uint32_t i = 0; i < w * h; i++) {
			const double complex v = x[(size_t)t * p->n1 * p->n2 +
						   (size_t)(y0 + i / w) * p->n1 + x0 + i % w];

			a[2 * ((size_t)t * w * h + i)] = creal(v);
			a[2 * ((size_t)t * w * h + i) + 1] = cimag(v);
		}
	if (bs_dense_svd(w * h, p->frames, a, s, NULL, NULL, work, NULL) != 0)
		sum = NAN;
	for (uint32_t i = 0; i < p->frames && i < w * h; i++)
		sum += s[i];
	free(a);
	free(s);
	free(work);
	return sum;
}

static inline double prior_value(const struct prior_problem *p, const double complex *x)
{
	const size_t voxels = prior_voxels(p);
	const uint32_t n[3] = { p->columns, p->n1, p->n2 };
	double sum = 0.0;

	if (p->kind == BS_PRIOR_WAVELET)
		return prior_wavelet(x, n);
	for (uint32_t i = 0; p->kind == BS_PRIOR_LOW_RANK && i < p->n1 * p->n2; i++)
		if (i % p->n1 % p->block == 0 && i / p->n1 % p->block == 0)
			sum += prior_block(p, x, i % p->n1, i / p->n1);
	for (size_t i = 0; p->kind != BS_PRIOR_LOW_RANK && i < voxels * p->frames; i++)
		if (i >= voxels || p->kind == BS_PRIOR_TV_CYCLE)
			sum += cabs(x[i] -
				    x[i >= voxels ? i - voxels : i + (p->frames - 1) * voxels]);
	return sum;
}

/* The objective of a float image. */
static inline double prior_objective(const struct prior_problem *p, const float *image)
{
	const size_t n = prior_voxels(p) * p->frames;
	double complex *x = prior_pairs(image, n);
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += 0.5 * p->l2 * creal(x[i] * conj(x[i]));
	sum += prior_fit(p, x) + p->lambda * prior_value(p, x);
	free(x);
	return sum;
}

#endif
