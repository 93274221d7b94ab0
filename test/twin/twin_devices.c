/*
 * test/twin/twin_devices.c - the engines of a scan on several GPUs (gpu.devices) against the host's
 *
 * On one GPU the shares lie on it together, which tests everything but the wires; on several each has
 * its own, too. As twin_engine.c: images within 1e-5 of the host's, whole and with a gap; the same
 * bytes in every run and order of arrival; no device or pinned allocation after arm; the first GPU
 * current after every call. Iterations under a deadline and fewer of them as on one GPU.
 */
#include "test/support/check.h"

#if BS_GPU
#include <string.h>

#include "core/thread/clock.h"
#include "core/solve/csr.h"
#include "core/thread/team.h"
#include "gpu/engine/engines.h"
#include "gpu/device/link.h"
#include "gpu/engine/shares.h"
#include "test/twin/allocations.h"
#include "test/twin/device.h"

#define ITERATIONS 12u
#define COILS      5u

static uint64_t seed = 88172645463325252u;
static struct bs_team *team;
static struct bs_devices layouts[16];
static int layout_count;

struct armed {
	const struct bs_engine *engine;
	struct bs_arena arena;
	struct bs_protocol p;
	void *self;
};

static void add_layout(uint32_t parts, bool own)
{
	struct bs_devices *d = &layouts[layout_count++];

	d->count = parts;
	for (uint32_t i = 0; i < parts; i++)
		d->device[i] = own ? i : 0;
}

/* The first GPU in all shares; then each its own. The one-GPU engine comes first. */
static void list_layouts(uint32_t devices, bool small)
{
	add_layout(1, false);
	add_layout(2, false);
	if (!small) {
		add_layout(3, false);
		add_layout(8, false);
	}
	if (devices > 1)
		add_layout(2, true);
	if (devices > 2) /* in between: twin_multi */
		add_layout(devices, true);
}

static void words_of(char *out, size_t size, const struct bs_devices *d)
{
	size_t n = (size_t)snprintf(out, size, "GPUs");

	for (uint32_t i = 0; i < d->count; i++)
		n += (size_t)snprintf(out + n, size - n, " %u", d->device[i]);
}

static int open_engine(struct armed *a, enum bs_backend backend, const struct bs_protocol *p,
		       const struct bs_devices *devices, const struct bs_tables *tables,
		       const void *pool, size_t pool_bytes, struct bs_fail *why)
{
	struct bs_arm_env env = {
		.team = team, .cache_dir = "", .pool = pool, .pool_bytes = pool_bytes
	};
	struct bs_need need = { 0 };
	int rc;

	memset(a, 0, sizeof(*a));
	a->p = *p;
	a->p.backend = backend;
	if (devices != NULL)
		a->p.gpu_devices = *devices;
	env.arena = &a->arena;
	rc = bs_engine_find(&a->engine, &a->p, why);
	if (rc == 0)
		rc = a->engine->need(&a->p, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&a->arena, need.total_bytes, why);
	if (rc == 0)
		rc = a->engine->arm(&a->self, &a->p, tables, &env, why);
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
static int fill(struct armed *a, uint32_t stride, uint32_t missing, const float *data)
{
	const struct bs_protocol *p = &a->p;
	int rc = a->engine->begin(a->self, 0);

	if (rc == 0)
		rc = a->engine->begin(a->self, 1);
	for (uint32_t i = 0; rc == 0 && i < p->readouts; i++) {
		uint32_t r = (uint32_t)((uint64_t)i * stride % p->readouts);
		const float *from = data + 2ull * r * p->samples * p->coils;

		if (r == missing)
			continue;
		rc = a->engine->add(a->self, 0, r, from, p->samples);
		if (rc == 0 && i % 5 == 0)
			rc = a->engine->add(a->self, 1, r, from, p->samples);
	}
	return rc;
}

static int image_of(struct armed *a, uint32_t stride, uint32_t missing, const float *data,
		    int64_t deadline_ns, float *image, struct bs_report *report)
{
	int rc = fill(a, stride, missing, data);

	return rc != 0 ? rc : a->engine->finish(a->self, 0, deadline_ns, image, report);
}

static bool first_is_current(const struct armed *a)
{
	int device = -1;

	return cudaGetDevice(&device) == cudaSuccess &&
	       (uint32_t)device == a->p.gpu_devices.device[0];
}

/* Few iterations, a deadline far away, one gone by: as many made as were asked for, and said so. */
static void check_deadlines(struct armed *a, const char *name, const char *words, const float *data,
			    const float *whole, float *image)
{
	const uint64_t floats = bs_protocol_image_bytes(&a->p) / 4;
	struct bs_report far = { 0 };
	struct bs_report few = { .allowed = 3 };
	struct bs_report late = { 0 };
	int rc = image_of(a, 1, UINT32_MAX, data, bs_now_ns() + 60000000000, image, &far);
	const double e = check_rel(image, whole, floats);

	CHECK(rc == 0 && e <= 1e-5 && far.iterations == ITERATIONS && !far.deadline_stop,
	      "%s, %s: a minute's time: %u iterations, images differ by %.1e", name, words,
	      far.iterations, e);
	rc = image_of(a, 1, UINT32_MAX, data, INT64_MAX, image, &few);
	CHECK(rc == 0 && few.iterations == 3 && !few.deadline_stop,
	      "%s, %s: 3 allowed: %u iterations", name, words, few.iterations);
	rc = image_of(a, 1, UINT32_MAX, data, bs_now_ns() - 1000000000, image, &late);
	CHECK(rc == 0 && late.iterations >= 1 && late.iterations < ITERATIONS && late.deadline_stop,
	      "%s, %s: no time: %u iterations, stopped by the deadline", name, words,
	      late.iterations);
}

static void check_layout(const char *name, const struct bs_protocol *p,
			 const struct bs_devices *devices, const struct bs_tables *tables,
			 const float *data, float *const host[2])
{
	const uint64_t floats = bs_protocol_image_bytes(p) / 4;
	const size_t values = (size_t)p->readouts * p->samples * p->coils * 2;
	const int runs = getenv("BORESIDE_SMALL") != NULL ? 3 : 20;
	float *first = malloc(floats * 4);
	float *again = malloc(floats * 4);
	struct armed a;
	struct bs_fail why = { 0 };
	struct bs_report r = { 0 };
	uint64_t made = 0;
	uint64_t read = 0;
	char words[64];
	char place[96];
	bool same = true;
	bool current = true;
	double e;
	int rc = open_engine(&a, BS_BACKEND_CUDA, p, devices, tables, data, values * 4, &why);

	words_of(words, sizeof(words), devices);
	CHECK(rc == 0, "%s, %s: armed %s", name, words, why.text);
	if (rc == 0) {
		bs_engine_place(place, sizeof(place), a.engine, &a.p);
		allocations = 0;
		rc = image_of(&a, 1, UINT32_MAX, data, INT64_MAX, first, &r);
		e = check_rel(first, host[0], floats);
		CHECK(rc == 0 && e <= 1e-5,
		      "%s, %s (%s): images differ by %.1e, %u iterations, residual %.1e", name,
		      words, place, e, r.iterations, r.residual);
		rc = image_of(&a, 13, 3, data, INT64_MAX, again, &r);
		e = check_rel(again, host[1], floats);
		CHECK(rc == 0 && e <= 1e-5, "%s, %s: one readout missing: %.1e", name, words, e);
		for (int i = 0; i < runs && rc == 0; i++) {
			rc = image_of(&a, i % 2 ? 13 : 1, UINT32_MAX, data, INT64_MAX, again, &r);
			same = same && memcmp(first, again, floats * 4) == 0;
			current = current && first_is_current(&a);
		}
		a.engine->reading(a.self, true, &made, &read);
		CHECK(rc == 0 && same && current && made == read && allocations == 0,
		      "%s, %s: %d runs, the same bytes: %d, the first GPU current: %d, %u "
		      "allocations, %llu of %llu readouts read",
		      name, words, runs, same, current, allocations, (unsigned long long)read,
		      (unsigned long long)made);
		if (p->method != BS_METHOD_GRIDDING)
			check_deadlines(&a, name, words, data, host[0], again);
	}
	close_engine(&a);
	free(first);
	free(again);
}

/* Readouts lie in page-locked memory of the size of whole pages, as the service's pool does. */
static float *pool_of(size_t values)
{
	const size_t bytes = (values * 4 + 4095) & ~(size_t)4095;
	float *data = aligned_alloc(4096, bytes);

	for (size_t i = 0; i < values; i++)
		data[i] = (float)(check_uniform(&seed) - 0.5);
	return data;
}

static void free_pool(float *data)
{
	(void)cudaHostUnregister(data);
	(void)cudaGetLastError();
	free(data);
}

static void compare(const char *name, const struct bs_protocol *p, const struct bs_tables *with)
{
	const uint64_t floats = bs_protocol_image_bytes(p) / 4;
	struct bs_tables tables = { 0 };
	struct bs_traj traj = { 0 };
	struct armed h;
	struct bs_fail why = { 0 };
	struct bs_report r = { 0 };
	float *data = pool_of((size_t)p->readouts * p->samples * p->coils * 2);
	float *host[2] = { malloc(floats * 4), malloc(floats * 4) };
	int rc = bs_traj_make(&traj, p, &why);

	if (with != NULL)
		tables = *with;
	tables.traj = &traj;
	memset(&h, 0, sizeof(h));
	if (rc == 0)
		rc = open_engine(&h, BS_BACKEND_HOST, p, NULL, &tables, NULL, 0, &why);
	if (rc == 0)
		rc = image_of(&h, 1, UINT32_MAX, data, INT64_MAX, host[0], &r) |
		     image_of(&h, 13, 3, data, INT64_MAX, host[1], &r);
	CHECK(rc == 0, "%s: the host's images %s", name, why.text);
	for (int l = 0; rc == 0 && l < layout_count; l++)
		check_layout(name, p, &layouts[l], &tables, data, host);
	close_engine(&h);
	bs_traj_close(&traj);
	free_pool(data);
	free(host[0]);
	free(host[1]);
}

static struct bs_protocol protocol(enum bs_method method)
{
	struct bs_protocol p;

	memset(&p, 0, sizeof(p));
	(void)snprintf(p.name, sizeof(p.name), "devices");
	p.method = method;
	p.dims = 2;
	p.coils = COILS;
	p.slices = 2;
	p.contrasts = 1;
	p.traj.type = method == BS_METHOD_GRIDDING ? BS_TRAJ_RADIAL2D : BS_TRAJ_RANDOM;
	p.traj.seed = 5;
	p.accuracy = 1e-6;
	p.density = method == BS_METHOD_GRIDDING ? BS_DENSITY_RAMP : BS_DENSITY_NONE;
	p.matrix[0] = 40;
	p.matrix[1] = 27;
	p.matrix[2] = 1;
	for (int a = 0; a < 3; a++)
		p.fov_mm[a] = 200.0f;
	p.samples = 96;
	p.readouts = 90;
	p.combine = BS_COMBINE_RSS;
	if (method != BS_METHOD_GRIDDING) { /* well conditioned: twelve steps agree as one does */
		p.normalize = BS_NORMALIZE_NONE;
		p.lambda = 0.5;
		p.iterations = ITERATIONS;
		p.fhd = p.q = BS_SUM_EXACT;
	}
	return p;
}

/* W: weighted differences of neighbors along x, the last of a row against its first. */
static int make_w(struct bs_csr *w, const struct bs_protocol *p, struct bs_fail *why)
{
	const uint64_t voxels = bs_protocol_voxels(p);
	int rc = bs_csr_open(w, voxels, voxels, 2 * voxels, false, why);

	for (uint64_t v = 0; rc == 0 && v < voxels; v++) {
		const uint64_t x = v % p->matrix[0];
		const uint64_t next = x + 1 < p->matrix[0] ? v + 1 : v - x;
		const float weight = (float)(0.5 + check_uniform(&seed));

		w->start[v] = 2 * v;
		w->col[2 * v] = (uint32_t)(v < next ? v : next);
		w->col[2 * v + 1] = (uint32_t)(v < next ? next : v);
		w->value[2 * v] = v < next ? -weight : weight;
		w->value[2 * v + 1] = v < next ? weight : -weight;
	}
	if (rc != 0)
		return rc;
	w->start[voxels] = 2 * voxels;
	return bs_csr_seal(w, why);
}

static float *make_maps(const struct bs_protocol *p)
{
	const uint64_t floats = 2 * bs_protocol_voxels(p) * p->coils;
	float *maps = malloc(floats * 4);

	for (uint64_t v = 0; v < floats; v++)
		maps[v] = (float)(check_uniform(&seed) - 0.5);
	return maps;
}

static void gridding(void)
{
	struct bs_protocol p = protocol(BS_METHOD_GRIDDING);
	struct bs_tables tables = { 0 };
	float *maps;

	compare("gridding, rss", &p, NULL);
	if (getenv("BORESIDE_SMALL") != NULL)
		return;
	p.combine = BS_COMBINE_NONE;
	p.output = BS_OUTPUT_COMPLEX;
	compare("gridding, complex coils", &p, NULL);
	p = protocol(BS_METHOD_GRIDDING);
	p.combine = BS_COMBINE_SENSE;
	maps = make_maps(&p);
	tables.maps = maps;
	compare("gridding, matched filter", &p, &tables);
	free(maps);
	p = protocol(BS_METHOD_GRIDDING);
	p.dims = 3;
	p.traj.type = BS_TRAJ_STACK;
	p.traj.interleaves = 8;
	p.matrix[2] = 12;
	p.readouts = 96;
	compare("gridding, stack", &p, NULL);
	p.gpu_memory = BS_GPU_MEMORY_MAPPED;
	compare("gridding, stack, mapped", &p, NULL);
}

static void least_squares(void)
{
	struct bs_protocol p = protocol(BS_METHOD_LS);
	struct bs_tables tables = { 0 };
	struct bs_csr w = { 0 };
	struct bs_fail why = { 0 };

	compare("ls, exact", &p, NULL);
	if (getenv("BORESIDE_SMALL") != NULL)
		return;
	p.fhd = p.q = BS_SUM_NUFFT;
	p.precond = BS_PRECOND_CIRCULANT;
	compare("ls, NUFFT, circulant", &p, NULL);
	p = protocol(BS_METHOD_LS);
	p.dims = 3;
	p.matrix[0] = 20;
	p.matrix[2] = 14;
	p.samples = 200;
	p.precond = BS_PRECOND_JACOBI;
	CHECK(make_w(&w, &p, &why) == 0, "W %s", why.text);
	tables.w = &w;
	compare("ls 3D, exact, W, Jacobi", &p, &tables);
	bs_csr_close(&w);
}

/* One coil: F^H d by slabs of rows, of which the last may be short. */
static void slabs(void)
{
	struct bs_protocol p = protocol(BS_METHOD_LS);

	p.coils = 1;
	p.matrix[1] = 37;
	compare("ls 2D, one coil, slabs", &p, NULL);
	if (getenv("BORESIDE_SMALL") != NULL)
		return;
	p.dims = 3;
	p.matrix[0] = 20;
	p.matrix[1] = 45;
	p.matrix[2] = 14;
	p.samples = 200;
	p.precond = BS_PRECOND_CIRCULANT;
	p.basis = BS_BASIS_BOX;
	compare("ls 3D, one coil, slabs, circulant, box", &p, NULL);
}

static void with_sensitivities(void)
{
	struct bs_protocol p = protocol(BS_METHOD_SENSE);
	struct bs_tables tables = { 0 };
	struct bs_csr w = { 0 };
	struct bs_fail why = { 0 };
	float *maps = make_maps(&p);

	p.combine = BS_COMBINE_SENSE;
	tables.maps = maps;
	compare("sense, exact", &p, &tables);
	if (getenv("BORESIDE_SMALL") == NULL) {
		p.fhd = p.q = BS_SUM_NUFFT;
		p.density = BS_DENSITY_RAMP;
		p.precond = BS_PRECOND_JACOBI;
		p.output = BS_OUTPUT_COMPLEX;
		compare("sense, NUFFT, Jacobi, weights, complex", &p, &tables);
		p = protocol(BS_METHOD_SENSE);
		p.combine = BS_COMBINE_SENSE;
		p.precond = BS_PRECOND_CIRCULANT;
		compare("sense, exact, circulant", &p, &tables);
	}
	free(maps);
	if (getenv("BORESIDE_SMALL") != NULL)
		return;
	p = protocol(BS_METHOD_SENSE);
	p.combine = BS_COMBINE_SENSE;
	p.dims = 3;
	p.matrix[0] = 20;
	p.matrix[2] = 14;
	p.samples = 200;
	maps = make_maps(&p);
	tables.maps = maps;
	CHECK(make_w(&w, &p, &why) == 0, "W %s", why.text);
	tables.w = &w;
	compare("sense 3D, exact, W", &p, &tables);
	bs_csr_close(&w);
	free(maps);
}

/* ---- windows and previews: against one GPU ---------------------------------------------------- */

static int slide_of(struct armed *a, const float *data, float *image)
{
	const struct bs_protocol *p = &a->p;
	const uint32_t groups = p->readouts / p->frame_step;
	struct bs_report r = { 0 };
	uint8_t held[64] = { 0 };
	int rc = 0;

	for (uint32_t g = 0; rc == 0 && g < groups; g++) {
		rc = a->engine->begin(a->self, 0);
		for (uint32_t i = 0; rc == 0 && i < p->frame_step; i++) {
			const uint32_t row = g * p->frame_step + i;

			rc = a->engine->add(a->self, 0, row,
					    data + 2ull * row * p->samples * p->coils, p->samples);
		}
		if (rc == 0)
			rc = a->engine->fold(a->self, 0, g);
		held[g] = g != 1; /* one was lost */
	}
	return rc != 0 ? rc : a->engine->slide(a->self, 0, held, INT64_MAX, image, &r);
}

static int peek_of(struct armed *a, const float *data, float *image)
{
	int rc = a->engine->begin(a->self, 0);

	for (uint32_t i = 0; rc == 0 && i < a->p.readouts / 2; i++)
		rc = a->engine->add(a->self, 0, i, data + 2ull * i * a->p.samples * a->p.coils,
				    a->p.samples);
	return rc != 0 ? rc : a->engine->peek(a->self, 0, image);
}

static int whole_of(struct armed *a, const float *data, float *image)
{
	struct bs_report r = { 0 };

	return image_of(a, 1, UINT32_MAX, data, INT64_MAX, image, &r);
}

static void part_images(const char *name, const struct bs_protocol *p,
			int (*make)(struct armed *, const float *, float *))
{
	const uint64_t floats = bs_protocol_image_bytes(p) / 4;
	float *data = pool_of((size_t)p->readouts * p->samples * p->coils * 2);
	float *one = malloc(floats * 4);
	float *image = malloc(floats * 4);
	struct bs_traj traj = { 0 };
	struct bs_tables tables = { .traj = &traj };
	struct bs_fail why = { 0 };
	int rc = bs_traj_make(&traj, p, &why);

	for (int l = 0; rc == 0 && l < layout_count; l++) {
		struct armed a;
		char words[64];
		double e = 0.0;

		words_of(words, sizeof(words), &layouts[l]);
		rc = open_engine(&a, BS_BACKEND_CUDA, p, &layouts[l], &tables, NULL, 0, &why);
		allocations = 0;
		if (rc == 0)
			rc = make(&a, data, l == 0 ? one : image);
		if (l > 0)
			e = check_rel(image, one, floats);
		CHECK(rc == 0 && e <= 1e-5 && allocations == 0,
		      "%s, %s: differs from one GPU's by %.1e, %u allocations %s", name, words, e,
		      allocations, why.text);
		close_engine(&a);
	}
	bs_traj_close(&traj);
	free_pool(data);
	free(one);
	free(image);
}

static void parts_of_frames(void)
{
	struct bs_protocol p = protocol(BS_METHOD_GRIDDING);

	p.preview_every = 10;
	part_images("a preview", &p, peek_of);
	p = protocol(BS_METHOD_GRIDDING);
	p.frame_step = 15;
	part_images("gridding, a window", &p, slide_of);
	p = protocol(BS_METHOD_LS);
	p.frame_step = 15;
	part_images("ls, a window", &p, slide_of);
	p.coils = 1;
	part_images("ls, one coil, a window", &p, slide_of);
	p.frame_step = 0;
	p.matrix[1] = 37;
	p.density = BS_DENSITY_PIPE; /* by the whole image's kernel, not by a slab's */
	p.density_iterations = 5;
	p.normalize = BS_NORMALIZE_UNIFORM;
	p.lambda = 5e-4; /* times the voxels: about what F^H W F has then */
	part_images("ls, one coil, weights by Pipe and Menon", &p, whole_of);
}

/* ---- what cannot be --------------------------------------------------------------------------- */

static void refusals(void)
{
	struct bs_protocol p = protocol(BS_METHOD_GRIDDING);
	const struct bs_engine *engine = NULL;
	struct bs_fail why = { 0 };

	p.gpu_devices = (struct bs_devices){ 2, { 0, 63 } };
	CHECK(bs_engine_find(&engine, &p, &why) == BS_ERR_UNSUPPORTED &&
		      strstr(why.text, "gpu.devices: GPU 63 was asked for") != NULL,
	      "backend auto, a GPU that is not here: %s", why.text);
	p.gpu_devices = (struct bs_devices){ 2, { 0, 0 } };
	p.method = BS_METHOD_CARTESIAN;
	CHECK(bs_engine_find(&engine, &p, &why) == 0 && engine == &bs_engine_cartesian_cuda,
	      "cartesian on the first alone");
	p.method = BS_METHOD_GRIDDING;
	p.coils = 1;
	CHECK(bs_engine_find(&engine, &p, &why) == 0 && engine == &bs_engine_gridding_cuda,
	      "one coil on the first alone");
	p.backend = BS_BACKEND_HOST;
	CHECK(bs_engine_find(&engine, &p, &why) == 0 && engine == &bs_engine_gridding_host,
	      "backend host");
}
#endif

int main(void)
{
#if BS_GPU
	const bool small = getenv("BORESIDE_SMALL") != NULL; /* under compute-sanitizer */
	struct bs_gpu_info gpu;
	struct bs_fail why = { 0 };
	uint32_t devices;

	if (!device_answers("a scan on several GPUs", &gpu))
		return check_done();
	devices = bs_link_devices();
	if (devices < 2)
		SKIP("a GPU for each share: there is %u here, the shares lie on it together",
		     devices);
	/* fewer threads than the most shares: some take turns */
	CHECK(bs_team_open(&team, 3, &why) == 0, "team %s", why.text);
	list_layouts(small ? 1 : devices, small);
	refusals();
	gridding();
	least_squares();
	slabs();
	with_sensitivities();
	if (!small)
		parts_of_frames();
	bs_team_close(team);
#else
	SKIP("a scan on several GPUs: built with GPU=0");
#endif
	return check_done();
}
