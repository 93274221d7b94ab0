/*
 * test/unit/core/test_pcg.c - conjugate gradients against LAPACK's dense solve, and when they stop
 *
 * Tolerance 1e-5 of the solution (the issue's): vectors are floats (6e-8), condition about 30.
 */
/* Holds: D1 */
#include "core/thread/clock.h"
#include "core/solve/pcg.h"
#include "gpu/calibrate/dense.h"
#include "test/support/check.h"

#include <complex.h>
#include <string.h>

#define N 96

/* CMPLX is not in every compiler's complex.h; here all parts are finite. */
static double complex cplx(double re, double im)
{
	return re + im * I;
}

struct dense {
	double complex a[N * N]; /* column-major */
	double diagonal[N];
	int64_t *clock; /* advanced by each application */
	int64_t cost_ns[8];
	int applied;
};

static struct dense sys;

static void make_system(double shift)
{
	static double complex g[N * N];
	uint64_t seed = 99;

	for (int i = 0; i < N * N; i++) {
		double re = check_uniform(&seed) - 0.5;
		double im = check_uniform(&seed) - 0.5;

		g[i] = cplx(re, im);
	}
	memset(&sys, 0, sizeof(sys));
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double complex sum = i == j ? shift : 0.0;

			for (int l = 0; l < N; l++)
				sum += conj(g[l + i * N]) * g[l + j * N] / N;
			sys.a[i + j * N] = sum;
		}
	for (int i = 0; i < N; i++)
		sys.diagonal[i] = creal(sys.a[i + i * N]);
}

static void apply(void *self, const float *in, float *out)
{
	struct dense *s = self;

	for (int i = 0; i < N; i++) {
		double complex sum = 0.0;

		for (int j = 0; j < N; j++)
			sum += s->a[i + j * N] * cplx((double)in[2 * j], (double)in[2 * j + 1]);
		out[2 * i] = (float)creal(sum);
		out[2 * i + 1] = (float)cimag(sum);
	}
	if (s->clock != NULL)
		*s->clock += s->cost_ns[s->applied % 8];
	s->applied++;
}

static void precond(void *self, const float *in, float *out)
{
	const struct dense *s = self;

	for (int i = 0; i < N; i++) {
		out[2 * i] = (float)((double)in[2 * i] / s->diagonal[i]);
		out[2 * i + 1] = (float)((double)in[2 * i + 1] / s->diagonal[i]);
	}
}

struct bench {
	struct bs_arena arena;
	struct bs_team *team;
	struct bs_pcg *pcg;
};

static void open_bench(struct bench *b, uint64_t size, int members, bool with_precond)
{
	struct bs_pcg_spec s = { size, 200, with_precond };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_pcg_need(&s, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&b->arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_team_open(&b->team, members, &why);
	if (rc == 0)
		rc = bs_pcg_plan(&b->pcg, &s, &b->arena, b->team, &why);
	CHECK(rc == 0 && b->arena.used == need.total_bytes, "plan takes what need states %s",
	      why.text);
}

static void close_bench(struct bench *b)
{
	bs_pcg_close(b->pcg);
	bs_team_close(b->team);
	bs_arena_close(&b->arena);
}

/* ||b - A x|| / ||b|| in double. */
static double true_residual(const float *x, const float *b)
{
	double e = 0.0;
	double r = 0.0;

	for (int i = 0; i < N; i++) {
		double complex want = cplx((double)b[2 * i], (double)b[2 * i + 1]);
		double complex d = want;

		for (int j = 0; j < N; j++)
			d -= sys.a[i + j * N] * cplx((double)x[2 * j], (double)x[2 * j + 1]);
		e += creal(d * conj(d));
		r += creal(want * conj(want));
	}
	return sqrt(e / r);
}

static void random_rhs(float *b)
{
	uint64_t seed = 5;

	for (int i = 0; i < 2 * N; i++)
		b[i] = (float)(check_uniform(&seed) - 0.5);
}

static double against_lapack(const float *x, const float *b)
{
	static double complex a[N * N];
	double complex y[N];
	struct bs_fail why = { 0 };
	double e = 0.0;
	double r = 0.0;

	memcpy(a, sys.a, sizeof(a));
	for (int i = 0; i < N; i++)
		y[i] = cplx((double)b[2 * i], (double)b[2 * i + 1]);
	CHECK(bs_dense_open(&why) == 0 && bs_dense_solve(N, 1, (double *)a, (double *)y, &why) == 0,
	      "LAPACK solves it: %s", why.text);
	for (int i = 0; i < N; i++) {
		double complex d = cplx((double)x[2 * i], (double)x[2 * i + 1]) - y[i];

		e += creal(d * conj(d));
		r += creal(y[i] * conj(y[i]));
	}
	return sqrt(e / r);
}

static void dense_solve(bool with_precond)
{
	struct bs_pcg_system system = { &sys, apply, with_precond ? precond : NULL };
	struct bs_pcg_stop stop = { 200, 1e-7, INT64_MAX };
	struct bs_pcg_result result;
	struct bench b;
	float rhs[2 * N];
	float x[2 * N];
	double e;

	make_system(0.05);
	if (with_precond) /* a diagonal worth preconditioning */
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++) {
				sys.a[i + j * N] *= (1.0 + i % 7) * (1.0 + j % 7);
				sys.diagonal[i] = creal(sys.a[i + i * N]);
			}
	random_rhs(rhs);
	open_bench(&b, N, 2, with_precond);
	bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
	e = against_lapack(x, rhs);
	CHECK(e <= 1e-5, "%s: %.1e of LAPACK's solution after %u iterations",
	      with_precond ? "Jacobi" : "no preconditioner", e, result.iterations);
	/* A x is rounded to floats, half an ulp each, and is about as long as b */
	CHECK(fabs(result.residual - true_residual(x, rhs)) <= 6e-8 && !result.deadline_stop &&
		      result.history[0] == 1.0 &&
		      result.history[result.iterations] == result.residual,
	      "residual %.1e, truly %.1e, history from 1 to it", result.residual,
	      true_residual(x, rhs));
	close_bench(&b);
}

static void stops(void)
{
	struct bs_pcg_system system = { &sys, apply, NULL };
	struct bs_pcg_stop stop = { 7, 0.0, INT64_MAX };
	struct bs_pcg_result result;
	struct bench b;
	float rhs[2 * N];
	float x[2 * N];
	int64_t now_ns = 1000;

	make_system(0.05);
	random_rhs(rhs);
	open_bench(&b, N, 1, false);
	bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
	CHECK(result.iterations == 7 && result.residual < 1.0,
	      "stops after 7 iterations: %u, residual %.2e", result.iterations, result.residual);
	stop = (struct bs_pcg_stop){ 200, 1e-3, INT64_MAX };
	bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
	CHECK(result.residual <= 1e-3 + 6e-8 && result.history[result.iterations - 1] > 1e-3,
	      "stops at the first residual of at most 1e-3: %.2e after %u", result.residual,
	      result.iterations);
	stop.tolerance = 0.0;
	bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
	CHECK(result.iterations < 200 && fabs(result.residual - true_residual(x, rhs)) <= 6e-8 &&
		      result.history[result.iterations - 1] > 5.9e-8,
	      "stops where floats have no more to give: %.1e after %u", result.residual,
	      result.iterations);
	close_bench(&b);
	/* iterations of 10 ms, one of 25: after 55 ms of 104, two more of 25 would not fit */
	open_bench(&b, N, 1, false);
	bs_clock_script(&now_ns);
	sys.clock = &now_ns;
	sys.applied = 0;
	for (int i = 0; i < 8; i++)
		sys.cost_ns[i] = i == 2 ? 25000000 : 10000000;
	stop = (struct bs_pcg_stop){ 200, 0.0, now_ns + 104000000 };
	bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
	CHECK(result.deadline_stop && result.iterations == 4,
	      "stops before the deadline: %u iterations", result.iterations);
	CHECK(now_ns <= stop.deadline_ns, "the deadline is kept: %lld ns left",
	      (long long)(stop.deadline_ns - now_ns));
	/* the next solve remembers the 25 ms: in 30 ms it makes one iteration, not two */
	stop.deadline_ns = now_ns + 30000000;
	bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
	CHECK(result.deadline_stop && result.iterations == 1,
	      "the longest of the last solve counts: %u", result.iterations);
	stop.deadline_ns = now_ns - 1;
	bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
	CHECK(result.deadline_stop && result.iterations == 1 && result.residual < 1.0,
	      "a deadline already past leaves one iteration: %u, residual %.2f", result.iterations,
	      result.residual);
	bs_clock_script(NULL);
	close_bench(&b);
}

/*
 * Ill-conditioned: the recurrence falls to 6e-8 far from where the residual stays. A x is rounded
 * to floats, half an ulp each: what is reported may differ from a direct sum in double by 6e-8
 * ||A x|| / ||b||, and ||A x|| is ||b|| to within the residual.
 */
static void truth(void)
{
	struct bs_pcg_system system = { &sys, apply, NULL };
	struct bs_pcg_stop stop = { 200, 0.0, INT64_MAX };
	struct bs_pcg_result result;
	struct bench b;
	float rhs[2 * N];
	float x[2 * N];

	make_system(1e-3);
	random_rhs(rhs);
	open_bench(&b, N, 2, false);
	for (stop.iterations = 1; stop.iterations <= 200; stop.iterations += 33) {
		bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
		CHECK(fabs(result.residual - true_residual(x, rhs)) <=
			      6e-8 * (1.0 + result.residual),
		      "%u iterations: residual %.3e, truly %.3e", result.iterations,
		      result.residual, true_residual(x, rhs));
	}
	close_bench(&b);
}

static void degenerate(void)
{
	struct bs_pcg_system system = { &sys, apply, NULL };
	struct bs_pcg_stop stop = { 50, 0.0, INT64_MAX };
	struct bs_pcg_result result;
	struct bench b;
	float rhs[2 * N] = { 0 };
	float x[2 * N];
	double sum = 0.0;

	make_system(0.05);
	open_bench(&b, N, 1, false);
	memset(x, 0xff, sizeof(x));
	bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
	for (int i = 0; i < 2 * N; i++)
		sum += fabs((double)x[i]);
	CHECK(result.iterations == 0 && sum == 0.0 && result.residual == 0.0, "b = 0 gives x = 0");
	memset(sys.a, 0, sizeof(sys.a));
	random_rhs(rhs);
	bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
	for (int i = 0; i < 2 * N; i++)
		sum += fabs((double)x[i]);
	CHECK(result.iterations == 0 && sum == 0.0 && result.residual == 1.0,
	      "A = 0: no step, nothing but zeros");
	rhs[3] = NAN;
	bs_pcg_solve(b.pcg, &system, rhs, x, &stop, &result);
	CHECK(result.iterations == 0 && result.residual == 1.0,
	      "a NaN in b ends it, with no residual that is good: %g", result.residual);
	close_bench(&b);
}

/* A diagonal system of many blocks: the same bits for any number of threads. */
#define LONG 50001u

static void apply_long(void *self, const float *in, float *out)
{
	(void)self;
	for (uint32_t i = 0; i < 2 * LONG; i++)
		out[i] = in[i] * (1.0f + (float)(i / 2 % 11));
}

static void threads(void)
{
	struct bs_pcg_system system = { NULL, apply_long, NULL };
	struct bs_pcg_stop stop = { 9, 0.0, INT64_MAX };
	struct bs_pcg_result result;
	float *rhs = malloc(LONG * 8);
	float *x = malloc(LONG * 8);
	float *first = malloc(LONG * 8);
	double residual = 0.0;
	uint64_t seed = 4;

	for (uint32_t i = 0; i < 2 * LONG; i++)
		rhs[i] = (float)(check_uniform(&seed) - 0.5);
	for (int members = 1; members <= 4; members++) {
		struct bench b;

		open_bench(&b, LONG, members, false);
		bs_pcg_solve(b.pcg, &system, rhs, members == 1 ? first : x, &stop, &result);
		if (members == 1)
			residual = result.residual;
		else
			CHECK(memcmp(x, first, LONG * 8) == 0 && result.residual == residual,
			      "%d threads: the same bits", members);
		close_bench(&b);
	}
	free(rhs);
	free(x);
	free(first);
}

int main(void)
{
	struct bs_pcg_spec none = { 0, 1, false };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };

	dense_solve(false);
	dense_solve(true);
	stops();
	truth();
	degenerate();
	threads();
	CHECK(bs_pcg_need(&none, &need, &why) == BS_ERR_CONFIG, "no values refused: %s", why.text);
	return check_done();
}
