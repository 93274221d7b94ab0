/*
 * test/unit/gpu/penalty/test_priors.c - the solver with each prior on the problems of DATA/prior
 *
 * They are judged by direct sums in double precision (test/support/plan/prior.h). The bounds are
 * those of the data's README: objective within 1e-4 of the minimum, image within 1e-3, the excess
 * after 10, 20, 30 and 50 applications at most twice its table's; no step is above the last.
 */
#include "gpu/image/unfold.h"
#include "gpu/penalty/penalty.h"
#include "gpu/toeplitz/q.h"
#include "gpu/toeplitz/toeplitz.h"
#include "test/support/check.h"
#include "test/support/plan/prior.h"

#define FRAMES_MAX 20

static const uint32_t counts[4] = { 10, 20, 30, 50 };

struct bench {
	struct bs_team *team;
	struct bs_arena arena;
	struct bs_prox *prox;
	struct bs_penalty_plan *penalty;
	struct bs_unfold *unfold;
	struct bs_toeplitz *toeplitz[FRAMES_MAX];
	float *maps, *b;
	const struct prior_problem *p;
	double largest;
};

/* (A^H A + l2) of the frames, one after the other, in the problems' scale. */
static void apply(void *self, const float *in, float *out)
{
	struct bench *b = self;
	const size_t n = prior_voxels(b->p);

	if (b->unfold != NULL) {
		bs_unfold_apply(b->unfold, in, out);
		return;
	}
	for (uint32_t t = 0; t < b->p->frames; t++)
		bs_toeplitz_sense(b->toeplitz[t], b->p->coils, b->maps, in + 2 * t * n,
				  out + 2 * t * n);
	for (size_t i = 0; i < 2 * n * b->p->frames; i++)
		out[i] = out[i] / (float)n + (float)b->p->l2 * in[i];
}

static float *floats(const double complex *x, size_t n)
{
	float *to = malloc(n * 8);

	for (size_t i = 0; i < n; i++) {
		to[2 * i] = (float)creal(x[i]);
		to[2 * i + 1] = (float)cimag(x[i]);
	}
	return to;
}

static struct bs_unfold_spec unfold_of(const struct prior_problem *p)
{
	return (struct bs_unfold_spec){ .encoded = { p->n1, p->n2 },
					.matrix = { p->columns, p->n1, p->n2 },
					.coils = p->coils,
					.sets = 1,
					.iterations = 1 };
}

static struct bs_toeplitz_spec toeplitz_of(const struct prior_problem *p)
{
	return (struct bs_toeplitz_spec){ .dims = 2,
					  .matrix = { p->n1, p->n2, 1 },
					  .coils = p->coils };
}

static struct bs_penalty_spec penalty_of(const struct prior_problem *p, bool shifts)
{
	return (struct bs_penalty_spec){ .kind = p->kind,
					 .matrix = { p->columns, p->n1, p->n2 },
					 .images = p->frames,
					 .block = p->block > 0 ? p->block : 8,
					 .shifts = shifts };
}

static int need_of(const struct prior_problem *p, const struct bs_penalty_spec *penalty,
		   const struct bs_prox_spec *prox, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_unfold_spec u = unfold_of(p);
	const struct bs_toeplitz_spec z = toeplitz_of(p);
	int rc = bs_penalty_need(penalty, need, why);

	if (rc == 0)
		rc = bs_prox_need(prox, need, why);
	for (uint32_t t = 0; t < p->frames && rc == 0 && p->mask == NULL; t++)
		rc = bs_toeplitz_need(&z, need, why);
	return rc == 0 && p->mask != NULL ? bs_unfold_need(&u, need, why) : rc;
}

/* The right-hand side of the lines, by the coils' images. */
static int open_lines(struct bench *b, struct bs_fail *why)
{
	const struct prior_problem *p = b->p;
	const struct bs_unfold_spec u = unfold_of(p);
	const size_t n = prior_voxels(p);
	double complex *coil = malloc(n * sizeof(*coil));
	float *coils = malloc(p->coils * n * 8);
	uint8_t *lines = malloc((size_t)p->n1 * p->n2);
	int rc = bs_unfold_plan(&b->unfold, &u, NULL, &b->arena, b->team, why);

	for (uint32_t c = 0; c < p->coils; c++) {
		float *to;

		prior_back(p, 0, c, coil);
		to = floats(coil, n);
		memcpy(coils + 2 * c * n, to, n * 8);
		free(to);
	}
	for (size_t i = 0; i < (size_t)p->n1 * p->n2; i++)
		lines[i] = p->mask[i] > 0.5f;
	if (rc == 0)
		memcpy(b->b, bs_unfold_begin(b->unfold, b->maps, lines, coils), n * 8);
	free(coil);
	free(coils);
	free(lines);
	return rc;
}

static int open_frames(struct bench *b, struct bs_fail *why)
{
	const struct prior_problem *p = b->p;
	const struct bs_toeplitz_spec s = toeplitz_of(p);
	const struct bs_q_spec qs = {
		2, { p->n1, p->n2, 1 }, p->points, BS_BASIS_DELTA, BS_SUM_EXACT, 1e-6
	};
	const size_t n = prior_voxels(p);
	double complex *coil = malloc(n * sizeof(*coil));
	float *k = malloc((size_t)p->points * 8);
	float *q = malloc((size_t)bs_q_size(&qs) * 8);
	int rc = 0;

	for (uint32_t t = 0; t < p->frames && rc == 0; t++) {
		for (size_t i = 0; i < 2 * (size_t)p->points; i++)
			k[i] = (float)p->k[2 * (size_t)t * p->points + i];
		rc = bs_q_make(q, &qs, k, NULL, &(struct bs_q_making){ .team = b->team }, why);
		if (rc == 0)
			rc = bs_toeplitz_plan(&b->toeplitz[t], &s, q, &b->arena, b->team, why);
		for (uint32_t c = 0; c < p->coils; c++) {
			prior_back(p, t, c, coil);
			for (size_t i = 0; i < n; i++) {
				const double complex v = conj(p->maps[c * n + i]) * coil[i];

				b->b[2 * (t * n + i)] += (float)creal(v);
				b->b[2 * (t * n + i) + 1] += (float)cimag(v);
			}
		}
	}
	free(coil);
	free(k);
	free(q);
	return rc;
}

static bool open_bench(struct bench *b, const struct prior_problem *p, int members, bool shifts)
{
	const struct bs_prox_spec prox = { prior_voxels(p) * p->frames, 1000 };
	const struct bs_penalty_spec penalty = penalty_of(p, shifts);
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	int rc = need_of(p, &penalty, &prox, &need, &why);

	*b = (struct bench){ .p = p };
	b->maps = floats(p->maps, p->coils * prior_voxels(p));
	b->b = calloc(prox.size, 8);
	if (rc == 0)
		rc = bs_team_open(&b->team, members, &why);
	if (rc == 0)
		rc = bs_arena_open(&b->arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_penalty_plan(&b->penalty, &penalty, NULL, &b->arena, b->team, &why);
	if (rc == 0)
		rc = bs_prox_plan(&b->prox, &prox, &b->arena, b->team, &why);
	if (rc == 0)
		rc = p->mask != NULL ? open_lines(b, &why) : open_frames(b, &why);
	CHECK(rc == 0 && b->arena.used == need.total_bytes, "%s: plans take what need states %s",
	      p->name, why.text);
	if (rc == 0)
		bs_penalty_lambda(b->penalty, p->lambda);
	return rc == 0;
}

static void close_bench(struct bench *b)
{
	for (int t = 0; t < FRAMES_MAX; t++)
		bs_toeplitz_close(b->toeplitz[t]);
	bs_unfold_close(b->unfold);
	bs_prox_close(b->prox);
	bs_penalty_close(b->penalty);
	bs_team_close(b->team);
	bs_arena_close(&b->arena);
	free(b->maps);
	free(b->b);
}

static struct bs_prox_result solve(struct bench *b, float *x, uint32_t iterations, double tolerance)
{
	struct bs_prox_system system = { b, apply, 0.0, bs_penalty_get(b->penalty) };
	const struct bs_prox_stop stop = { iterations, tolerance, INT64_MAX, false };
	struct bs_prox_result result;

	system.largest = b->largest = bs_prox_power(b->prox, &system, BS_PROX_POWER_STEPS);
	bs_prox_solve(b->prox, &system, b->b, x, &stop, &result);
	return result;
}

static void converges(const struct prior_problem *p)
{
	const size_t n = prior_voxels(p) * p->frames;
	float *x = malloc(n * 8);
	struct bs_prox_result r;
	struct bench b;

	if (!open_bench(&b, p, 2, false))
		return;
	for (int i = 0; i < 4; i++) {
		double excess;

		r = solve(&b, x, counts[i], 0.0);
		excess = prior_objective(p, x) / p->minimum - 1.0;
		CHECK(excess <= 2.0 * p->excess[i],
		      "%s after %u: %.2e above the minimum, not %.1e, L %.4g", p->name,
		      r.iterations, excess, p->excess[i], b.largest);
	}
	r = solve(&b, x, 1000, 1e-9);
	for (uint32_t i = 0; i < r.iterations; i++)
		if (r.history[i + 1] > r.history[i])
			CHECK(false, "%s rises at %u", p->name, i);
	CHECK(fabs(prior_objective(p, x) / p->minimum - 1.0) < 1e-4 &&
		      check_rel(x, p->reference, 2 * n) < 1e-3,
	      "%s after %u: %.2e above the minimum, image %.2e off, %s", p->name, r.iterations,
	      prior_objective(p, x) / p->minimum - 1.0, check_rel(x, p->reference, 2 * n),
	      bs_prox_reason_words(r.reason));
	free(x);
	close_bench(&b);
}

/* The truth of wav3d: ellipsoids, the mean over each voxel's box, and a smooth phase. */
static float *truth3d(uint32_t n)
{
	static const double part[6][7] = {
		{ 0.7, 0, 0, 0, 20, 18, 19 }, { 0.3, -7, 5, 2, 6, 5, 4 },
		{ -0.5, 8, 2, -3, 4, 6, 5 },  { 0.4, 2, -10, 4, 3, 3, 8 },
		{ 0.3, -3, -4, -9, 5, 2, 2 }, { -0.3, 0, 12, 0, 2, 2, 10 }
	};
	const size_t voxels = (size_t)n * n * n;
	float *truth = malloc(voxels * 8);

	for (size_t v = 0; v < voxels; v++) {
		const double at[3] = { (double)(v % n) - n / 2, (double)(v / n % n) - n / 2,
				       (double)(v / n / n) - n / 2 };
		double sum = 0.0;
		double complex e;

		for (int i = 0; i < 6 * 64; i++) {
			const double *e3 = part[i / 64];
			const int sub[3] = { i % 4, i / 4 % 4, i / 16 % 4 };
			double r = 0.0;

			for (int a = 0; a < 3; a++) {
				const double q =
					(at[a] + (sub[a] + 0.5) / 4 - 0.5 - e3[1 + a]) / e3[4 + a];

				r += q * q;
			}
			sum += r <= 1.0 ? e3[0] / 64 : 0.0;
		}
		e = sum * cexp((1.5 * at[0] * at[0] / n / n + at[1] / n - 0.7 * at[2] / n) * I);
		truth[2 * v] = (float)creal(e);
		truth[2 * v + 1] = (float)cimag(e);
	}
	return truth;
}

/* NRMSE where the truth's modulus is above a bound. */
static double error_of(const float *x, const float *truth, size_t n, double above)
{
	double e = 0.0;
	double r = 0.0;

	for (size_t i = 0; i < 2 * n; i += 2)
		if (hypot((double)truth[i], (double)truth[i + 1]) > above)
			for (size_t j = i; j < i + 2; j++) {
				const double d = (double)x[j] - (double)truth[j];

				e += d * d;
				r += (double)truth[j] * (double)truth[j];
			}
	return sqrt(e / r);
}

/* The error against the truth with a grid for each iteration: at most BART's, README's table. */
static void shifts(const struct prior_problem *p, double most)
{
	const size_t n = prior_voxels(p);
	float *x = malloc(n * 8);
	struct bs_cfl file = { 0 };
	float *truth;
	struct bench b;

	if (p->columns == 1)
		(void)prior_file(&file, "ref/wav2d_truth");
	truth = p->columns == 1 ? file.data : truth3d(p->columns);
	if (!open_bench(&b, p, 2, true))
		return;
	for (uint32_t i = 30; i <= 50; i += 20) {
		const struct bs_prox_result r = solve(&b, x, i, 0.0);
		const double error = error_of(x, truth, n, 0.05);

		CHECK(error <= most, "%s with shifts after %u: %.4f", p->name, r.iterations, error);
	}
	free(x);
	free(truth);
	close_bench(&b);
}

/* Locally low rank, 13 spokes a frame, 30 applications: over everything, as the README's. */
static void dynamic(const struct prior_problem *p)
{
	const size_t n = prior_voxels(p) * p->frames;
	float *x = malloc(n * 8);
	struct bs_cfl truth = { 0 };
	struct bench b;
	double error;

	if (!prior_file(&truth, "ref/dyn_truth") || truth.size != n || !open_bench(&b, p, 2, false))
		return;
	(void)solve(&b, x, 30, 0.0);
	error = error_of(x, truth.data, n, -1.0);
	CHECK(error <= 0.050, "%s after 30: NRMSE %.4f against the truth", p->name, error);
	free(x);
	bs_cfl_free(&truth);
	close_bench(&b);
}

int main(void)
{
	const char *data = getenv("DATA");
	char path[512];

	CHECK(bs_dense_open(NULL) == 0, "LAPACK");
	(void)snprintf(path, sizeof(path), "%s/prior/dyn_ksp.hdr", data != NULL ? data : "");
	if (data == NULL || access(path, R_OK) != 0) {
		SKIP("problems of priors: no data (DATA)");
		return check_done();
	}
	for (uint32_t i = 0; i < PRIOR_PROBLEMS; i++) {
		struct prior_problem *p = prior_problem(i);

		if (prior_load(p)) {
			converges(p);
			if (p->kind == BS_PRIOR_WAVELET)
				shifts(p, i == PRIOR_WAV2D ? 0.067 : 0.076);
			if (p->kind == BS_PRIOR_LOW_RANK)
				dynamic(p);
		}
		prior_free(p);
	}
	return check_done();
}
