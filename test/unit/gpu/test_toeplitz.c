/*
 * test/unit/gpu/test_toeplitz.c - F^H D F through Q against forward, weights, adjoint; FFT sizes
 *
 * Tolerance 1e-5 (issue: forward then adjoint); single precision with a spectrum made in double
 * gives a few 1e-7. The truth is the direct sum forward (test/support/direct.h) and
 * gpu/exact/exact.h back, which test_exact.c holds against the plain loop; both in double
 * precision.
 */
#define _DEFAULT_SOURCE /* M_PI */
#define _GNU_SOURCE     /* setenv */
#include "gpu/exact/basis.h"
#include "gpu/exact/exact.h"
#include "gpu/fft/lines.h"
#include "gpu/toeplitz/q.h"
#include "gpu/toeplitz/toeplitz.h"
#include "test/support/check.h"
#include "test/support/direct.h"
#include "test/support/isa.h"

#include <string.h>

#define SAMPLES 700u

static float k[SAMPLES * 3], weight[SAMPLES];
static struct bs_team *team;

static void random_values(float *x, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (float)(check_uniform(&seed) - 0.5);
}

/* out[c] = F^H D F in[c]: F by the direct sum, F^H D by the exact one; both in double. */
static void direct(const struct bs_exact_spec *e, const float *in, double *out)
{
	struct bs_nufft_spec s = { .dims = e->dims, .coils = e->coils, .samples = e->samples };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	struct bs_arena arena;
	struct bs_exact *plan;
	struct exact forward;
	float *d = malloc((size_t)e->coils * e->samples * 8); /* 6e-8, far below the tolerance */

	memcpy(s.matrix, e->matrix, sizeof(s.matrix));
	forward = exact_open(&s, k);
	exact_sum(&forward, NULL, in, d, 0);
	exact_close(&forward);
	for (uint32_t i = 0; i < 2 * e->coils * SAMPLES && e->basis == BS_BASIS_BOX; i++)
		d[i] *= (float)bs_basis_box(1.0, k + i / 2 % SAMPLES * e->dims, e->dims);
	(void)bs_exact_need(e, &need, &why);
	(void)bs_arena_open(&arena, need.total_bytes, &why);
	CHECK(bs_exact_plan(&plan, e, k, weight, &arena, team, &why) == 0, "exact sums %s",
	      why.text);
	bs_exact_begin(plan, 0);
	bs_exact_add(plan, 0, 0, e->samples, d, e->samples);
	bs_exact_finish_double(plan, 0, out);
	bs_exact_close(plan);
	bs_arena_close(&arena);
	free(d);
}

static double rel(const float *a, const double *b, size_t n)
{
	double e = 0.0;
	double r = 0.0;

	for (size_t i = 0; i < n; i++) {
		e += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		r += b[i] * b[i];
	}
	return sqrt(e / r);
}

static struct bs_toeplitz *open_plan(struct bs_arena *arena, const struct bs_toeplitz_spec *s,
				     const float *q)
{
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	struct bs_toeplitz *plan = NULL;
	int rc = bs_toeplitz_need(s, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_toeplitz_plan(&plan, s, q, arena, team, &why);
	CHECK(rc == 0 && arena->used == need.total_bytes, "plan takes what need states %s",
	      why.text);
	return plan;
}

/* sum_c conj(S_c) F^H D F S_c x from the coils' own products */
static void sense_truth(const struct bs_exact_spec *e, const float *maps, const float *x,
			size_t voxels, double *out)
{
	float *in = malloc(e->coils * voxels * 8);
	double *each = malloc(e->coils * voxels * 16);

	for (size_t i = 0; i < e->coils * voxels; i++) {
		const float *s = maps + 2 * i;
		const float *v = x + 2 * (i % voxels);

		in[2 * i] = s[0] * v[0] - s[1] * v[1];
		in[2 * i + 1] = s[0] * v[1] + s[1] * v[0];
	}
	direct(e, in, each);
	memset(out, 0, voxels * 16);
	for (size_t i = 0; i < e->coils * voxels; i++) {
		const float *s = maps + 2 * i;
		double *o = out + 2 * (i % voxels);

		o[0] += s[0] * each[2 * i] + s[1] * each[2 * i + 1];
		o[1] += s[0] * each[2 * i + 1] - s[1] * each[2 * i];
	}
	free(in);
	free(each);
}

static void against_direct(uint32_t dims, uint32_t x, uint32_t y, uint32_t z, uint32_t coils,
			   enum bs_basis basis)
{
	struct bs_toeplitz_spec s = { dims, { x, y, z }, coils, 0, 0, false };
	struct bs_q_spec qs = { dims, { x, y, z }, SAMPLES, basis, BS_SUM_EXACT, 0.0 };
	struct bs_exact_spec e = { .dims = dims,
				   .matrix = { x, y, z },
				   .coils = coils,
				   .samples = SAMPLES,
				   .states = 1,
				   .basis = basis,
				   .twice = true };
	size_t voxels = (size_t)x * y * z;
	size_t values = voxels * coils * 2;
	float *q = malloc(bs_q_size(&qs) * 8);
	float *in = malloc(values * 4);
	float *maps = malloc(values * 4);
	float *out = malloc(values * 4);
	double *truth = malloc(values * 8);
	struct bs_arena arena;
	struct bs_toeplitz *plan;
	struct bs_fail why = { 0 };
	uint64_t seed = 5;
	double error;

	for (uint32_t m = 0; m < SAMPLES; m++) {
		for (uint32_t a = 0; a < dims; a++)
			k[m * dims + a] = (float)(check_uniform(&seed) - 0.5);
		weight[m] = (float)(0.1 + check_uniform(&seed));
	}
	random_values(in, values, 3);
	random_values(maps, values, 9);
	CHECK(bs_q_make(q, &qs, k, weight, &(struct bs_q_making){ .team = team }, &why) == 0,
	      "Q %s", why.text);
	plan = open_plan(&arena, &s, q);
	if (plan == NULL)
		return;
	bs_toeplitz_apply(plan, coils, in, out);
	direct(&e, in, truth);
	error = rel(out, truth, values);
	CHECK(error <= 1e-5, "%ux%ux%u, %u coils, basis %d: %.2e <= 1e-5", x, y, z, coils,
	      (int)basis, error);
	bs_toeplitz_sense(plan, coils, maps, in, out);
	sense_truth(&e, maps, in, voxels, truth);
	error = rel(out, truth, voxels * 2);
	CHECK(error <= 1e-5, "the same with sensitivities: %.2e", error);
	bs_toeplitz_apply(plan, coils, in, out);
	bs_toeplitz_apply(plan, coils, in, in);
	CHECK(memcmp(in, out, values * 4) == 0, "in place: the same bits");
	bs_toeplitz_close(plan);
	bs_arena_close(&arena);
	free(q);
	free(in);
	free(maps);
	free(out);
	free(truth);
}

/* Every size that bs_line_size gives up to 600: Q = delta leaves the image as it is. */
static void identity(void)
{
	int bad = 0;
	double worst = 0.0;

	for (uint32_t n = 1; n <= 300; n += n < 70 ? 1 : 7) {
		struct bs_toeplitz_spec s = { 2, { n, 301 - n, 1 }, 1, 0, 0, false };
		struct bs_q_spec qs = {
			2, { n, 301 - n, 1 }, 1, BS_BASIS_DELTA, BS_SUM_EXACT, 0.0
		};
		size_t values = (size_t)n * (301 - n) * 2;
		float *q = calloc(bs_q_size(&qs), 8);
		float *in = malloc(values * 4);
		float *out = malloc(values * 4);
		struct bs_need need = { 0 };
		struct bs_arena arena;
		struct bs_toeplitz *plan;
		double error;

		q[0] = 1.0f;
		random_values(in, values, n);
		if (bs_toeplitz_need(&s, &need, NULL) != 0 ||
		    bs_arena_open(&arena, need.total_bytes, NULL) != 0 ||
		    bs_toeplitz_plan(&plan, &s, q, &arena, team, NULL) != 0) {
			bad++;
			continue;
		}
		bs_toeplitz_apply(plan, 1, in, out);
		error = check_rel(out, in, values);
		bad += !(error <= 1e-6);
		worst = error > worst ? error : worst;
		bs_toeplitz_close(plan);
		bs_arena_close(&arena);
		free(q);
		free(in);
		free(out);
	}
	CHECK(bad == 0, "%d sizes where Q = delta is not the identity; worst %.1e <= 1e-6", bad,
	      worst);
}

static void threads(void)
{
	struct bs_toeplitz_spec s = { 3, { 20, 18, 9 }, 3, 0, 0, false };
	struct bs_q_spec qs = { 3, { 20, 18, 9 }, SAMPLES, BS_BASIS_DELTA, BS_SUM_EXACT, 0.0 };
	size_t values = (size_t)20 * 18 * 9 * 2;
	float *q = malloc(bs_q_size(&qs) * 8);
	float *in = malloc(values * 3 * 4);
	float *maps = malloc(values * 3 * 4);
	float *first = malloc(values * 4);
	float *out = malloc(values * 4);
	struct bs_team *kept = team;

	random_values(in, values, 1);
	random_values(maps, values * 3, 2);
	random_values(k, (size_t)SAMPLES * 3, 4);
	(void)bs_q_make(q, &qs, k, NULL, &(struct bs_q_making){ .team = team }, NULL);
	for (int members = 1; members <= 3; members++) {
		struct bs_arena arena;
		struct bs_toeplitz *plan;

		(void)bs_team_open(&team, members, NULL);
		plan = open_plan(&arena, &s, q);
		bs_toeplitz_sense(plan, 3, maps, in, members == 1 ? first : out);
		if (members > 1)
			CHECK(memcmp(first, out, values * 4) == 0, "%d threads: the same bits",
			      members);
		bs_toeplitz_close(plan);
		bs_arena_close(&arena);
		bs_team_close(team);
	}
	team = kept;
	free(q);
	free(in);
	free(maps);
	free(first);
	free(out);
}

int main(void)
{
	enum bs_isa best = bs_isa();
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	struct bs_toeplitz_spec bad = { .dims = 3, .matrix = { 16, 16, 0 }, .coils = 1 };

	(void)bs_team_open(&team, 2, NULL);
	for (int isa = BS_ISA_V2; isa <= (int)best; isa++) {
		CHECK(isa_use((enum bs_isa)isa), "instruction set %s", isa_name[isa]);
		against_direct(2, 16, 16, 1, 1, BS_BASIS_DELTA);
		against_direct(2, 37, 22, 1, 3, BS_BASIS_BOX);
		against_direct(3, 16, 16, 16, 1, BS_BASIS_DELTA);
		against_direct(3, 19, 7, 12, 2, BS_BASIS_BOX);
		against_direct(3, 4, 5, 4, 2, BS_BASIS_DELTA); /* lines of a single pass */
		identity();
	}
	threads();
	CHECK(bs_toeplitz_need(&bad, &need, &why) == BS_ERR_CONFIG, "a matrix of 0 refused: %s",
	      why.text);
	CHECK(bs_line_size(BS_LINE_MAX + 1) == 0, "a line beyond the longest has no size");
	bs_team_close(team);
	return check_done();
}
