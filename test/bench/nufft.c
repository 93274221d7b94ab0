/*
 * test/bench/nufft.c - the NUFFT's rows of bench
 *
 * The sizes are those of the project's speed demand. Reference: FINUFFT, where FINUFFT names it
 * (rivals/finufft.h), at the same accuracy on the same trajectory and data, with as many threads,
 * its plan made. Errors: relative l2 of the last coil, at positions drawn at random, against sums
 * in double precision.
 */
#include "test/bench/bench.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/arena.h"
#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "test/bench/inputs.h"
#include "test/bench/rivals/bart.h"
#include "test/bench/rivals/finufft.h"

#define REPEATS_MAX 2000
#define TURN        6.283185307179586

#define PROBES UINT64_C(12)

static const enum bs_bench_shape rows[] = {
	BS_BENCH_RADIAL2D, BS_BENCH_SPIRAL2D, BS_BENCH_RANDOM3D,
	BS_BENCH_STACK,    BS_BENCH_RADIAL3D, BS_BENCH_RANDOM2D
};

static void row_name(char name[64], enum bs_bench_shape shape, uint32_t coils, int forward)
{
	(void)snprintf(name, 64, "%s %u coil%s %s", bs_bench_sizes[shape].name, coils,
		       coils > 1 ? "s" : "", forward ? "forward" : "adjoint");
}

struct job {
	struct bs_nufft_spec spec;
	struct bs_nufft *plan;
	const float *k;
	float *image, *data;
	uint64_t voxels;
	int forward;
	uint64_t at[PROBES];
	double want[PROBES][2];
};

static void run_ours(void *arg)
{
	struct job *j = arg;

	if (j->forward)
		bs_nufft_forward(j->plan, j->image, j->data);
	else
		bs_nufft_adjoint(j->plan, j->data, j->image);
}

static void time_it(const struct bs_bench *b, void (*run)(void *), void *arg,
		    struct bs_bench_row *row)
{
	static double ms[REPEATS_MAX];
	int n = 0;
	int64_t start;

	for (int warm = 0; warm < 2; warm++)
		run(arg);
	start = bs_now_ns();
	while (n < REPEATS_MAX && (n < 5 || (double)(bs_now_ns() - start) < b->seconds * 1e9)) {
		int64_t t = bs_now_ns();

		run(arg);
		ms[n++] = (double)(bs_now_ns() - t) * 1e-6;
	}
	bs_bench_sum(row, ms, n);
}

/* BART's adjoint of the same, whole process; its scale is its own: it gets the best one. */
static int ask_bart(const struct bs_bench *b, const struct job *j, const struct bs_bench_size *size,
		    char *out, size_t cap)
{
	struct bs_bart_scan scan = { .dims = j->spec.dims,
				     .along = size->samples,
				     .readouts = size->readouts,
				     .coils = j->spec.coils,
				     .k = j->k,
				     .data = j->data };
	struct bs_fail why;
	double ms;
	double dot[2] = { 0.0, 0.0 };
	double power = 0.0;
	double all = 0.0;

	memcpy(scan.matrix, size->matrix, sizeof(scan.matrix));
	if (bs_bart_adjoint(&scan, b->threads, j->image, &ms, &why) != 0)
		return snprintf(out, cap, "; BART: %.100s", why.text);
	for (uint64_t p = 0; p < PROBES; p++) {
		const float *v = j->image + 2 * ((j->spec.coils - 1) * j->voxels + j->at[p]);
		const double *t = j->want[p];

		dot[0] += v[0] * t[0] + v[1] * t[1];
		dot[1] += v[0] * t[1] - v[1] * t[0];
		power += (double)v[0] * v[0] + (double)v[1] * v[1];
		all += t[0] * t[0] + t[1] * t[1];
	}
	return snprintf(out, cap, "; BART's nufft -a %.0f ms, whole process, error %.1e", ms,
			sqrt(fmax(0.0, 1.0 - (dot[0] * dot[0] + dot[1] * dot[1]) / (power * all))));
}

/* What comes out of the last coil at the probes, in double. */
static void sum_probes(struct job *j)
{
	const uint32_t *n = j->spec.matrix;
	const uint64_t count = j->forward ? j->voxels : j->spec.samples;
	const uint64_t last = 2 * (uint64_t)(j->spec.coils - 1);
	const float *in =
		j->forward ? j->image + last * j->voxels : j->data + last * j->spec.samples;

	for (uint64_t p = 0; p < PROBES; p++) {
		j->at[p] = (j->forward ? j->spec.samples : j->voxels) * (2 * p + 1) / (2 * PROBES);
		j->want[p][0] = j->want[p][1] = 0.0;
		for (uint64_t i = 0; i < count; i++) {
			const uint64_t v = j->forward ? i : j->at[p];
			const float *k = j->k + (j->forward ? j->at[p] : i) * j->spec.dims;
			double turn = (double)k[0] * ((double)(v % n[0]) - n[0] / 2) +
				      (double)k[1] * ((double)(v / n[0] % n[1]) - n[1] / 2);

			if (j->spec.dims == 3)
				turn += (double)k[2] * ((double)(v / n[0] / n[1]) - n[2] / 2);
			turn *= j->forward ? -TURN : TURN;
			const double c = cos(turn);
			const double s = sin(turn);

			j->want[p][0] += in[2 * i] * c - in[2 * i + 1] * s;
			j->want[p][1] += in[2 * i] * s + in[2 * i + 1] * c;
		}
	}
}

static double error_of(const struct job *j)
{
	const uint64_t last = 2 * (uint64_t)(j->spec.coils - 1);
	const float *out =
		j->forward ? j->data + last * j->spec.samples : j->image + last * j->voxels;
	double off = 0.0;
	double all = 0.0;

	for (uint64_t p = 0; p < PROBES; p++)
		for (int c = 0; c < 2; c++) {
			off += pow((double)out[2 * j->at[p] + (uint64_t)c] - j->want[p][c], 2.0);
			all += pow(j->want[p][c], 2.0);
		}
	return sqrt(off / all);
}

static void measure(struct bs_bench *b, const char *name, struct job *j,
		    const struct bs_bench_size *size)
{
	struct bs_bench_row out = { .name = name };
	struct bs_bench_row reference = { 0 };
	struct bs_nufft_info info;
	struct bs_finufft rival = { 0 };
	struct bs_fail why;
	char detail[512];
	int n;

	bs_nufft_info(j->plan, &info);
	time_it(b, run_ours, j, &out);
	sum_probes(j);
	n = snprintf(detail, sizeof(detail), "%s, width %g, grid %ux%ux%u, error %.1e", info.route,
		     info.width, info.grid[0], info.grid[1], info.grid[2], error_of(j));
	if (bs_finufft_there(NULL)) {
		if (bs_finufft_open(&rival, &j->spec, j->forward, j->k,
				    j->forward ? j->image : j->data,
				    j->forward ? j->data : j->image, b->threads, &why) == 0) {
			time_it(b, bs_finufft_run, &rival, &reference);
			out.reference_ms = reference.median_ms;
			n += snprintf(detail + n, sizeof(detail) - (size_t)n, "; FINUFFT %.1e, %s",
				      error_of(j), rival.how);
		} else {
			(void)fprintf(stderr, "%s: %s\n", name, why.text);
		}
		bs_finufft_close(&rival);
	}
	if (!j->forward && j->spec.dims == 2 && bs_bart_there(NULL))
		(void)ask_bart(b, j, size, detail + n, sizeof(detail) - (size_t)n);
	out.detail = detail;
	bs_bench_write(b, &out);
}

static int run_coils(struct bs_bench *b, enum bs_bench_shape shape, const float *k, uint32_t coils,
		     struct bs_team *team, struct bs_fail *why)
{
	const struct bs_bench_size *size = &bs_bench_sizes[shape];
	struct job j = { .spec = bs_bench_nufft_spec(size, coils), .k = k };
	struct bs_need need = { .parts = 0 };
	struct bs_arena arena = { 0 };
	char name[64];
	int rc;

	j.voxels = (uint64_t)size->matrix[0] * size->matrix[1] * size->matrix[2];
	j.image = bs_bench_noise(2 * j.voxels * coils, 1);
	j.data = bs_bench_noise(2 * j.spec.samples * coils, 2);
	rc = j.image == NULL || j.data == NULL
		     ? bs_fail(why, BS_ERR_NOMEM, "%s: samples", size->name)
		     : bs_nufft_need(&j.spec, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_nufft_plan(&j.plan, &j.spec, k, NULL, &arena, team, why);
	for (j.forward = 0; rc == 0 && j.forward < 2; j.forward++) {
		row_name(name, shape, coils, j.forward);
		if (bs_bench_wanted(b, name))
			measure(b, name, &j, size);
	}
	bs_nufft_close(j.plan);
	bs_arena_close(&arena);
	free(j.image);
	free(j.data);
	return rc;
}

static bool any_wanted(const struct bs_bench *b, enum bs_bench_shape shape, uint32_t coils)
{
	char name[2][64];

	row_name(name[0], shape, coils, 0);
	row_name(name[1], shape, coils, 1);
	return bs_bench_wanted(b, name[0]) || bs_bench_wanted(b, name[1]);
}

int bs_bench_nufft(struct bs_bench *b)
{
	struct bs_team *team;
	struct bs_fail why = { 0, "" };
	int rc;

	if (!bs_finufft_there(&why))
		(void)printf("%s\n", why.text);
	rc = bs_team_open(&team, b->threads, &why);
	for (size_t i = 0; rc == 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bs_traj traj = { 0 };

		if (!any_wanted(b, rows[i], 1) && !any_wanted(b, rows[i], 8))
			continue;
		rc = bs_bench_traj(&traj, &bs_bench_sizes[rows[i]], &why);
		for (uint32_t coils = 1; rc == 0 && coils <= 8; coils *= 8)
			if (any_wanted(b, rows[i], coils))
				rc = run_coils(b, rows[i], traj.k, coils, team, &why);
		bs_traj_close(&traj);
	}
	if (rc != 0)
		(void)fprintf(stderr, "bench: %s\n", why.text);
	bs_team_close(team);
	return rc != 0;
}
