/*
 * test/support/places.h - the error of a NUFFT where it is worst in its image, against the direct
 * sum in double precision; for host and CUDA
 *
 * What a trial measures, each in one run over all coils (rms: root mean square):
 *   white    white data: the rms error in that part of the image where it is largest, relative to
 *            the rms of the whole; a white image: the rms error of its samples, relative to theirs.
 *            Parts: each axis in four, narrower towards the edge. An estimate from n values is off
 *            by 1 / (2 sqrt n) of itself, so three times that is taken off.
 *   phantom  an object that reaches the image's edge: relative l2, and the largest |error| relative
 *            to the largest value
 *   point    one voxel in the corner to all samples, one sample to all voxels: the rms error of
 *            these terms, relative to 1
 */
#ifndef BS_TEST_SUPPORT_PLACES_H
#define BS_TEST_SUPPORT_PLACES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/nufft/nufft.h"
#include "gpu/nufft/window.h"
#include "test/support/check.h"
#include "test/support/direct.h"

enum places_path { PLACES_RANDOM, PLACES_RADIAL, PLACES_SPIRAL };
static const char *const places_path_name[] = { "random", "radial", "spiral" };

struct places_trial {
	uint32_t dims, n[3], coils;
	enum places_path path;
	uint64_t samples;
};

/* The transform under test: either direction, host memory. */
typedef int (*places_run)(void *arg, int adjoint, const float *from, float *to);

enum { PLACES_WHITE, PLACES_PHANTOM, PLACES_POINT, PLACES_INPUTS };

struct places {
	struct places_trial t;
	size_t voxels, floats[2]; /* of all coils' data, image */
	float *k;
	double *e[3];                   /* [sample][n] complex */
	float *in[PLACES_INPUTS][2];    /* forward: image; adjoint: data */
	double *want[PLACES_INPUTS][2]; /* forward: data; adjoint: image */
};

struct places_error {
	double most[PLACES_INPUTS][2]; /* as above; by direction: forward, adjoint */
	double l2[2];                  /* of the phantom */
};

static inline void places_path_fill(const struct places_trial *t, float *k, uint64_t *seed)
{
	const uint64_t along = t->path == PLACES_SPIRAL ? 1500 : 2 * t->n[0];

	for (uint64_t m = 0; m < t->samples; m++) {
		const double s = (double)(m % along) / (double)along;
		const double arm = (double)(m / along);
		double r = t->path == PLACES_SPIRAL ? 0.4999 * sqrt(s) : s - 0.5;
		double a = 2.399963229728653 * arm +
			   (t->path == PLACES_SPIRAL ? 2.0 * M_PI * 9.0 * sqrt(s) : 0.0);
		double z = t->dims == 3 ? 2.0 * fmod(0.618034 * (arm + 0.5), 1.0) - 1.0 : 0.0;
		const double at[3] = { r * cos(a) * sqrt(1.0 - z * z),
				       r * sin(a) * sqrt(1.0 - z * z), r * z };

		for (uint32_t i = 0; i < t->dims; i++) {
			float f = (float)(t->path == PLACES_RANDOM ? check_uniform(seed) - 0.5
								   : at[i]);

			k[m * t->dims + i] = f;
		}
	}
}

/* One coil. sum [y][x] += c e_x e_y e_z, or the other way round; out and from are complex. */
static inline void places_sum(const struct places *p, int adjoint, const float *from, double *to)
{
	const uint32_t *n = p->t.n;
	const size_t row = n[0];

	for (uint64_t m = 0; m < p->t.samples; m++) {
		const double *ex = p->e[0] + 2 * m * row;

		for (size_t line = 0; line < (size_t)n[1] * n[2]; line++) {
			const double *ey = p->e[1] + 2 * (m * n[1] + line % n[1]);
			const double *ez = p->e[2] + 2 * (m * n[2] + line / n[1]);
			const double re = ey[0] * ez[0] - ey[1] * ez[1];
			const double im = ey[0] * ez[1] + ey[1] * ez[0];

			if (adjoint) {
				const double d[2] = { (double)from[2 * m],
						      (double)from[2 * m + 1] };
				const double a = d[0] * re - d[1] * im;
				const double b = d[0] * im + d[1] * re;
				double *o = to + 2 * line * row;

				for (size_t x = 0; x < 2 * row; x += 2) {
					o[x] += a * ex[x] - b * ex[x + 1];
					o[x + 1] += a * ex[x + 1] + b * ex[x];
				}
			} else {
				const float *v = from + 2 * line * row;
				double a = 0.0;
				double b = 0.0;

				for (size_t x = 0; x < 2 * row; x += 2) { /* times conj(ex) */
					a += (double)v[x] * ex[x] + (double)v[x + 1] * ex[x + 1];
					b += (double)v[x + 1] * ex[x] - (double)v[x] * ex[x + 1];
				}
				to[2 * m] += a * re + b * im;
				to[2 * m + 1] += b * re - a * im;
			}
		}
	}
}

/* Ellipses of several sizes; one is cut off by the image's edge. */
static inline float places_object(const struct places_trial *t, size_t v)
{
	static const double ellipse[][5] = { { 0.0, 0.0, 0.42, 0.36, 1.0 },
					     { 0.05, -0.04, 0.34, 0.28, -0.6 },
					     { -0.12, 0.1, 0.06, 0.11, 0.5 },
					     { 0.2, 0.05, 0.03, 0.03, 0.8 },
					     { -0.5, -0.5, 0.2, 0.12, 0.9 } };
	const size_t at[3] = { v % t->n[0], v / t->n[0] % t->n[1], v / t->n[0] / t->n[1] };
	double x[3];
	double sum = 0.0;

	for (uint32_t a = 0; a < 3; a++)
		x[a] = ((double)at[a] - t->n[a] / 2) / t->n[a];
	for (size_t i = 0; i < sizeof(ellipse) / sizeof(ellipse[0]); i++) {
		const double *e = ellipse[i];
		const double u = (x[0] - e[0]) / e[2];
		const double w = (x[1] - e[1]) / e[3];

		sum += u * u + w * w + 4.0 * x[2] * x[2] < 1.0 ? e[4] : 0.0;
	}
	return (float)sum;
}

/* White data and image; the object, and its samples weighted by the ramp; a corner, a sample. */
static inline void places_fill(struct places *p, uint64_t *seed)
{
	const uint64_t samples = p->t.samples;

	for (int adjoint = 0; adjoint < 2; adjoint++)
		for (size_t i = 0; i < p->floats[1 - adjoint]; i++)
			p->in[PLACES_WHITE][adjoint][i] = (float)(2.0 * check_uniform(seed) - 1.0);
	for (uint32_t c = 0; c < p->t.coils; c++) {
		float *image = p->in[PLACES_PHANTOM][0] + 2 * c * p->voxels;
		float *data = p->in[PLACES_PHANTOM][1] + 2 * c * samples;
		double *want = p->want[PLACES_PHANTOM][0] + 2 * c * samples;

		for (size_t v = 0; v < p->voxels; v++) {
			image[2 * v] = places_object(&p->t, v);
			image[2 * v + 1] = 0.1f * (float)(c + 1) * image[2 * v];
		}
		places_sum(p, 0, image, want);
		for (uint64_t m = 0; m < samples; m++) {
			double r2 = 0.0;

			for (uint32_t a = 0; a < p->t.dims; a++)
				r2 += pow((double)p->k[m * p->t.dims + a], 2.0);
			r2 = p->t.dims == 3 ? r2 : sqrt(r2);
			data[2 * m] = (float)(r2 * want[2 * m]);
			data[2 * m + 1] = (float)(r2 * want[2 * m + 1]);
		}
		p->in[PLACES_POINT][0][2 * c * p->voxels] = 1.0f;
		p->in[PLACES_POINT][1][2 * (c * samples + samples / 3)] = 1.0f;
	}
}

static inline void places_open(struct places *p, const struct places_trial *t, uint64_t *seed)
{
	memset(p, 0, sizeof(*p));
	p->t = *t;
	p->voxels = (size_t)t->n[0] * t->n[1] * t->n[2];
	p->floats[0] = 2 * t->samples * t->coils;
	p->floats[1] = 2 * p->voxels * t->coils;
	p->k = malloc(t->samples * t->dims * sizeof(float));
	places_path_fill(t, p->k, seed);
	for (uint32_t a = 0; a < 3; a++) {
		p->e[a] = a < t->dims ? phases(p->k, t->dims, a, t->samples, t->n[a])
				      : calloc(t->samples, 2 * sizeof(double));
		for (uint64_t m = 0; a >= t->dims && m < t->samples; m++)
			p->e[a][2 * m] = 1.0;
	}
	for (int i = 0; i < PLACES_INPUTS; i++)
		for (int adjoint = 0; adjoint < 2; adjoint++) {
			p->in[i][adjoint] = calloc(p->floats[1 - adjoint], sizeof(float));
			p->want[i][adjoint] = calloc(p->floats[adjoint], sizeof(double));
		}
	places_fill(p, seed);
	for (int i = 0; i < PLACES_INPUTS; i++)
		for (int adjoint = 0; adjoint < 2; adjoint++)
			for (uint32_t c = 0; c < t->coils; c++)
				if (i != PLACES_PHANTOM || adjoint)
					places_sum(p, adjoint,
						   p->in[i][adjoint] +
							   c * (p->floats[1 - adjoint] / t->coils),
						   p->want[i][adjoint] +
							   c * (p->floats[adjoint] / t->coils));
}

static inline void places_close(struct places *p)
{
	free(p->k);
	for (int a = 0; a < 3; a++)
		free(p->e[a]);
	for (int i = 0; i < PLACES_INPUTS; i++)
		for (int d = 0; d < 2; d++) {
			free(p->in[i][d]);
			free(p->want[i][d]);
		}
}

#define PLACES_ZONES 4
#define PLACES_PARTS (PLACES_ZONES * PLACES_ZONES * PLACES_ZONES)

/* The part of the image that a voxel is in. */
static inline int places_part(const struct places_trial *t, size_t v)
{
	static const double edge[PLACES_ZONES - 1] = { 0.25, 0.4, 0.46 };
	const size_t at[3] = { v % t->n[0], v / t->n[0] % t->n[1], v / t->n[0] / t->n[1] };
	int part = 0;

	for (uint32_t a = 0; a < t->dims; a++) {
		const double x = fabs(((double)at[a] - t->n[a] / 2) / t->n[a]);
		int zone = 0;

		while (zone < PLACES_ZONES - 1 && x >= edge[zone])
			zone++;
		part = part * PLACES_ZONES + zone;
	}
	return part;
}

/* The rms error of white data's image where it is largest; NAN when any is. */
static inline double places_worst(const struct places *p, const float *got, const double *want)
{
	double off[PLACES_PARTS] = { 0 };
	double n[PLACES_PARTS] = { 0 };
	double worst = 0.0;

	for (size_t j = 0; j < p->floats[1]; j += 2) {
		const int part = places_part(&p->t, j / 2 % p->voxels);

		off[part] += pow((double)got[j] - want[j], 2.0) +
			     pow((double)got[j + 1] - want[j + 1], 2.0);
		n[part] += 1.0;
	}
	for (int i = 0; i < PLACES_PARTS; i++) {
		const double values = fmin(n[i], (double)(p->t.samples * p->t.coils));
		const double rms =
			sqrt(off[i] / fmax(n[i], 1.0)) / (1.0 + 1.5 / sqrt(fmax(values, 1.0)));

		worst = rms > worst || isnan(rms) ? rms : worst;
	}
	return worst;
}

/* 0, or what run returned. */
static inline int places_measure(const struct places *p, places_run run, void *arg,
				 struct places_error *e)
{
	const size_t larger = p->floats[0] > p->floats[1] ? p->floats[0] : p->floats[1];
	float *got = malloc(larger * sizeof(float));
	int rc = 0;

	for (int i = 0; rc == 0 && i < PLACES_INPUTS; i++)
		for (int adjoint = 0; rc == 0 && adjoint < 2; adjoint++) {
			const double *want = p->want[i][adjoint];
			const double values = 0.5 * (double)p->floats[adjoint];
			double most = 0.0, largest = 0.0, off = 0.0, all = 0.0;

			rc = run(arg, adjoint, p->in[i][adjoint], got);
			for (size_t j = 0; j < p->floats[adjoint]; j += 2) {
				const double err = hypot((double)got[j] - want[j],
							 (double)got[j + 1] - want[j + 1]);
				const double size = hypot(want[j], want[j + 1]);

				most = err > most || isnan(err) ? err : most;
				largest = size > largest ? size : largest;
				off += err * err;
				all += size * size;
			}
			if (i == PLACES_WHITE && adjoint)
				most = rc == 0 ? places_worst(p, got, want) : 0.0;
			else if (i != PLACES_PHANTOM)
				most = sqrt(off / values);
			e->most[i][adjoint] =
				most / (i == PLACES_PHANTOM ? largest : sqrt(all / values));
			if (i == PLACES_PHANTOM)
				e->l2[adjoint] = sqrt(off / all);
		}
	free(got);
	return rc;
}

/* The largest of all that was measured. */
static inline double places_most(const struct places_error *e)
{
	double most = 0.0;

	for (int d = 0; d < 2; d++) {
		most = e->l2[d] > most || isnan(e->l2[d]) ? e->l2[d] : most;
		for (int i = 0; i < PLACES_INPUTS; i++)
			most = e->most[i][d] > most || isnan(e->most[i][d]) ? e->most[i][d] : most;
	}
	return most;
}

/*
 * What was measured over what is allowed, the largest: of white data the accuracy; of a point and
 * of an object, whose terms' errors may add up, besides that the largest error of a term (window.h)
 * on all axes.
 */
static inline double places_over(const struct places *p, const struct places_error *e,
				 double accuracy, const struct bs_nufft_info *info)
{
	double term = 1.0;
	double over = 0.0;

	for (uint32_t a = 0; a < p->t.dims; a++) {
		const struct bs_window_shape w = bs_window_make(
			BS_WINDOW_KAISER_BESSEL, info->width, (double)info->grid[a] / p->t.n[a]);
		struct bs_window_error of;

		bs_window_errors(&of, &w);
		term *= 1.0 + of.most;
	}
	term += accuracy - 1.0;
	for (int d = 0; d < 2; d++)
		for (int i = 0; i < PLACES_INPUTS; i++) {
			const double most =
				i == PLACES_PHANTOM ? fmax(e->most[i][d], e->l2[d]) : e->most[i][d];
			const double by = most / (i == PLACES_WHITE ? accuracy : term);

			over = by > over || isnan(by) ? by : over;
		}
	return over;
}

static const struct places_trial places_trials[] = {
	{ 2, { 96, 96, 1 }, 1, PLACES_RANDOM, 3000 },
	{ 2, { 96, 96, 1 }, 4, PLACES_RADIAL, 192 * 40 },
	{ 2, { 160, 160, 1 }, 1, PLACES_SPIRAL, 4500 },
	{ 2, { 160, 160, 1 }, 2, PLACES_RANDOM, 2000 },
	{ 2, { 192, 192, 1 }, 1, PLACES_RADIAL, 384 * 12 },
	{ 2, { 192, 192, 1 }, 3, PLACES_SPIRAL, 1500 },
	{ 2, { 97, 161, 1 }, 1, PLACES_RANDOM, 3000 },
	{ 2, { 95, 63, 1 }, 8, PLACES_RADIAL, 190 * 8 },
	{ 3, { 24, 24, 24 }, 1, PLACES_RANDOM, 3000 },
	{ 3, { 27, 32, 25 }, 3, PLACES_RADIAL, 54 * 30 },
	{ 3, { 40, 40, 40 }, 1, PLACES_RADIAL, 80 * 20 },
	{ 3, { 33, 20, 4 }, 2, PLACES_RANDOM, 1500 },
};

#endif
