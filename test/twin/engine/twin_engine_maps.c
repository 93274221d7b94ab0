/*
 * test/twin/engine/twin_engine_maps.c
 * image.maps from the scan before the CUDA engines: the host's images, the same bytes every run, no
 * allocation after arm; the device memory that is told beforehand is what is taken, and where
 * ESPIRiT's cannot be had the host makes the maps
 *
 * Both twins have the same maps, which the host makes. The bound, 1e-5 relative, is that of the
 * engines with maps of a file (twin_engine.c): transforms and sums over coils in another order, and
 * for sense a few iterations of a well conditioned system.
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "test/twin/engine/scanned_lines.h"

/* clang-format off */
static const struct trial {
	struct lines_plan plan;
	enum bs_method method;
	enum bs_maps_from maps;
	enum bs_precond precond;
	uint32_t encoded[3], matrix[3], samples, image_x;
	uint32_t coils, slices, contrasts;
} trials[] = {
	{ { "cartesian 45 x 63, ESPIRiT, 2 slices x 2 contrasts", { 1, 1 }, 0, { 20, 1 }, false,
	  false, 0 }, BS_METHOD_CARTESIAN, BS_MAPS_ESPIRIT, BS_PRECOND_NONE, { 90, 63, 1 },
	  { 45, 63, 1 }, 90, 0, 5, 2, 2 },
	{ { "cartesian 160 x 192, 32 coils, Walsh", { 1, 1 }, 0, { 24, 1 }, false, false, 0 },
	  BS_METHOD_CARTESIAN, BS_MAPS_WALSH, BS_PRECOND_NONE, { 160, 192, 1 }, { 160, 192, 1 },
	  160, 0, 32, 1, 1 },
	{ { "cartesian slab 40 x 36 x 8, Walsh, resized", { 1, 1 }, 0, { 16, 8 }, true, false, 0 },
	  BS_METHOD_CARTESIAN, BS_MAPS_WALSH, BS_PRECOND_NONE, { 40, 36, 8 }, { 40, 36, 8 }, 33, 61,
	  4, 2, 1 },
	{ { "gridding 48 x 44, ESPIRiT", { 1, 1 }, 0, { 20, 1 }, true, false, 0 },
	  BS_METHOD_GRIDDING, BS_MAPS_ESPIRIT, BS_PRECOND_NONE, { 48, 44, 1 }, { 48, 44, 1 }, 48, 0,
	  4, 2, 1 },
	{ { "sense 37 x 40, ESPIRiT, Jacobi, 2 slices", { 2, 1 }, 0, { 20, 1 }, true, false, 0 },
	  BS_METHOD_SENSE, BS_MAPS_ESPIRIT, BS_PRECOND_JACOBI, { 37, 40, 1 }, { 37, 40, 1 }, 37, 0,
	  4, 2, 1 },
	{ { "sense 48 x 30, Walsh, circulant", { 2, 1 }, 0, { 20, 1 }, true, false, 0 },
	  BS_METHOD_SENSE, BS_MAPS_WALSH, BS_PRECOND_CIRCULANT, { 48, 30, 1 }, { 48, 30, 1 }, 48, 0,
	  4, 1, 2 },
	{ { "sense 32 x 48, ESPIRiT, circulant, 2 slices", { 2, 1 }, 0, { 20, 1 }, true, false, 0 },
	  BS_METHOD_SENSE, BS_MAPS_ESPIRIT, BS_PRECOND_CIRCULANT, { 32, 48, 1 }, { 32, 48, 1 }, 32,
	  0, 3, 2, 1 },
};
/* clang-format on */

static struct bs_protocol protocol(const struct trial *t)
{
	struct bs_protocol p = lines_protocol(t->encoded, t->matrix, t->samples, t->coils);

	p.method = t->method;
	p.slices = t->slices;
	p.contrasts = t->contrasts;
	p.accuracy = 1e-6;
	p.density = BS_DENSITY_NONE;
	p.fhd = p.q = BS_SUM_NUFFT;
	p.precond = t->precond;
	p.lambda = 1.0;
	p.maps = t->maps;
	p.image_matrix[0] = t->image_x;
	return planned(p);
}

static void run(const struct trial *t)
{
	static const struct bs_engine *const twins[][2] = {
		[BS_METHOD_CARTESIAN] = { &bs_engine_host, &bs_engine_cuda },
		[BS_METHOD_GRIDDING] = { &bs_engine_host, &bs_engine_cuda },
		[BS_METHOD_SENSE] = { &bs_engine_host, &bs_engine_cuda },
	};
	const struct bs_protocol p = protocol(t);
	struct bs_tables tables = { 0 };
	struct bs_fail why = { 0 };
	struct bs_csr w = { 0 };
	uint64_t seed = 31;

	/* the whole grid alone would be solved in one step */
	if (bs_methods[p.method].solves) {
		CHECK(make_w(&w, &p, &seed, &why) == 0, "W %s", why.text);
		tables.w = &w;
	}
	lines_compare(&p, &t->plan, &tables, twins[t->method][0], twins[t->method][1]);
	bs_csr_close(&w);
}

/* ---- a sliding window of spokes, whose maps come from the center of k-space ---- */

#define GROUPS 3u
#define SLIDES 5u /* groups, one after the other: from the third on each has an image */

static struct bs_protocol spokes(enum bs_method method)
{
	struct bs_protocol p = protocol(&trials[4]);

	p.method = method;
	p.precond = method == BS_METHOD_SENSE ? BS_PRECOND_JACOBI : BS_PRECOND_NONE;
	p.lambda = 10.0; /* all spokes meet: the largest eigenvalue is about 60 times the voxels */
	p.slices = 1;
	p.uses = 0;
	p.traj.type = BS_TRAJ_RADIAL2D;
	p.density = method == BS_METHOD_SENSE ? BS_DENSITY_NONE : BS_DENSITY_RAMP;
	p.samples = 64;
	p.readouts = 60;
	p.frame_step = 20;
	p.maps_every = 1;
	for (int a = 0; a < 2; a++)
		p.matrix[a] = p.encoded[a] = 32;
	return planned(p);
}

/* Another object comes with the third group. */
static float *spokes_data(const struct bs_protocol *p, const struct bs_traj *traj)
{
	float *data = malloc(2ull * SLIDES * p->frame_step * p->samples * p->coils * 4);
	float *to = data;

	for (uint32_t n = 0; n < SLIDES * p->frame_step; n++)
		for (uint32_t c = 0; c < p->coils; c++)
			for (uint32_t i = 0; i < p->samples; i++, to += 2) {
				const uint32_t row = n % p->readouts;
				const float *at = traj->k + 2 * (row * p->samples + i);
				const double k[3] = { (double)at[0] * p->matrix[0],
						      (double)at[1] * p->matrix[1], 0.0 };
				float complex sum = 0.0f;

				for (int w = 0; w < WAVES; w++)
					sum += lines_coil(c, w) *
					       lines_object(p, k, lines_wave[w],
							    n < 2 * p->frame_step ? 0 : 5);
				to[0] = crealf(sum);
				to[1] = cimagf(sum);
			}
	return data;
}

/* images [SLIDES], those before the window is whole left out. */
static int slides(struct armed *a, const float *data, float *images, struct bs_report *report)
{
	const struct bs_protocol *p = &a->p;
	const size_t floats = 2 * (size_t)p->samples * p->coils;
	const uint8_t held[GROUPS] = { 1, 1, 1 };
	int rc = 0;

	a->engine->scan(a->self);
	for (uint32_t n = 0; rc == 0 && n < SLIDES; n++) {
		rc = a->engine->begin(a->self, 0);
		for (uint32_t i = 0; rc == 0 && i < p->frame_step; i++) {
			const uint32_t at = n * p->frame_step + i;

			rc = a->engine->add(a->self, 0, at % p->readouts, NULL, data + at * floats,
					    p->samples);
		}
		if (rc == 0)
			rc = a->engine->fold(a->self, 0, n % GROUPS);
		memset(report, 0, sizeof(*report));
		if (rc == 0 && n + 1 >= GROUPS)
			rc = a->engine->image(a->self, 0, held, INT64_MAX,
					      images + n * (bs_protocol_image_bytes(p) / 4),
					      report);
	}
	return rc;
}

static void window(enum bs_method method, const struct bs_engine *host,
		   const struct bs_engine *cuda)
{
	const struct bs_protocol p = spokes(method);
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	const size_t n = SLIDES * (size_t)(bs_protocol_image_bytes(&p) / 4);
	struct bs_traj traj = { 0 };
	struct bs_tables tables = { .traj = &traj };
	float *images[3] = { calloc(n, 4), calloc(n, 4), calloc(n, 4) };
	float *data = NULL;
	struct bs_report report = { 0 };
	struct bs_fail why = { 0 };
	struct armed a;
	int rc = bs_traj_make(&traj, &p, &why);

	tables.maps = tables.made = calloc(bs_protocol_voxels(&p) * p.coils, 8);
	data = spokes_data(&p, &traj);
	for (int i = 0; rc == 0 && i < 2; i++) {
		const struct bs_engine *engine = i == 0 ? host : cuda;

		memset(tables.made, 0, bs_protocol_voxels(&p) * p.coils * 8);
		rc = armed_open(&a, engine, &p, &tables, env, &why);
		allocations = 0;
		if (rc == 0)
			rc = slides(&a, data, images[i], &report);
		if (rc == 0 && i == 1)
			rc = slides(&a, data, images[2], &report);
		CHECK(rc == 0 && allocations == 0, "%s: a window of spokes; %u allocations %s%s",
		      armed_name(&a), allocations, why.text, report.why.text);
		armed_close(&a);
	}
	CHECK(lines_hold(images[0], n) && check_rel(images[1], images[0], n) <= 1e-5,
	      "spokes: images differ by %.1e <= 1e-5", check_rel(images[1], images[0], n));
	CHECK(memcmp(images[1], images[2], n * 4) == 0, "spokes: the same bytes again");
	bs_traj_close(&traj);
	free(tables.made);
	free(data);
	for (int i = 0; i < 3; i++)
		free(images[i]);
}

/* Maps that change between two scans (image.maps study): as an engine that is armed with them. */
static void study(void)
{
	const struct trial *t = &trials[4];
	struct bs_protocol p = protocol(t);
	const size_t n = 2 * (size_t)bs_protocol_voxels(&p) * p.coils * p.slices;
	struct bs_tables tables = { 0 };
	struct bs_traj traj = { 0 };
	struct bs_report report;
	struct bs_fail why = { 0 };
	struct bs_csr w = { 0 };
	struct lines scan;
	struct fed f = { 0 };
	float *maps = calloc(n, sizeof(*maps));
	float *image[2] = { NULL, NULL };
	size_t bytes;
	uint64_t seed = 31;
	int rc;

	p.maps = BS_MAPS_STUDY;
	bs_plan_make(&p);
	bytes = (size_t)bs_protocol_image_bytes(&p) * bs_protocol_frames(&p);
	lines_open(&scan, &p, &t->plan, 3);
	rc = bs_traj_make(&traj, &p, &why) | make_w(&w, &p, &seed, &why);
	tables.traj = &traj;
	tables.maps = maps;
	tables.w = &w;
	for (int armed = 0; rc == 0 && armed < 2; armed++) {
		image[armed] = malloc(bytes);
		rc = fed_open(&f, &bs_engine_cuda, &p, &tables, STAGED, &why);
		for (size_t i = 0; armed == 0 && i < n; i++)
			maps[i] = (float)cos(0.01 * (double)i) + 0.3f;
		for (uint32_t s = 0; rc == 0 && armed == 0 && s < p.slices; s++)
			rc = f.on.engine->maps(f.on.self, s);
		if (rc == 0)
			rc = lines_scan(&f, &scan, false, 0, INT64_MAX, image[armed], &report);
		fed_close(&f);
	}
	CHECK(rc == 0 && memcmp(image[0], image[1], bytes) == 0,
	      "maps of the study: as if armed with them %s", why.text);
	lines_close(&scan);
	bs_traj_close(&traj);
	bs_csr_close(&w);
	free(maps);
	free(image[0]);
	free(image[1]);
}

/* ---- the device memory of ESPIRiT ---- */

static const struct trial large = {
	{ "cartesian 96 x 96 x 96, ESPIRiT", { 1, 1 }, 0, { 24, 24 }, false, false, 0 },
	BS_METHOD_CARTESIAN,
	BS_MAPS_ESPIRIT,
	BS_PRECOND_NONE,
	{ 96, 96, 96 },
	{ 96, 96, 96 },
	96,
	0,
	8,
	1,
	1
};

static size_t free_now(void)
{
	size_t now = 0;
	size_t total = 0;

	return cudaDeviceSynchronize() == cudaSuccess && cudaMemGetInfo(&now, &total) == cudaSuccess
		       ? now
		       : 0;
}

/* What the engine says beforehand, the maps' part apart, and what goes while it is armed. */
static void memory(void)
{
	const struct bs_protocol p = protocol(&large);
	const struct bs_engine *engine = &bs_engine_cuda;
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	const size_t maps = (size_t)bs_protocol_voxels(&p) * p.coils * 8;
	struct bs_protocol given = p; /* the same, but it makes no maps */
	struct bs_need need[2] = { 0 };
	struct bs_tables tables = { 0 };
	struct bs_fail why = { 0 };
	uint64_t kept[3] = { 0 };
	uint64_t own;
	int rc = engine->device(&p, NULL, &need[0], &why);

	given.maps = BS_MAPS_FILE;
	bs_plan_make(&given);
	if (rc == 0)
		rc = bs_engine_cuda.device(&given, NULL, &need[1], &why);
	own = need[0].total_bytes - need[1].total_bytes;
	tables.maps = tables.made = calloc(maps, 1);
	/* at first kernels are loaded, too; at last there is no room for the maps' part */
	for (int i = 0; rc == 0 && i < 3; i++) {
		const size_t before = free_now();
		struct armed a;

		refused = i == 2 ? (size_t)own : SIZE_MAX;
		rc = armed_open(&a, engine, &p, &tables, env, &why);
		kept[i] = before - free_now();
		armed_close(&a);
	}
	refused = SIZE_MAX;
	CHECK(rc == 0 && fabs((double)kept[1] / (double)need[0].total_bytes - 1.0) <= 0.02,
	      "%s: told %.1f MiB, taken %.1f, at most 2 %% apart %s", large.plan.name,
	      (double)need[0].total_bytes * 0x1p-20, (double)kept[1] * 0x1p-20, why.text);
	CHECK(rc == 0 && fabs((double)kept[2] / (double)need[1].total_bytes - 1.0) <= 0.02,
	      "%s: without room for the maps' part of %.1f MiB armed all the same, %.1f taken %s",
	      large.plan.name, (double)own * 0x1p-20, (double)kept[2] * 0x1p-20, why.text);
	free(tables.made);
}

/* Its maps are then the host's: the same images as ever. */
static void without_room(void)
{
	const struct trial *t = &trials[0];
	const struct bs_protocol p = protocol(t);
	struct lines_plan plan = t->plan;
	struct bs_protocol given = p;
	struct bs_need need[2] = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_engine_cuda.device(&p, NULL, &need[0], &why);

	given.maps = BS_MAPS_FILE;
	bs_plan_make(&given);
	if (rc == 0)
		rc = bs_engine_cuda.device(&given, NULL, &need[1], &why);
	refused = (size_t)(need[0].total_bytes - need[1].total_bytes);
	CHECK(rc == 0 && refused > 0, "the maps' part: %zu of %llu bytes %s", refused,
	      (unsigned long long)need[0].total_bytes, why.text);
	plan.name = "cartesian 45 x 63, no room for ESPIRiT on the GPU";
	lines_compare(&p, &plan, &(struct bs_tables){ 0 }, &bs_engine_host, &bs_engine_cuda);
	refused = SIZE_MAX;
}

/* The engine that the service finds, and what is said of its place. */
static void place(void)
{
	struct bs_protocol p = protocol(&trials[0]);
	const struct bs_engine *engine = NULL;
	struct bs_fail why = { 0 };
	char words[96] = "";
	int rc = bs_engine_find(&engine, &p, &why);

	if (rc == 0)
		bs_engine_place(words, sizeof(words), engine, &p);
	CHECK(rc == 0 && engine == &bs_engine_cuda && strcmp(words, "GPU 0") == 0, "auto: on %s%s",
	      words, why.text);
	p.backend = BS_BACKEND_HOST;
	bs_plan_make(&p);
	rc = bs_engine_find(&engine, &p, &why);
	if (rc == 0)
		bs_engine_place(words, sizeof(words), engine, &p);
	CHECK(rc == 0 && strcmp(words, "host") == 0, "host: on %s", words);
}

static void compare_all(void)
{
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		run(&trials[i]);
	window(BS_METHOD_GRIDDING, &bs_engine_host, &bs_engine_cuda);
	window(BS_METHOD_SENSE, &bs_engine_host, &bs_engine_cuda);
	study();
	if (!small())
		memory();
	without_room();
	place();
}

int main(void)
{
	return twin_main("maps of the scan before CUDA engines", 2, compare_all);
}
