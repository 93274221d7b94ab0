/*
 * test/unit/gpu/engine/test_engine_field.c - gridding, ls and sense on the host with a field map
 *
 * The data are a known image's, summed in double precision with a field map of each slice; ls and
 * sense have more samples than voxels and bring the image back: 2e-3, as without a map
 * (test_engine_ls.c), with the segments' 1e-5 beside the NUFFT's. gridding: the adjoint's own sum.
 */
#define _GNU_SOURCE /* M_PI */
#include "gpu/engine/engines.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"

#include <string.h>

#define N        13u
#define VOXELS   (N * N)
#define COILS    2u
#define SLICES   2u
#define SAMPLES  45u
#define READOUTS 20u
#define M        (SAMPLES * READOUTS)
#define DWELL_S  1e-4
#define START_S  5e-4

static float k[M * 2], x[VOXELS * 2], maps[SLICES * COILS * VOXELS * 2], hz[SLICES * VOXELS];
static float data[2][SLICES][COILS * M * 2]; /* [0]: every coil sees x; [1]: through its map */
static float adjoint[COILS * VOXELS * 2];    /* of slice 1 */
static struct bs_traj traj = { .dims = 2, .samples = SAMPLES, .readouts = READOUTS, .k = k };

static double turns(uint32_t slice, uint32_t m, uint32_t v)
{
	return (double)k[2 * m] * ((double)(v % N) - N / 2) +
	       (double)k[2 * m + 1] * ((double)(v / N) - N / 2) +
	       (double)hz[slice * VOXELS + v] * (START_S + (double)(m % SAMPLES) * DWELL_S);
}

static void sum_forward(uint32_t slice, uint32_t coil, bool with)
{
	for (uint32_t m = 0; m < M; m++) {
		double re = 0.0;
		double im = 0.0;

		for (uint32_t v = 0; v < VOXELS; v++) {
			const float *s = maps + 2 * ((slice * COILS + coil) * VOXELS + v);
			const double sr = with ? (double)s[0] : 1.0;
			const double si = with ? (double)s[1] : 0.0;
			const double xr = sr * x[2 * v] - si * x[2 * v + 1];
			const double xi = sr * x[2 * v + 1] + si * x[2 * v];
			const double a = -2.0 * M_PI * turns(slice, m, v);

			re += cos(a) * xr - sin(a) * xi;
			im += cos(a) * xi + sin(a) * xr;
		}
		data[with][slice][2 * (coil * M + m)] = (float)re;
		data[with][slice][2 * (coil * M + m) + 1] = (float)im;
	}
}

static void simulate(void)
{
	uint64_t seed = 5;

	for (uint32_t i = 0; i < M * 2; i++)
		k[i] = (float)(check_uniform(&seed) - 0.5);
	for (uint32_t i = 0; i < VOXELS * 2; i++)
		x[i] = (float)(check_uniform(&seed) - 0.3);
	for (uint32_t i = 0; i < SLICES * VOXELS; i++)
		hz[i] = (float)(300.0 * check_uniform(&seed) - 200.0);
	for (uint32_t i = 0; i < SLICES * COILS * VOXELS * 2; i++)
		maps[i] = (float)(0.5 + 0.5 * check_uniform(&seed));
	for (uint32_t s = 0; s < SLICES; s++)
		for (uint32_t c = 0; c < COILS; c++) {
			sum_forward(s, c, false);
			sum_forward(s, c, true);
		}
	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t v = 0; v < VOXELS; v++) {
			double re = 0.0;
			double im = 0.0;

			for (uint32_t m = 0; m < M; m++) {
				const float *d = data[0][1] + 2 * (c * M + m);
				const double a = 2.0 * M_PI * turns(1, m, v);

				re += cos(a) * d[0] - sin(a) * d[1];
				im += cos(a) * d[1] + sin(a) * d[0];
			}
			adjoint[2 * (c * VOXELS + v)] = (float)re;
			adjoint[2 * (c * VOXELS + v) + 1] = (float)im;
		}
}

static struct bs_protocol protocol(enum bs_method method)
{
	struct bs_protocol p = path_of(method, BS_TRAJ_FILE, N, N, 1, COILS);

	readouts_of(&p, READOUTS, SAMPLES);
	solved(&p, 1e-7, 150);
	p.slices = SLICES;
	p.density = BS_DENSITY_NONE;
	p.output = BS_OUTPUT_COMPLEX;
	p.tolerance = 1e-6;
	p.field = (struct bs_field_spec){ .map_file = "map",
					  .dwell_us = DWELL_S * 1e6,
					  .start_ms = START_S * 1e3,
					  .error = 1e-5 };

	return planned_host(p);
}

static bool arm(struct armed *a, const struct bs_protocol *p, int members)
{
	const struct bs_tables tables = { .traj = &traj, .maps = maps, .field = hz };

	return armed_with(a, p, &tables, members);
}

static double off(const float *a, const float *b, size_t values)
{
	double d = 0.0;
	double n = 0.0;

	for (size_t i = 0; i < 2 * values; i++) {
		d += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
		n += (double)b[i] * (double)b[i];
	}
	return sqrt(d / n);
}

/* Both slices, their readouts interleaved, each in another order. */
static void run(struct armed *a, const struct bs_protocol *p, float image[SLICES][2 * VOXELS * 2],
		struct bs_report *report)
{
	const int with = bs_methods[p->method].uses_maps;

	for (uint32_t s = 0; s < SLICES; s++)
		(void)a->engine->begin(a->self, s);
	for (uint32_t i = 0; i < READOUTS; i++)
		for (uint32_t s = 0; s < SLICES; s++) {
			const uint32_t r = s == 0 ? i : (i * 7 + 3) % READOUTS;

			(void)a->engine->add(a->self, s, r, NULL,
					     data[with][s] + 2 * (size_t)r * SAMPLES, M);
		}
	for (uint32_t s = 0; s < SLICES; s++) {
		memset(report, 0, sizeof(*report));
		(void)a->engine->image(a->self, s, NULL, INT64_MAX, image[s], report);
	}
}

static void images(enum bs_method method)
{
	static float image[2][SLICES][COILS * VOXELS * 2];
	const struct bs_protocol p = protocol(method);
	const uint32_t channels = bs_protocol_channels(&p);
	struct bs_report report;

	memset(image, 0, sizeof(image));
	for (int i = 0; i < 2; i++) {
		struct armed a;

		if (!arm(&a, &p, i == 0 ? 1 : 3))
			return;
		run(&a, &p, image[i], &report);
		if (p.plan.solve == BS_SOLVE_NONE) {
			(void)a.engine->peek(a.self, 0, image[1][1]);
			CHECK(memcmp(image[1][1], image[i][0], sizeof(image[0][0])) == 0,
			      "a preview of all readouts is the image");
			run(&a, &p, image[i], &report);
		}
		armed_close(&a);
	}
	CHECK(memcmp(image[0], image[1], sizeof(image[0])) == 0, "the same bytes for 1 and 3");
	CHECK(report.segments >= 3 && report.field_error <= 1.01e-5, "%u segments, error %.1e",
	      report.segments, report.field_error);
	if (!bs_methods[method].solves) {
		const double d = off(image[0][1], adjoint, COILS * (size_t)VOXELS);

		CHECK(d < 4e-5, "gridding: %.1e from the sum", d);
		return;
	}
	for (uint32_t s = 0; s < SLICES; s++)
		for (uint32_t c = 0; c < channels; c++) {
			const double d = off(image[0][s] + 2 * c * VOXELS, x, VOXELS);

			CHECK(d < 2e-3, "%s, slice %u, channel %u: %.1e from the image",
			      bs_method_name(method), s, c, d);
		}
}

/* The groups of a window that holds them all are the whole frame, but for the order of sums. */
static void window(enum bs_method method)
{
	static float image[COILS * VOXELS * 2], whole[SLICES][2 * VOXELS * 2];
	struct bs_protocol p = protocol(method);
	const uint8_t held[READOUTS] = { 1, 1, 1, 1 };
	const int with = bs_methods[method].uses_maps;
	struct bs_report report = { 0 };
	struct armed a;

	if (arm(&a, &p, 1)) {
		run(&a, &p, whole, &report);
		armed_close(&a);
	}
	p.frame_step = READOUTS / 4;
	bs_plan_make(&p);
	if (!arm(&a, &p, 1))
		return;
	for (uint32_t g = 0; g < 4; g++) {
		(void)a.engine->begin(a.self, 1);
		for (uint32_t r = g * p.frame_step; r < (g + 1) * p.frame_step; r++)
			(void)a.engine->add(a.self, 1, r, NULL,
					    data[with][1] + 2 * (size_t)r * SAMPLES, M);
		(void)a.engine->fold(a.self, 1, g);
	}
	memset(&report, 0, sizeof(report));
	(void)a.engine->image(a.self, 1, held, INT64_MAX, image, &report);
	CHECK(off(image, whole[1], bs_protocol_channels(&p) * (size_t)VOXELS) < 1e-3,
	      "%s: a window of all groups: %.1e from the frame", bs_method_name(method),
	      off(image, whole[1], bs_protocol_channels(&p) * (size_t)VOXELS));
	armed_close(&a);
}

int main(void)
{
	simulate();
	images(BS_METHOD_GRIDDING);
	images(BS_METHOD_LS);
	images(BS_METHOD_SENSE);
	window(BS_METHOD_GRIDDING);
	window(BS_METHOD_SENSE);
	return check_done();
}
