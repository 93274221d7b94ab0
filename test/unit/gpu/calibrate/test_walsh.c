/*
 * test/unit/gpu/calibrate/test_walsh.c - adaptive combination against the definition in double
 * precision
 *
 * A voxel's matrix is a sum in single precision of as many products as the box has voxels, at most
 * a few dozen: of its trace MATRIX = 4e-6 covers 64 roundings. R v = lambda v is then met to
 * 2 MATRIX of the trace, and v^H R v is the largest eigenvalue to 2 MATRIX: a power iteration in
 * double precision, which never exceeds it, must not find more.
 */
#include "core/thread/team.h"
#include "gpu/calibrate/walsh.h"
#include "test/support/check.h"

#include <complex.h>
#include <string.h>

#define MATRIX 4e-6
#define MOST   32

/* The voxel's matrix by its definition; returns the trace. */
static double matrix_of(const struct bs_walsh_spec *s, const float *images, const uint32_t v[3],
			double complex *r)
{
	const uint32_t *n = s->matrix;
	const size_t voxels = (size_t)n[0] * n[1] * n[2];
	double trace = 0;

	memset(r, 0, (size_t)s->coils * s->coils * sizeof(*r));
	for (size_t i = 0; i < voxels; i++) {
		const uint32_t at[3] = { (uint32_t)(i % n[0]), (uint32_t)(i / n[0] % n[1]),
					 (uint32_t)(i / n[0] / n[1]) };
		int inside = 1;

		for (int a = 0; a < 3; a++)
			inside = inside && at[a] + s->half[a] >= v[a] && at[a] <= v[a] + s->half[a];
		if (!inside)
			continue;
		for (uint32_t c = 0; c < s->coils; c++)
			for (uint32_t d = 0; d < s->coils; d++) {
				const float *p = images + 2 * (c * voxels + i);
				const float *q = images + 2 * (d * voxels + i);

				r[c * s->coils + d] +=
					(p[0] + I * (double)p[1]) * (q[0] - I * (double)q[1]);
			}
	}
	for (uint32_t c = 0; c < s->coils; c++)
		trace += creal(r[c * s->coils + c]);
	return trace;
}

/* out = R v; returns v^H R v. */
static double times(const double complex *r, uint32_t n, const double complex *v,
		    double complex *out)
{
	double complex sum = 0;

	for (uint32_t c = 0; c < n; c++) {
		out[c] = 0;
		for (uint32_t d = 0; d < n; d++)
			out[c] += r[c * n + d] * v[d];
		sum += conj(v[c]) * out[c];
	}
	return creal(sum);
}

static double iterated(const double complex *r, uint32_t n, uint64_t *seed)
{
	double complex v[MOST];
	double complex next[MOST];
	double value = 0;

	for (uint32_t c = 0; c < n; c++)
		v[c] = check_uniform(seed) + I * check_uniform(seed);
	for (int i = 0; i < 200; i++) {
		double size = 0;

		for (uint32_t c = 0; c < n; c++)
			size += creal(v[c] * conj(v[c]));
		for (uint32_t c = 0; c < n; c++)
			v[c] /= sqrt(size);
		value = times(r, n, v, next);
		memcpy(v, next, sizeof(v));
	}
	return value;
}

static int run(const struct bs_walsh_spec *s, int members, const float *images, float *maps,
	       struct bs_fail *why)
{
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_team *team = NULL;
	struct bs_walsh *plan = NULL;
	int rc = bs_walsh_need(s, &need, why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_team_open(&team, members, why);
	if (rc == 0)
		rc = bs_walsh_plan(&plan, s, &arena, team, why);
	if (rc == 0) {
		CHECK(arena.size - arena.used < BS_ALIGN, "need says what plan takes: %zu of %zu",
		      arena.used, arena.size);
		rc = bs_walsh_run(plan, images, maps, why);
	}
	bs_walsh_close(plan);
	bs_team_close(team);
	bs_arena_close(&arena);
	return rc;
}

/* scale: of the images; their squares must neither overflow nor vanish. */
static void one(const struct bs_walsh_spec *s, double scale, uint64_t seed)
{
	const uint32_t *n = s->matrix;
	const size_t voxels = (size_t)n[0] * n[1] * n[2];
	float *images = malloc(voxels * s->coils * 8);
	float *maps = malloc(2 * voxels * s->coils * 8);
	struct bs_fail why = { 0 };
	double residual = 0;
	double missed = 0;
	double length = 0;

	for (size_t i = 0; i < 2 * voxels * s->coils; i++) {
		double smooth = cos((double)(i % 37) / 7 + (double)(i / voxels));

		images[i] = (float)(scale * (smooth + check_uniform(&seed) - 0.5));
	}
	CHECK(run(s, 1, images, maps, &why) == 0, "%u coils, %u x %u x %u %s", s->coils, n[0], n[1],
	      n[2], why.text);
	CHECK(run(s, 3, images, maps + 2 * voxels * s->coils, &why) == 0 &&
		      memcmp(maps, maps + 2 * voxels * s->coils, voxels * s->coils * 8) == 0,
	      "the same bytes with three threads %s", why.text);
	for (int t = 0; t < 60; t++) {
		const size_t i = (size_t)(check_uniform(&seed) * (double)voxels);
		const uint32_t v[3] = { (uint32_t)(i % n[0]), (uint32_t)(i / n[0] % n[1]),
					(uint32_t)(i / n[0] / n[1]) };
		double complex r[MOST * MOST];
		double complex map[MOST];
		double complex out[MOST];
		double trace = matrix_of(s, images, v, r);
		double value, power = 0, error = 0;

		for (uint32_t c = 0; c < s->coils; c++) {
			map[c] = maps[2 * (c * voxels + i)] +
				 I * (double)maps[2 * (c * voxels + i) + 1];
			power += creal(map[c] * conj(map[c]));
		}
		value = times(r, s->coils, map, out);
		for (uint32_t c = 0; c < s->coils; c++)
			error += creal((out[c] - value * map[c]) * conj(out[c] - value * map[c]));
		residual = fmax(residual, sqrt(error) / trace / (2 * MATRIX));
		missed =
			fmax(missed, (iterated(r, s->coils, &seed) - value) / trace / (2 * MATRIX));
		length = fmax(length, fabs(power - 1));
	}
	CHECK(residual <= 1 && missed <= 1 && length < 1e-5,
	      "eigenvectors (%.2f of the bound), of the largest value (%.2f), of length 1 (%.1e)",
	      residual, missed, length);
	free(images);
	free(maps);
}

/* More coils than a box has independent samples: the rest of a matrix is rounding alone. */
static void few_modes(void)
{
	const struct bs_walsh_spec s = { 32, { 120, 60, 1 }, { 2, 2, 0 } };
	const size_t voxels = (size_t)120 * 60;
	float *images = malloc(voxels * s.coils * 8);
	float *maps = malloc(voxels * s.coils * 8);
	struct bs_fail why = { 0 };
	double worst = 0;

	for (size_t i = 0; i < voxels; i++) {
		const double x = (double)(i % 120) / 120 - 0.5;
		const double y = (double)(i / 120) / 60 - 0.5;

		for (uint32_t c = 0; c < s.coils; c++) {
			double complex v = 0;

			for (int w = 0; w < 5; w++)
				v += cexp(I * (1.3 * c * w + 6 * (w % 3 - 1) * x +
					       6 * (w / 2 - 1) * y)) /
				     (1 + 0.4 * w);
			v *= exp(-0.2 * c); /* coils far away */
			images[2 * (c * voxels + i)] = (float)creal(v);
			images[2 * (c * voxels + i) + 1] = (float)cimag(v);
		}
	}
	CHECK(run(&s, 2, images, maps, &why) == 0, "five modes of 32 coils %s", why.text);
	for (size_t i = 0; i < voxels; i++) {
		double power = 0;

		for (uint32_t c = 0; c < s.coils; c++)
			power += pow(maps[2 * (c * voxels + i)], 2) +
				 pow(maps[2 * (c * voxels + i) + 1], 2);
		worst = fabs(power - 1) <= worst ? worst : fabs(power - 1);
	}
	CHECK(worst < 1e-5, "every voxel has a map of length 1 (%.1e)", worst);
	free(images);
	free(maps);
}

static void refusals(void)
{
	struct bs_walsh_spec s = { 2, { 8, 8, 1 }, { 2, 2, 0 } };
	float *images = calloc(2 * 128, 4);
	float maps[256];
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };

	CHECK(run(&s, 1, images, maps, &why) == BS_ERR_VALUE, "%s", why.text);
	images[5] = NAN;
	CHECK(run(&s, 1, images, maps, &why) == BS_ERR_VALUE, "%s", why.text);
	s.half[1] = 17;
	CHECK(bs_walsh_need(&s, &need, &why) == BS_ERR_CONFIG, "%s", why.text);
	free(images);
}

int main(void)
{
	static const struct bs_walsh_spec specs[] = { { 4, { 20, 17, 1 }, { 2, 2, 0 } },
						      { 7, { 33, 18, 1 }, { 0, 3, 0 } },
						      { 3, { 19, 9, 6 }, { 1, 2, 1 } },
						      { 32, { 16, 5, 1 }, { 3, 1, 0 } },
						      { 1, { 16, 16, 1 }, { 1, 1, 0 } } };
	static const double scales[] = { 1, 1e-9, 1e8, 30, 1 };

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		one(&specs[i], scales[i], 5 + i);
	few_modes();
	refusals();
	return check_done();
}
