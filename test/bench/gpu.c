/*
 * test/bench/gpu.c - bench gpu: the project's speed demand, row by row, on this GPU
 *
 * rivals: what others reach on an NVIDIA H200 (Parboil's optimized kernels, cuFFT with pad,
 * multiply and crop; the gridding's are in inputs.h), device time, plans not counted; demand: the
 * most that is allowed there. 0: none is stated. Error: relative l2 against sums in double
 * precision at voxels (samples) drawn at random, same run.
 */
#include "test/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if BS_GPU
#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "test/bench/gpu.h"
#include "gpu/nufft/density_cuda.h"
#include "gpu/device/memory.h"

static const struct {
	const char *name;
	double rival_ms, demand_ms;
} known[] = {
	{ "exact F^H d 128^3 x 284592 single", 767, 20 },
	{ "exact F^H d 128^3 x 284592 fast", 767, 10 },
	{ "exact Q 128^3 (256^3) x 284592", 2830, 120 },
	{ "Toeplitz operator 128^3", 0.616, 0.15 },
	{ "2008 whole: F^H d + 60 iterations 128^3", 66000, 33 },
	{ "2007 whole: F^H d + 60 iterations 64^3", 191000, 40 },
	{ "exact F^H d 64^3 x 2048 single", 0.79, 0 },
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

static void write_row(void *arg, const struct bs_gpu_row *r)
{
	struct bs_bench *b = arg;
	char rival[24];
	char demand[24];
	char error[24];
	double rival_ms = r->rival_ms;
	double demand_ms = r->demand_ms;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, r->name) == 0) {
			rival_ms = known[i].rival_ms;
			demand_ms = known[i].demand_ms;
		}
	put(rival, rival_ms, "%.4g");
	put(demand, demand_ms, "%.4g");
	put(error, r->error, "%.1e");
	(void)printf(
		"| %-51s | %9.4f | %9.4f | %2d | %7s | %6s | %-4s | %8.4f | %6.2f | %7s | %s |\n",
		r->name, r->median_ms, r->min_ms, r->n, rival, demand,
		demand_ms == 0.0            ? ""
		: r->median_ms <= demand_ms ? "met"
					    : "over",
		r->floor_ms, r->median_ms / r->floor_ms, error, r->detail);
	(void)fflush(stdout);
	if (b->json == NULL)
		return;
	(void)fprintf(
		b->json,
		"%s\n  {\"row\": \"gpu %s\", \"median_ms\": %.6f, \"min_ms\": %.6f, \"n\": %d, "
		"\"reference_ms\": %.4f, \"demand_ms\": %.4f, \"floor_ms\": %.6f, \"error\": %.3e, "
		"\"detail\": \"%s\"}",
		b->rows++ == 0 ? "[" : ",", r->name, r->median_ms, r->min_ms, r->n, rival_ms,
		demand_ms, r->floor_ms, r->error, r->detail);
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
			.median_ms = all.median_ms,
			.min_ms = all.min_ms,
			.n = all.n,
			.floor_ms = WEIGHTS_STEPS * 2.0 *
				    ((double)w.n * 24.0 + 8.0 * 128 * 128 * 128) / bytes_ms,
			.error = -1.0,
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
	struct bs_gpu_info gpu;
	struct bs_fail why = { 0 };
	double bytes_ms = 0.0;
	int failed = 0;

	if (bs_gpu_probe(&gpu, &why) != 0) {
		(void)printf("%s\n", why.text);
		return 0;
	}
	if (bs_bench_gpu_copy(&bytes_ms, &why) != 0) {
		(void)printf("device copy: %s\n", why.text);
		return 1;
	}
	(void)printf("%s, CUDA driver %u.%u; device copy %.2f TB/s, read and written\n\n", gpu.name,
		     gpu.driver / 1000, gpu.driver % 1000 / 10, bytes_ms * 1e-9);
	(void)printf(
		"| work | median ms | least ms | N | rivals | demand | | floor ms | ratio | error "
		"| how |\n"
		"|---|---|---|---|---|---|---|---|---|---|---|\n");
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
