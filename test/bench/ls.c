/*
 * test/bench/ls.c - the least-squares rows of bench
 *
 * References of the same run: the papers' loop with sine and cosine (-O3 -ffast-math, the same
 * threads), timed on some voxels and extrapolated to all; padded FFTW for the Toeplitz operator.
 * The one of `sense` is BART's pics -t, whole process, where BART names it (rivals/bart.h).
 */
#include "test/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/arena.h"
#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "core/traj/traj.h"
#include "gpu/exact/exact.h"
#include "gpu/solve/ls.h"
#include "gpu/nufft/nufft.h"
#include "gpu/toeplitz/q.h"
#include "gpu/toeplitz/toeplitz.h"
#include "test/bench/inputs.h"
#include "test/bench/plain.h"
#include "test/bench/rivals/bart.h"

#define REPEATS_MAX 1000
#define PLAIN       256 /* voxels of the plain loop */
#define PI          3.14159265358979323846

static double times_ms[REPEATS_MAX];

/* Runs fn at least `least` times and for about the row's seconds; fills the row. */
static void repeat(const struct bs_bench *b, struct bs_bench_row *row, int least,
		   void (*fn)(void *arg), void *arg)
{
	int64_t start = bs_now_ns();
	int n = 0;

	while (n < REPEATS_MAX && (n < least || (double)(bs_now_ns() - start) < b->seconds * 1e9)) {
		int64_t t = bs_now_ns();

		fn(arg);
		times_ms[n++] = (double)(bs_now_ns() - t) * 1e-6;
	}
	bs_bench_sum(row, times_ms, n);
}

/* --- exact sums ----------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t dims, matrix[3];
	uint64_t samples;
	bool twice;
	int least;
} sums[] = {
	{ "exact fhd 128^3 x 284592", 3, { 128, 128, 128 }, 284592, false, 3 },
	{ "exact fhd 128^3 x 284592 double", 3, { 128, 128, 128 }, 284592, true, 1 },
	{ "exact fhd 220^2 x 74100", 2, { 220, 220, 1 }, 74100, false, 5 },
};

struct exact_job {
	struct bs_exact *plan;
	const float *data;
	float *image;
};

static void run_exact(void *arg)
{
	struct exact_job *j = arg;

	bs_exact_adjoint(j->plan, j->data, j->image);
}

/* Relative l2 error at the given voxels against the same sums in double. */
static double error_at(const float *k, uint32_t dims, const float *d, uint64_t samples,
		       const float *voxels, const float *got, int count)
{
	double e = 0.0;
	double r = 0.0;

	for (size_t v = 0; v < (size_t)count; v++) {
		double re = 0.0;
		double im = 0.0;

		for (uint64_t m = 0; m < samples; m++) {
			double t = 0.0;

			for (uint32_t a = 0; a < dims; a++)
				t += (double)k[m * dims + a] * (double)voxels[3 * v + a];
			t = 2.0 * PI * (t - floor(t));
			re += (double)d[2 * m] * cos(t) - (double)d[2 * m + 1] * sin(t);
			im += (double)d[2 * m] * sin(t) + (double)d[2 * m + 1] * cos(t);
		}
		e += (re - (double)got[2 * v]) * (re - (double)got[2 * v]) +
		     (im - (double)got[2 * v + 1]) * (im - (double)got[2 * v + 1]);
		r += re * re + im * im;
	}
	return sqrt(e / r);
}

static void measure_exact(struct bs_bench *b, size_t i, struct exact_job *j, struct bs_team *team,
			  const float *k)
{
	const uint32_t *N = sums[i].matrix;
	uint32_t dims = sums[i].dims;
	double all = (double)N[0] * N[1] * N[2];
	struct bs_bench_row row = { .name = sums[i].name };
	float *k3 = calloc(sums[i].samples, 12);
	float voxels[3 * PLAIN];
	float plain[2 * PLAIN];
	float got[2 * PLAIN];
	char detail[512];
	int64_t t;

	if (k3 == NULL)
		return;
	for (uint64_t m = 0; m < sums[i].samples; m++)
		memcpy(k3 + 3 * m, k + m * dims, dims * sizeof(float));
	repeat(b, &row, sums[i].least, run_exact, j);
	for (size_t v = 0; v < PLAIN; v++) {
		uint64_t at = v * (uint64_t)(all / PLAIN) + v % 97;

		voxels[3 * v] = (float)(int)(at % N[0]) - (float)(N[0] / 2);
		voxels[3 * v + 1] = (float)(int)(at / N[0] % N[1]) - (float)(N[1] / 2);
		voxels[3 * v + 2] = (float)(int)(at / N[0] / N[1]) - (float)(N[2] / 2);
		memcpy(got + 2 * v, j->image + 2 * at, 8);
	}
	t = bs_now_ns();
	bs_plain_fhd(team, k3, j->data, sums[i].samples, voxels, PLAIN, plain);
	row.reference_ms = (double)(bs_now_ns() - t) * 1e-6 * all / PLAIN;
	(void)snprintf(detail, sizeof(detail),
		       "%.0f GFLOP/s; error %.1e; reference: plain loop, from %d voxels",
		       4e-6 * all * (double)sums[i].samples / row.median_ms,
		       error_at(k, dims, j->data, sums[i].samples, voxels, got, 16), PLAIN);
	row.detail = detail;
	bs_bench_write(b, &row);
	free(k3);
}

static int bench_exact(struct bs_bench *b, size_t i, struct bs_team *team, struct bs_fail *why)
{
	struct bs_exact_spec s = { .dims = sums[i].dims,
				   .coils = 1,
				   .samples = sums[i].samples,
				   .states = 1,
				   .twice = sums[i].twice };
	struct bs_need need = { .parts = 0 };
	struct bs_arena arena = { 0 };
	struct exact_job j = { 0 };
	size_t voxels = (size_t)sums[i].matrix[0] * sums[i].matrix[1] * sums[i].matrix[2];
	float *k = bs_bench_noise(s.samples * s.dims, 88172645463325252u);
	float *data = bs_bench_noise(s.samples * 2, 362436069u);
	int rc;

	memcpy(s.matrix, sums[i].matrix, sizeof(s.matrix));
	j.image = malloc(voxels * 8);
	j.data = data;
	rc = k == NULL || data == NULL || j.image == NULL
		     ? bs_fail(why, BS_ERR_NOMEM, "%s", sums[i].name)
		     : bs_exact_need(&s, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_exact_plan(&j.plan, &s, k, NULL, &arena, team, why);
	if (rc == 0)
		measure_exact(b, i, &j, team, k);
	bs_exact_close(j.plan);
	bs_arena_close(&arena);
	free(j.image);
	free(data);
	free(k);
	return rc;
}

/* --- Toeplitz ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t dims, matrix[3], coils;
} toeplitz[] = {
	{ "toeplitz 128^3", 3, { 128, 128, 128 }, 1 },
	{ "toeplitz 256^2 8 coils", 2, { 256, 256, 1 }, 8 },
	{ "toeplitz 220^2", 2, { 220, 220, 1 }, 1 },
};

struct toeplitz_job {
	struct bs_toeplitz *plan;
	struct bs_plain_padded *padded;
	uint32_t coils;
	size_t voxels;
	const float *in;
	float *out;
};

static void run_toeplitz(void *arg)
{
	struct toeplitz_job *j = arg;

	bs_toeplitz_apply(j->plan, j->coils, j->in, j->out);
}

static void run_padded(void *arg)
{
	struct toeplitz_job *j = arg;

	for (size_t c = 0; c < j->coils; c++)
		bs_plain_padded_apply(j->padded, j->in + 2 * c * j->voxels,
				      j->out + 2 * c * j->voxels);
}

static int bench_toeplitz(struct bs_bench *b, size_t i, struct bs_team *team, struct bs_fail *why)
{
	struct bs_toeplitz_spec s = { .dims = toeplitz[i].dims, .coils = toeplitz[i].coils };
	struct bs_q_spec qs = { .dims = toeplitz[i].dims };
	struct bs_need need = { .parts = 0 };
	struct bs_arena arena = { 0 };
	struct toeplitz_job j = { .coils = toeplitz[i].coils };
	struct bs_bench_row row = { .name = toeplitz[i].name };
	struct bs_bench_row padded = { 0 };
	struct bs_fail absent;
	float *in;
	float *q;
	int rc;

	memcpy(s.matrix, toeplitz[i].matrix, sizeof(s.matrix));
	memcpy(qs.matrix, toeplitz[i].matrix, sizeof(qs.matrix));
	j.voxels = (size_t)s.matrix[0] * s.matrix[1] * s.matrix[2];
	q = calloc(bs_q_size(&qs), 8);
	in = bs_bench_noise(2 * j.voxels * s.coils, 521288629u);
	j.in = in;
	j.out = malloc(j.voxels * s.coils * 8);
	rc = q == NULL || in == NULL || j.out == NULL ? bs_fail(why, BS_ERR_NOMEM, "%s", row.name)
						      : bs_toeplitz_need(&s, &need, why);
	if (rc == 0) {
		q[0] = 1.0f; /* the work does not depend on Q */
		rc = bs_arena_open(&arena, need.total_bytes, why);
	}
	if (rc == 0)
		rc = bs_toeplitz_plan(&j.plan, &s, q, &arena, team, why);
	row.detail = "reference: padded FFTW (MEASURE), transforms, multiply, crop";
	if (rc == 0 && bs_plain_padded_open(&j.padded, s.dims, s.matrix, team, &absent) == 0) {
		run_padded(&j);
		repeat(b, &padded, 5, run_padded, &j);
	} else {
		row.detail = "no reference: built without FFTW";
	}
	if (rc == 0) {
		run_toeplitz(&j);
		repeat(b, &row, 5, run_toeplitz, &j);
		row.reference_ms = padded.median_ms;
		bs_bench_write(b, &row);
	}
	bs_plain_padded_close(j.padded);
	bs_toeplitz_close(j.plan);
	bs_arena_close(&arena);
	free(j.out);
	free(in);
	free(q);
	return rc;
}

/* --- sense ---------------------------------------------------------------------------------- */

static const char sense_name[] = "sense radial2d 8 coils, 30 steps";

struct sense_job {
	struct bs_nufft *nufft;
	struct bs_ls *ls;
	const float *data;
	float *fhd, *rho;
	double fhd_ms;
	uint32_t iterations;
};

static void run_sense(void *arg)
{
	struct sense_job *j = arg;
	struct bs_pcg_stop stop = { 30, 0.0, INT64_MAX };
	struct bs_pcg_result result;
	int64_t t = bs_now_ns();

	bs_nufft_adjoint(j->nufft, j->data, j->fhd);
	j->fhd_ms = (double)(bs_now_ns() - t) * 1e-6;
	bs_ls_solve(j->ls, j->fhd, j->rho, &stop, &result);
	j->iterations = result.iterations;
}

/* Q and both plans: what arming does. */
static int arm_sense(struct sense_job *j, const struct bs_traj *traj, const float *maps,
		     struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	uint64_t samples = (uint64_t)traj->samples * traj->readouts;
	struct bs_nufft_spec n = { .dims = 2,
				   .matrix = { 256, 256, 1 },
				   .coils = 8,
				   .samples = samples,
				   .accuracy = 1e-4 };
	struct bs_ls_spec s = { .dims = 2,
				.matrix = { 256, 256, 1 },
				.coils = 8,
				.images = 1,
				.precond = BS_PRECOND_NONE,
				.iterations = 30,
				.lambda = 0.01 };
	struct bs_q_spec qs = { 2, { 256, 256, 1 }, samples, BS_BASIS_DELTA, BS_SUM_NUFFT, 1e-4 };
	struct bs_need need = { .parts = 0 };
	float *q = malloc(bs_q_size(&qs) * 8);
	int rc = q == NULL ? bs_fail(why, BS_ERR_NOMEM, "Q") : bs_nufft_need(&n, &need, why);

	if (rc == 0)
		rc = bs_ls_need(&s, &need, why);
	if (rc == 0)
		rc = bs_arena_open(arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_nufft_plan(&j->nufft, &n, traj->k, NULL, arena, team, why);
	if (rc == 0)
		rc = bs_q_make(q, &qs, traj->k, NULL, &(struct bs_q_making){ .team = team }, why);
	if (rc == 0)
		rc = bs_ls_plan(&j->ls, &s, q, maps, NULL,
				&(struct bs_arm_env){ .arena = arena, .team = team }, why);
	free(q);
	return rc;
}

static int bench_sense(struct bs_bench *b, struct bs_team *team, struct bs_fail *why)
{
	struct bs_protocol p = {
		.dims = 2, .matrix = { 256, 256, 1 }, .samples = 512, .readouts = 256
	};
	struct bs_traj traj = { 0 };
	struct bs_arena arena = { 0 };
	struct sense_job j = { 0 };
	struct bs_bench_row row = { .name = sense_name };
	size_t values = (size_t)8 * 256 * 256 * 2;
	float *maps = bs_bench_noise(values, 5772156u);
	float *data = bs_bench_noise((size_t)8 * 512 * 256 * 2, 2718281u);
	char detail[1280];
	int64_t t;
	int rc;

	p.traj.type = BS_TRAJ_RADIAL2D;
	bs_plan_make(&p);
	j.data = data;
	j.fhd = malloc(values * 4);
	j.rho = malloc(values / 2);
	rc = maps == NULL || data == NULL || j.fhd == NULL || j.rho == NULL
		     ? bs_fail(why, BS_ERR_NOMEM, "%s", sense_name)
		     : bs_traj_make(&traj, &p, why);
	t = bs_now_ns();
	if (rc == 0)
		rc = arm_sense(&j, &traj, maps, &arena, team, why);
	if (rc == 0) {
		double arm_ms = (double)(bs_now_ns() - t) * 1e-6;

		const struct bs_bart_scan scan = { .dims = 2,
						   .matrix = { 256, 256, 1 },
						   .along = 512,
						   .readouts = 256,
						   .coils = 8,
						   .k = traj.k,
						   .data = data,
						   .maps = maps };
		const char *said = "whole process";

		run_sense(&j);
		repeat(b, &row, 5, run_sense, &j);
		if (bs_bart_pics(&scan, 0.01, 30, b->threads, &row.reference_ms, why) != 0)
			said = why->text;
		(void)snprintf(detail, sizeof(detail),
			       "F^H d %.1f, %u steps; armed in %.0f; reference: BART's pics -t, %s",
			       j.fhd_ms, j.iterations, arm_ms, said);
		row.detail = detail;
		bs_bench_write(b, &row);
	}
	bs_nufft_close(j.nufft);
	bs_ls_close(j.ls);
	bs_arena_close(&arena);
	bs_traj_close(&traj);
	free(maps);
	free(data);
	free(j.fhd);
	free(j.rho);
	return rc;
}

int bs_bench_ls(struct bs_bench *b)
{
	struct bs_team *team;
	struct bs_fail why = { 0, "" };
	int rc = bs_team_open(&team, b->threads, &why);

	if (rc == 0 && bs_bench_wanted(b, sense_name))
		rc = bench_sense(b, team, &why);
	for (size_t i = 0; rc == 0 && i < sizeof(toeplitz) / sizeof(toeplitz[0]); i++)
		if (bs_bench_wanted(b, toeplitz[i].name))
			rc = bench_toeplitz(b, i, team, &why);
	for (size_t i = 0; rc == 0 && i < sizeof(sums) / sizeof(sums[0]); i++)
		if (bs_bench_wanted(b, sums[i].name))
			rc = bench_exact(b, i, team, &why);
	if (rc != 0)
		(void)fprintf(stderr, "bench: %s\n", why.text);
	bs_team_close(team);
	return rc != 0;
}
