/*
 * test/unit/core/test_prox.c - the proximal solver on a problem whose minimum is known
 *
 * A is a diagonal a and P the sum of |x|: the minimum is b/a, shrunk by the weight over a. Float
 * vectors tell objectives apart to 1e-9 of their gain; at a smallest a of 1/40 an image that is so
 * near in its objective is within 1e-4 of the minimum.
 */
#include "core/solve/prox.h"
#include "core/thread/clock.h"
#include "test/support/check.h"

#include <string.h>

#define N      9000 /* more than one block of sums */
#define WEIGHT 0.2
#define BOUND  1e-4

struct problem {
	double a[N];
	float b[2 * N], want[2 * N];
	int applied, refined, exact_after; /* prox is exact after so many refinements */
};

static struct problem problem;

static void make(void)
{
	uint64_t seed = 77;

	for (int i = 0; i < N; i++) {
		const double re = check_uniform(&seed) - 0.5;
		const double im = check_uniform(&seed) - 0.5;
		const double far = hypot(re, im);
		const double keep = far > WEIGHT ? 1.0 - WEIGHT / far : 0.0;

		problem.a[i] = i % 2 == 0 ? 1.0 : 0.025 + check_uniform(&seed);
		problem.b[2 * i] = (float)re;
		problem.b[2 * i + 1] = (float)im;
		problem.want[2 * i] = (float)(keep * re / problem.a[i]);
		problem.want[2 * i + 1] = (float)(keep * im / problem.a[i]);
	}
}

static void apply(void *self, const float *in, float *out)
{
	struct problem *p = self;

	for (int i = 0; i < 2 * N; i++)
		out[i] = (float)(p->a[i / 2] * (double)in[i]);
	p->applied++;
}

static double value(void *self, const float *x)
{
	double sum = 0.0;

	(void)self;
	for (int i = 0; i < N; i++)
		sum += hypot((double)x[2 * i], (double)x[2 * i + 1]);
	return WEIGHT * sum;
}

static double prox(void *self, double step, uint32_t iteration, float *x)
{
	const struct problem *p = self;
	/* not exact: it shrinks too little */
	const double t = WEIGHT * step * (p->refined >= p->exact_after ? 1.0 : 0.5);

	(void)iteration;
	for (int i = 0; i < N; i++) {
		const double far = hypot((double)x[2 * i], (double)x[2 * i + 1]);
		const float keep = far > t ? (float)(1.0 - t / far) : 0.0f;

		x[2 * i] *= keep;
		x[2 * i + 1] *= keep;
	}
	return value(self, x);
}

static bool refine(void *self)
{
	return ++((struct problem *)self)->refined < 4;
}

struct bench {
	struct bs_arena arena;
	struct bs_team *team;
	struct bs_prox *prox;
};

static void open_bench(struct bench *b, int members)
{
	const struct bs_prox_spec s = { N, 500 };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_prox_need(&s, &need, &why);

	memset(b, 0, sizeof(*b));
	if (rc == 0)
		rc = bs_arena_open(&b->arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_team_open(&b->team, members, &why);
	if (rc == 0)
		rc = bs_prox_plan(&b->prox, &s, &b->arena, b->team, &why);
	CHECK(rc == 0 && b->arena.used == need.total_bytes, "plan takes what need states %s",
	      why.text);
	problem.applied = problem.refined = problem.exact_after = 0;
}

static void close_bench(struct bench *b)
{
	bs_prox_close(b->prox);
	bs_team_close(b->team);
	bs_arena_close(&b->arena);
}

static struct bs_prox_result solve(struct bench *b, double largest, float *x,
				   const struct bs_prox_stop *stop)
{
	const struct bs_penalty penalty = { &problem, value, prox,
					    problem.exact_after > 0 ? refine : NULL, false };
	const struct bs_prox_system system = { &problem, apply, largest, &penalty };
	struct bs_prox_result result;

	bs_prox_solve(b->prox, &system, problem.b, x, stop, &result);
	for (uint32_t i = 0; i < result.iterations; i++)
		if (!(result.history[i + 1] <= result.history[i]))
			CHECK(false, "the objective rises at %u", i + 1);
	return result;
}

static void minimum(void)
{
	const struct bs_prox_stop stop = { 500, 1e-10, INT64_MAX, false };
	const struct bs_prox_stop again = { 500, 1e-10, INT64_MAX, true };
	const struct bs_prox_system system = { &problem, apply, 0.0, NULL };
	static float x[2 * N];
	static float other[2 * N];
	struct bs_prox_result r;
	struct bench b;
	double largest;

	for (int members = 1; members <= 7; members += 3) {
		open_bench(&b, members);
		largest = bs_prox_power(b.prox, &system, BS_PROX_POWER_STEPS);
		CHECK(largest > 1.02 && largest < 1.06, "the largest eigenvalue: %.4f", largest);
		r = solve(&b, largest, members == 1 ? x : other, &stop);
		CHECK(members == 1 || memcmp(x, other, sizeof(x)) == 0,
		      "%d threads: the same bytes", members);
		close_bench(&b);
	}
	CHECK(check_rel(x, problem.want, (size_t)2 * N) < BOUND && r.reason == BS_PROX_TOLERANCE,
	      "%.1e from the minimum after %u, %s", check_rel(x, problem.want, (size_t)2 * N),
	      r.iterations, bs_prox_reason_words(r.reason));
	open_bench(&b, 1);
	largest = r.objective;
	r = solve(&b, 1.05, x, &again);
	CHECK(r.iterations <= 3 && fabs(r.objective - largest) < 1e-7 * fabs(largest),
	      "from the minimum: %u iterations, %.9g was %.9g", r.iterations, r.objective, largest);
	close_bench(&b);
}

/* A step four times too long, and a proximal step that is not exact, are found out. */
static void found_out(void)
{
	const struct bs_prox_stop stop = { 500, 1e-10, INT64_MAX, false };
	static float x[2 * N];
	struct bs_prox_result r;
	struct bench b;

	open_bench(&b, 2);
	r = solve(&b, 0.26, x, &stop);
	CHECK(check_rel(x, problem.want, (size_t)2 * N) < BOUND,
	      "a step too long: %.1e from the minimum after %u",
	      check_rel(x, problem.want, (size_t)2 * N), r.iterations);
	close_bench(&b);
	open_bench(&b, 2);
	problem.exact_after = 2;
	r = solve(&b, 1.05, x, &stop);
	CHECK(problem.refined >= 2 && check_rel(x, problem.want, (size_t)2 * N) < BOUND,
	      "refined %d times: %.1e from the minimum after %u", problem.refined,
	      check_rel(x, problem.want, (size_t)2 * N), r.iterations);
	close_bench(&b);
}

static void ends(void)
{
	struct bs_prox_stop stop = { 7, 0.0, INT64_MAX, false };
	static float x[2 * N];
	struct bs_prox_result r;
	struct bench b;
	float was;

	open_bench(&b, 1);
	r = solve(&b, 1.05, x, &stop);
	CHECK(r.iterations == 7 && r.reason == BS_PROX_ITERATIONS && problem.applied == 7,
	      "7 iterations, %d applications", problem.applied);
	stop.deadline_ns = bs_now_ns() - 1;
	r = solve(&b, 1.05, x, &stop);
	CHECK(r.iterations == 1 && r.reason == BS_PROX_DEADLINE && r.objective < 0.0,
	      "a deadline already past: %u, %s", r.iterations, bs_prox_reason_words(r.reason));
	stop.deadline_ns = INT64_MAX;
	was = problem.b[11];
	problem.b[11] = NAN;
	r = solve(&b, 1.05, x, &stop);
	for (int i = 0; i < 2 * N; i++)
		if (x[i] != 0.0f)
			r.iterations = 99;
	CHECK(r.iterations <= 1, "no number in the data: the start is left, after %u",
	      r.iterations);
	problem.b[11] = was;
	close_bench(&b);
}

static void refusals(void)
{
	const struct bs_prox_spec wrong[] = {
		{ 0, 1 }, { 1, 0 }, { UINT64_MAX, 1 }, { 1, 1u << 30 }
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct bs_need need = { 0 };
		struct bs_fail why = { 0 };

		CHECK(bs_prox_need(&wrong[i], &need, &why) == BS_ERR_CONFIG, "refused: %s",
		      why.text);
	}
}

int main(void)
{
	make();
	minimum();
	found_out();
	ends();
	refusals();
	return check_done();
}
