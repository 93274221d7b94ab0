/*
 * test/twin/engine/twin_engine_prior.c
 * the problems of DATA/prior through an engine: the host's and the CUDA engine
 *
 * The objective that an image says, with half the data's energy, is at convergence within 1e-4 of
 * the minimum of the data's README; after 10, 20, 30 and 50 applications it is at most twice the
 * table's excess above the converged one. The image that leaves is within 1e-3 of the converged
 * one. No more than 1e-5 of the objective lies between what the engines say of such an excess
 * (float vectors).
 * The converged objective itself is that of F^H d and Q as the engine has them. On a GPU exact sums
 * are in single precision, and tensor cores round towards zero (gpu/exact/cuda/tile.h): both fall
 * short by about 1e-6 of themselves. The objective is what is left of an energy 50 to 100 times as
 * large, and stands 1e-4 of itself higher at most, after any number of steps.
 * On the ladder's rung without the prior an image takes three steps, a third of ten. Three steps
 * keep what F^H d and Q are apart, 1e-6: the engines' images are within 1e-5.
 */
#include "gpu/engine/engines.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"
#include "test/support/plan/prior.h"
#include "test/twin/allocations.h"
#include "test/twin/device.h"

static const uint32_t counts[5] = { 10, 20, 30, 50, 900 };

#define SPOKES 13u

/* A problem as a scan of so many frames: its tables, and [readout][coil][sample]. */
struct scan {
	const struct prior_problem *d;
	struct bs_protocol p;
	struct bs_tables tables;
	struct bs_traj traj;
	float *k, *maps, *data;
	uint32_t *row; /* [readout] its row in the engine's frame */
	uint32_t readouts;
	double energy; /* half of the data's, in the problem's scale */
};

static void put(float *to, double complex v)
{
	to[0] = (float)creal(v);
	to[1] = (float)cimag(v);
}

/* Spokes of all frames, the window. */
static void open_spokes(struct scan *s)
{
	const struct prior_problem *d = s->d;
	const uint32_t samples = d->points / SPOKES;
	const double scale = sqrt((double)prior_voxels(d));

	s->p = path_of(BS_METHOD_SENSE, BS_TRAJ_FILE, d->n1, d->n2, 1, d->coils);
	s->readouts = d->frames * SPOKES;
	readouts_of(&s->p, s->readouts, samples);
	s->p.frame_step = SPOKES;
	s->p.fhd = s->p.q = BS_SUM_EXACT;
	s->k = malloc((size_t)s->readouts * samples * 8);
	for (size_t i = 0; i < (size_t)s->readouts * samples * 2; i++)
		s->k[i] = (float)d->k[i];
	s->traj = (struct bs_traj){
		.dims = 2, .samples = samples, .readouts = s->readouts, .k = s->k
	};
	s->tables.traj = &s->traj;
	for (size_t r = 0; r < s->readouts; r++) {
		s->row[r] = (uint32_t)r;
		for (size_t i = 0; i < (size_t)d->coils * samples; i++)
			put(s->data + 2 * (r * d->coils * samples + i),
			    scale * d->y[((r / SPOKES) * d->coils + i / samples) * d->points +
					 r % SPOKES * samples + i % samples]);
	}
}

/* Lines of the grid along x, those of the mask. */
static void open_lines(struct scan *s)
{
	const struct prior_problem *d = s->d;
	struct bs_cfl lines = { 0 };
	const size_t n = d->columns;

	s->p = lines_of(d->columns, d->n1, d->n2, d->columns, d->coils);
	s->p.method = BS_METHOD_CARTESIAN_SENSE;
	s->p.parallel = BS_PARALLEL_SENSE;
	s->readouts = d->points;
	CHECK(prior_file(&lines, "wav3d_lines"), "lines");
	for (uint32_t i = 0, r = 0; i < d->n1 * d->n2 && r < s->readouts; i++)
		if (d->mask[i] > 0.5f)
			s->row[r++] = i;
	for (size_t r = 0; r < s->readouts; r++)
		for (size_t c = 0; c < d->coils; c++)
			memcpy(s->data + 2 * (r * d->coils + c) * n,
			       lines.data + 2 * (c * s->readouts + r) * n, n * 8);
	bs_cfl_free(&lines);
}

static void open_scan(struct scan *s, const struct prior_problem *d)
{
	const size_t values = (size_t)d->frames * d->coils * d->points * d->columns;

	*s = (struct scan){ .d = d };
	s->data = calloc(values, 8);
	s->row = malloc((size_t)d->frames * d->points * sizeof(*s->row));
	s->maps = malloc(d->coils * prior_voxels(d) * 8);
	for (size_t i = 0; i < d->coils * prior_voxels(d); i++)
		put(s->maps + 2 * i, d->maps[i]);
	for (size_t i = 0; i < values; i++)
		s->energy += 0.5 * creal(d->y[i] * conj(d->y[i]));
	if (d->mask != NULL)
		open_lines(s);
	else
		open_spokes(s);
	s->tables.maps = s->maps;
	solved(&s->p, d->l2, 1000);
	s->p.tolerance = 1e-10;
	s->p.combine = BS_COMBINE_SENSE;
	s->p.output = BS_OUTPUT_COMPLEX;
	s->p.prior.kind = d->kind;
	s->p.prior.lambda = d->lambda;
	s->p.prior.block = d->block > 0 ? d->block : 8;
	s->p.on_miss = BS_MISS_SHED;
	s->p.image_ms = 1e6;
	bs_plan_make(&s->p);
}

static void close_scan(struct scan *s)
{
	free(s->k);
	free(s->maps);
	free(s->data);
	free(s->row);
}

/* Brings all readouts, and makes the image as the report asks. */
static int image_of(const struct scan *s, const struct armed *a, float *image,
		    struct bs_report *report)
{
	const uint32_t step = s->p.frame_step;
	uint8_t held[BS_PENALTY_IMAGES_MAX];
	int rc = a->engine->begin(a->self, 0);

	memset(held, 1, sizeof(held));
	for (uint32_t r = 0; r < s->readouts && rc == 0; r++) {
		rc = a->engine->add(a->self, 0, s->row[r], NULL,
				    s->data + 2 * (size_t)r * s->p.coils * s->p.samples,
				    s->p.samples);
		if (rc != 0 || step == 0 || (r + 1) % step != 0)
			continue;
		rc = a->engine->fold(a->self, 0, r / step);
		if (rc == 0 && r + 1 < s->readouts)
			rc = a->engine->begin(a->self, 0);
	}
	return rc != 0 ? rc
		       : a->engine->image(a->self, 0, step > 0 ? held : NULL, INT64_MAX, image,
					  report);
}

/*
 * objectives: after each count, of the problem's scale. quadratic: the image of the ladder's rung
 * without the prior.
 */
static void through(const struct scan *s, const struct bs_engine *engine, double *objectives,
		    float *quadratic)
{
	const struct prior_problem *d = s->d;
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	const char *name = engine->place == BS_PLACE_HOST ? "host" : "cuda";
	const size_t n = prior_voxels(d);
	float *image = malloc(n * 8);
	float *again = malloc(n * 8);
	struct bs_fail why = { 0 };
	struct bs_report report;
	struct armed a;
	int rc = armed_open(&a, engine, &s->p, &s->tables, env, &why);

	CHECK(rc == 0, "%s, %s: armed %s", d->name, name, why.text);
	allocations = 0;
	for (int i = 0; i < 5 && rc == 0; i++) {
		report = (struct bs_report){ .allowed = counts[i] };
		rc = image_of(s, &a, image, &report);
		objectives[i] = report.objective + s->energy;
	}
	for (int i = 0; i < 5 && rc == 0; i++) {
		const double above = i < 4 ? objectives[4] : d->minimum;

		CHECK((objectives[i] - above) / d->minimum <= (i < 4 ? 2.0 * d->excess[i] : 1e-4),
		      "%s, %s, after %u: %.2e above the %s", d->name, name, counts[i],
		      (objectives[i] - above) / d->minimum, i < 4 ? "converged" : "minimum");
	}
	if (rc == 0) {
		const double e = check_rel(image, d->reference + 2 * (d->frames - 1) * n, 2 * n);

		report = (struct bs_report){ .allowed = counts[0] / 3, .quadratic = true };
		rc = image_of(s, &a, quadratic, &report);
		CHECK(rc == 0 && report.iterations == counts[0] / 3 && report.prior_lambda == 0.0 &&
			      check_rel(quadratic, image, 2 * n) > 1e-2,
		      "%s, %s: without the prior after %u, residual %.1e", d->name, name,
		      report.iterations, report.residual);
		report = (struct bs_report){ .allowed = counts[4] };
		if (rc == 0)
			rc = image_of(s, &a, again, &report);
		CHECK(rc == 0 && e < 1e-3 && memcmp(image, again, n * 8) == 0,
		      "%s, %s: the image is %.1e off, and the same bytes again", d->name, name, e);
		CHECK(allocations == 0, "%s, %s: %u allocations after arm", d->name, name,
		      allocations);
	}
	armed_close(&a);
	free(image);
	free(again);
}

static void one(struct prior_problem *d)
{
	double objectives[2][5] = { 0 };
	float *quadratic[2];
	struct scan s;

	if (prior_load(d)) {
		const size_t n = 2 * prior_voxels(d);

		open_scan(&s, d);
		quadratic[0] = calloc(n, 4);
		quadratic[1] = calloc(n, 4);
		through(&s, &bs_engine_host, objectives[0], quadratic[0]);
		through(&s, &bs_engine_cuda, objectives[1], quadratic[1]);
		CHECK(check_rel(quadratic[1], quadratic[0], n) < 1e-5,
		      "%s without the prior: cuda %.1e of the host's", d->name,
		      check_rel(quadratic[1], quadratic[0], n));
		for (int i = 0; i < 4; i++) {
			const double cuda = objectives[1][i] - objectives[1][4];
			const double host = objectives[0][i] - objectives[0][4];

			CHECK(fabs(cuda - host) < 1e-5 * d->minimum,
			      "%s after %u: %.9g above the converged, the host's %.9g", d->name,
			      counts[i], cuda, host);
		}
		CHECK(fabs(objectives[1][4] / objectives[0][4] - 1.0) < 1e-4,
		      "%s: %.9g, the host's %.9g", d->name, objectives[1][4], objectives[0][4]);
		free(quadratic[0]);
		free(quadratic[1]);
		close_scan(&s);
	}
	prior_free(d);
}

/* Frames of spokes of their own, each drawn to the last one; within 1e-3 of the converged ones. */
static void damped(const struct bs_engine *engine, const struct prior_problem *d, float *image)
{
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	const size_t n = prior_voxels(d);
	struct bs_protocol p = path_of(BS_METHOD_SENSE, BS_TRAJ_STREAM, d->n1, d->n2, 1, d->coils);
	struct bs_tables tables = { 0 };
	struct bs_report report = { 0 };
	struct bs_fail why = { 0 };
	struct armed a;
	float *maps = malloc(d->coils * n * 8);
	int rc;

	readouts_of(&p, SPOKES, d->points / SPOKES);
	solved(&p, 0.0, 12);
	p.combine = BS_COMBINE_SENSE;
	p.output = BS_OUTPUT_COMPLEX;
	p.traj.min_extent = 0.25;
	p.prior.start = BS_START_LAST;
	p.prior.damp = 1.0;
	bs_plan_make(&p);
	for (size_t i = 0; i < d->coils * n; i++)
		put(maps + 2 * i, d->maps[i]);
	tables.maps = maps;
	rc = armed_open(&a, engine, &p, &tables, env, &why);
	if (rc == 0)
		a.engine->scan(a.self);
	for (uint32_t t = 0; t < d->frames && rc == 0; t++) {
		rc = a.engine->begin(a.self, 0);
		for (uint32_t r = 0; r < SPOKES && rc == 0; r++) {
			float k[96 * 2];
			float lines[8 * 96 * 2];
			const size_t from = (size_t)r * p.samples;

			for (size_t i = 0; i < 2 * (size_t)p.samples; i++)
				k[i] = (float)d->k[2 * ((size_t)t * d->points + from) + i];
			for (size_t i = 0; i < (size_t)d->coils * p.samples; i++)
				put(lines + 2 * i,
				    sqrt((double)n) * d->y[((size_t)t * d->coils + i / p.samples) *
								   d->points +
							   from + i % p.samples]);
			rc = a.engine->add(a.self, 0, r, k, lines, p.samples);
		}
		if (rc == 0)
			rc = a.engine->image(a.self, 0, NULL, INT64_MAX, image + 2 * t * n,
					     &report);
	}
	CHECK(rc == 0 && check_rel(image, d->reference, 2 * d->frames * n) < 1e-3,
	      "damped, %s: %.1e of the converged images %s",
	      engine->place == BS_PLACE_HOST ? "host" : "cuda",
	      check_rel(image, d->reference, 2 * d->frames * n), why.text);
	armed_close(&a);
	free(maps);
}

static void damps(void)
{
	struct prior_problem d = {
		.name = "dyn_damp", .columns = 1, .n1 = 48, .n2 = 48, .frames = 20, .coils = 8
	};
	float *image[2];

	if (prior_load(&d)) {
		const size_t n = 2 * d.frames * prior_voxels(&d);

		image[0] = calloc(n, 4);
		image[1] = calloc(n, 4);
		damped(&bs_engine_host, &d, image[0]);
		damped(&bs_engine_cuda, &d, image[1]);
		CHECK(check_rel(image[1], image[0], n) < 1e-4, "damped: cuda %.1e of the host's",
		      check_rel(image[1], image[0], n));
		free(image[0]);
		free(image[1]);
	}
	prior_free(&d);
}

static void compare_all(void)
{
	const char *data = getenv("DATA");
	char path[512];

	CHECK(bs_dense_open(NULL) == 0, "LAPACK");
	(void)snprintf(path, sizeof(path), "%s/prior/dyn_ksp.hdr", data != NULL ? data : "");
	if (data == NULL || access(path, R_OK) != 0) {
		SKIP("problems of priors: no data (DATA)");
		return;
	}
	for (uint32_t i = 0; i < PRIOR_PROBLEMS; i++)
		if (i != PRIOR_WAV2D) /* of single samples, not of lines: no scan brings them */
			one(prior_problem(i));
	damps();
}

int main(void)
{
	return twin_main("problems of priors in the CUDA engine", 2, compare_all);
}
