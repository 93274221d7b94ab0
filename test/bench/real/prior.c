/*
 * test/bench/real/prior.c - bench gpu: solves with a prior through the CUDA engine; see gpu.h
 *
 * Wall time from the last readout's add, which has ended, to the image in host memory: of a window
 * the last frame's F^H d, too. Data are white, under smooth maps: no singular value is left out.
 */
#include "test/bench/bench.h"

#if BS_GPU
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "test/bench/gpu.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"

#define RUNS  20
#define STEPS 30u

static const struct row {
	const char *name;
	enum bs_prior prior;
	uint32_t n[3], coils;
	uint32_t every;  /* lines: one in so many, drawn at random; 0: spokes */
	uint32_t frames; /* of a window of spokes, 13 each */
} rows[] = {
	{ "cartesian sense 256^2, 8 coils, R = 4, wavelets, 30 steps",
	  BS_PRIOR_WAVELET,
	  { 256, 256, 1 },
	  8,
	  4,
	  1 },
	{ "sense 192^2, 8 coils, 20 frames of 13 spokes, low rank, 30 steps",
	  BS_PRIOR_LOW_RANK,
	  { 192, 192, 1 },
	  8,
	  0,
	  20 },
	{ "cartesian sense 128^3, 8 coils, R = 6, wavelets, 30 steps",
	  BS_PRIOR_WAVELET,
	  { 128, 128, 128 },
	  8,
	  6,
	  1 },
};

struct job {
	struct bs_protocol p;
	struct bs_traj traj;
	struct bs_tables tables;
	struct armed a;
	float *maps, *data, *image; /* data: of one readout, which all have */
	uint8_t held[32];
	uint64_t seed;
	struct bs_report report;
};

static struct bs_protocol protocol(const struct row *r)
{
	struct bs_protocol p;

	if (r->every > 0) {
		p = lines_of(r->n[0], r->n[1], r->n[2], r->n[0], r->coils);
		p.method = BS_METHOD_CARTESIAN_SENSE;
		p.parallel = BS_PARALLEL_SENSE;
	} else {
		p = path_of(BS_METHOD_SENSE, BS_TRAJ_RADIAL2D, r->n[0], r->n[1], 1, r->coils);
		readouts_of(&p, 13 * r->frames, 2 * r->n[0]);
		p.frame_step = 13;
		p.traj.reach = 0.5;
		p.accuracy = 1e-3;
	}
	solved(&p, 0.1, STEPS);
	p.combine = BS_COMBINE_SENSE;
	p.output = BS_OUTPUT_COMPLEX;
	p.prior.kind = r->prior;
	p.prior.lambda = 0.1;
	p.prior.block = 8;
	p.prior.shifts = true;
	return planned(p);
}

static float *fill(size_t n, uint64_t *seed)
{
	float *v = malloc(n * sizeof(*v));

	for (size_t i = 0; v != NULL && i < n; i++)
		v[i] = (float)(check_uniform(seed) - 0.5);
	return v;
}

/* Maps that vary along each axis, sum of squares about 1. */
static float *make_maps(const struct bs_protocol *p)
{
	const uint64_t voxels = bs_protocol_voxels(p);
	float *maps = malloc(voxels * p->coils * 8);

	for (uint64_t i = 0; maps != NULL && i < voxels * p->coils; i++) {
		const double u = (double)(i % p->matrix[0]) / p->matrix[0];
		const double v = (double)(i % voxels / p->matrix[0]) / (double)voxels;
		const double turn = (double)(i / voxels) * (u + 0.5);

		maps[2 * i] = (float)((0.3 + 0.1 * v) * cos(turn));
		maps[2 * i + 1] = (float)((0.3 + 0.1 * v) * sin(turn));
	}
	return maps;
}

static int open_job(struct job *j, const struct row *r, struct bs_team *team, struct bs_fail *why)
{
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	int rc = 0;

	*j = (struct job){ .p = protocol(r), .seed = 3 };
	memset(j->held, 1, sizeof(j->held));
	j->maps = make_maps(&j->p);
	j->data = fill(2ull * j->p.samples * j->p.coils, &j->seed);
	j->image = malloc(bs_protocol_image_bytes(&j->p));
	if (j->maps == NULL || j->data == NULL || j->image == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "bench");
	if (r->every == 0)
		rc = bs_traj_make(&j->traj, &j->p, why);
	j->tables.traj = &j->traj;
	j->tables.maps = j->maps;
	return rc != 0 ? rc : armed_open(&j->a, &bs_engine_cuda, &j->p, &j->tables, env, why);
}

static void close_job(struct job *j)
{
	armed_close(&j->a);
	bs_traj_close(&j->traj);
	free(j->maps);
	free(j->data);
	free(j->image);
}

/* Brings a frame's readouts; returns once they are on the device. */
static int bring(struct job *j, const struct row *r)
{
	const struct bs_engine *e = j->a.engine;
	const uint32_t step = j->p.frame_step;
	uint64_t made;
	uint64_t read;
	uint64_t seed = 7;
	int rc = e->begin(j->a.self, 0);

	for (uint32_t i = 0; i < j->p.readouts && rc == 0; i++) {
		if (r->every > 0 && check_uniform(&seed) * r->every >= 1.0)
			continue;
		rc = e->add(j->a.self, 0, i, NULL, j->data, j->p.samples);
		if (rc != 0 || step == 0 || (i + 1) % step != 0 || i + 1 == j->p.readouts)
			continue;
		rc = e->fold(j->a.self, 0, i / step);
		if (rc == 0)
			rc = e->begin(j->a.self, 0);
	}
	e->reading(j->a.self, true, &made, &read);
	return rc;
}

/* From the last readout to the image, ms; negative: it failed. */
static double image_ms(struct job *j)
{
	const struct bs_engine *e = j->a.engine;
	const uint32_t step = j->p.frame_step;
	const int64_t from_ns = bs_now_ns();
	int rc = step > 0 ? e->fold(j->a.self, 0, j->p.readouts / step - 1) : 0;

	j->report = (struct bs_report){ 0 };
	if (rc == 0)
		rc = e->image(j->a.self, 0, step > 0 ? j->held : NULL, INT64_MAX, j->image,
			      &j->report);
	return rc == 0 ? (double)(bs_now_ns() - from_ns) * 1e-6 : -1.0;
}

static int time_row(struct job *j, const struct row *r, struct bs_bench_row *all, double *solve_ms,
		    struct bs_fail *why)
{
	double ms[RUNS];

	*solve_ms = 0.0;
	for (int i = -2; i < RUNS; i++) { /* two are not counted */
		int rc = bring(j, r);
		double took = rc == 0 ? image_ms(j) : -1.0;

		if (took < 0.0)
			return bs_fail(why, BS_ERR_GPU, "%s: %s", r->name, j->report.why.text);
		if (i >= 0)
			ms[i] = took;
		*solve_ms +=
			i >= 0 ? (double)j->report.stage_ns[BS_BUDGET_SOLVE] * 1e-6 / RUNS : 0.0;
	}
	bs_bench_sum(all, ms, RUNS);
	return 0;
}

int bs_bench_gpu_prior(int (*wanted)(void *arg, const char *name),
		       void (*write)(void *arg, const struct bs_gpu_row *r), void *arg, int threads,
		       struct bs_fail *why)
{
	struct bs_team *team = NULL;
	int rc = bs_team_open(&team, threads, why);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == 0; i++) {
		struct bs_bench_row all = { 0 };
		double solve_ms = 0.0;
		char detail[128];
		struct job j;

		if (!wanted(arg, rows[i].name))
			continue;
		rc = open_job(&j, &rows[i], team, why);
		if (rc == 0)
			rc = time_row(&j, &rows[i], &all, &solve_ms, why);
		if (rc == 0) {
			(void)snprintf(detail, sizeof(detail),
				       "wall time; solve %.3f ms; %u iterations, %s", solve_ms,
				       j.report.iterations, bs_prox_reason_words(j.report.stop));
			const struct bs_gpu_row row = {
				.name = rows[i].name,
				.detail = detail,
				.seen = { .median_ms = all.median_ms, .error = -1.0 },
				.min_ms = all.min_ms,
				.n = all.n,
				.floor_ms = all.median_ms,
			};

			write(arg, &row);
		}
		close_job(&j);
	}
	bs_team_close(team);
	return rc;
}
#endif
