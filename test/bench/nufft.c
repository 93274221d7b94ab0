/*
 * test/bench/nufft.c - the NUFFT's rows of bench
 *
 * The sizes, and the times of FINUFFT 2.6 at 1e-3 with two threads and its plan made (its best
 * settings, on the same kind of machine), are those of the project's speed demand.
 */
#define _GNU_SOURCE /* strdup */
#include "test/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory/arena.h"
#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "core/traj/traj.h"
#include "gpu/nufft/nufft.h"

#define REPEATS_MAX 2000

static const struct row {
	const char *name;
	enum bs_traj_type type;
	uint32_t dims, matrix[3], samples, readouts, interleaves;
	double adjoint_ms[2], forward_ms[2]; /* 1 and 8 coils */
} rows[] = {
	{ "radial2d",
	  BS_TRAJ_RADIAL2D,
	  2,
	  { 256, 256, 1 },
	  512,
	  256,
	  1,
	  { 0.80, 7.2 },
	  { 0.62, 6.1 } },
	{ "spiral2d",
	  BS_TRAJ_SPIRAL2D,
	  2,
	  { 256, 256, 1 },
	  4096,
	  16,
	  16,
	  { 0.48, 4.5 },
	  { 0.38, 3.2 } },
	{ "random3d", BS_TRAJ_RANDOM, 3, { 128, 128, 128 }, 528, 539, 1, { 20, 180 }, { 17, 174 } },
	{ "stack", BS_TRAJ_STACK, 3, { 256, 256, 32 }, 6000, 544, 17, { 79, 622 }, { 82, 683 } },
	{ "radial3d",
	  BS_TRAJ_RADIAL3D,
	  3,
	  { 64, 64, 64 },
	  128,
	  25000,
	  1,
	  { 46, 380 },
	  { 61, 513 } },
	{ "random2d", BS_TRAJ_RANDOM, 2, { 512, 512, 1 }, 1024, 1024, 1, { 9.9, 79 }, { 7.1, 63 } },
};

static float *noise(size_t floats)
{
	float *p = malloc(floats * sizeof(float));
	uint64_t s = 88172645463325252u;

	for (size_t i = 0; p != NULL && i < floats; i++) {
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		p[i] = (float)(int32_t)(s >> 32) * 0x1p-31f;
	}
	return p;
}

static void measure(struct bs_bench *b, const struct row *r, struct bs_nufft *plan, uint32_t coils,
		    int forward, float *image, float *data)
{
	static double ms[REPEATS_MAX];
	struct bs_bench_row out = { 0 };
	struct bs_nufft_info info;
	char name[64];
	char detail[256];
	int n = 0;
	int64_t start;

	(void)snprintf(name, sizeof(name), "%s %u coil%s %s", r->name, coils, coils > 1 ? "s" : "",
		       forward ? "forward" : "adjoint");
	if (!bs_bench_wanted(b, name))
		return;
	for (int warm = 0; warm < 2; warm++) {
		if (forward)
			bs_nufft_forward(plan, image, data);
		else
			bs_nufft_adjoint(plan, data, image);
	}
	start = bs_now_ns();
	while (n < REPEATS_MAX && (n < 5 || (double)(bs_now_ns() - start) < b->seconds * 1e9)) {
		int64_t t = bs_now_ns();

		if (forward)
			bs_nufft_forward(plan, image, data);
		else
			bs_nufft_adjoint(plan, data, image);
		ms[n++] = (double)(bs_now_ns() - t) * 1e-6;
	}
	bs_bench_sum(&out, ms, n);
	bs_nufft_info(plan, &info);
	(void)snprintf(detail, sizeof(detail), "%s, width %g, grid %ux%ux%u", info.route,
		       info.width, info.grid[0], info.grid[1], info.grid[2]);
	out.name = name;
	out.detail = detail;
	out.reference_ms = (forward ? r->forward_ms : r->adjoint_ms)[coils == 8];
	bs_bench_write(b, &out);
}

static int run_coils(struct bs_bench *b, const struct row *r, const float *k, uint32_t coils,
		     struct bs_team *team, struct bs_fail *why)
{
	struct bs_nufft_spec spec = { .dims = r->dims,
				      .coils = coils,
				      .accuracy = 1e-3,
				      .samples = (uint64_t)r->samples * r->readouts };
	struct bs_need need = { .parts = 0 };
	struct bs_arena arena = { 0 };
	struct bs_nufft *plan = NULL;
	size_t image_floats = 2 * (size_t)coils * r->matrix[0] * r->matrix[1] * r->matrix[2];
	float *image = noise(image_floats);
	float *data = noise(2 * spec.samples * coils);
	int rc;

	memcpy(spec.matrix, r->matrix, sizeof(spec.matrix));
	rc = image == NULL || data == NULL ? bs_fail(why, BS_ERR_NOMEM, "%s: samples", r->name)
					   : bs_nufft_need(&spec, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_nufft_plan(&plan, &spec, k, NULL, &arena, team, "", why);
	for (int forward = 0; rc == 0 && forward < 2; forward++)
		measure(b, r, plan, coils, forward, image, data);
	bs_nufft_close(plan);
	bs_arena_close(&arena);
	free(image);
	free(data);
	return rc;
}

static int any_wanted(const struct bs_bench *b, const char *row, uint32_t coils)
{
	char name[64];
	int any = 0;

	for (int forward = 0; forward < 2; forward++) {
		(void)snprintf(name, sizeof(name), "%s %u coil%s %s", row, coils,
			       coils > 1 ? "s" : "", forward ? "forward" : "adjoint");
		any |= bs_bench_wanted(b, name);
	}
	return any;
}

int bs_bench_nufft(struct bs_bench *b)
{
	struct bs_team *team;
	struct bs_fail why = { 0, "" };
	int rc = bs_team_open(&team, b->threads, &why);

	for (size_t i = 0; rc == 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bs_protocol p = { .dims = rows[i].dims,
					 .samples = rows[i].samples,
					 .readouts = rows[i].readouts };
		struct bs_traj traj = { 0 };
		int wanted = any_wanted(b, rows[i].name, 1) + 2 * any_wanted(b, rows[i].name, 8);

		memcpy(p.matrix, rows[i].matrix, sizeof(p.matrix));
		p.traj.type = rows[i].type;
		p.traj.interleaves = rows[i].interleaves;
		p.traj.seed = 1;
		if (wanted == 0)
			continue;
		rc = bs_traj_make(&traj, &p, &why);
		if (rc == 0 && (wanted & 1) != 0)
			rc = run_coils(b, &rows[i], traj.k, 1, team, &why);
		if (rc == 0 && (wanted & 2) != 0)
			rc = run_coils(b, &rows[i], traj.k, 8, team, &why);
		bs_traj_close(&traj);
	}
	if (rc != 0)
		(void)fprintf(stderr, "bench: %s\n", why.text);
	bs_team_close(team);
	return rc != 0;
}
