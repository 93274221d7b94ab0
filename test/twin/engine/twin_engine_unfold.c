/*
 * test/twin/engine/twin_engine_unfold.c
 * method cartesian with parallel sense on the GPU: the host's
 * images, iterations and residuals, the same bytes every run, no allocation after arm
 *
 * Ten iterations on systems of condition some tens: each adds a few single-precision roundings to
 * what the transforms differ by (1e-6), so 1e-5 for the images, as in twin_unfold.c. A prior's step
 * brings no two images further apart.
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "test/twin/engine/scanned_lines.h"

/* clang-format off */
static const struct trial {
	struct lines_plan plan;
	uint32_t encoded[3], matrix[3], samples, image_x;
	uint32_t coils, slices, contrasts;
	enum bs_maps_from maps;
	bool w, pocs;
	enum bs_prior prior;
} trials[] = {
	{ { "45 x 63, R = 2, ESPIRiT, 2 slices x 2 contrasts", { 2, 1 }, 0, { 20, 1 }, false, false,
	  0 }, { 90, 63, 1 }, { 45, 63, 1 }, 90, 0, 5, 2, 2, BS_MAPS_ESPIRIT, false, false,
	  BS_PRIOR_NONE },
	{ { "160 x 192, R = 3, 32 coils", { 3, 1 }, 0, { 0, 0 }, false, false, 0 }, { 160, 192, 1 },
	  { 160, 192, 1 }, 160, 0, 32, 1, 1, BS_MAPS_FILE, false, false,
	  BS_PRIOR_NONE },
	{ { "220 x 120, R = 2, partial echo, W, resized", { 2, 1 }, 0, { 0, 0 }, false, false, 0 },
	  { 220, 120, 1 }, { 110, 120, 1 }, 190, 160, 6, 2, 1, BS_MAPS_FILE, true, false,
	  BS_PRIOR_NONE },
	{ { "40 x 36 x 20, R = 2 x 2, CAIPI, Walsh", { 2, 2 }, 1, { 12, 12 }, true, false, 0 },
	  { 40, 36, 20 }, { 40, 36, 20 }, 40, 0, 6, 1, 2, BS_MAPS_WALSH, false, false,
	  BS_PRIOR_NONE },
	{ { "96 x 90, R = 2, then partial Fourier", { 2, 1 }, 0, { 0, 0 }, false, false, 66 },
	  { 96, 90, 1 }, { 48, 90, 1 }, 81, 0, 4, 2, 1, BS_MAPS_FILE, false, true,
	  BS_PRIOR_NONE },
	{ { "slab of 4, R = 3, W", { 3, 1 }, 1, { 0, 0 }, false, false, 0 }, { 32, 45, 4 },
	  { 32, 45, 4 }, 32, 0, 4, 2, 1, BS_MAPS_FILE, true, false,
	  BS_PRIOR_NONE },
	{ { "90 x 120, R = 2, ESPIRiT, wavelets", { 2, 1 }, 0, { 20, 1 }, false, false, 0 },
	  { 90, 120, 1 }, { 45, 120, 1 }, 90, 0, 5, 2, 2, BS_MAPS_ESPIRIT, false, false,
	  BS_PRIOR_WAVELET },
	{ { "40 x 36 x 20, R = 2 x 2, W and wavelets", { 2, 2 }, 1, { 0, 0 }, false, false, 0 },
	  { 40, 36, 20 }, { 40, 36, 20 }, 40, 0, 6, 1, 2, BS_MAPS_FILE, true, false,
	  BS_PRIOR_WAVELET },
	{ { "110 x 96, R = 2, total variation", { 2, 1 }, 0, { 0, 0 }, false, false, 0 },
	  { 220, 96, 1 }, { 110, 96, 1 }, 220, 0, 6, 2, 1, BS_MAPS_FILE, false, false,
	  BS_PRIOR_TV },
};
/* clang-format on */

static struct bs_protocol protocol(const struct trial *t)
{
	struct bs_protocol p = lines_protocol(t->encoded, t->matrix, t->samples, t->coils);

	p.method = BS_METHOD_CARTESIAN_SENSE;
	p.parallel = BS_PARALLEL_SENSE;
	p.slices = t->slices;
	p.contrasts = t->contrasts;
	p.partial_fourier = t->pocs ? BS_PARTIAL_FOURIER_POCS : BS_PARTIAL_FOURIER_NONE;
	p.lambda = 0.05;
	p.maps = t->maps;
	p.image_matrix[0] = t->image_x;
	p.prior.kind = t->prior;
	p.prior.lambda = 0.02;
	p.prior.block = 8;
	p.prior.shifts = true;
	return planned(p);
}

static void run(const struct trial *t)
{
	const struct bs_protocol p = protocol(t);
	struct bs_tables tables = { 0 };
	struct bs_fail why = { 0 };
	struct bs_csr w = { 0 };
	uint64_t seed = 77;
	float *maps = malloc(bs_protocol_voxels(&p) * p.coils * p.slices * 8);

	lines_maps(&p, maps);
	if (t->maps == BS_MAPS_FILE)
		tables.maps = maps;
	if (t->w) {
		CHECK(make_w(&w, &p, &seed, &why) == 0, "W %s", why.text);
		tables.w = &w;
	}
	lines_compare(&p, &t->plan, &tables, &bs_engine_host, &bs_engine_cuda);
	bs_csr_close(&w);
	free(maps);
}

/* What the service finds where a site has two GPUs. */
static void place(void)
{
	struct bs_protocol p = protocol(&trials[1]);
	const struct bs_engine *engine = NULL;
	struct bs_fail why = { 0 };
	char words[96] = "";
	int rc;

	p.gpu_devices = (struct bs_devices){ 2, { 0, 0 } };
	bs_plan_make(&p);
	rc = bs_engine_find(&engine, &p, &why);
	if (rc == 0)
		bs_engine_place(words, sizeof(words), engine, &p);
	CHECK(rc == 0 && engine == &bs_engine_cuda &&
		      strcmp(words, "GPU 0 alone: method cartesian_sense is not shared out") == 0,
	      "auto: %s%s", words, why.text);
}

static void compare_all(void)
{
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		run(&trials[i]);
	place();
}

int main(void)
{
	return twin_main("SENSE of lines in the CUDA engine", 2, compare_all);
}
