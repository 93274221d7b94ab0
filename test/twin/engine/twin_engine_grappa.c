/*
 * test/twin/engine/twin_engine_grappa.c
 * method cartesian with parallel grappa on the GPU: the host's
 * images, the same bytes every run, no allocation after arm
 *
 * Both twins have the same weights, which the host makes. The bound, 1e-5 relative: the
 * transforms' 1e-6, and sums of at most a thousand products in another order (twin_grappa.c).
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "test/twin/engine/scanned_lines.h"

/* clang-format off */
static const struct trial {
	struct lines_plan plan;
	uint32_t encoded[3], matrix[3], samples;
	uint32_t kernel[3], sources;
	uint32_t coils, slices, contrasts;
	enum bs_combine combine;
	bool pocs;
} trials[] = {
	{ { "45 x 63, R = 2, 2 slices x 2 contrasts", { 2, 1 }, 0, { 20, 1 }, false, false, 0 },
	  { 90, 63, 1 }, { 45, 63, 1 }, 90, { 5, 9, 1 }, 2, 5, 2, 2, BS_COMBINE_RSS, false },
	{ { "160 x 192, R = 3, calibration apart, then whole", { 3, 1 }, 0, { 24, 1 }, true, true, 0
	  }, { 160, 192, 1 }, { 160, 192, 1 }, 160, { 5, 9, 1 }, 2, 8, 1, 1, BS_COMBINE_RSS, false
	  },
	{ { "220 x 120, R = 2, partial echo, maps of the scan", { 2, 1 }, 0, { 24, 1 }, false,
	  false, 0 }, { 220, 120, 1 }, { 110, 120, 1 }, 190, { 3, 9, 1 }, 4, 6, 2, 1,
	  BS_COMBINE_SENSE, false },
	{ { "40 x 36 x 20, R = 2 x 2, CAIPI", { 2, 2 }, 1, { 12, 12 }, false, false, 0 },
	  { 40, 36, 20 }, { 40, 36, 20 }, 40, { 5, 5, 5 }, 8, 4, 1, 2, BS_COMBINE_RSS, false },
	{ { "slab of 4, R = 3, coils apart", { 3, 1 }, 1, { 18, 4 }, true, false, 0 },
	  { 32, 45, 4 }, { 32, 45, 4 }, 32, { 1, 7, 3 }, 6, 3, 2, 1, BS_COMBINE_NONE, false },
	{ { "96 x 90, R = 2, then partial Fourier", { 2, 1 }, 0, { 20, 1 }, false, false, 66 },
	  { 96, 90, 1 }, { 48, 90, 1 }, 81, { 5, 9, 1 }, 2, 4, 2, 1, BS_COMBINE_NONE, true },
	{ { "64 x 60, 32 coils, R = 2", { 2, 1 }, 0, { 32, 1 }, false, false, 0 }, { 64, 60, 1 },
	  { 64, 60, 1 }, 64, { 5, 9, 1 }, 2, 32, 1, 1, BS_COMBINE_RSS, false },
};
/* clang-format on */

static struct bs_protocol protocol(const struct trial *t)
{
	struct bs_protocol p = lines_protocol(t->encoded, t->matrix, t->samples, t->coils);
	const bool rss = t->combine == BS_COMBINE_RSS;

	p.parallel = BS_PARALLEL_GRAPPA;
	p.slices = t->slices;
	p.contrasts = t->contrasts;
	p.grappa_sources = t->sources;
	p.grappa_lambda = 5e-3;
	p.partial_fourier = t->pocs ? BS_PARTIAL_FOURIER_POCS : BS_PARTIAL_FOURIER_NONE;
	p.combine = t->combine;
	p.maps = t->combine == BS_COMBINE_SENSE ? BS_MAPS_WALSH : BS_MAPS_FILE;
	p.output = rss ? BS_OUTPUT_MAGNITUDE : BS_OUTPUT_COMPLEX;
	memcpy(p.grappa_kernel, t->kernel, sizeof(p.grappa_kernel));
	return planned(p);
}

/* A scan without calibration lines is refused in the host's words, and the next one is made. */
static void refusal(void)
{
	struct bs_protocol p = protocol(&trials[0]);
	struct lines_plan plan = { "no calibration", { 3, 1 }, 0, { 0, 0 }, false, false, 0 };
	const struct bs_tables none = { 0 };
	struct bs_report report = { 0 };
	struct bs_fail why = { 0 };
	struct fed f = { 0 };
	struct lines scan;
	float *images = malloc(bs_protocol_image_bytes(&p) * bs_protocol_frames(&p));
	int rc = fed_open(&f, &bs_engine_cuda, &p, &none, STAGED, &why);

	lines_open(&scan, &p, &plan, 0);
	if (rc == 0)
		rc = lines_scan(&f, &scan, false, 0, INT64_MAX, images, &report);
	CHECK(rc == BS_ERR_CALIBRATION && report.why.code == rc, "refused: %s%s", report.why.text,
	      why.text);
	lines_close(&scan);
	lines_open(&scan, &p, &trials[0].plan, 0);
	rc = lines_scan(&f, &scan, false, 0, INT64_MAX, images, &report);
	CHECK(rc == 0, "the next scan has its images %s", report.why.text);
	lines_close(&scan);
	fed_close(&f);
	free(images);
}

static void compare_all(void)
{
	const struct bs_tables none = { 0 };

	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		const struct bs_protocol p = protocol(&trials[i]);

		lines_compare(&p, &trials[i].plan, &none, &bs_engine_host, &bs_engine_cuda);
	}
	refusal();
}

int main(void)
{
	return twin_main("GRAPPA in the CUDA engine", 2, compare_all);
}
