/*
 * test/twin/engine/twin_engine.c
 * the CUDA engines of all methods against the host's: images, order of
 * arrival, gaps, 100 runs with the same bytes, the three ways that readouts reach the device, no
 * allocation after arm
 *
 * The bound, 1e-5 relative at accuracy 1e-6 class, is that of twin_nufft.c. Allocations are counted
 * at the linker's seams (Makefile: --wrap).
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include <string.h>

#include "core/thread/team.h"
#include "test/twin/allocations.h"
#include "test/twin/device.h"
#include "test/twin/engine/fed.h"

static uint64_t seed = 88172645463325252u;

static int runs(void) /* "the same bytes" is said after so many */
{
	return small() ? 2 : 100;
}

/* All rows but one, in steps of stride; a row of the other frame in between. */
static int image_of(struct fed *f, uint32_t rows, uint32_t stride, uint32_t missing,
		    const float *data, float *image, struct bs_report *report)
{
	const struct armed *a = &f->on;
	const struct bs_protocol *p = &a->p;
	uint32_t n = 0;
	int rc = a->engine->begin(a->self, 0);

	memset(report, 0, sizeof(*report));
	if (rc == 0)
		rc = a->engine->begin(a->self, 1);
	for (uint32_t i = 0; rc == 0 && i < rows; i++) {
		uint32_t r = (uint32_t)((uint64_t)i * stride % rows);
		const float *from = data + 2ull * r * p->samples * p->coils;

		if (r == missing)
			continue;
		rc = fed_add(f, 0, r, from, n++);
		if (rc == 0 && i % 5 == 0)
			rc = fed_add(f, 1, r, from, n++);
	}
	return rc != 0 ? rc : a->engine->image(a->self, 0, NULL, INT64_MAX, image, report);
}

/*
 * One way to the device: against the host's images, whole and with a gap. first: the first way's
 * bytes.
 */
static void check_way(const char *name, const struct bs_protocol *p, uint32_t rows,
		      const struct bs_tables *tables, const struct bs_engine *cuda, enum way way,
		      const float *data, float *const host[2], float *first)
{
	struct fed c = { 0 };
	struct bs_fail why = { 0 };
	struct bs_report report;
	uint64_t floats = bs_protocol_image_bytes(p) / 4;
	float *a = malloc(floats * 4);
	float *b = malloc(floats * 4);
	int same = 1;
	int rc = fed_open(&c, cuda, p, tables, way, &why);

	CHECK(rc == 0, "%s, %s: armed%s%s", name, way_name[way], rc != 0 ? ": " : "",
	      rc != 0 ? why.text : "");
	if (rc == 0) {
		allocations = 0;
		rc = image_of(&c, rows, 1, UINT32_MAX, data, b, &report);
		double e = check_rel(b, host[0], floats);

		CHECK(rc == 0 && e <= 1e-5,
		      "%s, %s: images differ by %.1e; at most 1e-5 (%u iterations)", name,
		      way_name[way], e, report.iterations);
		if (way == STAGED)
			memcpy(first, b, floats * 4);
		else
			CHECK(memcmp(first, b, floats * 4) == 0,
			      "%s, %s: the bytes of the staged way", name, way_name[way]);
		rc |= image_of(&c, rows, 13, 3, data, b, &report);
		e = check_rel(b, host[1], floats);
		CHECK(rc == 0 && e <= 1e-5, "%s, %s: one readout missing: %.1e", name,
		      way_name[way], e);
		for (int i = 0; i < runs(); i++) {
			rc |= image_of(&c, rows, i % 2 ? 13 : 1, UINT32_MAX, data, a, &report);
			same &= memcmp(a, first, floats * 4) == 0;
		}
		CHECK(rc == 0 && same && allocations == 0,
		      "%s, %s: %d runs in two orders of arrival, the same bytes; %u device or "
		      "pinned "
		      "allocations",
		      name, way_name[way], runs(), allocations);
	}
	fed_close(&c);
	free(a);
	free(b);
}

static void compare_with(const char *name, const struct bs_protocol *p, uint32_t rows,
			 const struct bs_tables *with, const struct bs_engine *engine,
			 const struct bs_engine *cuda)
{
	struct bs_tables tables = { 0 };
	struct bs_traj traj = { 0 };
	struct fed h = { 0 };
	struct bs_fail why = { 0 };
	struct bs_report report;
	uint64_t floats = bs_protocol_image_bytes(p) / 4;
	uint64_t values = 2ull * rows * p->samples * p->coils;
	float *data = malloc(values * 4);
	float *host[2] = { malloc(floats * 4), malloc(floats * 4) };
	float *first = malloc(floats * 4);
	int rc = p->method == BS_METHOD_CARTESIAN ? 0 : bs_traj_make(&traj, p, &why);

	for (uint64_t i = 0; i < values; i++)
		data[i] = (float)(check_uniform(&seed) - 0.5);
	if (with != NULL)
		tables = *with;
	tables.traj = &traj;
	if (rc == 0)
		rc = fed_open(&h, engine, p, &tables, STAGED, &why);
	if (rc == 0)
		rc = image_of(&h, rows, 1, UINT32_MAX, data, host[0], &report) |
		     image_of(&h, rows, 13, 3, data, host[1], &report);
	CHECK(rc == 0, "%s: the host's images%s%s", name, rc != 0 ? ": " : "",
	      rc != 0 ? why.text : "");
	for (int way = STAGED; rc == 0 && way < WAYS; way++)
		check_way(name, p, rows, &tables, cuda, (enum way)way, data, host, first);
	fed_close(&h);
	bs_traj_close(&traj);
	free(data);
	free(host[0]);
	free(host[1]);
	free(first);
}

static void compare(const char *name, const struct bs_protocol *p, uint32_t rows,
		    const struct bs_engine *host, const struct bs_engine *cuda)
{
	compare_with(name, p, rows, NULL, host, cuda);
}

static struct bs_protocol protocol(enum bs_method method, uint32_t dims, enum bs_traj_type type)
{
	struct bs_protocol p = path_of(method, type, 48, 48, dims == 3 ? 48 : 1, 3);

	readouts_of(&p, small() ? 20 : 70, 96);
	memcpy(p.encoded, p.matrix, sizeof(p.encoded));
	for (int a = 0; a < 3; a++)
		p.fov_mm[a] = 200.0f;
	p.slices = 2;
	p.accuracy = 1e-6;
	p.density = BS_DENSITY_RAMP;
	p.fhd = p.q = BS_SUM_EXACT;
	p.combine = BS_COMBINE_RSS;
	return planned(p);
}

static const struct {
	const char *name;
	enum bs_method method;
	uint32_t dims;
	enum bs_sum sum;
	enum bs_precond precond;
	bool w, weighted;
	enum bs_prior prior;
} solvers[] = {
	{ "ls 2D, exact", BS_METHOD_LS, 2, BS_SUM_EXACT, BS_PRECOND_NONE, false, false,
	  BS_PRIOR_NONE },
	{ "ls 3D, exact, W, Jacobi", BS_METHOD_LS, 3, BS_SUM_EXACT, BS_PRECOND_JACOBI, true, false,
	  BS_PRIOR_NONE },
	{ "ls 2D, NUFFT, circulant", BS_METHOD_LS, 2, BS_SUM_NUFFT, BS_PRECOND_CIRCULANT, false,
	  true, BS_PRIOR_NONE },
	{ "ls 3D, exact, W, circulant", BS_METHOD_LS, 3, BS_SUM_EXACT, BS_PRECOND_CIRCULANT, true,
	  false, BS_PRIOR_NONE },
	{ "sense 2D, NUFFT, Jacobi, weights", BS_METHOD_SENSE, 2, BS_SUM_NUFFT, BS_PRECOND_JACOBI,
	  false, true, BS_PRIOR_NONE },
	{ "sense 3D, exact, W", BS_METHOD_SENSE, 3, BS_SUM_EXACT, BS_PRECOND_NONE, true, false,
	  BS_PRIOR_NONE },
	{ "sense 3D, exact, circulant", BS_METHOD_SENSE, 3, BS_SUM_EXACT, BS_PRECOND_CIRCULANT,
	  false, false, BS_PRIOR_NONE },
	{ "sense 2D, exact, wavelets", BS_METHOD_SENSE, 2, BS_SUM_EXACT, BS_PRECOND_NONE, false,
	  false, BS_PRIOR_WAVELET },
	{ "ls 2D, NUFFT, weights, total variation", BS_METHOD_LS, 2, BS_SUM_NUFFT, BS_PRECOND_NONE,
	  false, true, BS_PRIOR_TV },
	{ "sense 3D, exact, W and wavelets", BS_METHOD_SENSE, 3, BS_SUM_EXACT, BS_PRECOND_NONE,
	  true, false, BS_PRIOR_WAVELET },
	{ "ls 3D, exact, sum of |W|", BS_METHOD_LS, 3, BS_SUM_EXACT, BS_PRECOND_NONE, true, false,
	  BS_PRIOR_W },
};

/* Well conditioned: random samples, a strong constraint; then twelve steps agree as one does. */
static void solver(size_t i, struct bs_protocol p)
{
	const bool sense = solvers[i].method == BS_METHOD_SENSE;
	struct bs_tables tables = { 0 };
	struct bs_csr w = { 0 };
	struct bs_fail why = { 0 };
	float *maps;

	p.method = solvers[i].method;
	p.dims = solvers[i].dims;
	p.traj.type = BS_TRAJ_RANDOM;
	p.traj.seed = 5 + i;
	p.fhd = p.q = solvers[i].sum;
	p.precond = solvers[i].precond;
	p.density = solvers[i].weighted ? BS_DENSITY_RAMP : BS_DENSITY_NONE;
	bs_plan_make(&p);
	p.normalize = BS_NORMALIZE_NONE; /* random positions need not see an image of ones */
	p.basis = BS_BASIS_BOX;
	p.lambda = 0.5;
	p.iterations = small() ? 4 : 12;
	p.matrix[0] = 20;
	p.matrix[1] = 27;
	p.matrix[2] = p.dims == 3 ? 16 : 1;
	bs_plan_make(&p);
	p.image_matrix[0] = i % 2 ? 33 : 0; /* every other one leaves resized */
	p.combine = sense ? BS_COMBINE_SENSE : BS_COMBINE_RSS;
	p.samples = p.dims == 3 ? 200 : 100;
	p.readouts = small() ? 18 : 90;
	const uint64_t voxels = bs_protocol_voxels(&p);

	p.prior.kind = solvers[i].prior;
	p.prior.lambda = 10.0 / (double)voxels; /* a fifth of what F^H d is in a voxel */
	p.prior.block = 8;
	bs_plan_make(&p);
	maps = malloc(voxels * p.coils * p.slices * 8);
	for (uint64_t v = 0; v < 2 * voxels * p.coils * p.slices; v++)
		maps[v] = (float)(check_uniform(&seed) - 0.5);
	tables.maps = sense ? maps : NULL;
	if (solvers[i].w && make_w(&w, &p, &seed, &why) == 0)
		tables.w = &w;
	CHECK(!solvers[i].w || tables.w != NULL, "%s: W %s", solvers[i].name, why.text);
	compare_with(solvers[i].name, &p, p.readouts, &tables,
		     sense ? &bs_engine_host : &bs_engine_host,
		     sense ? &bs_engine_cuda : &bs_engine_cuda);
	bs_csr_close(&w);
	free(maps);
}

static const struct {
	const char *name;
	enum bs_method method;
	uint32_t dims;
	enum bs_precond precond;
	bool w, weighted;
} fields[] = {
	{ "gridding 2D off resonance", BS_METHOD_GRIDDING, 2, BS_PRECOND_NONE, false, true },
	{ "gridding 3D off resonance", BS_METHOD_GRIDDING, 3, BS_PRECOND_NONE, false, false },
	{ "ls 2D off resonance, Jacobi", BS_METHOD_LS, 2, BS_PRECOND_JACOBI, false, true },
	{ "sense 2D off resonance, W, Jacobi", BS_METHOD_SENSE, 2, BS_PRECOND_JACOBI, true, false },
	{ "sense 3D off resonance", BS_METHOD_SENSE, 3, BS_PRECOND_NONE, false, true },
};

/* As solver; +-150 Hz over 8 ms, another map in each slice. */
static void off_resonance(size_t i, struct bs_protocol p)
{
	const bool sense = fields[i].method == BS_METHOD_SENSE;
	const bool solves = bs_methods[fields[i].method].solves;
	struct bs_tables tables = { 0 };
	struct bs_csr w = { 0 };
	struct bs_fail why = { 0 };
	float *maps;
	float *hz;

	p.method = fields[i].method;
	p.dims = fields[i].dims;
	p.traj.type = BS_TRAJ_RANDOM;
	p.traj.seed = 11 + i;
	p.fhd = p.q = BS_SUM_NUFFT;
	p.precond = fields[i].precond;
	p.density = fields[i].weighted ? BS_DENSITY_RAMP : BS_DENSITY_NONE;
	p.normalize = BS_NORMALIZE_NONE;
	p.lambda = 0.5;
	p.iterations = small() ? 2 : 6;
	p.matrix[0] = 20;
	p.matrix[1] = 27;
	p.matrix[2] = p.dims == 3 ? 4 : 1;
	p.combine = sense ? BS_COMBINE_SENSE : BS_COMBINE_RSS;
	p.samples = 100;
	p.readouts = small() ? 18 : 60;
	bs_plan_make(&p);
	(void)snprintf(p.field.map_file, sizeof(p.field.map_file), "map");
	p.field.dwell_us = 80.0;
	bs_plan_make(&p);
	/* what solves in 2D takes Toeplitz operators on the GPU, and the host segments: each is an
	 * approximation of its own, and they may differ by what both are allowed */
	p.field.error = solves && p.dims == 2 ? 1e-5 : 1e-3;
	bs_plan_make(&p);
	const uint64_t voxels = bs_protocol_voxels(&p);

	maps = malloc(voxels * p.coils * p.slices * 8);
	hz = malloc(voxels * p.slices * 4);
	for (uint64_t v = 0; v < 2 * voxels * p.coils * p.slices; v++)
		maps[v] = (float)(check_uniform(&seed) - 0.5);
	for (uint64_t v = 0; v < voxels * p.slices; v++)
		hz[v] = (float)(300.0 * (check_uniform(&seed) - 0.5));
	tables.maps = sense ? maps : NULL;
	tables.field = hz;
	if (fields[i].w && make_w(&w, &p, &seed, &why) == 0)
		tables.w = &w;
	CHECK(!fields[i].w || tables.w != NULL, "%s: W %s", fields[i].name, why.text);
	compare_with(fields[i].name, &p, p.readouts, &tables,
		     sense    ? &bs_engine_host
		     : solves ? &bs_engine_host
			      : &bs_engine_host,
		     sense    ? &bs_engine_cuda
		     : solves ? &bs_engine_cuda
			      : &bs_engine_cuda);
	bs_csr_close(&w);
	free(maps);
	free(hz);
}

static void all(void)
{
	struct bs_protocol p = protocol(BS_METHOD_GRIDDING, 2, BS_TRAJ_RADIAL2D);

	compare("gridding 2D radial, rss", &p, p.readouts, &bs_engine_host, &bs_engine_cuda);
	p.combine = BS_COMBINE_NONE;
	p.output = BS_OUTPUT_COMPLEX;
	p.chunk_readouts = p.readouts;
	bs_plan_make(&p);
	compare("gridding 2D radial, one chunk, complex coils", &p, p.readouts, &bs_engine_host,
		&bs_engine_cuda);
	p = protocol(BS_METHOD_GRIDDING, 2, BS_TRAJ_RADIAL2D);
	p.image_matrix[0] = 81;
	p.image_matrix[1] = 30;
	bs_plan_make(&p);
	compare("gridding 2D radial, rss, on 81 x 30", &p, p.readouts, &bs_engine_host,
		&bs_engine_cuda);
	p = protocol(BS_METHOD_GRIDDING, 3, BS_TRAJ_RADIAL3D);
	p.readouts = small() ? 60 : 400;
	compare("gridding 3D radial", &p, p.readouts, &bs_engine_host, &bs_engine_cuda);
	p = protocol(BS_METHOD_GRIDDING, 3, BS_TRAJ_STACK);
	p.matrix[2] = 12;
	p.traj.interleaves = 8;
	p.readouts = 96;
	p.samples = small() ? 60 : 300;
	bs_plan_make(&p);
	compare("gridding stack", &p, p.readouts, &bs_engine_host, &bs_engine_cuda);
	p = protocol(BS_METHOD_CARTESIAN, 2, BS_TRAJ_CARTESIAN);
	p.encoded[0] = 96;
	p.encoded[1] = 54;
	p.samples = 80; /* partial echo */
	compare("cartesian 2D, partial echo", &p, 54, &bs_engine_host, &bs_engine_cuda);
	p.image_matrix[0] = p.image_matrix[1] = 96;
	bs_plan_make(&p);
	compare("cartesian 2D, zero-filled to 96", &p, 54, &bs_engine_host, &bs_engine_cuda);
	p = protocol(BS_METHOD_CARTESIAN, 2, BS_TRAJ_CARTESIAN);
	p.encoded[0] = 96;
	p.encoded[1] = 54;
	p.samples = 80;
	p.partial_fourier = BS_PARTIAL_FOURIER_POCS;
	p.pocs_iterations = 6;
	p.pocs_taper = 0.5;
	bs_plan_make(&p);
	compare("cartesian 2D, partial echo and lines, completed", &p, 40, &bs_engine_host,
		&bs_engine_cuda);
	p.encoded[1] = p.encoded[0] = p.matrix[0] = p.matrix[1] = p.samples = 33;
	p.dims = 3;
	p.encoded[2] = 12;
	p.matrix[2] = 8;
	p.output = BS_OUTPUT_COMPLEX;
	bs_plan_make(&p);
	compare("cartesian 3D, partitions completed", &p, 33 * 8, &bs_engine_host, &bs_engine_cuda);
	p = protocol(BS_METHOD_CARTESIAN, 3, BS_TRAJ_CARTESIAN);
	p.matrix[2] = 14;
	p.encoded[2] = 22;
	p.encoded[0] = p.samples = 49;
	p.output = BS_OUTPUT_COMPLEX;
	p.combine = BS_COMBINE_NONE;
	bs_plan_make(&p);
	compare("cartesian 3D, sizes with 7 and 11", &p, 48 * 22, &bs_engine_host, &bs_engine_cuda);
	for (size_t i = 0; i < sizeof(solvers) / sizeof(solvers[0]); i++)
		solver(i, protocol(BS_METHOD_LS, 2, BS_TRAJ_RANDOM));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		off_resonance(i, protocol(BS_METHOD_LS, 2, BS_TRAJ_RANDOM));
}

int main(void)
{
	return twin_main("CUDA engines", 2, all);
}
