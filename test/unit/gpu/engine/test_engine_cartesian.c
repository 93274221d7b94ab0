/*
 * test/unit/gpu/engine/test_engine_cartesian.c - what a scan on the grid leaves out, by its engines
 *
 * The data are F S_c x of a known image in double precision. SENSE with as many iterations as it
 * takes gives x back, 1e-4 (residual 1e-7, condition some hundreds); a real x with a smooth phase
 * comes closer by its projections than with zeros.
 */
#define _DEFAULT_SOURCE /* M_PI */
#include "gpu/engine/engines.h"
#include "gpu/image/pocs.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"

#include <complex.h>
#include <string.h>

#define NX     18u
#define NY     24u
#define EX     36u /* oversampled */
#define COILS  4u
#define VOXELS (NX * NY)

static float x[VOXELS * 2], maps[COILS * VOXELS * 2];
static float lines[NY][COILS * EX * 2];

/* An object inside the middle of the field of view, smooth in phase. */
static void simulate(void)
{
	for (uint32_t v = 0; v < VOXELS; v++) {
		const double u = (v % NX - 8.5) / 7.0;
		const double w = (v / NX - 11.5) / 9.0;
		const double size = u * u + w * w < 1.0 ? 1.0 + 0.5 * cos(5.0 * u) : 0.0;

		x[2 * v] = (float)(size * cos(0.7 * w + 0.3 * u));
		x[2 * v + 1] = (float)(size * sin(0.7 * w + 0.3 * u));
		for (uint32_t c = 0; c < COILS; c++) {
			const double a = 2.0 * M_PI * c / COILS;
			const double near = exp(-0.4 * (pow(u - cos(a), 2) + pow(w - sin(a), 2)));

			maps[2 * (c * VOXELS + v)] = (float)(near * cos(a));
			maps[2 * (c * VOXELS + v) + 1] = (float)(near * sin(a));
		}
	}
	for (uint32_t ky = 0; ky < NY; ky++)
		for (uint32_t c = 0; c < COILS; c++)
			for (uint32_t kx = 0; kx < EX; kx++) {
				double complex sum = 0.0;

				for (uint32_t v = 0; v < VOXELS; v++) {
					const float *s = maps + 2 * (c * VOXELS + v);
					const double turn =
						((double)kx - EX / 2) *
							((double)(v % NX) - NX / 2) / EX +
						((double)ky - NY / 2) *
							((double)(v / NX) - NY / 2) / NY;

					if (x[2 * v] == 0.0f && x[2 * v + 1] == 0.0f)
						continue;
					sum += ((double)x[2 * v] + I * (double)x[2 * v + 1]) *
					       ((double)s[0] + I * (double)s[1]) *
					       cexp(-2.0 * M_PI * I * turn);
				}
				sum /= sqrt((double)EX * NY);
				lines[ky][2 * (c * EX + kx)] = (float)creal(sum);
				lines[ky][2 * (c * EX + kx) + 1] = (float)cimag(sum);
			}
}

static struct bs_protocol protocol(enum bs_parallel parallel, enum bs_partial_fourier partial,
				   uint32_t samples)
{
	struct bs_protocol p = lines_of(NX, NY, 1, EX, COILS);

	memcpy(p.image_matrix, p.matrix, sizeof(p.image_matrix));
	p.samples = samples;
	p.contrasts = 2;
	p.combine = BS_COMBINE_SENSE;
	p.output = BS_OUTPUT_COMPLEX;
	p.parallel = parallel;
	p.partial_fourier = partial;
	p.pocs_iterations = 10;
	p.pocs_taper = 0.5;
	solved(&p, 1e-8, 300);
	p.tolerance = 1e-7;

	if (parallel == BS_PARALLEL_SENSE)
		p.method = bs_method_sense(p.method);
	return planned_host(p);
}

static bool arm(struct armed *a, const struct bs_protocol *p, int members)
{
	const struct bs_tables tables = { .maps = maps };

	return armed_with(a, p, &tables, members);
}

/* Every step-th line from first up to last, or down; those samples of it that a readout has. */
static void add_lines(struct armed *a, uint32_t frame, uint32_t samples, uint32_t first,
		      uint32_t last, uint32_t step, bool down)
{
	(void)a->engine->begin(a->self, frame);
	for (uint32_t ky = 0; ky < NY; ky++) {
		const uint32_t line = down ? NY - 1 - ky : ky;

		if (line >= first && line <= last && (line - first) % step == 0)
			(void)a->engine->add(a->self, frame, line, NULL,
					     lines[line] + 2 * (EX - samples), EX);
	}
}

/* An accelerated scan comes back whole; with other frames before and beside it. */
static void unfolds(void)
{
	const struct bs_protocol p = protocol(BS_PARALLEL_SENSE, BS_PARTIAL_FOURIER_NONE, EX);
	static float out[2][VOXELS * 2];
	struct bs_report report = { 0 };
	struct bs_report late = { 0 };
	struct armed a = { 0 };
	double e;

	if (!arm(&a, &p, 2))
		return;
	add_lines(&a, 0, EX, 0, NY - 1, 1, false); /* whole: none of its lines may stay */
	(void)a.engine->image(a.self, 0, NULL, INT64_MAX, out[0], &report);
	e = check_rel(out[0], x, VOXELS * 2);
	CHECK(e <= 1e-4, "every line: %.1e of the object", e);
	add_lines(&a, 1, EX, 1, NY - 1, 3, false);
	add_lines(&a, 0, EX, 0, NY - 1, 2, false);
	(void)a.engine->image(a.self, 0, NULL, INT64_MAX, out[0], &report);
	e = check_rel(out[0], x, VOXELS * 2);
	/* the image's own residual: its values are rounded to 6e-8 of theirs */
	CHECK(e <= 1e-4 && report.iterations > 1 && report.residual <= 1e-6 &&
		      !report.deadline_stop,
	      "every second line: %.1e of the object, %u iterations", e, report.iterations);
	add_lines(&a, 0, EX, 0, NY - 1, 2, true);
	(void)a.engine->image(a.self, 0, NULL, INT64_MAX, out[1], &report);
	CHECK(memcmp(out[0], out[1], sizeof(out[0])) == 0, "the same bytes in another order");
	(void)a.engine->image(a.self, 1, NULL, 0, out[1], &late);
	CHECK(late.iterations == 1 && late.deadline_stop, "a deadline in the past: %u iteration",
	      late.iterations);
	armed_close(&a);
}

static double error_of(enum bs_parallel parallel, enum bs_partial_fourier partial, uint32_t samples,
		       uint32_t last, uint32_t step, int members, float *out)
{
	struct bs_protocol p = protocol(parallel, partial, samples);
	struct bs_report report = { 0 };
	struct armed a = { 0 };

	p.lambda = 1e-3; /* what lines leave open at an end of k-space the coils hardly know */
	p.iterations = 30;
	if (!arm(&a, &p, members))
		return 1.0;
	add_lines(&a, 1, samples, 0, last, step, false);
	(void)a.engine->image(a.self, 1, NULL, INT64_MAX, out, &report);
	armed_close(&a);
	return check_rel(out, x, VOXELS * 2);
}

/* Zeros, projections; the same with one thread. */
static void completes(const char *name, enum bs_parallel parallel, uint32_t samples, uint32_t last,
		      uint32_t step, double ratio)
{
	static float out[2][VOXELS * 2];
	const double none =
		error_of(parallel, BS_PARTIAL_FOURIER_NONE, samples, last, step, 2, out[0]);
	const double pocs =
		error_of(parallel, BS_PARTIAL_FOURIER_POCS, samples, last, step, 3, out[0]);

	CHECK(pocs <= ratio * none, "%s: error %.1e, %.1e with zeros", name, pocs, none);
	(void)error_of(parallel, BS_PARTIAL_FOURIER_POCS, samples, last, step, 1, out[1]);
	CHECK(memcmp(out[0], out[1], sizeof(out[0])) == 0, "%s: the same bytes with one thread",
	      name);
}

/* Where nothing is left out nothing changes. */
static void whole(void)
{
	static float out[2][VOXELS * 2];

	(void)error_of(BS_PARALLEL_NONE, BS_PARTIAL_FOURIER_NONE, EX, NY - 1, 1, 2, out[0]);
	(void)error_of(BS_PARALLEL_NONE, BS_PARTIAL_FOURIER_POCS, EX, NY - 1, 1, 2, out[1]);
	CHECK(memcmp(out[0], out[1], sizeof(out[0])) == 0, "a whole scan is not changed");
}

/* ---- unfolded, then completed: the same as one step after the other ---- */

#define ACS_FIRST 7u /* of the lines that calibrate, 10 */

static struct bs_protocol accelerated(enum bs_parallel parallel, uint32_t columns, uint32_t samples)
{
	struct bs_protocol p = protocol(parallel, BS_PARTIAL_FOURIER_NONE, samples);

	p.matrix[0] = p.image_matrix[0] = columns;
	p.grappa_kernel[0] = 3;
	p.grappa_kernel[1] = 7;
	p.grappa_kernel[2] = 1;
	p.grappa_sources = 2;
	p.grappa_lambda = 1e-4;
	p.lambda = 1e-3;
	p.iterations = 30;
	if (parallel == BS_PARALLEL_GRAPPA)
		p.combine = BS_COMBINE_NONE;
	return planned(p);
}

/* Every step-th line up to the last, and what calibrates. */
static bool run_every(const struct bs_protocol *p, uint32_t step, uint32_t last, float *out)
{
	struct bs_report report = { 0 };
	struct armed a = { 0 };
	int rc;

	if (!arm(&a, p, 2))
		return false;
	add_lines(&a, 0, p->samples, 0, last, step, false);
	for (uint32_t ky = ACS_FIRST; ky < ACS_FIRST + 10 && a.engine->side != NULL; ky++)
		(void)a.engine->side(a.self, 0, BS_KIND_CALIBRATION, ky, NULL,
				     lines[ky] + 2 * (EX - p->samples), EX);
	rc = a.engine->image(a.self, 0, NULL, INT64_MAX, out, &report);
	CHECK(rc == 0, "an image %s", report.why.text);
	armed_close(&a);
	return rc == 0;
}

static bool run(const struct bs_protocol *p, uint32_t last, float *out)
{
	return run_every(p, 2, last, out);
}

/* What `in` becomes by projections with these spans. */
static void project(uint32_t images, uint32_t columns, uint32_t from_x, uint32_t to_y, float *in,
		    float *out)
{
	const struct bs_pocs_spec s = { { columns, NY, 1 }, { NX, NY, 1 }, images, 10, 0.5 };
	const struct bs_pocs_span spans[3] = { { from_x, columns }, { 0, to_y }, { 0, 1 } };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_team *team = NULL;
	struct bs_pocs *plan = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_pocs_need(&s, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_team_open(&team, 1, &why);
	if (rc == 0)
		rc = bs_pocs_plan(&plan, &s, &arena, team, &why);
	CHECK(rc == 0, "projections %s", why.text);
	if (rc == 0)
		bs_pocs_run(plan, spans, in, out);
	bs_pocs_close(plan);
	bs_team_close(team);
	bs_arena_close(&arena);
}

/* Of a coil's images, size of line ky of k-space, and of its difference from the data. */
static double line_of(const float *image, uint32_t ky, double *off)
{
	double size = 0.0;
	double apart = 0.0;

	for (uint32_t c = 0; c < COILS; c++)
		for (uint32_t kx = 0; kx < EX; kx++) {
			const float *d = lines[ky] + 2 * (c * EX + kx);
			double complex sum = 0.0;

			for (uint32_t v = 0; v < EX * NY; v++) {
				const double turn =
					((double)kx - EX / 2) * ((double)(v % EX) - EX / 2) / EX +
					((double)ky - NY / 2) * ((double)(v / EX) - NY / 2) / NY;
				const float *at = image + 2 * ((size_t)c * EX * NY + v);

				sum += ((double)at[0] + I * (double)at[1]) *
				       cexp(-2.0 * M_PI * I * turn);
			}
			sum /= sqrt((double)EX * NY);
			size += creal(sum * conj(sum));
			sum -= (double)d[0] + I * (double)d[1];
			apart += creal(sum * conj(sum));
		}
	*off = sqrt(apart);
	return sqrt(size);
}

/* Lines up to 16 of 24, every second one: 17 is made, from 18 on nothing is near enough. */
static void one_after_the_other(void)
{
	static float wide[COILS * EX * NY * 2], again[COILS * EX * NY * 2];
	static float both[COILS * VOXELS * 2], steps[COILS * VOXELS * 2];
	static float image[VOXELS * 2];
	struct bs_protocol p = accelerated(BS_PARALLEL_GRAPPA, EX, EX);
	double off[3];
	double e;

	if (!run(&p, 16, wide))
		return;
	const double made[3] = { line_of(wide, 15, &off[0]), line_of(wide, 17, &off[1]),
				 line_of(wide, 18, &off[2]) };

	CHECK(off[0] < 0.2 * made[0] && made[1] > 0.0 && made[2] < 1e-5 * made[0],
	      "grappa: line 15 is off by %.2f of it, 17 by %.2f, of 18 there is %.1e",
	      off[0] / made[0], off[1] / made[1], made[2] / made[0]);
	p = accelerated(BS_PARALLEL_NONE, EX, EX);
	p.combine = BS_COMBINE_NONE;
	bs_plan_make(&p);
	CHECK(run_every(&p, 1, 16, wide), "partial Fourier alone");
	p.parallel = BS_PARALLEL_GRAPPA;
	bs_plan_make(&p);
	CHECK(run_every(&p, 1, 16, again) && memcmp(wide, again, sizeof(wide)) == 0,
	      "with grappa: the same bytes, as all its lines came");
	for (int echo = 0; echo < 2; echo++) {
		const uint32_t samples = echo ? 28 : EX;

		p = accelerated(BS_PARALLEL_GRAPPA, echo ? EX : NX, samples);
		(void)run(&p, 16, wide);
		project(COILS, p.matrix[0], echo ? 8 : 0, 18, wide, steps);
		p = accelerated(BS_PARALLEL_GRAPPA, NX, samples);
		p.partial_fourier = BS_PARTIAL_FOURIER_POCS;
		bs_plan_make(&p);
		(void)run(&p, 16, both);
		e = check_rel(both, steps, COILS * VOXELS * 2);
		CHECK(e <= 1e-6, "grappa, %u samples, then projections: %.1e", samples, e);

		p = accelerated(BS_PARALLEL_SENSE, NX, samples);
		(void)run(&p, 16, image);
		project(1, NX, echo ? 4 : 0, 18, image, steps);
		p.partial_fourier = BS_PARTIAL_FOURIER_POCS;
		bs_plan_make(&p);
		(void)run(&p, 16, both);
		e = check_rel(both, steps, VOXELS * 2);
		CHECK(e <= 1e-6, "sense, %u samples, then projections: %.1e", samples, e);
	}
}

/* With a prior, which needs a bound of the system: without W ls.l2 adds to ls.lambda's identity. */
static void beside(void)
{
	static float out[2][VOXELS * 2];
	struct bs_report report = { 0 };
	double e;

	for (int i = 0; i < 2; i++) {
		struct bs_protocol p = protocol(BS_PARALLEL_SENSE, BS_PARTIAL_FOURIER_NONE, EX);
		struct armed a = { 0 };

		p.prior.kind = BS_PRIOR_WAVELET;
		p.prior.lambda = 0.01;
		p.prior.block = 8;
		p.lambda = i == 0 ? 9.05 : 0.05;
		p.w.l2 = i == 0 ? 0.0 : 9.0;
		bs_plan_make(&p);
		if (!arm(&a, &p, 2))
			return;
		add_lines(&a, 0, EX, 0, NY - 1, 2, false);
		(void)a.engine->image(a.self, 0, NULL, INT64_MAX, out[i], &report);
		armed_close(&a);
	}
	e = check_rel(out[1], out[0], VOXELS * 2);
	CHECK(e <= 1e-5 && report.stop == BS_PROX_TOLERANCE, "l2 9 beside lambda: %.1e, %s", e,
	      bs_prox_reason_words(report.stop));
}

int main(void)
{
	simulate();
	unfolds();
	whole();
	completes("late lines missing", BS_PARALLEL_NONE, EX, 17, 1, 0.7);
	completes("asymmetric echo", BS_PARALLEL_NONE, 27, NY - 1, 1, 0.7);
	completes("both", BS_PARALLEL_NONE, 27, 17, 1, 0.7);
	completes("every second line, late ones missing", BS_PARALLEL_SENSE, EX, 18, 2, 0.9);
	completes("every second line, asymmetric echo", BS_PARALLEL_SENSE, 28, NY - 1, 2, 0.7);
	completes("every second line, both", BS_PARALLEL_SENSE, 28, 18, 2, 0.9);
	one_after_the_other();
	beside();
	return check_done();
}
