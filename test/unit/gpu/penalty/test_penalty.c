/*
 * test/unit/gpu/penalty/test_penalty.c - each prior's proximal step by itself
 *
 * A step's z has a smaller 1/2 ||z - v||^2 + t P(z) than any other image; P is summed in double
 * precision from its definition. Steps of wavelets and of low rank are exact (1e-6, floats), those
 * of the others iterate (1e-3).
 */
#include "gpu/penalty/penalty.h"
#include "test/support/check.h"
#include "test/support/plan/prior.h"

struct step {
	enum bs_prior kind;
	uint32_t n[3], images;
	double t, slack; /* weight; how far above the least the step may end, relative */
};

/* Odd sizes, one voxel along an axis, more frames than voxels of a block; the dual is not exact. */
static const struct step steps[] = {
	{ BS_PRIOR_WAVELET, { 13, 34, 1 }, 2, 0.3, 1e-6 },
	{ BS_PRIOR_WAVELET, { 20, 9, 24 }, 1, 0.3, 1e-6 },
	{ BS_PRIOR_WAVELET, { 1, 2, 36 }, 3, 0.3, 1e-6 },
	{ BS_PRIOR_TV, { 13, 11, 1 }, 2, 0.2, 1e-3 },
	{ BS_PRIOR_TV, { 7, 5, 9 }, 1, 0.2, 1e-3 },
	{ BS_PRIOR_TV_FRAMES, { 5, 3, 3 }, 9, 0.3, 1e-3 },
	{ BS_PRIOR_TV_CYCLE, { 5, 3, 3 }, 9, 0.3, 1e-3 },
	{ BS_PRIOR_LOW_RANK, { 13, 11, 1 }, 5, 1.5, 1e-6 },
	{ BS_PRIOR_LOW_RANK, { 6, 5, 1 }, 23, 1.5, 1e-6 },
	{ BS_PRIOR_W, { 9, 7, 1 }, 2, 0.2, 1e-3 },
};

#define BLOCK 4

static double complex difference(const double complex *x, size_t i, size_t stride, uint32_t n)
{
	const size_t at = i / stride % n;

	return x[i] - x[at > 0 ? i - stride : i + (n - 1) * stride];
}

static double tv_of(const struct step *s, const double complex *x, size_t n)
{
	const uint32_t *m = s->n;
	double sum = 0.0;

	for (size_t i = 0; i < n; i++) {
		const double a = cabs(difference(x, i, 1, m[0]));
		const double b = cabs(difference(x, i, m[0], m[1]));
		const double c = cabs(difference(x, i, (size_t)m[0] * m[1], m[2]));

		sum += sqrt(a * a + b * b + c * c);
	}
	return sum;
}

/* W has the differences of neighbors in memory, the first value's as it is. */
static double w_of(const double complex *x, size_t voxels)
{
	double sum = cabs(x[0]);

	for (size_t i = 1; i < voxels; i++)
		sum += cabs(x[i] - x[i - 1]) * (i % 3 == 0 ? 0.5 : 1.0);
	return sum;
}

static double value_of(const struct step *s, const double complex *x)
{
	const struct prior_problem p = { .kind = s->kind,
					 .columns = 1,
					 .n1 = s->n[0],
					 .n2 = s->n[1],
					 .frames = s->images,
					 .block = BLOCK };
	const size_t voxels = (size_t)s->n[0] * s->n[1] * s->n[2];
	double sum = 0.0;

	if (s->kind == BS_PRIOR_LOW_RANK)
		return prior_value(&p, x);
	for (size_t i = 0; i < voxels * s->images; i++)
		if ((s->kind == BS_PRIOR_TV_FRAMES && i >= voxels) || s->kind == BS_PRIOR_TV_CYCLE)
			sum += cabs(difference(x, i, voxels, s->images));
	for (uint32_t i = 0; i < s->images; i++)
		sum += s->kind == BS_PRIOR_WAVELET ? prior_wavelet(x + i * voxels, s->n)
		       : s->kind == BS_PRIOR_TV    ? tv_of(s, x + i * voxels, voxels)
		       : s->kind == BS_PRIOR_W     ? w_of(x + i * voxels, voxels)
						   : 0.0;
	return sum;
}

static double step_objective(const struct step *s, const double complex *z, const double complex *v,
			     size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += 0.5 * creal((z[i] - v[i]) * conj(z[i] - v[i]));
	return sum + s->t * value_of(s, z);
}

static void make_w(struct bs_csr *w, size_t voxels)
{
	(void)bs_csr_open(w, voxels, voxels, 2 * voxels - 1, false, NULL);
	for (size_t i = 0, e = 0; i < voxels; i++) {
		if (i > 0) {
			w->col[e] = (uint32_t)i - 1;
			w->value[e++] = i % 3 == 0 ? -0.5f : -1.0f;
		}
		w->col[e] = (uint32_t)i;
		w->value[e++] = i > 0 && i % 3 == 0 ? 0.5f : 1.0f;
		w->start[i + 1] = e;
	}
	CHECK(bs_csr_seal(w, NULL) == 0, "W");
}

/* Takes a step from v, some times over: the dual goes on from where it ended. Returns its value. */
static double take_step(const struct step *s, const struct bs_csr *w, int members, const float *v,
			float *z)
{
	const struct bs_penalty_spec spec = {
		s->kind, { s->n[0], s->n[1], s->n[2] }, s->images, BLOCK, false
	};
	const size_t bytes = (size_t)s->n[0] * s->n[1] * s->n[2] * s->images * 8;
	struct bs_penalty_plan *plan = NULL;
	struct bs_arena arena = { 0 };
	struct bs_team *team = NULL;
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	double value = NAN;
	int rc = bs_penalty_need(&spec, &need, &why);

	if (rc == 0)
		rc = bs_team_open(&team, members, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_penalty_plan(&plan, &spec, w, &arena, team, &why);
	if (rc == 0) {
		const struct bs_penalty *p = bs_penalty_get(plan);

		bs_penalty_lambda(plan, 2.0 * s->t);
		for (uint32_t i = 0; i < 40; i++) {
			memcpy(z, v, bytes);
			value = p->prox(p->self, 0.5, i, z) / (2.0 * s->t);
		}
		if (fabs(p->value(p->self, z) / (2.0 * s->t) - value) > 1e-5 * value)
			value = NAN;
	}
	CHECK(rc == 0, "a plan %s", why.text);
	bs_penalty_close(plan);
	bs_team_close(team);
	bs_arena_close(&arena);
	return value;
}

static void one_step(const struct step *s)
{
	const size_t voxels = (size_t)s->n[0] * s->n[1] * s->n[2];
	const size_t n = voxels * s->images;
	float *v = malloc(n * 8);
	float *z = malloc(n * 8);
	float *again = malloc(n * 8);
	struct bs_csr w = { 0 };
	double complex *from;
	double complex *to;
	double least;
	double value;
	uint64_t seed = 3;
	int below = 0;

	if (s->kind == BS_PRIOR_W)
		make_w(&w, voxels);
	for (size_t i = 0; i < 2 * n; i++)
		v[i] = (float)(check_uniform(&seed) - 0.3);
	value = take_step(s, &w, 1, v, z);
	from = prior_pairs(v, n);
	to = prior_pairs(z, n);
	least = step_objective(s, to, from, n);
	CHECK(fabs(value_of(s, to) / value - 1.0) < 1e-5, "%s %ux%ux%u x %u: value %.7g, not %.7g",
	      bs_prior_names[s->kind], s->n[0], s->n[1], s->n[2], s->images, value,
	      value_of(s, to));
	for (int i = 0; i < 100; i++) {
		const double far = i % 2 != 0 ? 3e-3 : 0.1;
		const size_t only = check_uniform(&seed) * (double)n;
		double complex *near = prior_pairs(z, n);

		for (size_t j = 0; j < n; j++)
			if (i % 4 < 2 || j == only)
				near[j] += far * (check_uniform(&seed) - 0.5 +
						  (check_uniform(&seed) - 0.5) * I);
		for (size_t j = 0; j < n && i % 8 == 0; j++) /* toward where it came from */
			near[j] = to[j] + 0.02 * (from[j] - to[j]);
		below += step_objective(s, near, from, n) < least * (1.0 - s->slack);
		free(near);
	}
	CHECK(below == 0 && least < step_objective(s, from, from, n),
	      "a step has the least: %d of 100 nearby are below", below);
	for (int members = 2; members <= 7; members += 5) {
		(void)take_step(s, &w, members, v, again);
		CHECK(memcmp(z, again, n * 8) == 0, "%d threads: the same bytes", members);
	}
	bs_csr_close(&w);
	free(v);
	free(z);
	free(again);
	free(from);
	free(to);
}

/* Blocks whose phase turns are of rank 1 as those without: BART's bound sets such ones to 0. */
static void turning(void)
{
	const struct step s = { BS_PRIOR_LOW_RANK, { 8, 8, 1 }, 4, 0.01, 0.0 };
	float v[8 * 8 * 4 * 2];
	float z[8 * 8 * 4 * 2];
	double least = 1.0;

	for (int i = 0; i < 8 * 8 * 4; i++) {
		v[2 * i] = i % 2 == 0 ? 1.0f : 0.0f;
		v[2 * i + 1] = i % 2 == 0 ? 0.0f : 1.0f;
	}
	(void)take_step(&s, NULL, 1, v, z);
	for (int i = 0; i < 8 * 8 * 4; i++)
		least = fmin(least, hypot((double)z[2 * i], (double)z[2 * i + 1]));
	/* a block of 16 voxels and 4 frames has the singular value 8 */
	CHECK(fabs(least - (1.0 - 0.01 / 8.0)) < 1e-5, "phase that turns: %.6f is left", least);
}

static void refusals(void)
{
	const struct bs_penalty_spec wrong[] = {
		{ BS_PRIOR_NONE, { 8, 8, 1 }, 1, 8, false },
		{ BS_PRIORS, { 8, 8, 1 }, 1, 8, false },
		{ BS_PRIOR_TV, { 0, 8, 1 }, 1, 8, false },
		{ BS_PRIOR_TV, { 8, 8, 1 }, 0, 8, false },
		{ BS_PRIOR_LOW_RANK, { 8, 8, 1 }, 2, 0, false },
		{ BS_PRIOR_LOW_RANK, { 8, 8, 1 }, 2, 33, false },
		{ BS_PRIOR_TV_FRAMES, { 8, 8, 1 }, 100000, 8, false },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct bs_need need = { 0 };
		struct bs_fail why = { 0 };

		CHECK(bs_penalty_need(&wrong[i], &need, &why) == BS_ERR_CONFIG, "refused: %s",
		      why.text);
	}
}

int main(void)
{
	CHECK(bs_dense_open(NULL) == 0, "LAPACK");
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		one_step(&steps[i]);
	turning();
	refusals();
	return check_done();
}
