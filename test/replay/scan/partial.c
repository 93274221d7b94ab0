/*
 * test/replay/scan/partial.c - accelerated scans that end early: lines of a real scan are left out,
 * unfolded by GRAPPA or SENSE and completed by projections
 *
 * From prisma2d_dual_20ch (DATA/scan/README.md), first contrast, against its own root of the sum of
 * squares over the mask. Reachable: the projections of gpu/image/pocs.h in numpy (double precision,
 * 10 iterations, taper 0.5) over 48 of 64 lines, or 96 of 128 samples, of BART 0.8's pics -S -w1
 * -l2 -r1e-4 -i100 with the same maps (SENSE), or of the whole scan's GRAPPA, cut (GRAPPA):
 *   R = 2, late lines missing       SENSE 2.79e-2   GRAPPA 2.78e-2
 *   R = 3, late lines missing       GRAPPA 2.88e-2
 *   R = 2, early lines missing      SENSE 3.09e-2   GRAPPA 2.91e-2
 *   R = 2, asymmetric echo          SENSE 2.74e-2   GRAPPA 2.50e-2, no acceleration
 * Bounds: 1.05 times. The whole scan by projections: 2.77e-2, 2.50e-2.
 */
#include <string.h>

#include "drivers/tool/load/cfl.h"
#include "drivers/tool/load/recording.h"
#include "gpu/engine/engines.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"

#define E      64u /* lines; voxels of the image */
#define COLS   128u
#define COILS  20u
#define VALUES (E * E)

static float lines[E][COILS * COLS * 2];
static const char *folder;

static bool read_lines(void)
{
	struct bs_recording *r = NULL;
	struct bs_recorded a;
	struct bs_fail why = { 0 };
	char path[512];
	int rc;

	(void)snprintf(path, sizeof(path), "%s/scan/prisma2d_dual_20ch.h5", folder);
	if (bs_recording_open(&r, path, &why) != 0) {
		SKIP("%s", why.text);
		return false;
	}
	rc = 0;
	for (uint32_t i = 0; rc == 0 && i < bs_recording_count(r); i++) {
		rc = bs_recording_read(r, i, &a, &why);
		if (rc == 0 && a.head.idx.contrast == 0 && a.head.idx.kspace_encode_step_1 < E)
			memcpy(lines[a.head.idx.kspace_encode_step_1], a.data, sizeof(lines[0]));
	}
	(void)bs_recording_close(r, NULL);
	CHECK(rc == 0, "read %s", why.text);
	return rc == 0;
}

static bool read_cfl(struct bs_cfl *c, const char *name, size_t values)
{
	struct bs_fail why = { 0 };
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/scan/ref/%s.cfl", folder, name);
	if (bs_cfl_read(c, path, &why) != 0) {
		SKIP("%s", why.text);
		return false;
	}
	CHECK(c->size >= values, "%s holds %zu values", name, values);
	return c->size >= values;
}

/* What is measured: the grid's lines and the block that calibrates, of first to last. */
struct scan {
	const char *name;
	uint32_t step, acs, first, last, samples;
	double grappa, sense; /* bounds; 0: not asked */
};

static struct bs_protocol protocol(const struct scan *s, enum bs_parallel parallel)
{
	struct bs_protocol p = lines_of(E, E, 1, COLS, COILS);

	p.samples = s->samples;
	p.image_matrix[0] = p.image_matrix[1] = E;
	p.image_matrix[2] = 1;
	p.combine = BS_COMBINE_RSS;
	p.parallel = parallel;
	memcpy(p.grappa_kernel, (uint32_t[]){ 5, 9, 1 }, sizeof(p.grappa_kernel));
	p.grappa_sources = 2;
	p.grappa_lambda = 5e-3; /* the default */
	p.partial_fourier = BS_PARTIAL_FOURIER_POCS;
	p.pocs_iterations = 10;
	p.pocs_taper = 0.5;
	solved(&p, 1e-4, 100);

	if (parallel == BS_PARALLEL_SENSE) {
		p.method = bs_method_sense(p.method);
		p.combine = BS_COMBINE_SENSE;
	}
	return planned_host(p);
}

static void add_all(const struct armed *a, const struct scan *s)
{
	for (uint32_t ky = s->first; ky <= s->last; ky++) {
		const bool calibrates = ky >= E / 2 - s->acs / 2 && ky < E / 2 + s->acs / 2;
		const float *data = lines[ky] + 2 * (COLS - s->samples);

		if (!calibrates && (ky + E - E / 2) % s->step != 0)
			continue;
		(void)a->engine->add(a->self, 0, ky, NULL, data, COLS);
		if (calibrates && a->engine->side != NULL)
			(void)a->engine->side(a->self, 0, BS_KIND_CALIBRATION, ky, NULL, data,
					      COLS);
	}
}

static bool image_of(const struct scan *s, enum bs_parallel parallel, const float *maps,
		     float *image)
{
	const struct bs_protocol p = protocol(s, parallel);
	const struct bs_tables tables = { .maps = maps };
	struct bs_report report = { 0 };
	struct armed a;
	bool good = armed_with(&a, &p, &tables, 2) && a.engine->begin(a.self, 0) == 0;

	if (good) {
		add_all(&a, s);
		good = a.engine->image(a.self, 0, NULL, INT64_MAX, image, &report) == 0;
	}
	CHECK(good, "%s: an image %s", s->name, report.why.text);
	armed_close(&a);
	return good;
}

static double error_of(const float *image, const float *truth, const float *mask)
{
	double off = 0.0;
	double size = 0.0;

	for (size_t v = 0; v < VALUES; v++) {
		const double t = (double)truth[2 * v];

		if (mask[2 * v] == 0.0f)
			continue;
		off += ((double)image[v] - t) * ((double)image[v] - t);
		size += t * t;
	}
	return sqrt(off / size);
}

static void compare(const struct scan *s, const float *truth, const float *mask)
{
	static float image[VALUES];
	struct bs_cfl maps = { 0 };

	if (s->grappa > 0.0 && image_of(s, BS_PARALLEL_GRAPPA, NULL, image))
		CHECK(error_of(image, truth, mask) <= s->grappa, "%s, grappa: %.3e <= %.2e",
		      s->name, error_of(image, truth, mask), s->grappa);
	if (s->sense > 0.0 && read_cfl(&maps, "prisma2d_maps_acs16", (size_t)VALUES * COILS) &&
	    image_of(s, BS_PARALLEL_SENSE, maps.data, image))
		CHECK(error_of(image, truth, mask) <= s->sense, "%s, sense: %.3e <= %.2e", s->name,
		      error_of(image, truth, mask), s->sense);
	bs_cfl_free(&maps);
}

int main(void)
{
	const struct scan scans[] = {
		{ "R = 2, late lines missing", 2, 16, 0, 47, COLS, 2.92e-2, 2.93e-2 },
		{ "R = 3, late lines missing", 3, 24, 0, 47, COLS, 3.02e-2, 0.0 },
		{ "R = 2, early lines missing", 2, 16, 16, 63, COLS, 3.06e-2, 3.24e-2 },
		{ "R = 2, asymmetric echo", 2, 16, 0, 63, 96, 2.63e-2, 2.88e-2 },
	};
	struct bs_cfl truth = { 0 };
	struct bs_cfl mask = { 0 };

	folder = getenv("DATA");
	if (folder == NULL) {
		SKIP("no folder of recordings (DATA)");
		return 0;
	}
	if (read_lines() && read_cfl(&truth, "prisma2d_full_rss", VALUES) &&
	    read_cfl(&mask, "prisma2d_mask", VALUES))
		for (size_t i = 0; i < sizeof(scans) / sizeof(scans[0]); i++)
			compare(&scans[i], truth.data, mask.data);
	bs_cfl_free(&truth);
	bs_cfl_free(&mask);
	return check_done();
}
