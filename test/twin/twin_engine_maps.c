/*
 * test/twin/twin_engine_maps.c - image.maps from the scan before the CUDA engines: the host's
 * images, the same bytes every run, no allocation after arm
 *
 * Both twins have the same maps, which the host makes. The bound, 1e-5 relative, is that of the
 * engines with maps of a file (twin_engine.c): transforms and sums over coils in another order, and
 * for sense a few iterations of a well conditioned system.
 */
#include "test/support/check.h"

#if BS_GPU
#include "test/twin/scanned_lines.h"

static const struct trial {
	struct lines_plan plan;
	enum bs_method method;
	enum bs_maps_from maps;
	enum bs_precond precond;
	uint32_t encoded[3], matrix[3], samples, image_x;
	uint32_t coils, slices, contrasts;
} trials[] = {
	{ { "cartesian 45 x 63, ESPIRiT, 2 slices x 2 contrasts",
	    { 1, 1 },
	    0,
	    { 20, 1 },
	    false,
	    false,
	    0 },
	  BS_METHOD_CARTESIAN,
	  BS_MAPS_ESPIRIT,
	  BS_PRECOND_NONE,
	  { 90, 63, 1 },
	  { 45, 63, 1 },
	  90,
	  0,
	  5,
	  2,
	  2 },
	{ { "cartesian 160 x 192, 32 coils, Walsh", { 1, 1 }, 0, { 24, 1 }, false, false, 0 },
	  BS_METHOD_CARTESIAN,
	  BS_MAPS_WALSH,
	  BS_PRECOND_NONE,
	  { 160, 192, 1 },
	  { 160, 192, 1 },
	  160,
	  0,
	  32,
	  1,
	  1 },
	{ { "cartesian slab 40 x 36 x 8, Walsh, resized", { 1, 1 }, 0, { 16, 8 }, true, false, 0 },
	  BS_METHOD_CARTESIAN,
	  BS_MAPS_WALSH,
	  BS_PRECOND_NONE,
	  { 40, 36, 8 },
	  { 40, 36, 8 },
	  33,
	  61,
	  4,
	  2,
	  1 },
	{ { "gridding 48 x 44, ESPIRiT", { 1, 1 }, 0, { 20, 1 }, true, false, 0 },
	  BS_METHOD_GRIDDING,
	  BS_MAPS_ESPIRIT,
	  BS_PRECOND_NONE,
	  { 48, 44, 1 },
	  { 48, 44, 1 },
	  48,
	  0,
	  4,
	  2,
	  1 },
	{ { "sense 37 x 40, ESPIRiT, Jacobi, 2 slices", { 2, 1 }, 0, { 20, 1 }, true, false, 0 },
	  BS_METHOD_SENSE,
	  BS_MAPS_ESPIRIT,
	  BS_PRECOND_JACOBI,
	  { 37, 40, 1 },
	  { 37, 40, 1 },
	  37,
	  0,
	  4,
	  2,
	  1 },
	{ { "sense 48 x 30, Walsh, circulant", { 2, 1 }, 0, { 20, 1 }, true, false, 0 },
	  BS_METHOD_SENSE,
	  BS_MAPS_WALSH,
	  BS_PRECOND_CIRCULANT,
	  { 48, 30, 1 },
	  { 48, 30, 1 },
	  48,
	  0,
	  4,
	  1,
	  2 },
	{ { "sense 32 x 48, ESPIRiT, circulant, 2 slices", { 2, 1 }, 0, { 20, 1 }, true, false, 0 },
	  BS_METHOD_SENSE,
	  BS_MAPS_ESPIRIT,
	  BS_PRECOND_CIRCULANT,
	  { 32, 48, 1 },
	  { 32, 48, 1 },
	  32,
	  0,
	  3,
	  2,
	  1 },
};

static struct bs_protocol protocol(const struct trial *t)
{
	struct bs_protocol p = { .name = "twin",
				 .method = t->method,
				 .dims = t->encoded[2] > 1 ? 3 : 2,
				 .coils = t->coils,
				 .samples = t->samples,
				 .readouts = t->encoded[1] * t->encoded[2],
				 .slices = t->slices,
				 .contrasts = t->contrasts,
				 .uses = 1u << BS_KIND_CALIBRATION,
				 .traj.type = BS_TRAJ_CARTESIAN,
				 .accuracy = 1e-6,
				 .density = BS_DENSITY_NONE,
				 .fhd = BS_SUM_NUFFT,
				 .q = BS_SUM_NUFFT,
				 .precond = t->precond,
				 .lambda = 1.0,
				 .iterations = small() ? 4 : 10,
				 .combine = BS_COMBINE_SENSE,
				 .maps = t->maps,
				 .calibration_lines = 24,
				 .espirit_threshold = 1e-3,
				 .espirit_crop = 0.5,
				 .walsh_block = 5,
				 .image_matrix = { t->image_x },
				 .output = BS_OUTPUT_COMPLEX };

	memcpy(p.encoded, t->encoded, sizeof(p.encoded));
	memcpy(p.matrix, t->matrix, sizeof(p.matrix));
	return p;
}

static void run(const struct trial *t, struct bs_team *team)
{
	static const struct bs_engine *const twins[][2] = {
		[BS_METHOD_CARTESIAN] = { &bs_engine_cartesian_host, &bs_engine_cartesian_cuda },
		[BS_METHOD_GRIDDING] = { &bs_engine_gridding_host, &bs_engine_gridding_cuda },
		[BS_METHOD_SENSE] = { &bs_engine_sense_host, &bs_engine_sense_cuda },
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
	lines_compare(&p, &t->plan, &tables, twins[t->method][0], twins[t->method][1], team);
	bs_csr_close(&w);
}

/* Maps that change between two scans (image.maps study): as an engine that is armed with them. */
static void study(struct bs_team *team)
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
	bytes = (size_t)bs_protocol_image_bytes(&p) * bs_protocol_frames(&p);
	lines_open(&scan, &p, &t->plan, 3);
	rc = bs_traj_make(&traj, &p, &why) | make_w(&w, &p, &seed, &why);
	tables.traj = &traj;
	tables.maps = maps;
	tables.w = &w;
	for (int armed = 0; rc == 0 && armed < 2; armed++) {
		image[armed] = malloc(bytes);
		rc = fed_open(&f, &bs_engine_sense_cuda, &p, &tables, team, STAGED, &why);
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
	CHECK(rc == 0 && strcmp(engine->name, "cartesian/cuda") == 0 && strcmp(words, "GPU 0") == 0,
	      "auto: %s on %s%s", engine != NULL ? engine->name : "none", words, why.text);
	p.backend = BS_BACKEND_HOST;
	rc = bs_engine_find(&engine, &p, &why);
	if (rc == 0)
		bs_engine_place(words, sizeof(words), engine, &p);
	CHECK(rc == 0 && strcmp(words, "host") == 0, "host: %s on %s", engine->name, words);
}

int main(void)
{
	struct bs_team *team = NULL;
	struct bs_gpu_info gpu;
	struct bs_fail why = { 0 };

	if (!device_answers("maps of the scan before CUDA engines", &gpu))
		return check_done();
	CHECK(bs_team_open(&team, 2, &why) == 0, "team %s", why.text);
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		run(&trials[i], team);
	study(team);
	place();
	bs_team_close(team);
	return check_done();
}
#else
int main(void)
{
	SKIP("maps of the scan before CUDA engines: built without CUDA");
	return check_done();
}
#endif
