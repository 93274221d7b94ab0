/*
 * test/support/nufft_exact.h - what the tests of the host NUFFT share: trajectories, plans, and the
 * comparison with the direct sum
 */
#ifndef BS_TEST_SUPPORT_NUFFT_EXACT_H
#define BS_TEST_SUPPORT_NUFFT_EXACT_H

#include <math.h>
#include <string.h>

#include "core/thread/team.h"
#include "gpu/nufft/nufft.h"
#include "test/support/check.h"
#include "test/support/direct.h"

static uint64_t seed = 88172645463325252u;
static struct bs_team *team;

static inline float *random_floats(size_t n, double amplitude)
{
	float *p = malloc(n * sizeof(float));

	for (size_t i = 0; i < n; i++)
		p[i] = (float)(amplitude * (2.0 * check_uniform(&seed) - 1.0));
	return p;
}

/* Spokes through the center over a sphere or circle (or line), every radius up to the edge. */
static inline float *radial(uint32_t dims, uint64_t samples)
{
	float *k = malloc(samples * dims * sizeof(float));
	uint64_t along = 50;

	for (uint64_t m = 0; m < samples; m++) {
		double r = (double)(m % along) / (double)along - 0.5;
		double a = 2.399963229728653 * (double)(m / along);
		double z = dims == 3 ? 2.0 * fmod(0.618034 * (double)(m / along), 1.0) - 1.0 : 0.0;
		double d[3] = { cos(a) * sqrt(1.0 - z * z), sin(a) * sqrt(1.0 - z * z), z };

		for (uint32_t i = 0; i < dims; i++)
			k[m * dims + i] = (float)(dims == 1 ? r : r * d[i]);
	}
	return k;
}

struct bench { /* a plan and all that it needs */
	struct bs_nufft_spec spec;
	struct bs_arena arena;
	struct bs_nufft *plan;
	size_t voxels, image_floats, data_floats;
};

static inline int open_plan(struct bench *b, const struct bs_nufft_spec *s, const float *k,
			    const float *weight, struct bs_team *t)
{
	struct bs_need need = { .parts = 0 };
	struct bs_fail why = { 0, "" };
	int rc = bs_nufft_need(s, &need, &why);

	memset(b, 0, sizeof(*b));
	b->spec = *s;
	b->voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	b->image_floats = b->voxels * s->coils * 2;
	b->data_floats = s->samples * s->coils * 2;
	if (rc == 0)
		rc = bs_arena_open(&b->arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_nufft_plan(&b->plan, s, k, weight, &b->arena, t, &why);
	if (rc != 0)
		printf("# %s\n", why.text);
	else if (b->arena.used != need.total_bytes)
		CHECK(0, "plan takes what need says: %zu of %llu bytes", b->arena.used,
		      (unsigned long long)need.total_bytes);
	return rc;
}

static inline void close_plan(struct bench *b)
{
	bs_nufft_close(b->plan);
	bs_arena_close(&b->arena);
}

/* Re <a, b> and Im <a, b> = sum conj(a) b */
static inline void inner(const float *a, const float *b, size_t floats, double *re, double *im)
{
	*re = *im = 0.0;
	for (size_t i = 0; i < floats; i += 2) {
		*re += (double)a[i] * b[i] + (double)a[i + 1] * b[i + 1];
		*im += (double)a[i] * b[i + 1] - (double)a[i + 1] * b[i];
	}
}

/* Both directions against the direct sum within bound, and against each other. */
static inline void against_exact(const struct bs_nufft_spec *s, const float *k, const float *weight,
				 double bound, const char *what)
{
	struct bench b;
	struct bs_nufft_info info;
	char name[160];

	if (open_plan(&b, s, k, weight, team) != 0) {
		CHECK(0, "%s: plan", what);
		close_plan(&b);
		return;
	}
	bs_nufft_info(b.plan, &info);
	(void)snprintf(name, sizeof(name), "%s %ux%ux%u coils %u width %g grid %ux%ux%u %s", what,
		       s->matrix[0], s->matrix[1], s->matrix[2], s->coils, info.width, info.grid[0],
		       info.grid[1], info.grid[2], info.route);
	struct exact x = exact_open(s, k);
	float *data = random_floats(b.data_floats, 1.0);
	float *image = random_floats(b.image_floats, 1.0);
	float *got = malloc((b.image_floats + b.data_floats) * sizeof(float));
	float *want = malloc((b.image_floats + b.data_floats) * sizeof(float));
	double e, re[2], im[2];

	bs_nufft_adjoint(b.plan, data, got);
	exact_sum(&x, weight, data, want, 1);
	e = check_rel(got, want, b.image_floats);
	CHECK(e <= bound, "%s: adjoint %.2e <= %.1e", name, e, bound);
	bs_nufft_forward(b.plan, image, want);
	exact_sum(&x, NULL, image, got, 0);
	e = check_rel(want, got, b.data_floats);
	CHECK(e <= bound, "%s: forward %.2e <= %.1e", name, e, bound);
	if (weight == NULL) {
		/* <A x, y> = <x, A' y> holds to roundoff, whatever the accuracy asked for */
		bs_nufft_adjoint(b.plan, data, got);
		inner(want, data, b.data_floats, &re[0], &im[0]);
		inner(image, got, b.image_floats, &re[1], &im[1]);
		double scale = 0.0;
		double t;

		inner(image, image, b.image_floats, &scale, &t);
		inner(got, got, b.image_floats, &e, &t);
		e = hypot(re[0] - re[1], im[0] - im[1]) / sqrt(scale * e);
		CHECK(e < 2e-6, "%s: adjointness %.1e", name, e);
	}
	free(data);
	free(image);
	free(got);
	free(want);
	exact_close(&x);
	close_plan(&b);
}

/* A stack: one in-plane path for each partition, in an order of its own; some partitions are left
 * out. */
static inline float *stack(uint32_t nz, uint64_t path, uint32_t partitions, int shuffled)
{
	float *k = malloc(path * partitions * 3 * sizeof(float));

	for (uint32_t p = 0; p < partitions; p++)
		for (uint64_t i = 0; i < path; i++) {
			uint64_t at = shuffled ? (i * 7 + p) % path : i;
			float *s = k + 3 * (p * path + i);
			double r = 0.49 * (double)at / (double)path;

			s[0] = (float)(r * cos(0.7 * (double)at));
			s[1] = (float)(r * sin(0.7 * (double)at));
			s[2] = (float)(((double)p - nz / 2) / nz);
			if (at < 3) /* the center, thrice */
				s[0] = s[1] = 0.0f;
		}
	return k;
}

#endif
