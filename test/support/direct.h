/*
 * test/support/direct.h - the model as a direct sum in double precision, and its adjoint
 * (gpu/nufft/nufft.h)
 */
#ifndef BS_TEST_SUPPORT_DIRECT_H
#define BS_TEST_SUPPORT_DIRECT_H

#include <math.h>
#include <stdlib.h>

#include "gpu/nufft/nufft.h"

/* e[m][i] = exp(sign i2pi k_m (i - N/2)) on one axis. */
static inline double *phases(const float *k, uint32_t dims, uint32_t axis, uint64_t samples,
			     uint32_t n)
{
	double *e = malloc(samples * n * 2 * sizeof(double));

	for (uint64_t m = 0; m < samples; m++)
		for (uint32_t i = 0; i < n; i++) {
			double a = 2.0 * M_PI * (double)k[m * dims + axis] * ((double)i - n / 2);

			e[2 * (m * n + i)] = cos(a);
			e[2 * (m * n + i) + 1] = sin(a);
		}
	return e;
}

struct exact {
	double *e[3];
	uint32_t n[3], coils;
	uint64_t samples;
};

static inline struct exact exact_open(const struct bs_nufft_spec *s, const float *k)
{
	struct exact x = { .coils = s->coils, .samples = s->samples };

	for (uint32_t a = 0; a < 3; a++) {
		x.n[a] = s->matrix[a];
		x.e[a] = a < s->dims ? phases(k, s->dims, a, s->samples, s->matrix[a]) : NULL;
	}
	return x;
}

static inline void exact_close(struct exact *x)
{
	for (int a = 0; a < 3; a++)
		free(x->e[a]);
}

/* The whole model, one term a time: to the image (adjoint) or to the samples. */
static inline void exact_sum(const struct exact *x, const float *weight, const float *from,
			     float *to, int adjoint)
{
	size_t voxels = (size_t)x->n[0] * x->n[1] * x->n[2];
	size_t out = (adjoint ? voxels : x->samples) * x->coils * 2;
	double *sum = calloc(out, sizeof(double));

	for (uint64_t m = 0; m < x->samples; m++)
		for (size_t v = 0; v < voxels; v++) {
			size_t at[3] = { v % x->n[0], v / x->n[0] % x->n[1],
					 v / x->n[0] / x->n[1] };
			double re = 1.0;
			double im = 0.0;

			for (int a = 0; a < 3 && x->e[a] != NULL; a++) {
				const double *e = x->e[a] + 2 * (m * x->n[a] + at[a]);
				double t = re * e[0] - im * e[1];

				im = re * e[1] + im * e[0];
				re = t;
			}
			if (!adjoint)
				im = -im;
			for (uint32_t c = 0; c < x->coils; c++) {
				size_t s = adjoint ? c * x->samples + m : c * voxels + v;
				size_t d = adjoint ? c * voxels + v : c * x->samples + m;
				double w = adjoint && weight != NULL ? (double)weight[m] : 1.0;

				sum[2 * d] += w * (re * from[2 * s] - im * from[2 * s + 1]);
				sum[2 * d + 1] += w * (re * from[2 * s + 1] + im * from[2 * s]);
			}
		}
	for (size_t i = 0; i < out; i++)
		to[i] = (float)sum[i];
	free(sum);
}

#endif
