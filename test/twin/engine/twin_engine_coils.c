/*
 * test/twin/engine/twin_engine_coils.c - many coils of a large volume: the memory that is told
 * beforehand, and the images
 *
 * 256^3, 10 M samples, 32 coils (less where the device is small): what an engine's device says is
 * held against what cudaMemGetInfo sees go while it is armed: 2 %. No more than 24 GiB for gridding
 * and 48 for sense are taken at any time, what is only taken while arming included.
 * Coil c has the samples of one coil times a_c, so its image is that of one coil, from an engine of
 * one coil whose grids are kept, times a_c: root of sum of squares and, with maps a_c / |a|, sense
 * are that times |a|. The sums differ in rounding alone, 1e-5 as in twin_nufft_turns.c; sense is
 * solved to four steps, well conditioned: 1e-4.
 */
#include "test/support/check.h"
#include <math.h>
#include <string.h>

#include "core/thread/team.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"
#include "test/twin/allocations.h"
#include "test/twin/device.h"

#define GIB (UINT64_C(1) << 30)

struct made {
	struct bs_protocol p;
	struct bs_traj traj;
	float *one;    /* [readout][sample], of one coil */
	float *many;   /* [coil][sample], a readout */
	float *factor; /* [coil] complex */
	double norm;
};

static struct bs_protocol protocol(enum bs_method method, uint32_t n, uint32_t coils)
{
	struct bs_protocol p = path_of(method, BS_TRAJ_RADIAL3D, n, n, n, coils);

	readouts_of(&p, n == 256 ? 20000 : 20 * n, n == 256 ? 500 : 2 * n);
	solved(&p, 0.5, 4);
	p.accuracy = 1e-3;
	p.normalize = BS_NORMALIZE_NONE;
	for (int a = 0; a < 3; a++) {
		p.encoded[a] = n;
		p.fov_mm[a] = 200.0f;
	}
	p.combine = method == BS_METHOD_SENSE ? BS_COMBINE_SENSE : BS_COMBINE_RSS;
	p.gpu_memory = BS_GPU_MEMORY_COPY;
	return planned(p);
}

static int make(struct made *m, const struct bs_protocol *p, struct bs_fail *why)
{
	const size_t values = (size_t)p->readouts * p->samples * 2;
	uint64_t seed = 20261127;

	memset(m, 0, sizeof(*m));
	m->p = *p;
	m->one = malloc(values * 4);
	m->many = malloc((size_t)p->samples * p->coils * 8);
	m->factor = malloc(p->coils * 8ul);
	if (m->one == NULL || m->many == NULL || m->factor == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "samples");
	fill_random(m->one, values, &seed);
	for (uint32_t c = 0; c < p->coils; c++) {
		const double size = 0.5 + check_uniform(&seed);
		const double turn = 6.28 * check_uniform(&seed);

		m->factor[2 * c] = (float)(size * cos(turn));
		m->factor[2 * c + 1] = (float)(size * sin(turn));
		m->norm += size * size;
	}
	m->norm = sqrt(m->norm);
	return bs_traj_make(&m->traj, p, why);
}

static void drop(struct made *m)
{
	bs_traj_close(&m->traj);
	free(m->one);
	free(m->many);
	free(m->factor);
}

/* Maps a_c / |a|, the same everywhere. */
static float *maps_of(const struct made *m)
{
	const size_t voxels = (size_t)bs_protocol_voxels(&m->p);
	float *maps = malloc(voxels * m->p.coils * 8);

	for (uint32_t c = 0; maps != NULL && c < m->p.coils; c++)
		for (size_t v = 0; v < voxels; v++) {
			maps[2 * (c * voxels + v)] = (float)(m->factor[2 * c] / m->norm);
			maps[2 * (c * voxels + v) + 1] = (float)(m->factor[2 * c + 1] / m->norm);
		}
	return maps;
}

/* Readout r of all coils, or of the one. */
static const float *readout(const struct made *m, uint32_t coils, uint32_t r)
{
	const float *from = m->one + 2 * (size_t)r * m->p.samples;

	for (uint32_t c = 0; coils > 1 && c < coils; c++)
		for (uint32_t s = 0; s < m->p.samples; s++) {
			const float *d = from + 2 * s;
			const float *a = m->factor + 2 * c;
			float *to = m->many + 2 * (c * m->p.samples + s);

			to[0] = a[0] * d[0] - a[1] * d[1];
			to[1] = a[0] * d[1] + a[1] * d[0];
		}
	return coils > 1 ? m->many : from;
}

static size_t free_now(void)
{
	size_t now = 0;
	size_t total = 0;

	return cudaDeviceSynchronize() == cudaSuccess && cudaMemGetInfo(&now, &total) == cudaSuccess
		       ? now
		       : 0;
}

/* What an engine said that it would take, what it took, and the most at a time while arming. */
struct taken {
	uint64_t told, kept, most;
};

static int image_of(const struct made *m, const struct bs_engine *engine,
		    const struct bs_protocol *p, const float *maps, float *image,
		    struct taken *taken, struct bs_fail *why)
{
	const struct bs_tables tables = { .traj = &m->traj, .maps = maps };
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	struct bs_report report = { 0 };
	struct bs_need need = { 0 };
	struct armed a = { 0 };
	const size_t before = free_now();
	int rc = engine->device(p, NULL, &need, why);

	least_free = before;
	if (rc == 0)
		rc = armed_open(&a, engine, p, &tables, env, why);
	taken->told = need.total_bytes;
	taken->kept = before - free_now();
	taken->most = before - least_free;
	if (rc == 0)
		rc = engine->begin(a.self, 0);
	allocations = 0;
	for (uint32_t r = 0; rc == 0 && r < p->readouts; r++)
		rc = engine->add(a.self, 0, r, NULL, readout(m, p->coils, r), p->samples);
	if (rc == 0)
		rc = engine->image(a.self, 0, NULL, INT64_MAX, image, &report);
	CHECK(rc == 0 && allocations == 0,
	      "%s, %u coils: nothing is taken after arm; after the last readout %.1f ms, %u "
	      "iterations %s",
	      armed_name(&a), p->coils,
	      (double)(report.stage_ns[BS_BUDGET_ACCUMULATE] + report.stage_ns[BS_BUDGET_SOLVE] +
		       report.stage_ns[BS_BUDGET_COMBINE]) *
		      1e-6,
	      report.iterations, why->text);
	armed_close(&a);
	return rc;
}

/* Kernels that are loaded when they first run, streams and graphs are a small part of so much. */
static void check(enum bs_method method, uint32_t n, uint32_t coils, uint64_t most)
{
	const bool sense = method == BS_METHOD_SENSE;
	const struct bs_engine *many = sense ? &bs_engine_cuda : &bs_engine_cuda;
	const struct bs_engine *one = sense ? &bs_engine_cuda : &bs_engine_cuda;
	const struct bs_protocol p = protocol(method, n, coils);
	struct bs_protocol single = protocol(sense ? BS_METHOD_LS : method, n, 1);
	struct taken taken[2];
	struct made m;
	struct bs_fail why = { 0 };
	const size_t floats = (size_t)bs_protocol_image_bytes(&p) / 4;
	float *image[2] = { malloc(floats * 4), malloc(floats * 4) };
	float *maps = NULL;
	int rc = make(&m, &p, &why);

	if (rc == 0 && sense)
		maps = maps_of(&m);
	if (rc == 0)
		rc = image_of(&m, many, &p, maps, image[0], &taken[0], &why);
	if (rc == 0)
		rc = image_of(&m, one, &single, NULL, image[1], &taken[1], &why);
	for (size_t v = 0; rc == 0 && v < floats; v++)
		image[1][v] *= (float)m.norm;
	const double e = rc == 0 ? check_rel(image[0], image[1], floats) : 1.0;
	const double off =
		rc == 0 ? fabs((double)taken[0].told / (double)taken[0].kept - 1.0) : 1.0;

	CHECK(rc == 0 && e <= (sense ? 1e-4 : 1e-5), "%s %u^3, %u coils: %.1e from one coil's %s",
	      bs_plan_engine(&p.plan, many->place), n, coils, e, why.text);
	CHECK(off <= 0.02, "%s %u^3, %u coils: told %.3f GiB, taken %.3f: %.2f %%",
	      bs_plan_engine(&p.plan, many->place), n, coils, (double)taken[0].told / (double)GIB,
	      (double)taken[0].kept / (double)GIB, 100.0 * off);
	CHECK(rc == 0 && taken[0].most <= most,
	      "%s %u^3, %u coils: at most %.2f GiB at a time, %.0f allowed",
	      bs_plan_engine(&p.plan, many->place), n, coils, (double)taken[0].most / (double)GIB,
	      (double)most / (double)GIB);
	free(image[0]);
	free(image[1]);
	free(maps);
	drop(&m);
}

static void compare_all(void)
{
	if (small()) {
		SKIP("many coils: gigabytes take a checker too long");
	} else if (gpu.free_bytes < 50 * GIB) {
		check(BS_METHOD_GRIDDING, 160, 8, 8 * GIB);
		check(BS_METHOD_SENSE, 160, 8, 8 * GIB);
	} else {
		check(BS_METHOD_GRIDDING, 256, 32, 24 * GIB);
		check(BS_METHOD_SENSE, 256, 32, 48 * GIB);
	}
}

int main(void)
{
	return twin_main("many coils", 8, compare_all);
}
