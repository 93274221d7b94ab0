/*
 * test/twin/twin_engine.c - the CUDA engines against the host's: images, order of arrival, gaps, no
 * allocation after arm
 *
 * The bound, 1e-5 relative at accuracy 1e-6 class, is that of twin_nufft.c. Allocations are counted at
 * the linker's seams (Makefile: --wrap).
 */
#include "test/check.h"

#if BS_GPU
#include <cuda_runtime_api.h>
#include <string.h>

#include "core/team.h"
#include "gpu/engines.h"
#include "gpu/devmem.h"

static unsigned allocations;

cudaError_t __real_cudaMalloc(void **p, size_t n);
cudaError_t __wrap_cudaMalloc(void **p, size_t n);
cudaError_t __real_cudaFree(void *p);
cudaError_t __wrap_cudaFree(void *p);
cudaError_t __real_cudaHostAlloc(void **p, size_t n, unsigned flags);
cudaError_t __wrap_cudaHostAlloc(void **p, size_t n, unsigned flags);
cudaError_t __real_cudaHostRegister(void *p, size_t n, unsigned flags);
cudaError_t __wrap_cudaHostRegister(void *p, size_t n, unsigned flags);

cudaError_t __wrap_cudaMalloc(void **p, size_t n)
{
	allocations++;
	return __real_cudaMalloc(p, n);
}

cudaError_t __wrap_cudaFree(void *p)
{
	allocations++;
	return __real_cudaFree(p);
}

cudaError_t __wrap_cudaHostAlloc(void **p, size_t n, unsigned flags)
{
	allocations++;
	return __real_cudaHostAlloc(p, n, flags);
}

cudaError_t __wrap_cudaHostRegister(void *p, size_t n, unsigned flags)
{
	allocations++;
	return __real_cudaHostRegister(p, n, flags);
}

static uint64_t seed = 88172645463325252u;
static struct bs_team *team;

struct armed {
	const struct bs_engine *engine;
	struct bs_arena arena;
	void *self;
};

static int open_engine(struct armed *a, const struct bs_engine *engine, const struct bs_protocol *p,
		       const struct bs_tables *tables, struct bs_fail *why)
{
	struct bs_arm_env env = { &a->arena, team, "" };
	struct bs_need need = { 0 };
	int rc = engine->need(p, &need, why);

	memset(a, 0, sizeof(*a));
	a->engine = engine;
	if (rc == 0)
		rc = bs_arena_open(&a->arena, need.total_bytes, why);
	if (rc == 0)
		rc = engine->arm(&a->self, p, tables, &env, why);
	a->arena.sealed = true;
	return rc;
}

static void close_engine(struct armed *a)
{
	if (a->self != NULL)
		a->engine->disarm(a->self);
	bs_arena_close(&a->arena);
}

/* All rows but one, in steps of stride; a row of the other frame in between. */
static int image_of(struct armed *a, const struct bs_protocol *p, uint32_t rows, uint32_t stride,
		    uint32_t missing, const float *data, float *image)
{
	struct bs_report report = { 0 };
	int rc = a->engine->begin(a->self, 0);

	if (rc == 0)
		rc = a->engine->begin(a->self, 1);
	for (uint32_t i = 0; rc == 0 && i < rows; i++) {
		uint32_t r = (uint32_t)((uint64_t)i * stride % rows);
		const float *from = data + 2ull * r * p->samples * p->coils;

		if (r == missing)
			continue;
		rc = a->engine->add(a->self, 0, r, from, p->samples);
		if (rc == 0 && i % 5 == 0)
			rc = a->engine->add(a->self, 1, r, from, p->samples);
	}
	return rc != 0 ? rc : a->engine->finish(a->self, 0, INT64_MAX, image, &report);
}

static void compare(const char *name, const struct bs_protocol *p, uint32_t rows,
		    const struct bs_engine *host, const struct bs_engine *cuda)
{
	struct bs_tables tables = { 0 };
	struct bs_traj traj = { 0 };
	struct armed h = { 0 };
	struct armed c = { 0 };
	struct bs_fail why = { 0 };
	uint64_t floats = bs_protocol_image_bytes(p) / 4;
	uint64_t values = 2ull * rows * p->samples * p->coils;
	float *data = malloc(values * 4);
	float *a = malloc(floats * 4);
	float *b = malloc(floats * 4);
	int rc = p->method == BS_METHOD_CARTESIAN ? 0 : bs_traj_make(&traj, p, &why);

	for (uint64_t i = 0; i < values; i++)
		data[i] = (float)(check_uniform(&seed) - 0.5);
	tables.traj = &traj;
	if (rc == 0)
		rc = open_engine(&h, host, p, &tables, &why);
	if (rc == 0)
		rc = open_engine(&c, cuda, p, &tables, &why);
	CHECK(rc == 0, "%s: both engines armed%s%s", name, rc != 0 ? ": " : "",
	      rc != 0 ? why.text : "");
	if (rc == 0) {
		rc = image_of(&h, p, rows, 1, UINT32_MAX, data, a);
		allocations = 0;
		rc |= image_of(&c, p, rows, 1, UINT32_MAX, data, b);
		double e = check_rel(b, a, floats);

		CHECK(rc == 0 && e <= 1e-5, "%s: images differ by %.1e; at most 1e-5", name, e);
		rc = image_of(&c, p, rows, 13, UINT32_MAX, data, a);
		CHECK(rc == 0 && memcmp(a, b, floats * 4) == 0,
		      "%s: another order of arrival, the same bytes", name);
		rc = image_of(&h, p, rows, 1, 3, data, a) | image_of(&c, p, rows, 13, 3, data, b);
		e = check_rel(b, a, floats);
		CHECK(rc == 0 && e <= 1e-5, "%s: one readout missing: %.1e", name, e);
		for (int i = 0; i < 20; i++)
			rc |= image_of(&c, p, rows, 13, 3, data, a);
		CHECK(rc == 0 && memcmp(a, b, floats * 4) == 0 && allocations == 0,
		      "%s: 20 more frames, the same bytes, %u device or pinned allocations", name,
		      allocations);
	}
	close_engine(&h);
	close_engine(&c);
	bs_traj_close(&traj);
	free(data);
	free(a);
	free(b);
}

static struct bs_protocol protocol(enum bs_method method, uint32_t dims, enum bs_traj_type type)
{
	struct bs_protocol p;

	memset(&p, 0, sizeof(p));
	(void)snprintf(p.name, sizeof(p.name), "twin");
	p.method = method;
	p.dims = dims;
	p.coils = 3;
	p.slices = 2;
	p.contrasts = 1;
	p.traj.type = type;
	p.accuracy = 1e-6;
	p.density = BS_DENSITY_RAMP;
	for (int a = 0; a < 3; a++) {
		p.matrix[a] = (uint32_t)a < dims ? 48 : 1;
		p.encoded[a] = p.matrix[a];
		p.fov_mm[a] = 200.0f;
	}
	p.samples = 96;
	p.readouts = 70;
	p.combine = BS_COMBINE_RSS;
	return p;
}

static void all(void)
{
	struct bs_protocol p = protocol(BS_METHOD_GRIDDING, 2, BS_TRAJ_RADIAL2D);

	compare("gridding 2D radial, rss", &p, p.readouts, &bs_engine_gridding_host,
		&bs_engine_gridding_cuda);
	p.combine = BS_COMBINE_NONE;
	p.output = BS_OUTPUT_COMPLEX;
	p.chunk_readouts = 70;
	compare("gridding 2D radial, one chunk, complex coils", &p, p.readouts,
		&bs_engine_gridding_host, &bs_engine_gridding_cuda);
	p = protocol(BS_METHOD_GRIDDING, 3, BS_TRAJ_RADIAL3D);
	p.readouts = 400;
	compare("gridding 3D radial", &p, p.readouts, &bs_engine_gridding_host,
		&bs_engine_gridding_cuda);
	p = protocol(BS_METHOD_GRIDDING, 3, BS_TRAJ_STACK);
	p.matrix[2] = 12;
	p.traj.interleaves = 8;
	p.readouts = 96;
	p.samples = 300;
	compare("gridding stack", &p, p.readouts, &bs_engine_gridding_host,
		&bs_engine_gridding_cuda);
	p = protocol(BS_METHOD_CARTESIAN, 2, BS_TRAJ_CARTESIAN);
	p.encoded[0] = 96;
	p.encoded[1] = 54;
	p.samples = 80; /* partial echo */
	compare("cartesian 2D, partial echo", &p, 54, &bs_engine_cartesian_host,
		&bs_engine_cartesian_cuda);
	p = protocol(BS_METHOD_CARTESIAN, 3, BS_TRAJ_CARTESIAN);
	p.matrix[2] = 14;
	p.encoded[2] = 22;
	p.encoded[0] = p.samples = 49;
	p.output = BS_OUTPUT_COMPLEX;
	p.combine = BS_COMBINE_NONE;
	compare("cartesian 3D, sizes with 7 and 11", &p, 48 * 22, &bs_engine_cartesian_host,
		&bs_engine_cartesian_cuda);
}
#endif

int main(void)
{
#if BS_GPU
	struct bs_gpu_info gpu;
	struct bs_fail why;

	if (bs_gpu_probe(&gpu, &why) != 0) {
		SKIP("CUDA engines: %s", why.text);
		return check_done();
	}
	if (bs_team_open(&team, 2, &why) != 0) {
		CHECK(false, "%s", why.text);
		return check_done();
	}
	all();
	bs_team_close(team);
#else
	SKIP("CUDA engines: built with GPU=0");
#endif
	return check_done();
}
