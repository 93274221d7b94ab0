/*
 * test/unit/gpu/test_unfold.c - Cartesian SENSE against the dense system by LAPACK
 *
 * The dense system is formed from the definitions (sums of exponentials over the lines that came,
 * sensitivities, W), nothing of the operator under test. Tolerance 1e-5 of the solution, as for
 * gpu/solve/ls.h: single precision, condition numbers of some hundreds at most.
 */
#define _DEFAULT_SOURCE /* M_PI */
#include "gpu/calibrate/dense.h"
#include "gpu/image/unfold.h"
#include "test/support/check.h"
#include "test/support/isa.h"

#include <complex.h>
#include <string.h>

enum lines { REGULAR, CAIPI, IRREGULAR };

struct problem {
	const char *name;
	struct bs_unfold_spec s;
	enum lines lines;
	uint32_t step; /* of regular lines and CAIPI */
	bool w;
	int members;
};

static double l2;
static bool off; /* W is not used */

struct parts {
	size_t voxels, unknowns, coils, lines;
	float *maps, *images, *rho, *again;
	uint8_t *line;
	double complex *a, *b;
	struct bs_csr w;
};

static double complex pair(const float *x, size_t i)
{
	return (double)x[2 * i] + (double)x[2 * i + 1] * I;
}

static float *random_floats(size_t n, uint64_t seed)
{
	float *x = malloc(n * 4);

	for (size_t i = 0; i < n; i++)
		x[i] = (float)(check_uniform(&seed) - 0.5);
	return x;
}

static void make_lines(struct parts *p, const struct problem *t)
{
	const uint32_t Ey = t->s.encoded[0];
	uint64_t seed = 5;

	for (uint32_t l = 0; l < p->lines; l++) {
		const uint32_t y = l % Ey;
		const uint32_t z = l / Ey;

		switch (t->lines) {
		case REGULAR:
			p->line[l] = y % t->step == t->step / 2;
			break;
		case CAIPI:
			p->line[l] = (y + z) % t->step == 0;
			break;
		case IRREGULAR:
			p->line[l] = check_uniform(&seed) < 0.6;
		}
	}
}

/* Differences between neighbors in memory, with uneven weights, and a row that holds the level. */
static void make_w(struct parts *p)
{
	const size_t n = p->voxels - 1;
	uint64_t seed = 31;

	(void)bs_csr_open(&p->w, n + 1, p->voxels, 2 * n + 1, false, NULL);
	for (size_t i = 0; i < n; i++) {
		const float weight = (float)(0.2 + check_uniform(&seed));

		p->w.col[2 * i] = (uint32_t)i;
		p->w.col[2 * i + 1] = (uint32_t)i + 1;
		p->w.value[2 * i] = -weight;
		p->w.value[2 * i + 1] = weight;
		p->w.start[i + 1] = 2 * (i + 1);
	}
	p->w.col[2 * n] = 0;
	p->w.value[2 * n] = 0.5f;
	p->w.start[n + 1] = 2 * n + 1;
	CHECK(bs_csr_seal(&p->w, NULL) == 0, "W");
}

/* F^H M F between two voxels of a column, dy and dz apart. */
static double complex spread(const struct parts *p, const struct bs_unfold_spec *s, int dy, int dz)
{
	double complex sum = 0.0;

	for (uint32_t l = 0; l < p->lines; l++) {
		const int ky = (int)(l % s->encoded[0]) - (int)(s->encoded[0] / 2);
		const int kz = (int)(l / s->encoded[0]) - (int)(s->encoded[1] / 2);

		if (p->line[l])
			sum += cexp(2.0 * M_PI * I *
				    ((double)ky * dy / s->encoded[0] +
				     (double)kz * dz / s->encoded[1]));
	}
	return sum / (double)p->lines;
}

static void make_dense(struct parts *p, const struct problem *t)
{
	const uint32_t *N = t->s.matrix;
	const size_t V = p->voxels;

	memset(p->a, 0, p->unknowns * p->unknowns * sizeof(*p->a));
	for (size_t i = 0; i < p->unknowns; i++)
		for (size_t j = 0; j < p->unknowns; j++) {
			const size_t v = i % V;
			const size_t w = j % V;
			double complex power = 0.0;

			if (v % N[0] != w % N[0])
				continue;
			for (size_t c = 0; c < p->coils; c++)
				power += conj(pair(p->maps, (i / V * p->coils + c) * V + v)) *
					 pair(p->maps, (j / V * p->coils + c) * V + w);
			p->a[i + j * p->unknowns] =
				power * spread(p, &t->s,
					       (int)(v / N[0] % N[1]) - (int)(w / N[0] % N[1]),
					       (int)(v / N[0] / N[1]) - (int)(w / N[0] / N[1]));
			if (!t->w && i == j)
				p->a[i + j * p->unknowns] += t->s.lambda;
			if (i == j)
				p->a[i + j * p->unknowns] += off && l2 == 0.0 ? t->s.lambda : l2;
		}
	for (uint64_t row = 0; t->w && !off && row < p->w.rows; row++)
		for (uint64_t e = p->w.start[row]; e < p->w.start[row + 1]; e++)
			for (uint64_t g = p->w.start[row]; g < p->w.start[row + 1]; g++)
				for (size_t m = 0; m < t->s.sets; m++)
					p->a[p->w.col[e] + m * V +
					     (p->w.col[g] + m * V) * p->unknowns] +=
						t->s.lambda * (double)p->w.value[e] *
						(double)p->w.value[g];
	for (size_t i = 0; i < p->unknowns; i++) {
		p->b[i] = 0.0;
		for (size_t c = 0; c < p->coils; c++)
			p->b[i] += conj(pair(p->maps, (i / V * p->coils + c) * V + i % V)) *
				   pair(p->images, c * V + i % V);
	}
}

static double rel(const float *x, const double complex *y, size_t n)
{
	double e = 0.0;
	double r = 0.0;

	for (size_t i = 0; i < n; i++) {
		const double complex d = pair(x, i) - y[i];

		e += creal(d * conj(d));
		r += creal(y[i] * conj(y[i]));
	}
	return sqrt(e / r);
}

static void check_apply(struct bs_unfold *plan, const struct parts *p)
{
	double complex *truth = calloc(p->unknowns, sizeof(*truth));
	float *x = random_floats(p->unknowns * 2, 77);
	double e;

	for (size_t j = 0; j < p->unknowns; j++)
		for (size_t i = 0; i < p->unknowns; i++)
			truth[i] += p->a[i + j * p->unknowns] * pair(x, j);
	bs_unfold_apply(plan, x, p->again);
	e = rel(p->again, truth, p->unknowns);
	/* two transforms and a sum over coils: some tens of roundings of 6e-8 */
	CHECK(e <= 2e-6, "the system's matrix: %.1e <= 2e-6", e);
	free(truth);
	free(x);
}

static int plan_in(struct bs_unfold **plan, const struct problem *t, const struct parts *p,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	struct bs_unfold_spec s = t->s;
	struct bs_need need = { 0 };
	int rc;

	s.l2 = l2;
	rc = bs_unfold_need(&s, &need, why);
	if (rc == 0)
		rc = bs_arena_open(arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_unfold_plan(plan, &s, t->w ? &p->w : NULL, arena, team, why);
	CHECK(rc == 0 && arena->used == need.total_bytes, "%s: plan takes what need states %s",
	      t->name, why->text);
	return rc;
}

/* The image with so many threads; 0: the plan was made. */
static int solve(const struct problem *t, const struct parts *p, int members, float *rho,
		 bool system, struct bs_pcg_result *result)
{
	const struct bs_pcg_stop stop = { t->s.iterations, 1e-7, INT64_MAX };
	struct bs_unfold *plan = NULL;
	struct bs_arena arena = { 0 };
	struct bs_team *team = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_team_open(&team, members, &why);

	if (rc == 0)
		rc = plan_in(&plan, t, p, &arena, team, &why);
	if (rc == 0 && t->w) {
		bs_unfold_use_w(plan, off); /* changed back and forth */
		bs_unfold_use_w(plan, !off);
	}
	if (rc == 0) {
		bs_unfold_solve(plan, p->maps, p->line, p->images, rho, &stop, result);
		if (system)
			check_apply(plan, p);
	}
	bs_unfold_close(plan);
	bs_arena_close(&arena);
	bs_team_close(team);
	return rc;
}

static void one(const struct problem *t)
{
	struct parts p = { .voxels = (size_t)t->s.matrix[0] * t->s.matrix[1] * t->s.matrix[2],
			   .coils = t->s.coils,
			   .lines = (size_t)t->s.encoded[0] * t->s.encoded[1] };
	struct bs_pcg_result result = { 0 };
	struct bs_fail why = { 0 };
	double e;

	p.unknowns = p.voxels * t->s.sets;
	p.maps = random_floats(p.unknowns * p.coils * 2, 17);
	p.images = random_floats(p.voxels * p.coils * 2, 19);
	p.rho = malloc(p.unknowns * 8);
	p.again = malloc(p.unknowns * 8);
	p.line = malloc(p.lines);
	p.a = malloc(p.unknowns * p.unknowns * sizeof(*p.a));
	p.b = malloc(p.unknowns * sizeof(*p.b));
	make_lines(&p, t);
	if (t->w)
		make_w(&p);
	make_dense(&p, t);
	if (solve(t, &p, t->members, p.rho, true, &result) == 0 &&
	    solve(t, &p, 1, p.again, false, &result) == 0) {
		CHECK(memcmp(p.rho, p.again, p.unknowns * 8) == 0,
		      "%s: the same bytes with 1 and %d threads", t->name, t->members);
		CHECK(bs_dense_open(&why) == 0 &&
			      bs_dense_solve((uint32_t)p.unknowns, 1, (double *)p.a, (double *)p.b,
					     &why) == 0,
		      "LAPACK solves it: %s", why.text);
		e = rel(p.rho, p.b, p.unknowns);
		CHECK(e <= 1e-5, "%s: %.1e of the dense solution after %u iterations", t->name, e,
		      result.iterations);
	}
	if (t->w)
		bs_csr_close(&p.w);
	free(p.maps);
	free(p.images);
	free(p.rho);
	free(p.again);
	free(p.line);
	free(p.a);
	free(p.b);
}

/* A deadline in the past leaves one iteration, and says so. */
static void deadline(void)
{
	const struct problem t = { "deadline", { { 16, 1 }, { 33, 16, 1 }, 3, 1, 40, 0.05, 0, 0 },
				   REGULAR,    2,
				   false,      2 };
	const size_t voxels = 33 * 16;
	struct parts p = { .voxels = voxels, .lines = 16 };
	const struct bs_pcg_stop stop = { 40, 0.0, 0 };
	struct bs_pcg_result result = { 0 };
	struct bs_unfold *plan = NULL;
	struct bs_arena arena = { 0 };
	struct bs_team *team = NULL;
	struct bs_fail why = { 0 };

	p.maps = random_floats(voxels * 6, 1);
	p.images = random_floats(voxels * 6, 2);
	p.rho = malloc(voxels * 8);
	p.line = malloc(16);
	make_lines(&p, &t);
	if (bs_team_open(&team, 2, &why) == 0 && plan_in(&plan, &t, &p, &arena, team, &why) == 0) {
		bs_unfold_solve(plan, p.maps, p.line, p.images, p.rho, &stop, &result);
		CHECK(result.iterations == 1 && result.deadline_stop,
		      "a deadline in the past: %u iterations", result.iterations);
	}
	bs_unfold_close(plan);
	bs_arena_close(&arena);
	bs_team_close(team);
	free(p.maps);
	free(p.images);
	free(p.rho);
	free(p.line);
}

static void refusals(void)
{
	const struct bs_unfold_spec bad[] = {
		{ { 16, 1 }, { 16, 17, 1 }, 2, 1, 10, 0.0, 0, 0 }, /* matrix y beyond the lines */
		{ { 16, 2 }, { 16, 16, 3 }, 2, 1, 10, 0.0, 0, 0 },
		{ { 16, 1 }, { 16, 16, 1 }, 0, 1, 10, 0.0, 0, 0 },
		{ { 16, 1 }, { 16, 16, 1 }, 2, 3, 10, 0.0, 0, 0 },
		{ { 16, 1 }, { 16, 16, 1 }, 2, 1, 0, 0.0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bs_need need = { 0 };
		struct bs_fail why = { 0 };

		CHECK(bs_unfold_need(&bad[i], &need, &why) == BS_ERR_CONFIG, "refused: %s",
		      why.text);
	}
}

int main(void)
{
	/* clang-format off */
	const struct problem problems[] = {
		{ "R 2", { { 9, 1 }, { 5, 9, 1 }, 4, 1, 400, 0.05, 0, 0 }, REGULAR, 2, false, 2 },
		{ "R 3, 17 columns", { { 12, 1 }, { 17, 12, 1 }, 5, 1, 400, 0.02, 0, 0 },
		  REGULAR, 3, false, 3 },
		{ "every line", { { 11, 1 }, { 18, 11, 1 }, 5, 1, 400, 0.0, 0, 0 }, REGULAR, 1,
		  false, 2 },
		{ "fewer rows than lines", { { 16, 1 }, { 9, 11, 1 }, 3, 1, 400, 0.05, 0, 0 },
		  IRREGULAR, 0, false, 2 },
		{ "irregular lines", { { 14, 1 }, { 7, 14, 1 }, 4, 1, 400, 0.05, 0, 0 },
		  IRREGULAR, 0, false, 2 },
		{ "two sets of maps", { { 10, 1 }, { 6, 10, 1 }, 6, 2, 400, 0.05, 0, 0 },
		  REGULAR, 2, false, 2 },
		{ "W", { { 9, 1 }, { 7, 9, 1 }, 3, 1, 400, 0.2, 0, 0 }, REGULAR, 2, true, 2 },
		{ "3D, CAIPI", { { 7, 6 }, { 3, 7, 5 }, 5, 1, 400, 0.05, 0, 0 }, CAIPI, 3, false,
		  2 },
		{ "3D, irregular, W", { { 6, 5 }, { 4, 5, 5 }, 3, 1, 400, 0.2, 0, 0 },
		  IRREGULAR, 0, true, 2 },
		{ "3D, two sets, W", { { 5, 4 }, { 3, 5, 4 }, 4, 2, 400, 0.2, 0, 0 }, CAIPI, 2,
		  true, 2 },
		{ "one column, 9 coils, W", { { 7, 5 }, { 1, 7, 5 }, 9, 1, 400, 0.2, 0, 0 },
		  IRREGULAR, 0, true, 2 },
		{ "one column, 17 coils, two sets",
		  { { 6, 5 }, { 1, 6, 4 }, 17, 2, 400, 0.05, 0, 0 }, CAIPI, 2, false, 2 },
		{ "one column, 3 coils", { { 11, 1 }, { 1, 11, 1 }, 3, 1, 400, 0.02, 0, 0 },
		  REGULAR, 2, false, 2 },
		{ "32 coils", { { 13, 1 }, { 3, 13, 1 }, 32, 1, 400, 0.05, 0, 0 }, REGULAR, 4,
		  false, 2 },
	};
	/* clang-format on */

	const enum bs_isa best = bs_isa();

	for (int isa = BS_ISA_V2; isa <= (int)best; isa++) {
		CHECK(isa_use((enum bs_isa)isa), "instruction set %s", isa_name[isa]);
		for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
			one(&problems[i]);
		for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
			l2 = 0.1;
			one(&problems[i]);
			off = problems[i].w;
			if (off)
				one(&problems[i]);
			l2 = 0.0; /* lambda stands in for it */
			if (off)
				one(&problems[i]);
			off = false;
		}
	}
	deadline();
	refusals();
	return check_done();
}
