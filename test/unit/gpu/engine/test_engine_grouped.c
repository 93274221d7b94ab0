/*
 * test/unit/gpu/engine/test_engine_grouped.c - slices at once along a trajectory, solved for
 * together, against the dense system by LAPACK
 *
 * Samples, their places and the maps are random. The dense system is formed from the definitions:
 * exponentials, sensitivities, and the phase of each slice at each readout. Tolerance 1e-4 of the
 * solution: float sums of some hundred samples, a NUFFT of 1e-5, condition of some hundred. The
 * phase that the images have counts.
 */
#define _DEFAULT_SOURCE /* M_PI */
#include "gpu/calibrate/dense.h"
#include "gpu/engine/grouped.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"

#include <complex.h>

#define COILS  5u
#define GROUPS 2u

static struct bs_team *team;

static const struct trial {
	const char *what;
	uint32_t x, y, bands, readouts, samples;
	double shift; /* as multiband.shift */
	enum bs_sum sum;
	double most;
} trials[] = {
	{ "2 slices, exact", 7, 9, 2, 11, 29, 0.0, BS_SUM_EXACT, 1e-4 },
	{ "3 slices, exact", 8, 5, 3, 10, 23, 0.0, BS_SUM_EXACT, 1e-4 },
	{ "3 slices by half a turn, exact", 7, 6, 3, 12, 25, 0.5, BS_SUM_EXACT, 1e-4 },
	{ "4 slices, a quarter back, NUFFT", 9, 8, 4, 14, 31, -0.25, BS_SUM_NUFFT, 1e-4 },
	{ "2 slices, a third, NUFFT", 11, 10, 2, 9, 33, 1.0 / 3.0, BS_SUM_NUFFT, 1e-4 },
};

static double complex pair(const float *x, size_t i)
{
	return (double)x[2 * i] + (double)x[2 * i + 1] * I;
}

static float *random_floats(size_t n, uint64_t seed)
{
	float *x = malloc(n * 4);

	for (size_t i = 0; i < n; i++)
		x[i] = (float)(check_uniform(&seed) - 0.5);
	return x;
}

static struct bs_protocol protocol(const struct trial *t)
{
	struct bs_protocol p = path_of(BS_METHOD_SENSE, BS_TRAJ_FILE, t->x, t->y, 1, COILS);

	readouts_of(&p, t->readouts, t->samples);
	solved(&p, 0.02, 300);
	p.parallel = BS_PARALLEL_SENSE_SLICES;
	p.slices = t->bands * GROUPS;
	p.multiband.factor = t->bands;
	p.multiband.shift = t->shift;
	p.output = BS_OUTPUT_COMPLEX;
	p.tolerance = 1e-7;
	p.fhd = p.q = t->sum;
	return planned_host(p);
}

/* Solves for group 1 densely: rho [slice][y][x]. */
static double complex *dense(const struct bs_protocol *p, double shift, const float *k,
			     const float *maps, const float *data)
{
	const size_t plane = (size_t)p->matrix[0] * p->matrix[1];
	const size_t n = plane * p->multiband.factor;
	double complex *a = calloc(n * n, sizeof(*a));
	double complex *b = calloc(n, sizeof(*b));
	double complex *row = malloc(n * sizeof(*row));
	struct bs_fail why = { 0 };

	for (size_t m = 0; m < (size_t)p->samples * p->readouts; m++)
		for (uint32_t c = 0; c < COILS; c++) {
			const uint32_t r = (uint32_t)(m / p->samples);

			for (size_t i = 0; i < n; i++) {
				const size_t band = i / plane;
				const size_t v = i % plane;
				const double x = (double)(v % p->matrix[0]) - p->matrix[0] / 2;
				const double y = (double)(v / p->matrix[0]) - p->matrix[1] / 2;
				const double turns = band * shift * r - (double)k[2 * m] * x -
						     (double)k[2 * m + 1] * y;

				row[i] = cexp(2.0 * M_PI * I * turns) *
					 pair(maps, ((1 + band * GROUPS) * COILS + c) * plane + v);
			}
			for (size_t i = 0; i < n; i++) {
				b[i] += conj(row[i]) *
					pair(data,
					     ((size_t)r * COILS + c) * p->samples + m % p->samples);
				for (size_t j = 0; j < n; j++)
					a[i + j * n] += conj(row[i]) * row[j];
			}
		}
	for (size_t i = 0; i < n; i++)
		a[i * n + i] += p->lambda * (double)n;
	CHECK(bs_dense_open(&why) == 0 &&
		      bs_dense_solve((uint32_t)n, 1, (double *)a, (double *)b, &why) == 0,
	      "LAPACK solves it: %s", why.text);
	free(a);
	free(row);
	return b;
}

/* The image of a slice of group 1. number: as of report.apart.lines. */
static int image_of(struct armed *a, const struct trial *t, uint32_t band, const float *data,
		    uint64_t number, double shift, float *image, struct bs_report *report)
{
	const struct bs_protocol *p = &a->p;
	const uint32_t frame = bs_protocol_frame(p, 1 + band * GROUPS, 0);
	int rc = a->engine->begin(a->self, frame);

	memset(report, 0, sizeof(*report));
	report->apart.of = t->bands;
	report->apart.lines = number;
	for (uint32_t b = 0; b < t->bands; b++)
		report->apart.cycles[b] = b * shift;
	for (uint32_t r = 0; rc == 0 && r < p->readouts; r++)
		rc = a->engine->add(a->self, frame, r, NULL,
				    data + 2 * (size_t)r * p->samples * COILS, p->samples);
	return rc != 0 ? rc : a->engine->image(a->self, frame, NULL, INT64_MAX, image, report);
}

static void one(const struct trial *t)
{
	const struct bs_protocol p = protocol(t);
	const double shift = t->shift == 0.0 ? 1.0 / t->bands : t->shift;
	const size_t plane = (size_t)t->x * t->y;
	float *k = random_floats(2 * (size_t)t->samples * t->readouts, 5);
	float *data = random_floats(2 * (size_t)t->samples * t->readouts * COILS, 6);
	float *maps = random_floats(2 * plane * COILS * p.slices, 7);
	float *image = calloc(plane * 2, 4);
	float *again = calloc(plane * 2, 4);
	struct bs_traj traj = { .dims = 2, .samples = t->samples, .readouts = t->readouts, .k = k };
	const struct bs_tables tables = { .traj = &traj, .maps = maps };
	double complex *want = dense(&p, shift, k, maps, data);
	struct bs_report report;
	struct bs_fail why = { 0 };
	struct armed a;
	int rc = armed_open(&a, NULL, &p, &tables,
			    (struct bs_arm_env){ .team = team, .cache_dir = "" }, &why);

	CHECK(rc == 0 && a.engine == &bs_engine_grouped && a.arena.size - a.arena.used < BS_ALIGN,
	      "%s: armed %s", t->what, why.text);
	if (rc == 0)
		a.engine->scan(a.self);
	for (uint32_t b = 0; rc == 0 && b < t->bands; b++) {
		double e[2] = { 0.0, 0.0 };

		rc = image_of(&a, t, b, data, 7, shift, image, &report);
		for (size_t v = 0; rc == 0 && v < plane; v++) {
			const double complex w = want[b * plane + v];
			const double complex d = pair(image, v) - w;

			e[0] += creal(d * conj(d));
			e[1] += creal(w * conj(w));
		}
		CHECK(rc == 0 && report.iterations > 1 && sqrt(e[0] / e[1]) <= t->most,
		      "%s: slice %u, %.1e of the dense solution after %u iterations %s", t->what, b,
		      sqrt(e[0] / e[1]), report.iterations, report.why.text);
		if (rc == 0)
			rc = image_of(&a, t, b, data, 0, shift, again, &report);
		CHECK(rc == 0 && memcmp(image, again, plane * 8) == 0,
		      "solved for by itself: the same bytes");
	}
	if (rc == 0)
		rc = image_of(&a, t, 0, data, 0, shift + 0.1, image, &report);
	CHECK(rc == BS_ERR_SIZE && strstr(report.why.text, "multiband.shift") != NULL,
	      "another shift is refused: %s", report.why.text);
	armed_close(&a);
	free(k);
	free(data);
	free(maps);
	free(image);
	free(again);
	free(want);
}

int main(void)
{
	struct bs_fail why = { 0 };

	CHECK(bs_team_open(&team, 2, &why) == 0, "a team %s", why.text);
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		one(&trials[i]);
	bs_team_close(team);
	return check_done();
}
