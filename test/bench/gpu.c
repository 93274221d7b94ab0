/*
 * test/bench/gpu.c - bench gpu: the project's speed demand, row by row, on this GPU
 *
 * Rivals are measured in the same run, on the same data: cuFINUFFT where CUFINUFFT names it, cuFFT.
 * demand: the most that is allowed on an NVIDIA H200. Errors: against sums in double precision at
 * voxels (samples) drawn at random, white data; worst: where it is largest; object: of a structured
 * image (errors.cuh). mJ: energy of a run, where ENERGY=SECONDS asks (power.h).
 */
#include "test/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if BS_GPU
#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "gpu/device/memory.h"
#include "gpu/device/reach.h"
#include "gpu/nufft/density_cuda.h"
#include "test/bench/gpu.h"
#include "test/bench/power.h"
#include "test/bench/rivals/cufinufft.h"

static const struct {
	const char *name;
	double demand_ms;
} known[] = {
	{ "exact F^H d 128^3 x 284592 single", 20 },
	{ "exact F^H d 128^3 x 284592 fast", 10 },
	{ "exact Q 128^3 (256^3) x 284592", 120 },
	{ "Toeplitz operator 128^3", 0.15 },
	{ "2008 whole: F^H d + 60 iterations 128^3", 33 },
	{ "2007 whole: F^H d + 60 iterations 64^3", 40 },
	{ "cartesian sense 256^2, 8 coils, R = 4, wavelets, 30 steps", 3 },
	{ "sense 192^2, 8 coils, 20 frames of 13 spokes, low rank, 30 steps", 50 },
	{ "cartesian sense 128^3, 8 coils, R = 6, wavelets, 30 steps", 70 },
};

static int wanted(void *arg, const char *name)
{
	return bs_bench_wanted(arg, name);
}

static void put(char text[24], double value, const char *format)
{
	text[0] = '\0';
	if (value > 0.0)
		(void)snprintf(text, 24, format, value);
}

/* | median | error | worst | object | mJ; what is not known: empty. */
static void put_seen(const struct bs_gpu_seen *s)
{
	char text[5][24];

	put(text[0], s->median_ms, "%.4f");
	put(text[1], s->error, "%.1e");
	put(text[2], s->worst, "%.1e");
	put(text[3], s->structured, "%.1e");
	put(text[4], s->mj, "%.4g");
	(void)printf(" %9s | %7s | %7s | %7s | %7s |", text[0], text[1], text[2], text[3], text[4]);
}

static void json_seen(FILE *json, const char *whose, const struct bs_gpu_seen *s)
{
	(void)fprintf(json,
		      ", \"%serror\": %.3e, \"%sworst\": %.3e, \"%sstructured\": %.3e, "
		      "\"%smj\": %.6f",
		      whose, s->error, whose, s->worst, whose, s->structured, whose, s->mj);
}

/* Of the gridding's rows: by what they are as fast as is asked. */
static const char *asked_of(const struct bs_gpu_row *r)
{
	if (r->times == 0.0)
		return "";
	if (r->rival.median_ms >= r->times * r->seen.median_ms)
		return "times";
	return r->seen.median_ms <= BS_BENCH_GRID * r->grid_ms ? "grid" : "short";
}

static void write_row(void *arg, const struct bs_gpu_row *r)
{
	struct bs_bench *b = arg;
	const char *how = r->rival_how != NULL ? r->rival_how : "";
	char demand[24];
	char times[24];
	char grid[24];
	char over[24];
	double demand_ms = r->demand_ms;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, r->name) == 0)
			demand_ms = known[i].demand_ms;
	put(demand, demand_ms, "%.4g");
	put(times, r->rival.median_ms / r->seen.median_ms, "%.2f");
	put(grid, r->grid_ms, "%.4f");
	put(over, r->grid_ms > 0.0 ? r->seen.median_ms / r->grid_ms : 0.0, "%.2f");
	(void)printf("| %-51s |", r->name);
	put_seen(&r->seen);
	put_seen(&r->rival);
	(void)printf(" %5s | %7s | %5s | %-5s | %6s | %-4s | %9.4f | %2d | %8.4f | %6.2f | %s | "
		     "%s |\n",
		     times, grid, over, asked_of(r), demand,
		     demand_ms == 0.0                 ? ""
		     : r->seen.median_ms <= demand_ms ? "met"
						      : "over",
		     r->min_ms, r->n, r->floor_ms, r->seen.median_ms / r->floor_ms, r->detail, how);
	(void)fflush(stdout);
	if (b->json == NULL)
		return;
	(void)fprintf(b->json,
		      "%s\n  {\"row\": \"gpu %s\", \"median_ms\": %.6f, \"min_ms\": %.6f, "
		      "\"n\": %d, \"reference_ms\": %.6f, \"demand_ms\": %.4f, \"floor_ms\": "
		      "%.6f, \"grid_ms\": %.6f, \"asked\": \"%s\", \"detail\": \"%s\", "
		      "\"rival\": \"%s\"",
		      b->rows++ == 0 ? "[" : ",", r->name, r->seen.median_ms, r->min_ms, r->n,
		      r->rival.median_ms, demand_ms, r->floor_ms, r->grid_ms, asked_of(r),
		      r->detail, how);
	json_seen(b->json, "", &r->seen);
	json_seen(b->json, "rival_", &r->rival);
	(void)fprintf(b->json, "}");
	(void)fflush(b->json);
}

/* ---- what arming spends on weights: wall time, plan and all --------------------------------- */

#define WEIGHTS_RUNS  5
#define WEIGHTS_STEPS 20u

struct weights {
	struct bs_protocol p;
	struct bs_traj traj;
	struct bs_team *team;
	float *host, *cuda;
	size_t n;
};

static int time_weights(struct weights *w, bs_density_pipe pipe, float *out, uint32_t steps,
			int runs, struct bs_bench_row *row, struct bs_fail *why)
{
	double ms[WEIGHTS_RUNS];
	int rc = 0;

	w->p.density_iterations = steps;
	for (int i = 0; i < runs && rc == 0; i++) {
		const int64_t from_ns = bs_now_ns();

		rc = pipe(out, &w->p, &w->traj, w->team, why);
		ms[i] = (double)(bs_now_ns() - from_ns) * 1e-6;
	}
	if (rc == 0)
		bs_bench_sum(row, ms, runs);
	return rc;
}

static int open_weights(struct weights *w, int threads, struct bs_fail *why)
{
	int rc;

	(void)snprintf(w->p.name, sizeof(w->p.name), "bench");
	w->p.dims = 3;
	w->p.matrix[0] = w->p.matrix[1] = w->p.matrix[2] = 64;
	w->p.samples = 128;
	w->p.readouts = 5000;
	w->p.traj.type = BS_TRAJ_RADIAL3D;
	w->p.density = BS_DENSITY_PIPE;
	bs_plan_make(&w->p);
	w->n = (size_t)bs_protocol_samples(&w->p);
	w->host = malloc(w->n * sizeof(*w->host));
	w->cuda = malloc(w->n * sizeof(*w->cuda));
	if (w->host == NULL || w->cuda == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "weights");
	rc = bs_team_open(&w->team, threads, why);
	return rc != 0 ? rc : bs_traj_make(&w->traj, &w->p, why);
}

/* Floor: each step moves every sample, its position and weight, and every voxel of twice the
 * matrix, there and back. What the host takes to make the plans is not in it. */
static int bench_weights(struct bs_bench *b, double bytes_ms, struct bs_fail *why)
{
	const char *name = "density weights, 20 steps, 3D radial 640k -> 64^3";
	struct bs_bench_row all = { 0 };
	struct bs_bench_row one = { 0 };
	struct bs_bench_row host = { 0 };
	struct weights w;
	double e = 0.0;
	double sum = 0.0;
	char detail[160];
	int rc;

	if (!bs_bench_wanted(b, name))
		return 0;
	memset(&w, 0, sizeof(w));
	rc = open_weights(&w, b->threads, why);
	if (rc == 0) /* the first run loads kernels */
		rc = time_weights(&w, bs_density_pipe_cuda, w.cuda, 1, 1, &one, why);
	if (rc == 0)
		rc = time_weights(&w, bs_density_pipe_cuda, w.cuda, 1, WEIGHTS_RUNS, &one, why);
	if (rc == 0)
		rc = time_weights(&w, bs_density_pipe_cuda, w.cuda, WEIGHTS_STEPS, WEIGHTS_RUNS,
				  &all, why);
	if (rc == 0)
		rc = time_weights(&w, bs_density_pipe_host, w.host, WEIGHTS_STEPS, 1, &host, why);
	for (size_t m = 0; rc == 0 && m < w.n; m++) {
		const double d = (double)w.cuda[m] - w.host[m];

		e += d * d;
		sum += (double)w.host[m] * w.host[m];
	}
	if (rc == 0) {
		(void)snprintf(detail, sizeof(detail),
			       "wall time, plan and all; a step %.3f ms; the host %.0f ms (%d "
			       "threads), %.1f times; they differ by %.1e",
			       (all.median_ms - one.median_ms) / (WEIGHTS_STEPS - 1),
			       host.median_ms, b->threads, host.median_ms / all.median_ms,
			       sqrt(e / sum));
		const struct bs_gpu_row row = {
			.name = name,
			.detail = detail,
			.seen = { .median_ms = all.median_ms, .error = -1.0 },
			.min_ms = all.min_ms,
			.n = all.n,
			.floor_ms = WEIGHTS_STEPS * 2.0 *
				    ((double)w.n * 24.0 + 8.0 * 128 * 128 * 128) / bytes_ms,
		};

		write_row(b, &row);
	}
	bs_traj_close(&w.traj);
	bs_team_close(w.team);
	free(w.host);
	free(w.cuda);
	return rc;
}

int bs_bench_gpu(struct bs_bench *b)
{
	const char *route = getenv("BORESIDE_ROUTE");
	struct bs_gpu_info gpu;
	struct bs_fail why = { 0 };
	char words[384];
	double bytes_ms = 0.0;
	int failed = 0;

	if (route != NULL)
		bs_reach_hold((enum bs_gpu_route)strtol(route, NULL, 10));
	if (bs_gpu_probe(&gpu, &why) != 0) {
		(void)printf("%s\n", why.text);
		return 0;
	}
	if (bs_bench_gpu_copy(&bytes_ms, &why) != 0) {
		(void)printf("device copy: %s\n", why.text);
		return 1;
	}
	(void)printf("%s%s, CUDA driver %u.%u; device copy %.2f TB/s, read and written\n", gpu.name,
		     bs_reach_as(), gpu.driver / 1000, gpu.driver % 1000 / 10, bytes_ms * 1e-9);
	if (!bs_cufinufft_there(&why))
		(void)printf("%s\n", why.text);
	bs_power_open(gpu.bus, words, sizeof(words));
	if (words[0] != '\0')
		(void)printf("%s\n", words);
	(void)printf(
		"\n| work | ms | error | worst | object | mJ | rival's ms | error | worst | "
		"object | mJ | times | grid ms | over | asked | demand | | least ms | N | floor ms "
		"| ratio | how | rival |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
		"---|---|---|---|---|---|---|---|---|\n");
	if (bs_bench_gpu_nufft(wanted, write_row, b, b->seconds, bytes_ms, &why) != 0) {
		(void)printf("\ngridding: %s\n\n", why.text);
		failed = 1;
	}
	if (bench_weights(b, bytes_ms, &why) != 0) {
		(void)printf("\nweights: %s\n\n", why.text);
		failed = 1;
	}
	if (bs_bench_gpu_toeplitz(wanted, write_row, b, bytes_ms, &why) != 0) {
		(void)printf("\nToeplitz operator: %s\n\n", why.text);
		failed = 1;
	}
	if (bs_bench_gpu_cg(wanted, write_row, b, &why) != 0) {
		(void)printf("\nconjugate gradients: %s\n\n", why.text);
		failed = 1;
	}
	if (bs_bench_gpu_ls(wanted, write_row, b, &why) != 0) {
		(void)printf("\nleast squares: %s\n", why.text);
		failed = 1;
	}
	if (bs_bench_gpu_prior(wanted, write_row, b, b->threads, &why) != 0) {
		(void)printf("\nsolves with a prior: %s\n", why.text);
		failed = 1;
	}
	bs_power_close();
	return failed;
}
#else
int bs_bench_gpu(struct bs_bench *b)
{
	(void)b;
	(void)printf("built with GPU=0\n");
	return 0;
}
#endif
