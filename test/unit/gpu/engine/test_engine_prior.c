/*
 * test/unit/gpu/engine/test_engine_prior.c - engine prox/host: what it minimizes, and on what scale
 *
 * The objective is summed in double precision from its definition (gpu/penalty/proximal.h): direct
 * sums along the path, the wavelet transform of test/support/plan/prior.h. Bounds: 1e-5 of the
 * objective (float vectors, a direct sum for F^H d); images of two ways to one solution 2e-3.
 */
#define _GNU_SOURCE /* M_PI */
#include "core/thread/clock.h"
#include "gpu/engine/engines.h"
#include "test/support/direct.h"
#include "test/support/plan/engine.h"
#include "test/support/plan/planned.h"
#include "test/support/plan/prior.h"

#define NX       18u
#define NY       16u
#define VOXELS   (NX * NY)
#define COILS    2u
#define SAMPLES  24u
#define READOUTS 40u
#define M        (SAMPLES * READOUTS)
#define STEP     10u

static float k[M * 2], maps[COILS * VOXELS * 2], data[COILS * M * 2];
static struct bs_traj traj = { .dims = 2, .samples = SAMPLES, .readouts = READOUTS, .k = k };

static bool leaves_out; /* images are made on the ladder's rung quadratic */

static void measure(const float *image, float *to)
{
	const struct bs_nufft_spec s = {
		.dims = 2, .matrix = { NX, NY, 1 }, .coils = COILS, .samples = M
	};
	static float in[COILS * VOXELS * 2];
	struct exact forward = exact_open(&s, k);

	for (uint32_t i = 0; i < COILS * VOXELS; i++) {
		const float *v = image + 2 * (i % VOXELS);

		in[2 * i] = maps[2 * i] * v[0] - maps[2 * i + 1] * v[1];
		in[2 * i + 1] = maps[2 * i] * v[1] + maps[2 * i + 1] * v[0];
	}
	exact_sum(&forward, NULL, in, to, 0);
	exact_close(&forward);
}

/* Data of a disk that turns phase, with noise. */
static void simulate(void)
{
	static float x[VOXELS * 2];
	uint64_t seed = 12;

	for (uint32_t i = 0; i < M * 2; i++)
		k[i] = (float)(check_uniform(&seed) - 0.5);
	for (uint32_t i = 0; i < VOXELS; i++) {
		const double u = ((double)(i % NX) - NX / 2) / 7.0;
		const double v = ((double)(i / NX) - NY / 2) / 9.0; /* it touches the rim */
		const double in = u * u + v * v < 1.0 ? 1.0 : 0.0;

		x[2 * i] = (float)(in * cos(2.0 * u));
		x[2 * i + 1] = (float)(in * sin(2.0 * u));
	}
	for (uint32_t i = 0; i < COILS * VOXELS * 2; i++)
		maps[i] = (float)(0.5 + 0.5 * check_uniform(&seed));
	measure(x, data);
	for (uint32_t i = 0; i < COILS * M * 2; i++)
		data[i] += (float)(4.0 * (check_uniform(&seed) - 0.5));
}

static struct bs_protocol protocol(enum bs_prior kind, double lambda, double quadratic)
{
	struct bs_protocol p = path_of(BS_METHOD_SENSE, BS_TRAJ_FILE, NX, NY, 1, COILS);

	readouts_of(&p, READOUTS, SAMPLES);
	solved(&p, quadratic, 400);
	p.combine = BS_COMBINE_SENSE;
	p.output = BS_OUTPUT_COMPLEX;
	p.tolerance = 1e-9;
	p.fhd = p.q = BS_SUM_EXACT;
	p.prior.kind = kind;
	p.prior.lambda = lambda;
	p.prior.block = 4;
	return planned_host(p);
}

static bool image_of(const struct bs_protocol *p, int members, int64_t deadline_ns, float *image,
		     struct bs_report *report)
{
	const struct bs_tables tables = { .traj = &traj, .maps = maps };
	uint8_t held[READOUTS / STEP];
	struct armed a;

	memset(held, 1, sizeof(held));
	memset(report, 0, sizeof(*report));
	report->quadratic = leaves_out;
	if (!armed_with(&a, p, &tables, members))
		return false;
	(void)a.engine->begin(a.self, 0);
	for (uint32_t i = 0; i < READOUTS; i++) {
		/* a window goes on from its second group: the newest is the first of the table */
		const uint32_t r = p->frame_step > 0 ? (i + STEP) % READOUTS : i;

		(void)a.engine->add(a.self, 0, r, NULL, data + 2 * (size_t)r * SAMPLES, M);
		if (p->frame_step > 0 && i % STEP == STEP - 1) {
			(void)a.engine->fold(a.self, 0, r / STEP);
			if (i + 1 < READOUTS)
				(void)a.engine->begin(a.self, 0);
		}
	}
	(void)a.engine->image(a.self, 0, p->frame_step > 0 ? held : NULL, deadline_ns, image,
			      report);
	armed_close(&a);
	return true;
}

/* The objective by its definition, without half the data's own energy over the voxels. */
static double objective(const struct bs_protocol *p, const float *image)
{
	static const uint32_t n[3] = { NX, NY, 1 };
	static float seen[COILS * M * 2];
	double complex *x = prior_pairs(image, VOXELS);
	double sum = 0.0;
	double norm = 0.0;
	double total;

	measure(image, seen);
	for (uint32_t i = 0; i < COILS * M * 2; i++)
		sum += (0.5 * (double)seen[i] - (double)data[i]) * (double)seen[i];
	for (uint32_t i = 0; i < VOXELS * 2; i++)
		norm += (double)image[i] * (double)image[i];
	total = sum / VOXELS + 0.5 * p->lambda * norm + p->prior.lambda * prior_wavelet(x, n);
	free(x);
	return total;
}

/* A smaller objective is found nowhere near. */
static void is_least(const struct bs_protocol *p, const float *image, double least)
{
	float near[VOXELS * 2];
	uint64_t seed = 5;
	int below = 0;

	for (int i = 0; i < 200; i++) {
		const double far = i % 2 != 0 ? 1e-2 : 1e-1;
		const uint32_t only = i % 4 < 2 ? VOXELS : (uint32_t)i;

		for (uint32_t v = 0; v < VOXELS * 2; v++)
			near[v] = image[v] + (only == VOXELS || only == v / 2
						      ? (float)(far * (check_uniform(&seed) - 0.5))
						      : 0.0f);
		below += objective(p, near) < least - 1e-6 * fabs(least);
	}
	CHECK(below == 0, "%d of 200 images nearby have a smaller objective", below);
}

static void wavelets(void)
{
	const struct bs_protocol p = protocol(BS_PRIOR_WAVELET, 0.3, 0.05);
	struct bs_protocol other = p;
	float image[VOXELS * 2];
	float again[VOXELS * 2];
	struct bs_report report;
	double least;

	if (!image_of(&p, 1, INT64_MAX, image, &report))
		return;
	least = objective(&p, image);
	CHECK(fabs(report.objective - least) < 1e-5 * fabs(least) &&
		      report.prior_lambda == p.prior.lambda && report.stop == BS_PROX_TOLERANCE,
	      "objective %.8g is said, %.8g summed; lambda %g; %s after %u", report.objective,
	      least, report.prior_lambda, bs_prox_reason_words(report.stop), report.iterations);
	is_least(&p, image, least);
	for (int members = 2; members <= 7; members += 5)
		CHECK(image_of(&p, members, INT64_MAX, again, &report) &&
			      memcmp(image, again, sizeof(image)) == 0,
		      "%d threads: the same bytes", members);
	CHECK(image_of(&p, 2, bs_now_ns() - 1, again, &report) && report.iterations == 1 &&
		      report.deadline_stop && report.stop == BS_PROX_DEADLINE,
	      "a deadline already past: %u iteration, %s", report.iterations,
	      bs_prox_reason_words(report.stop));
	other.iterations = 1;
	CHECK(image_of(&other, 2, INT64_MAX, image, &report) &&
		      memcmp(image, again, sizeof(image)) == 0 && report.stop == BS_PROX_ITERATIONS,
	      "as many iterations without a deadline: the same bytes");
}

/* Without W ls.l2 adds to ls.lambda's identity. */
static void beside(void)
{
	const struct bs_protocol whole = protocol(BS_PRIOR_WAVELET, 0.3, 1.05);
	struct bs_protocol parts = protocol(BS_PRIOR_WAVELET, 0.3, 0.05);
	float image[VOXELS * 2];
	float want[VOXELS * 2];
	struct bs_report report;

	parts.w.l2 = 1.0;
	bs_plan_make(&parts);
	if (!image_of(&parts, 2, INT64_MAX, image, &report) ||
	    !image_of(&whole, 2, INT64_MAX, want, &report))
		return;
	CHECK(check_rel(image, want, (size_t)VOXELS * 2) < 1e-5, "l2 1 beside lambda: %.1e",
	      check_rel(image, want, (size_t)VOXELS * 2));
}

/* Along frames that a great weight makes all alike, the window is one frame of all readouts. */
static void frames(enum bs_prior kind)
{
	struct bs_protocol p = protocol(kind, 30.0, 0.05);
	struct bs_protocol whole = protocol(BS_PRIOR_NONE, 0.0, 0.05 * READOUTS / STEP);
	float image[VOXELS * 2];
	float want[VOXELS * 2];
	struct bs_report report;

	p.frame_step = STEP;
	p.iterations = 2000;
	bs_plan_make(&p);
	whole.tolerance = 1e-7;
	if (!image_of(&p, 2, INT64_MAX, image, &report) ||
	    !image_of(&whole, 2, INT64_MAX, want, &report))
		return;
	CHECK(check_rel(image, want, (size_t)VOXELS * 2) < 2e-3, "%s, all alike: %.1e of one frame",
	      bs_prior_names[kind], check_rel(image, want, (size_t)VOXELS * 2));
}

/* What many frames need fits the list of needs. */
static void many(void)
{
	struct bs_protocol p = protocol(BS_PRIOR_TV_FRAMES, 1.0, 0.05);
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };

	p.frame_step = 1;
	bs_plan_make(&p);
	CHECK(bs_engine_host.need(&p, &need, &why) == 0 && !need.overflow, "%u frames: %u parts %s",
	      READOUTS, need.parts, why.text);
}

/*
 * Without a weight the newest frame has its own readouts alone, the first of the table; so it has
 * on the rung that leaves the prior out, whatever its weight.
 */
static void newest(enum bs_prior kind, double lambda)
{
	struct bs_protocol p = protocol(kind, lambda, 2.0);
	struct bs_protocol alone = protocol(BS_PRIOR_NONE, 0.0, 2.0);
	const struct bs_tables tables = { .traj = &traj, .maps = maps };
	float image[VOXELS * 2];
	float want[VOXELS * 2];
	struct bs_report report = { 0 };
	struct armed a;

	p.frame_step = STEP;
	p.on_miss = BS_MISS_SHED;
	p.image_ms = 1e6;
	bs_plan_make(&p);
	leaves_out = lambda > 1.0;
	alone.tolerance = 1e-7;
	if (!image_of(&p, 2, INT64_MAX, image, &report) || !armed_with(&a, &alone, &tables, 2))
		return;
	/* the rest of its readouts would be zeros, and not left out: they have a Q of their own */
	armed_close(&a);
	alone.readouts = STEP;
	bs_plan_make(&alone);
	traj.readouts = STEP;
	if (armed_with(&a, &alone, &tables, 2)) {
		(void)a.engine->begin(a.self, 0);
		for (uint32_t r = 0; r < STEP; r++)
			(void)a.engine->add(a.self, 0, r, NULL, data + 2 * (size_t)r * SAMPLES, M);
		(void)a.engine->image(a.self, 0, NULL, INT64_MAX, want, &report);
		armed_close(&a);
	}
	traj.readouts = READOUTS;
	leaves_out = false;
	CHECK(check_rel(image, want, (size_t)VOXELS * 2) < 2e-3,
	      "%s, weight %g, the newest alone: %.1e", bs_prior_names[kind], lambda,
	      check_rel(image, want, (size_t)VOXELS * 2));
}

/*
 * The standard deviation of a voxel of F^H d, by the definition of the noise's weight: of white
 * noise of variance 1 through the adjoint. 5 %: the sum over 288 voxels' different coils.
 */
static void noise(void)
{
	struct bs_protocol p = protocol(BS_PRIOR_WAVELET, 0.0, 0.0);

	float image[VOXELS * 2];
	struct bs_report report;
	double power = 0.0;

	p.prior.noise = 0.8;
	bs_plan_make(&p);

	if (!image_of(&p, 2, INT64_MAX, image, &report))
		return;
	for (uint32_t i = 0; i < COILS * VOXELS * 2; i++)
		power += (double)maps[i] * (double)maps[i] / VOXELS;
	/* each sample adds a term of modulus |S| and variance 1 to a voxel of F^H d */
	CHECK(fabs(report.prior_lambda * VOXELS / 0.8 / sqrt(M * power) - 1.0) < 1e-3,
	      "the weight by the noise is %.5g times its deviation",
	      report.prior_lambda * VOXELS / sqrt(M * power));
}

/*
 * Damping toward the last image, data/prior's dyn: each frame brings 13 spokes of its own. 1e-3 of
 * the converged images, 0.072 of the truth behind the first two.
 */
static void damped(void)
{
	struct prior_problem d = {
		.name = "dyn_damp", .columns = 1, .n1 = 48, .n2 = 48, .frames = 20, .coils = 8
	};
	struct bs_protocol p = path_of(BS_METHOD_SENSE, BS_TRAJ_STREAM, 48, 48, 1, 8);
	const size_t voxels = 48 * 48;
	struct bs_tables tables = { 0 };
	struct bs_report report = { 0 };
	struct bs_cfl truth = { 0 };
	struct armed a;
	float *image = malloc(20 * voxels * 8);
	float *s;

	if (!prior_load(&d) || !prior_file(&truth, "ref/dyn_truth"))
		return;
	readouts_of(&p, 13, 96);
	solved(&p, 0.0, 12);
	p.combine = BS_COMBINE_SENSE;
	p.output = BS_OUTPUT_COMPLEX;
	p.traj.min_extent = 0.25;
	p.prior.start = BS_START_LAST;
	p.prior.damp = 1.0;
	p = planned_host(p);
	s = malloc(8 * voxels * 8);
	for (size_t i = 0; i < 8 * voxels; i++) {
		s[2 * i] = (float)creal(d.maps[i]);
		s[2 * i + 1] = (float)cimag(d.maps[i]);
	}
	tables.maps = s;
	if (!armed_with(&a, &p, &tables, 2))
		return;
	a.engine->scan(a.self);
	for (uint32_t t = 0; t < 20; t++) {
		(void)a.engine->begin(a.self, 0);
		for (uint32_t r = 0; r < 13; r++) {
			float path[96 * 2];
			float lines[8 * 96 * 2];

			for (uint32_t i = 0; i < 96 * 2; i++)
				path[i] = (float)d.k[2 * ((size_t)t * d.points + r * 96) + i];
			for (uint32_t i = 0; i < 8 * 96; i++) {
				const double complex y =
					48.0 *
					d.y[((size_t)t * 8 + i / 96) * d.points + r * 96 + i % 96];

				lines[2 * i] = (float)creal(y);
				lines[2 * i + 1] = (float)cimag(y);
			}
			(void)a.engine->add(a.self, 0, r, path, lines, 96);
		}
		/* images that were handed on before are made for those behind them alone */
		(void)a.engine->image(a.self, 0, NULL, INT64_MAX,
				      t == 7 ? NULL : image + 2 * t * voxels, &report);
	}
	armed_close(&a);
	CHECK(check_rel(image + 2 * 8 * voxels, d.reference + 2 * 8 * voxels, 24 * voxels) < 1e-3,
	      "damped: %.1e of the converged images",
	      check_rel(image + 2 * 8 * voxels, d.reference + 2 * 8 * voxels, 24 * voxels));
	CHECK(check_rel(image + 2 * 8 * voxels, truth.data + 2 * 8 * voxels, 24 * voxels) <= 0.072,
	      "damped: %.4f of the truth",
	      check_rel(image + 2 * 8 * voxels, truth.data + 2 * 8 * voxels, 24 * voxels));
	free(image);
	free(s);
	bs_cfl_free(&truth);
	prior_free(&d);
}

int main(void)
{
	const char *folder = getenv("DATA");
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/prior/dyn_ksp.hdr", folder != NULL ? folder : "");
	if (folder != NULL && access(path, R_OK) == 0)
		damped();
	else
		SKIP("damping: no data (DATA)");
	simulate();
	wavelets();
	beside();
	frames(BS_PRIOR_TV_FRAMES);
	frames(BS_PRIOR_TV_CYCLE);
	many();
	newest(BS_PRIOR_TV_FRAMES, 1e-9);
	newest(BS_PRIOR_LOW_RANK, 1e-9);
	newest(BS_PRIOR_LOW_RANK, 30.0);
	noise();
	return check_done();
}
