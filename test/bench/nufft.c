/*
 * test/bench/nufft.c - the NUFFT's rows of bench
 *
 * The sizes, and the times of FINUFFT 2.6 at 1e-3 with two threads and its plan made (its best
 * settings, on the same kind of machine), are those of the project's speed demand.
 */
#include "test/bench/bench.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/memory/arena.h"
#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "test/bench/inputs.h"

#define REPEATS_MAX 2000

static const struct row {
	enum bs_bench_shape shape;
	double adjoint_ms[2], forward_ms[2]; /* 1 and 8 coils */
} rows[] = {
	{ BS_BENCH_RADIAL2D, { 0.80, 7.2 }, { 0.62, 6.1 } },
	{ BS_BENCH_SPIRAL2D, { 0.48, 4.5 }, { 0.38, 3.2 } },
	{ BS_BENCH_RANDOM3D, { 20, 180 }, { 17, 174 } },
	{ BS_BENCH_STACK, { 79, 622 }, { 82, 683 } },
	{ BS_BENCH_RADIAL3D, { 46, 380 }, { 61, 513 } },
	{ BS_BENCH_RANDOM2D, { 9.9, 79 }, { 7.1, 63 } },
};

static void row_name(char name[64], const struct row *r, uint32_t coils, int forward)
{
	(void)snprintf(name, 64, "%s %u coil%s %s", bs_bench_sizes[r->shape].name, coils,
		       coils > 1 ? "s" : "", forward ? "forward" : "adjoint");
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

	row_name(name, r, coils, forward);
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
	const struct bs_bench_size *size = &bs_bench_sizes[r->shape];
	struct bs_nufft_spec spec = bs_bench_nufft_spec(size, coils);
	struct bs_need need = { .parts = 0 };
	struct bs_arena arena = { 0 };
	struct bs_nufft *plan = NULL;
	size_t voxels = (size_t)size->matrix[0] * size->matrix[1] * size->matrix[2];
	float *image = bs_bench_noise(2 * voxels * coils, 1);
	float *data = bs_bench_noise(2 * spec.samples * coils, 2);
	int rc;

	rc = image == NULL || data == NULL ? bs_fail(why, BS_ERR_NOMEM, "%s: samples", size->name)
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

static bool any_wanted(const struct bs_bench *b, const struct row *r, uint32_t coils)
{
	char name[2][64];

	row_name(name[0], r, coils, 0);
	row_name(name[1], r, coils, 1);
	return bs_bench_wanted(b, name[0]) || bs_bench_wanted(b, name[1]);
}

int bs_bench_nufft(struct bs_bench *b)
{
	struct bs_team *team;
	struct bs_fail why = { 0, "" };
	int rc = bs_team_open(&team, b->threads, &why);

	for (size_t i = 0; rc == 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bs_traj traj = { 0 };

		if (!any_wanted(b, &rows[i], 1) && !any_wanted(b, &rows[i], 8))
			continue;
		rc = bs_bench_traj(&traj, &bs_bench_sizes[rows[i].shape], &why);
		for (uint32_t coils = 1; rc == 0 && coils <= 8; coils *= 8)
			if (any_wanted(b, &rows[i], coils))
				rc = run_coils(b, &rows[i], traj.k, coils, team, &why);
		bs_traj_close(&traj);
	}
	if (rc != 0)
		(void)fprintf(stderr, "bench: %s\n", why.text);
	bs_team_close(team);
	return rc != 0;
}
