/*
 * test/twin/engine/twin_engine_apart.c
 * method cartesian with parallel slice_grappa, or sense_sms, on the GPU: the host's images and what
 * it says of them, the same bytes every run, no allocation after arm
 *
 * References are noise, lines are their sums; both twins have the same weights, which the host
 * makes. The bound, 1e-5 relative: the transforms' 1e-6, and sums of at most some hundred products
 * in another order (test/twin/twin_slice.c). sense_sms has Walsh's maps of the references, which
 * the host makes, or maps that are given, and as many iterations for both: 1e-4.
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "test/twin/engine/scanned_lines.h"

#include <math.h>

#define GROUPS 2u
#define TAU    6.28318530717958647692

static const struct trial {
	const char *what;
	uint32_t encoded[3], matrix[3], factor, coils, step, from;
	uint32_t center; /* lines that come at each step around the center */
	bool phased, pocs, complex_out;
	enum { BY_WEIGHTS, BY_MAPS, BY_GIVEN_MAPS } by;
} trials[] = {
	{ "48 x 36, 2 bands",
	  { 48, 36, 1 },
	  { 48, 36, 1 },
	  2,
	  4,
	  1,
	  0,
	  0,
	  false,
	  false,
	  false,
	  BY_WEIGHTS },
	{ "64 x 45, 3 bands, oversampled",
	  { 64, 45, 1 },
	  { 32, 45, 1 },
	  3,
	  7,
	  1,
	  0,
	  0,
	  true,
	  false,
	  true,
	  BY_WEIGHTS },
	{ "40 x 48, 2 bands, R = 2",
	  { 40, 48, 1 },
	  { 40, 48, 1 },
	  2,
	  6,
	  2,
	  1,
	  0,
	  false,
	  false,
	  false,
	  BY_WEIGHTS },
	{ "40 x 48, 2 bands, R = 3, full center",
	  { 40, 48, 1 },
	  { 40, 48, 1 },
	  2,
	  6,
	  3,
	  1,
	  14,
	  false,
	  false,
	  false,
	  BY_WEIGHTS },
	{ "40 x 48, 4 bands, partial Fourier",
	  { 40, 48, 1 },
	  { 40, 48, 1 },
	  4,
	  8,
	  1,
	  14,
	  0,
	  false,
	  true,
	  false,
	  BY_WEIGHTS },
	{ "45 x 33, 3 bands, by maps",
	  { 45, 33, 1 },
	  { 45, 31, 1 },
	  3,
	  7,
	  1,
	  0,
	  0,
	  true,
	  false,
	  true,
	  BY_MAPS },
	{ "64 x 48, 2 bands, by maps, partial Fourier, oversampled",
	  { 64, 48, 1 },
	  { 32, 46, 1 },
	  2,
	  6,
	  1,
	  14,
	  0,
	  false,
	  true,
	  false,
	  BY_MAPS },
	{ "40 x 48, 4 bands, R = 2, by given maps",
	  { 40, 48, 1 },
	  { 40, 48, 1 },
	  4,
	  12,
	  2,
	  1,
	  0,
	  false,
	  false,
	  false,
	  BY_GIVEN_MAPS },
};

static struct bs_protocol protocol(const struct trial *t)
{
	struct bs_protocol p = {
		.name = "twin",
		.method = BS_METHOD_CARTESIAN,
		.parallel = BS_PARALLEL_SLICES,
		.dims = 2,
		.coils = t->coils,
		.samples = t->encoded[0],
		.readouts = t->encoded[1],
		.slices = GROUPS * t->factor,
		.contrasts = 1,
		.uses = 1u << BS_KIND_CALIBRATION,
		.traj.type = BS_TRAJ_CARTESIAN,
		.grappa_kernel = { 5, 9, 1 },
		.grappa_sources = 2,
		.grappa_lambda = 5e-3,
		.multiband = { .factor = t->factor, .kernel = { 5, 5, 1 }, .lambda = 1e-2 },
		.partial_fourier = t->pocs ? BS_PARTIAL_FOURIER_POCS : BS_PARTIAL_FOURIER_NONE,
		.pocs_iterations = 4,
		.pocs_taper = 0.5,
		.combine = t->complex_out ? BS_COMBINE_NONE : BS_COMBINE_RSS,
		.output = t->complex_out ? BS_OUTPUT_COMPLEX : BS_OUTPUT_MAGNITUDE
	};

	if (t->by != BY_WEIGHTS) {
		p.method = BS_METHOD_CARTESIAN_SENSE;
		p.parallel = BS_PARALLEL_SENSE_SLICES;
		p.combine = BS_COMBINE_SENSE;
		p.lambda = 0.05;
		p.iterations = 10;
		mapped_by(&p, t->by == BY_MAPS ? BS_MAPS_WALSH : BS_MAPS_FILE, 24);
	}
	memcpy(p.encoded, t->encoded, sizeof(p.encoded));
	memcpy(p.matrix, t->matrix, sizeof(p.matrix));
	return planned(p);
}

/* References [slice][line][coil][sample] of noise. */
static float *references_of(const struct bs_protocol *p)
{
	const size_t n = (size_t)2 * p->samples * p->coils * p->encoded[1] * p->slices;
	float *to = malloc(n * sizeof(float));
	uint64_t seed = 32;

	fill_random(to, n, &seed);
	return to;
}

/* A line of a group: the sum of its slices' lines, with their phases unless they have them. */
static void fold(const struct bs_protocol *p, const struct trial *t, const float *references,
		 uint32_t group, uint32_t y, float *to)
{
	const size_t n = (size_t)p->samples * p->coils;

	memset(to, 0, n * 8);
	for (uint32_t b = 0; b < t->factor; b++) {
		const double angle =
			t->phased ? 0.0 : TAU * b * ((double)y - p->encoded[1] / 2) / t->factor;
		const float *from = references + 2 * n * ((group + b * GROUPS) * p->encoded[1] + y);
		const float c = (float)cos(angle);
		const float s = (float)sin(angle);

		for (size_t i = 0; i < 2 * n; i += 2) {
			to[i] += from[i] * c - from[i + 1] * s;
			to[i + 1] += from[i] * s + from[i + 1] * c;
		}
	}
}

/* All slices' images, and the report of the last. */
static int scan(struct fed *f, const struct trial *t, const float *references, float *images,
		struct bs_report *report)
{
	const struct bs_protocol *p = &f->on.p;
	const struct bs_engine *e = f->on.engine;
	const size_t line = (size_t)2 * p->samples * p->coils;
	const struct bs_mrd_acq head = { .flags = BS_MRD_IS_CALIBRATION };
	float *folded = malloc(line * sizeof(float));
	uint32_t n = 0;
	int rc = 0;

	e->scan(f->on.self);
	for (uint32_t i = 0; rc == 0 && i < p->slices * p->encoded[1]; i++)
		rc = e->side(f->on.self, bs_protocol_frame(p, i / p->encoded[1], 0),
			     BS_KIND_CALIBRATION, i % p->encoded[1], &head, references + i * line,
			     p->samples);
	for (uint32_t s = 0; rc == 0 && s < p->slices; s++) {
		const uint32_t frame = bs_protocol_frame(p, s, 0);

		rc = e->begin(f->on.self, frame);
		for (uint32_t y = t->from; rc == 0 && y < p->encoded[1]; y++) {
			if ((y - t->from) % t->step != 0 && (y < (p->encoded[1] - t->center) / 2 ||
							     y >= (p->encoded[1] + t->center) / 2))
				continue;
			fold(p, t, references, s % GROUPS, y, folded);
			rc = fed_add(f, frame, y, folded, n++);
		}
		memset(report, 0, sizeof(*report));
		report->apart.of = t->factor;
		report->apart.step = t->step;
		for (uint32_t b = 0; b < t->factor; b++)
			report->apart.cycles[b] = (double)b / t->factor;
		if (rc == 0)
			rc = e->image(f->on.self, frame, NULL, INT64_MAX,
				      images + s * (bs_protocol_image_bytes(p) / 4), report);
	}
	free(folded);
	return rc;
}

static void compare(const struct trial *t, enum way way)
{
	const struct bs_protocol p = protocol(t);
	const size_t n = bs_protocol_image_bytes(&p) / 4 * p.slices;
	const double most = t->by == BY_WEIGHTS ? 1e-5 : 1e-4;
	float *maps = calloc(bs_protocol_map_values(&p) * p.slices, 8);
	struct bs_tables none = { 0 };
	uint64_t seed = 33;
	float *references = references_of(&p);
	float *want = calloc(n, 4);
	float *got[2] = { calloc(n, 4), calloc(n, 4) };
	struct bs_report report[2];
	struct bs_fail why = { 0 };
	struct fed host = { 0 };
	struct fed device = { 0 };
	int rc;

	if (t->by != BY_WEIGHTS)
		none.maps = none.made = maps;
	fill_random(maps, bs_protocol_map_values(&p) * p.slices * 2, &seed);
	rc = fed_open(&host, &bs_engine_host, &p, &none, STAGED, &why);

	if (rc == 0)
		rc = scan(&host, t, references, want, &report[0]);
	if (rc == 0)
		rc = fed_open(&device, &bs_engine_cuda, &p, &none, way, &why);
	allocations = 0;
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = scan(&device, t, references, got[i], &report[1]);
	CHECK(rc == 0 && check_rel(got[0], want, n) <= most, "%s, %s: differs by %.1e %s%s",
	      t->what, way_name[way], check_rel(got[0], want, n), why.text, report[0].why.text);
	CHECK(rc == 0 && memcmp(got[0], got[1], n * 4) == 0 && allocations == 0,
	      "the same bytes in the next scan, %u allocations", allocations);
	CHECK(rc == 0 && report[0].iterations == report[1].iterations, "as many iterations");
	CHECK(rc == 0 && report[0].apart.phased == (t->phased && t->by != BY_GIVEN_MAPS) &&
		      report[1].apart.phased == report[0].apart.phased,
	      "both see how the references are");
	CHECK(rc == 0 && fabs((double)report[1].apart.left - report[0].apart.left) < 1e-4 &&
		      memcmp(report[0].apart.leakage, report[1].apart.leakage,
			     sizeof(report[0].apart.leakage)) == 0,
	      "left of the lines %.1e and %.1e, and the same leakage", (double)report[0].apart.left,
	      (double)report[1].apart.left);
	fed_close(&host);
	fed_close(&device);
	free(maps);
	free(references);
	free(want);
	free(got[0]);
	free(got[1]);
}

static void compare_all(void)
{
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		for (int way = STAGED; way < WAYS; way++)
			compare(&trials[i], (enum way)way);
}

int main(void)
{
	return twin_main("slices at once in the CUDA engine", 2, compare_all);
}
