/*
 * test/twin/twin_devices.c - the engines of a scan on several GPUs (gpu.devices) against the host's
 *
 * On one GPU the shares lie on it together, which tests everything but the wires; on several each
 * has its own, too, by NCCL and by copies. As twin_engine.c: images within 1e-5 of the host's,
 * whole and with a gap; the same bytes in every run, order of arrival and layout of as many shares,
 * and by either transport; no device or pinned allocation after arm; the first GPU current after
 * every call. Iterations under a deadline and fewer of them as on one GPU.
 */
#include "test/support/check.h"

#include "core/solve/csr.h"
#include "core/thread/clock.h"
#include "test/twin/devices.h"

static int open_host(struct armed *a, const struct bs_protocol *p, const struct bs_tables *tables,
		     struct bs_fail *why)
{
	struct bs_protocol own = *p;

	own.backend = BS_BACKEND_HOST;
	bs_plan_make(&own);
	return armed_open(a, NULL, &own, tables,
			  (struct bs_arm_env){ .team = team, .cache_dir = "" }, why);
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
		rc = a->engine->add(a->self, 0, r, NULL, from, p->samples);
		if (rc == 0 && i % 5 == 0)
			rc = a->engine->add(a->self, 1, r, NULL, from, p->samples);
	}
	return rc;
}

static int image_of(struct armed *a, uint32_t stride, uint32_t missing, const float *data,
		    int64_t deadline_ns, float *image, struct bs_report *report)
{
	int rc = fill(a, stride, missing, data);

	return rc != 0 ? rc : a->engine->image(a->self, 0, NULL, deadline_ns, image, report);
}

static bool first_is_current(const struct armed *a)
{
	int device = -1;

	return cudaGetDevice(&device) == cudaSuccess &&
	       (uint32_t)device == a->p.gpu_devices.device[0];
}

/*
 * Few iterations allowed, a deadline far away, one that has passed: the report says what was made.
 */
static void check_deadlines(struct armed *a, const char *name, const char *words, const float *data,
			    const float *whole, float *image)
{
	const uint64_t floats = bs_protocol_image_bytes(&a->p) / 4;
	struct bs_report all = { 0 }; /* less than ITERATIONS where roundoff is reached */
	struct bs_report far = { 0 };
	struct bs_report few = { .allowed = 3 };
	struct bs_report late = { 0 };
	int rc = image_of(a, 1, UINT32_MAX, data, INT64_MAX, image, &all);

	if (rc == 0)
		rc = image_of(a, 1, UINT32_MAX, data, bs_now_ns() + 60000000000, image, &far);
	const double e = check_rel(image, whole, floats);

	CHECK(rc == 0 && e <= 1e-5 && far.iterations == all.iterations && far.iterations > 3 &&
		      !far.deadline_stop,
	      "%s, %s: a minute's time: %u iterations of %u, images differ by %.1e", name, words,
	      far.iterations, all.iterations, e);
	rc = image_of(a, 1, UINT32_MAX, data, INT64_MAX, image, &few);
	CHECK(rc == 0 && few.iterations == 3 && !few.deadline_stop,
	      "%s, %s: 3 allowed: %u iterations", name, words, few.iterations);
	rc = image_of(a, 1, UINT32_MAX, data, bs_now_ns() - 1000000000, image, &late);
	CHECK(rc == 0 && late.iterations >= 1 && late.iterations < ITERATIONS && late.deadline_stop,
	      "%s, %s: no time: %u iterations, stopped by the deadline", name, words,
	      late.iterations);
}

static void check_layout(const char *name, const struct bs_protocol *p, const struct layout *l,
			 const struct bs_tables *tables, const float *data, float *const host[2],
			 struct known *known)
{
	const uint64_t floats = bs_protocol_image_bytes(p) / 4;
	const size_t values = (size_t)p->readouts * p->samples * p->coils * 2;
	const int runs = small() ? 3 : 20;
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
	bool as_known;
	bool current = true;
	double e;
	int rc = open_cuda(&a, p, l, tables, data, values * 4, &why);

	words_of(words, sizeof(words), l);
	CHECK(rc == 0, "%s, %s: armed %s", name, words, why.text);
	if (rc == 0) {
		bs_engine_place(place, sizeof(place), a.engine, &a.p);
		allocations = 0;
		rc = image_of(&a, 1, UINT32_MAX, data, INT64_MAX, first, &r);
		e = check_rel(first, host[0], floats);
		CHECK(rc == 0 && e <= 1e-5,
		      "%s, %s (%s): images differ by %.1e, %u iterations, residual %.1e", name,
		      words, place, e, r.iterations, r.residual);
		as_known = rc == 0 && same_as_known(known, &a, first);
		rc = image_of(&a, 13, 3, data, INT64_MAX, again, &r);
		e = check_rel(again, host[1], floats);
		CHECK(rc == 0 && e <= 1e-5, "%s, %s: one readout missing: %.1e", name, words, e);
		for (int i = 0; i < runs && rc == 0; i++) {
			rc = image_of(&a, i % 2 ? 13 : 1, UINT32_MAX, data, INT64_MAX, again, &r);
			same = same && memcmp(first, again, floats * 4) == 0;
			current = current && first_is_current(&a);
		}
		a.engine->reading(a.self, true, &made, &read);
		CHECK(rc == 0 && same && as_known && current && made == read && allocations == 0,
		      "%s, %s: %d runs, the same bytes: %d, those of as many elsewhere: %d, the "
		      "first GPU current: %d, %u allocations, %llu of %llu readouts read",
		      name, words, runs, same, as_known, current, allocations,
		      (unsigned long long)read, (unsigned long long)made);
		if (p->method != BS_METHOD_GRIDDING)
			check_deadlines(&a, name, words, data, host[0], again);
	}
	armed_close(&a);
	free(first);
	free(again);
}

static void compare(const char *name, const struct bs_protocol *p, const struct bs_tables *with)
{
	const uint64_t floats = bs_protocol_image_bytes(p) / 4;
	struct bs_tables tables = { 0 };
	struct bs_traj traj = { 0 };
	struct armed h;
	struct known known = { 0 };
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
		rc = open_host(&h, p, &tables, &why);
	if (rc == 0)
		rc = image_of(&h, 1, UINT32_MAX, data, INT64_MAX, host[0], &r) |
		     image_of(&h, 13, 3, data, INT64_MAX, host[1], &r);
	CHECK(rc == 0, "%s: the host's images %s", name, why.text);
	for (int l = 0; rc == 0 && l < layout_count; l++)
		check_layout(name, p, &layouts[l], &tables, data, host, &known);
	armed_close(&h);
	bs_traj_close(&traj);
	free_pool(data);
	free(host[0]);
	free(host[1]);
}

static float *make_maps(const struct bs_protocol *p)
{
	const uint64_t floats = 2 * bs_protocol_voxels(p) * p->coils * p->slices;
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
	if (small())
		return;
	p.combine = BS_COMBINE_NONE;
	p.output = BS_OUTPUT_COMPLEX;
	bs_plan_make(&p);
	compare("gridding, complex coils", &p, NULL);
	p = protocol(BS_METHOD_GRIDDING);
	p.combine = BS_COMBINE_SENSE;
	bs_plan_make(&p);
	maps = make_maps(&p);
	tables.maps = maps;
	compare("gridding, matched filter", &p, &tables);
	p.image_matrix[0] = 64;
	bs_plan_make(&p);
	compare("gridding, matched filter, on 64", &p, &tables);
	free(maps);
	p = protocol(BS_METHOD_GRIDDING);
	p.dims = 3;
	p.traj.type = BS_TRAJ_STACK;
	p.traj.interleaves = 8;
	p.matrix[2] = 12;
	p.readouts = 96;
	bs_plan_make(&p);
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
	if (small())
		return;
	p.fhd = p.q = BS_SUM_NUFFT;
	p.precond = BS_PRECOND_CIRCULANT;
	bs_plan_make(&p);
	compare("ls, NUFFT, circulant", &p, NULL);
	p = protocol(BS_METHOD_LS);
	p.dims = 3;
	p.matrix[0] = 20;
	p.matrix[2] = 14;
	p.samples = 200;
	p.precond = BS_PRECOND_JACOBI;
	bs_plan_make(&p);
	CHECK(make_w(&w, &p, &seed, &why) == 0, "W %s", why.text);
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
	bs_plan_make(&p);
	compare("ls 2D, one coil, slabs", &p, NULL);
	p.image_matrix[1] = 64;
	bs_plan_make(&p);
	compare("ls 2D, one coil, slabs, on 64", &p, NULL);
	p.image_matrix[1] = 0;
	bs_plan_make(&p);
	if (small())
		return;
	p.dims = 3;
	p.matrix[0] = 20;
	p.matrix[1] = 45;
	p.matrix[2] = 14;
	p.samples = 200;
	p.precond = BS_PRECOND_CIRCULANT;
	p.basis = BS_BASIS_BOX;
	bs_plan_make(&p);
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
	bs_plan_make(&p);
	tables.maps = maps;
	compare("sense, exact", &p, &tables);
	if (!small()) {
		p.fhd = p.q = BS_SUM_NUFFT;
		p.density = BS_DENSITY_RAMP;
		p.precond = BS_PRECOND_JACOBI;
		p.output = BS_OUTPUT_COMPLEX;
		bs_plan_make(&p);
		compare("sense, NUFFT, Jacobi, weights, complex", &p, &tables);
		p = protocol(BS_METHOD_SENSE);
		p.combine = BS_COMBINE_SENSE;
		p.precond = BS_PRECOND_CIRCULANT;
		p.image_matrix[0] = 33;
		bs_plan_make(&p);
		compare("sense, exact, circulant, on 33", &p, &tables);
	}
	free(maps);
	if (small())
		return;
	p = protocol(BS_METHOD_SENSE);
	p.combine = BS_COMBINE_SENSE;
	p.dims = 3;
	p.matrix[0] = 20;
	p.matrix[2] = 14;
	p.samples = 200;
	bs_plan_make(&p);
	maps = make_maps(&p);
	tables.maps = maps;
	CHECK(make_w(&w, &p, &seed, &why) == 0, "W %s", why.text);
	tables.w = &w;
	compare("sense 3D, exact, W", &p, &tables);
	bs_csr_close(&w);
	free(maps);
}

/* ---- refusals ------------------------------------------------------------------------- */

static void refusals(void)
{
	static const int zeros[2];
	struct bs_protocol p = protocol(BS_METHOD_GRIDDING);
	const struct bs_engine *engine = NULL;
	struct bs_link *link = NULL;
	struct bs_fail why = { 0 };

	CHECK(bs_link_open(&link, 9, NULL, BS_LINK_AUTO, &why) == BS_ERR_SIZE, "refused: %s",
	      why.text);
	if (devices < BS_DEVICES_MAX)
		CHECK(bs_link_open(&link, BS_DEVICES_MAX, NULL, BS_LINK_AUTO, &why) ==
			      BS_ERR_UNSUPPORTED,
		      "refused: %s", why.text);
	CHECK(bs_link_open(&link, 2, zeros, BS_LINK_NCCL, &why) == BS_ERR_UNSUPPORTED,
	      "refused: %s", why.text);

	p.gpu_devices = (struct bs_devices){ 2, { 0, 63 } };
	bs_plan_make(&p);
	CHECK(bs_engine_find(&engine, &p, &why) == BS_ERR_UNSUPPORTED &&
		      strstr(why.text, "gpu.devices: GPU 63 was asked for") != NULL,
	      "backend auto, a GPU that is not here: %s", why.text);
	p.gpu_devices = (struct bs_devices){ 2, { 0, 0 } };
	p.method = BS_METHOD_CARTESIAN;
	bs_plan_make(&p);
	CHECK(bs_engine_find(&engine, &p, &why) == 0 && engine == &bs_engine_cuda,
	      "cartesian on the first alone");
	p.method = BS_METHOD_GRIDDING;
	p.coils = 1;
	bs_plan_make(&p);
	CHECK(bs_engine_find(&engine, &p, &why) == 0 && engine == &bs_engine_cuda,
	      "one coil on the first alone");
	p.backend = BS_BACKEND_HOST;
	bs_plan_make(&p);
	CHECK(bs_engine_find(&engine, &p, &why) == 0 && engine == &bs_engine_host, "backend host");
}

static void all(void)
{
	refusals();
	gridding();
	least_squares();
	slabs();
	with_sensitivities();
}

int main(void)
{
	return devices_main("a scan on several GPUs", all);
}
