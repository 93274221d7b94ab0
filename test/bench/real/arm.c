/*
 * test/bench/real/arm.c - bench arm: how long arming takes on this GPU, from a new process on
 *
 * Each time is a child's, from its first line to the armed protocol: CUDA's context, the kernels'
 * loading, weights, Q, variants measured, plans, memory, graphs. The trajectory and the maps are
 * there before. First with an empty cache, then with what that left.
 */
#define _GNU_SOURCE
#include "test/bench/bench.h"

#if BS_GPU
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "gpu/engine/engines.h"
#include "test/bench/inputs.h"
#include "test/support/plan/planned.h"

#define TIMES 5 /* at most; 10 s for each of --seconds */

static const struct row {
	const char *name;
	enum bs_method method;
	enum bs_traj_type type;
	uint32_t matrix, coils, samples, readouts;
	enum bs_density density;
	double demand_ms; /* with an empty cache */
} rows[] = {
	{ "arm sense 128^3 random 284592 8", BS_METHOD_SENSE, BS_TRAJ_RANDOM, 128, 8, 528, 539,
	  BS_DENSITY_NONE, 2000.0 },
	{ "arm sense 128^3 radial 3.2M 8", BS_METHOD_SENSE, BS_TRAJ_RADIAL3D, 128, 8, 256, 12500,
	  BS_DENSITY_PIPE, 2000.0 },
	{ "arm ls 128^3 radial 1M 1", BS_METHOD_LS, BS_TRAJ_RADIAL3D, 128, 1, 256, 4000,
	  BS_DENSITY_NONE, 2000.0 },
	{ "arm gridding 128^3 radial 3.2M 8", BS_METHOD_GRIDDING, BS_TRAJ_RADIAL3D, 128, 8, 256,
	  12500, BS_DENSITY_PIPE, 2000.0 },
	{ "arm sense 256^2 radial 34x512 8", BS_METHOD_SENSE, BS_TRAJ_RADIAL2D, 256, 8, 512, 34,
	  BS_DENSITY_RAMP, 0.0 },
};

static struct bs_protocol protocol_of(const struct row *r)
{
	struct bs_protocol p;

	memset(&p, 0, sizeof(p));
	(void)snprintf(p.name, sizeof(p.name), "arm");
	p.method = r->method;
	p.backend = BS_BACKEND_CUDA;
	p.dims = r->type == BS_TRAJ_RADIAL2D ? 2 : 3;
	p.matrix[0] = p.matrix[1] = r->matrix;
	p.matrix[2] = p.dims == 3 ? r->matrix : 1;
	p.coils = r->coils;
	p.samples = r->samples;
	p.readouts = r->readouts;
	p.slices = p.contrasts = 1;
	p.traj.type = r->type;
	p.traj.seed = 3;
	p.accuracy = 1e-3;
	p.density = r->density;
	p.density_iterations = 10;
	p.combine = r->method == BS_METHOD_SENSE ? BS_COMBINE_NONE : BS_COMBINE_RSS;
	p.fhd = p.q = BS_SUM_NUFFT;
	p.lambda = 0.01;
	p.iterations = 10;
	return planned(p);
}

static int arm(const struct row *r, int threads, const char *cache, double *ms, struct bs_fail *why)
{
	const struct bs_protocol p = protocol_of(r);
	const struct bs_engine *engine;
	struct bs_team *team = NULL;
	struct bs_arena arena = { 0 };
	struct bs_traj traj = { 0 };
	struct bs_need need = { 0 };
	struct bs_tables tables = { 0 };
	void *self = NULL;
	float *maps = bs_bench_noise((size_t)(bs_protocol_voxels(&p) * p.coils * 2), 5772156u);
	int rc = maps == NULL ? bs_fail(why, BS_ERR_NOMEM, "maps") : bs_traj_make(&traj, &p, why);

	tables.traj = &traj;
	tables.maps = r->method == BS_METHOD_SENSE ? maps : NULL;
	const int64_t start_ns = bs_now_ns();

	if (rc == 0)
		rc = bs_team_open(&team, threads, why);
	if (rc == 0)
		rc = bs_engine_find(&engine, &p, why);
	ms[1] = (double)(bs_now_ns() - start_ns) * 1e-6;
	if (rc == 0)
		rc = engine->need(&p, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc == 0) {
		const struct bs_arm_env env = { .arena = &arena, .team = team, .cache_dir = cache };

		rc = engine->arm(&self, &p, &tables, &env, why);
	}
	ms[0] = (double)(bs_now_ns() - start_ns) * 1e-6;
	return rc; /* the process ends */
}

/* In a child of this process, which has not asked for a GPU. */
static int arm_apart(const struct row *r, int threads, const char *cache, double *ms)
{
	int both[2];
	int status = 1;
	bool told = false;
	pid_t child;

	if (pipe(both) != 0)
		return 1;
	(void)fflush(NULL);
	child = fork();
	if (child == 0) {
		struct bs_fail why = { 0 };
		double found[2] = { 0.0, 0.0 };
		int rc;

		bs_log_init("bench", BS_LOG_DEBUG);
		rc = arm(r, threads, cache, found, &why);
		if (rc != 0)
			(void)fprintf(stderr, "%s: %s\n", r->name, why.text);
		else if (write(both[1], found, sizeof(found)) != (ssize_t)sizeof(found))
			rc = 1;
		_exit(rc != 0);
	}
	(void)close(both[1]);
	told = child > 0 && read(both[0], ms, 2 * sizeof(*ms)) == (ssize_t)(2 * sizeof(*ms));
	(void)close(both[0]);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0 && told ? 0 : 1;
}

static int measure(struct bs_bench *b, const struct row *r)
{
	double cold[TIMES];
	double warm[TIMES];
	double context[TIMES];
	struct bs_bench_row row = { .name = r->name, .reference_ms = r->demand_ms };
	struct bs_bench_row other = { 0 };
	struct bs_bench_row first = { 0 };
	const int64_t start_ns = bs_now_ns();
	char detail[160];
	int n = 0;

	for (; n < TIMES && (n == 0 || (double)(bs_now_ns() - start_ns) < b->seconds * 1e10); n++) {
		char cache[] = "/tmp/boreside-bench-XXXXXX";
		char command[64];
		double ms[2];

		if (mkdtemp(cache) == NULL || arm_apart(r, b->threads, cache, ms) != 0)
			return 1;
		cold[n] = ms[0];
		context[n] = ms[1];
		if (arm_apart(r, b->threads, cache, ms) != 0)
			return 1;
		warm[n] = ms[0];
		(void)snprintf(command, sizeof(command), "rm -rf '%s'", cache);
		if (system(command) != 0)
			return 1;
	}
	bs_bench_sum(&row, cold, n);
	bs_bench_sum(&other, warm, n);
	bs_bench_sum(&first, context, n);
	(void)snprintf(detail, sizeof(detail),
		       "most %.0f; the GPU found and its context %.0f; with what it left in the "
		       "cache %.0f",
		       cold[n - 1], first.median_ms, other.median_ms);
	row.detail = detail;
	bs_bench_write(b, &row);
	return 0;
}

int bs_bench_arm(struct bs_bench *b)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (bs_bench_wanted(b, rows[i].name))
			failed |= measure(b, &rows[i]);
	return failed;
}
#else
int bs_bench_arm(struct bs_bench *b)
{
	(void)b;
	(void)printf("built with GPU=0\n");
	return 0;
}
#endif
