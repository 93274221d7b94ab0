/*
 * test/unit/gpu/engine/test_engine_paths.c - gridding, ls and sense of frames that bring their path
 *
 * Random paths, another in every frame, against the direct sum in double precision; least squares
 * from a known image's own samples, which it brings back; windows against frames of the same
 * readouts, to the bit.
 */
#define _GNU_SOURCE /* M_PI */
#include "core/tool/phantom/coils.h"
#include "core/traj/delay.h"
#include "test/support/plan/engine.h"
#include "test/support/direct.h"
#include "test/support/plan/planned.h"

static uint64_t seed = 88172645463325252u;

struct trial {
	uint32_t dims, n[3], coils, samples, readouts;
};

struct frame {
	const struct trial *t;
	float *k;    /* [readout][sample][dims] */
	float *data; /* [readout][coil][sample] complex */
};

static float *random_floats(size_t n, double most)
{
	float *at = malloc(n * sizeof(*at));

	for (size_t i = 0; i < n; i++) {
		at[i] = (float)(most * (2.0 * check_uniform(&seed) - 1.0));
		if (at[i] >= 0.5f && most == 0.5) /* rounded up to it */
			at[i] = -0.5f;
	}
	return at;
}

static size_t samples_of(const struct trial *t)
{
	return (size_t)t->samples * t->readouts;
}

static size_t voxels_of(const struct trial *t)
{
	return (size_t)t->n[0] * t->n[1] * t->n[2];
}

static struct frame make_frame(const struct trial *t)
{
	return (struct frame){ t, random_floats(samples_of(t) * t->dims, 0.5),
			       random_floats(samples_of(t) * t->coils * 2, 1.0) };
}

static void free_frame(struct frame *f)
{
	free(f->k);
	free(f->data);
}

static struct bs_protocol protocol(const struct trial *t, enum bs_method method)
{
	struct bs_protocol p = path_of(method, BS_TRAJ_STREAM, t->n[0], t->n[1], t->n[2], t->coils);

	readouts_of(&p, t->readouts, t->samples);
	solved(&p, 1e-7, 150);
	p.dims = t->dims;
	p.slices = 2;
	p.traj.min_extent = 0.25;
	p.density = BS_DENSITY_NONE;
	p.density_iterations = 5;
	p.output = BS_OUTPUT_COMPLEX;
	p.tolerance = 1e-6;

	return planned(p);
}

static bool open_engine(struct armed *a, const struct bs_protocol *p, const float *maps,
			struct bs_team *team)
{
	const struct bs_tables tables = { .maps = maps };
	struct bs_fail why = { 0 };
	int rc = armed_open(a, NULL, p, &tables,
			    (struct bs_arm_env){ .team = team, .cache_dir = "" }, &why);

	CHECK(rc == 0 && a->arena.used == a->arena.size, "%s: arm takes what need states %s",
	      bs_method_name(p->method), why.text);
	return rc == 0;
}

static bool all(uint32_t r)
{
	(void)r;
	return true;
}

/* Readouts that come, in an order of their own. */
static int put(struct armed *a, uint32_t slot, const struct frame *f, bool (*comes)(uint32_t r),
	       uint32_t first, uint32_t count, bool backwards)
{
	const struct trial *t = f->t;
	int rc = a->engine->begin(a->self, slot);

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		const uint32_t r = first + (backwards ? count - 1 - i : i);

		if (!comes(r))
			continue;
		rc = a->engine->add(a->self, slot, r, f->k + (size_t)r * t->samples * t->dims,
				    f->data + 2 * (size_t)r * t->samples * t->coils, t->samples);
	}
	return rc;
}

static int image_of(struct armed *a, uint32_t slot, const struct frame *f,
		    bool (*comes)(uint32_t r), bool backwards, float *image,
		    struct bs_report *report)
{
	int rc = put(a, slot, f, comes, 0, f->t->readouts, backwards);

	memset(report, 0, sizeof(*report));
	return rc != 0 ? rc : a->engine->image(a->self, slot, NULL, INT64_MAX, image, report);
}

/* The direct adjoint of the readouts that come. */
static void sum(const struct frame *f, bool (*comes)(uint32_t r), float *image)
{
	const struct trial *t = f->t;
	const struct bs_nufft_spec s = { .dims = t->dims,
					 .matrix = { t->n[0], t->n[1], t->n[2] },
					 .coils = t->coils,
					 .samples = samples_of(t) };
	struct exact x = exact_open(&s, f->k);
	float *d = malloc(samples_of(t) * t->coils * 8);

	for (uint32_t c = 0; c < t->coils; c++)
		for (uint32_t r = 0; r < t->readouts; r++)
			for (uint32_t i = 0; i < 2 * t->samples; i++)
				d[2 * (c * samples_of(t) + (size_t)r * t->samples) + i] =
					comes(r) ? f->data[2 * ((size_t)r * t->coils + c) *
								   t->samples +
							   i]
						 : 0.0f;
	exact_sum(&x, NULL, d, image, 1);
	exact_close(&x);
	free(d);
}

static bool but_some(uint32_t r)
{
	return r % 3 != 1;
}

static const struct trial trials[] = {
	{ 2, { 13, 11, 1 }, 3, 45, 7 },
	{ 2, { 32, 20, 1 }, 9, 33, 11 },
	{ 3, { 7, 9, 5 }, 2, 41, 9 },
	{ 3, { 12, 10, 1 }, 1, 64, 6 }, /* 1 in z */
};

/* Two slices with a path of their own in turn; the bounds are the accuracy asked for, 1e-5. */
static void sums(const struct trial *t)
{
	const struct bs_protocol p = protocol(t, BS_METHOD_GRIDDING);
	const size_t floats = voxels_of(t) * t->coils * 2;
	struct bs_team *team[2] = { NULL, NULL };
	struct armed a[2];
	struct bs_report report;
	float *want = malloc(floats * 4);
	float *got = malloc(2 * floats * 4);

	for (int i = 0; i < 2; i++) {
		(void)bs_team_open(&team[i], 1 + 2 * i, NULL);
		if (!open_engine(&a[i], &p, NULL, team[i]))
			return;
	}
	for (int turn = 0; turn < 3; turn++) {
		struct frame f = make_frame(t);
		bool (*comes)(uint32_t) = turn == 1 ? but_some : all;
		int rc = image_of(&a[0], (uint32_t)turn % 2, &f, comes, false, got, &report);

		sum(&f, comes, want);
		CHECK(rc == 0 && check_rel(got, want, floats) < 1e-5,
		      "%uD, %u coils, path %d: %.1e of the sum", t->dims, t->coils, turn,
		      check_rel(got, want, floats));
		rc = image_of(&a[1], 1, &f, comes, true, got + floats, &report);
		CHECK(rc == 0 && memcmp(got, got + floats, floats * 4) == 0,
		      "path %d: the same bytes in another order, on 3 threads", turn);
		if (turn == 0) {
			rc = a[0].engine->peek(a[0].self, 0, got + floats);
			CHECK(rc == 0 && memcmp(got, got + floats, floats * 4) == 0,
			      "a preview of all readouts is the image");
		}
		free_frame(&f);
	}
	for (int i = 0; i < 2; i++) {
		armed_close(&a[i]);
		bs_team_close(team[i]);
	}
	free(want);
	free(got);
}

/* Least squares from the samples of a known image; 2e-3 as of a table (test_engine_ls.c). */
static void solves(enum bs_method method, enum bs_precond precond, enum bs_density density)
{
	static const struct trial t = { 2, { 13, 11, 1 }, 2, 45, 20 };
	const size_t voxels = voxels_of(&t);
	const bool maps = bs_methods[method].uses_maps;
	struct bs_protocol p = protocol(&t, method);
	struct bs_nufft_spec s = {
		.dims = 2, .matrix = { 13, 11, 1 }, .coils = 1, .samples = samples_of(&t)
	};
	float *x = random_floats(voxels * 2, 1.0);
	float *set = random_floats(2 * voxels * t.coils * 2, 0.4); /* [slice] */
	float *through = malloc(voxels * 8);
	float *d = malloc(samples_of(&t) * 8);
	float *image = malloc(voxels * t.coils * 8);
	struct bs_report report;
	struct bs_team *team = NULL;
	struct armed a;

	for (size_t i = 0; i < 2 * voxels * t.coils * 2; i += 2)
		set[i] += 1.0f;
	p.precond = precond;
	p.density = density;
	bs_plan_make(&p);
	(void)bs_team_open(&team, 2, NULL);
	if (!open_engine(&a, &p, maps ? set : NULL, team))
		return;
	for (int turn = 0; turn < 2; turn++) {
		struct frame f = make_frame(&t);
		struct exact e = exact_open(&s, f.k);
		int rc;

		for (uint32_t c = 0; c < t.coils; c++) {
			const float *m = set + 2 * (t.coils + c) * voxels; /* of slice 1 */

			memcpy(through, x, voxels * 8);
			for (size_t v = 0; maps && v < voxels; v++) {
				through[2 * v] = m[2 * v] * x[2 * v] - m[2 * v + 1] * x[2 * v + 1];
				through[2 * v + 1] =
					m[2 * v] * x[2 * v + 1] + m[2 * v + 1] * x[2 * v];
			}
			exact_sum(&e, NULL, through, d, 0);
			for (uint32_t r = 0; r < t.readouts; r++)
				memcpy(f.data + 2 * ((size_t)r * t.coils + c) * t.samples,
				       d + 2 * (size_t)r * t.samples, (size_t)t.samples * 8);
		}
		rc = image_of(&a, 1, &f, all, false, image, &report);
		for (uint32_t c = 0; c < bs_protocol_channels(&p); c++)
			CHECK(rc == 0 && check_rel(image + 2 * c * voxels, x, 2 * voxels) < 2e-3,
			      "%s, preconditioner %d, density %d, path %d: %.1e of the image after "
			      "%u",
			      bs_method_name(method), (int)precond, (int)density, turn,
			      check_rel(image + 2 * c * voxels, x, 2 * voxels), report.iterations);
		exact_close(&e);
		free_frame(&f);
	}
	armed_close(&a);
	bs_team_close(team);
	free(x);
	free(set);
	free(through);
	free(d);
	free(image);
}

#define STEP 3u

/* Without group 1, and without the second readout of group 0. */
static bool left(uint32_t r)
{
	return r != 1 && r / STEP != 1;
}

/* A window's image is that of a frame which has the same readouts in the same rows. */
static void window(enum bs_method method, enum bs_density density)
{
	static const struct trial t = { 2, { 13, 11, 1 }, 2, 45, 3 * STEP };
	const uint8_t held[2][3] = { { 1, 1, 1 }, { 1, 0, 1 } };
	struct bs_protocol p = protocol(&t, method);
	struct bs_protocol slides;
	struct frame f = make_frame(&t);
	struct frame next = make_frame(&t);
	float *maps = random_floats(2 * voxels_of(&t) * t.coils * 2, 1.0);
	float *got = calloc(voxels_of(&t) * t.coils, 8);
	float *want = calloc(voxels_of(&t) * t.coils, 8);
	const size_t bytes = voxels_of(&t) * t.coils * 8;
	struct bs_report report = { 0 };
	struct bs_team *team = NULL;
	struct armed a;
	struct armed w;
	int rc = 0;

	p.density = density;
	p.iterations = 5;
	bs_plan_make(&p);
	slides = p;
	slides.frame_step = STEP;
	bs_plan_make(&slides);
	(void)bs_team_open(&team, 2, NULL);
	if (!open_engine(&a, &p, maps, team) || !open_engine(&w, &slides, maps, team))
		return;
	for (uint32_t g = 0; rc == 0 && g < 3; g++) {
		rc = put(&w, 0, &f, all, g * STEP, STEP, g == 1);
		if (rc == 0)
			rc = w.engine->fold(w.self, 0, g);
	}
	CHECK(rc == 0 && w.engine->image(w.self, 0, held[0], INT64_MAX, got, &report) == 0 &&
		      image_of(&a, 0, &f, all, false, want, &report) == 0 &&
		      memcmp(got, want, bytes) == 0,
	      "%s: a window of all groups is the frame", bs_method_name(method));
	/* group 0 comes again, elsewhere, less a readout; group 1 is lost */
	memcpy(f.k, next.k, (size_t)STEP * t.samples * t.dims * 4);
	memcpy(f.data, next.data, (size_t)STEP * t.samples * t.coils * 8);
	rc = put(&w, 0, &f, left, 0, STEP, false);
	memset(&report, 0, sizeof(report));
	CHECK(rc == 0 && w.engine->fold(w.self, 0, 0) == 0 &&
		      w.engine->image(w.self, 0, held[1], INT64_MAX, got, &report) == 0 &&
		      image_of(&a, 0, &f, left, false, want, &report) == 0 &&
		      memcmp(got, want, bytes) == 0,
	      "%s: without a group and a readout, too", bs_method_name(method));
	armed_close(&a);
	armed_close(&w);
	bs_team_close(team);
	free(maps);
	free(got);
	free(want);
	free_frame(&f);
	free_frame(&next);
}

/* A frame in another unit: refused when it is whole, for a part of it may not reach as far. */
static void extent(void)
{
	const struct trial *t = &trials[0];
	const struct bs_protocol p = protocol(t, BS_METHOD_GRIDDING);
	struct frame f = make_frame(t);
	float *image = malloc(voxels_of(t) * t->coils * 8);
	struct bs_report report;
	struct bs_team *team = NULL;
	struct armed a;

	for (size_t i = 1; i < samples_of(t) * 2; i += 2)
		f.k[i] *= 0.49f;
	(void)bs_team_open(&team, 1, NULL);
	if (!open_engine(&a, &p, NULL, team))
		return;
	CHECK(image_of(&a, 0, &f, all, false, image, &report) == BS_ERR_TRAJECTORY &&
		      strstr(report.why.text, "|ky| reaches only 0.24") != NULL,
	      "refused: %s", report.why.text);
	CHECK(image_of(&a, 0, &f, but_some, false, image, &report) == 0, "a part is not");
	armed_close(&a);
	bs_team_close(team);
	free(image);
	free_frame(&f);
}

static void engines(void)
{
	struct bs_protocol p = protocol(&trials[0], BS_METHOD_GRIDDING);
	const struct bs_engine *engine = NULL;
	struct bs_fail why = { 0 };
	char place[96];

	p.density = BS_DENSITY_PIPE; /* that of a whole frame */
	bs_plan_make(&p);
	CHECK(bs_engine_find(&engine, &p, &why) == 0, "auto finds the host's engine");
	bs_engine_place(place, sizeof(place), engine, &p);
	CHECK(strstr(place, "trajectory.type stream") != NULL, "and says why: %s", place);
	p.backend = BS_BACKEND_CUDA;
	bs_plan_make(&p);
	CHECK(bs_engine_find(&engine, &p, &why) == BS_ERR_UNSUPPORTED &&
		      strstr(why.text, "trajectory.type stream") != NULL,
	      "refused: %s", why.text);
}

/* Spokes of a phantom from an angle on: the path as asked for, data where S moves it. */
static struct frame make_spokes(const struct trial *t, double from, const float axis[3],
				const float cross[3])
{
	struct frame f = make_frame(t);
	struct bs_fail why = { 0 };
	struct bs_phantom ph;
	struct bs_coils coils;

	CHECK(bs_phantom_make(&ph, 2, t->n, 0, 1, 0, &why) == 0 &&
		      bs_coils_make(&coils, t->coils, 2, t->n, &why) == 0,
	      "phantom %s", why.text);
	for (uint32_t r = 0; r < t->readouts; r++) {
		float *k = f.k + 2 * (size_t)r * t->samples;
		float at[2 * 96];

		for (uint32_t i = 0; i < t->samples; i++) {
			const double reach = ((double)i - t->samples / 2) / t->samples;

			k[2 * i] = (float)(reach * cos(from + 1.9416 * r));
			k[2 * i + 1] = (float)(reach * sin(from + 1.9416 * r));
		}
		memcpy(at, k, sizeof(*k) * 2 * t->samples);
		bs_delay_readout(at, 2, t->samples, axis, cross);
		bs_coils_sample(&coils, &ph, at, t->samples,
				f.data + 2 * (size_t)r * t->samples * t->coils);
	}
	return f;
}

/* Paths that were moved by what a report says. */
static void move(struct frame *f, const struct bs_report *report)
{
	const struct trial *t = f->t;
	const float axis[3] = { report->delay[0], report->delay[1], 0.0f };
	const float cross[3] = { report->delay[2], 0.0f, 0.0f };

	for (uint32_t r = 0; r < t->readouts; r++)
		bs_delay_readout(f->k + (size_t)r * t->samples * t->dims, t->dims, t->samples, axis,
				 cross);
}

/*
 * The first frame of a scan tells; its paths, and those of the frames behind it, are moved by that,
 * as paths that come so moved. 5e-3: 40 spokes of 96 samples, cut after 48.
 */
static void delays(enum bs_method method)
{
	const struct trial t = { 2, { 48, 48, 1 }, 3, 96, 40 };
	const float axis[3] = { 0.7f, -0.4f, 0.0f };
	const float cross[3] = { 0.2f, 0.0f, 0.0f };
	const size_t bytes = voxels_of(&t) * t.coils * 8;
	struct bs_protocol p = protocol(&t, method);
	struct frame f[2] = { make_spokes(&t, 0.1, axis, cross),
			      make_spokes(&t, 2.3, cross, axis) }; /* others, which do not count */
	struct frame wild = make_frame(&t);
	float *image[3] = { malloc(bytes), malloc(bytes), malloc(bytes) };
	struct bs_team *team = NULL;
	struct bs_report report;
	struct bs_report plain;
	struct bs_fail why = { 0 };
	struct armed a;
	struct armed b;

	p.iterations = 5;
	p.density = BS_DENSITY_RAMP; /* it and normalization are of the path as it was moved */
	p.normalize = BS_NORMALIZE_UNIFORM;
	bs_plan_make(&p);
	CHECK(bs_team_open(&team, 2, &why) == 0, "team");
	(void)open_engine(&b, &p, NULL, team);
	p.traj.estimate_delay = true;
	bs_plan_make(&p);
	(void)open_engine(&a, &p, NULL, team);
	CHECK(image_of(&a, 0, &f[0], but_some, false, image[0], &report) == 0, "first frame %s",
	      report.why.text);
	CHECK(report.delayed && fabs(report.delay[0] - 0.7) < 5e-3 &&
		      fabs(report.delay[1] + 0.4) < 5e-3 && fabs(report.delay[2] - 0.2) < 5e-3,
	      "its spokes tell: %g %g %g", (double)report.delay[0], (double)report.delay[1],
	      (double)report.delay[2]);
	a.engine->scan(a.self);
	(void)image_of(&a, 0, &f[0], but_some, true, image[1], &plain);
	CHECK(memcmp(image[0], image[1], bytes) == 0, "backwards: the same bytes");
	(void)image_of(&a, 0, &f[1], all, false, image[1], &plain);
	CHECK(memcmp(plain.delay, report.delay, sizeof(plain.delay)) == 0,
	      "the next frame keeps the first one's delays");
	for (int i = 0; i < 2; i++) {
		move(&f[i], &report);
		(void)image_of(&b, 0, &f[i], i == 0 ? but_some : all, false, image[2], &plain);
		CHECK(!plain.delayed && memcmp(image[i], image[2], bytes) == 0,
		      "frame %d: as paths that are so moved, to the bit", i);
	}
	CHECK(image_of(&a, 1, &wild, all, false, image[1], &plain) == BS_ERR_TRAJECTORY &&
		      strstr(plain.why.text, "estimate_delay: readout 0 is no straight") != NULL,
	      "another slice's first frame, of no spokes: %s", plain.why.text);
	CHECK(image_of(&a, 1, &f[0], all, false, image[1], &plain) == BS_ERR_TRAJECTORY,
	      "ends the slice's other frames, too");
	armed_close(&a);
	armed_close(&b);
	bs_team_close(team);
	for (int i = 0; i < 3; i++)
		free(image[i]);
	free_frame(&f[0]);
	free_frame(&f[1]);
	free_frame(&wild);
}

int main(void)
{
	delays(BS_METHOD_GRIDDING);
	delays(BS_METHOD_LS);
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		sums(&trials[i]);
	solves(BS_METHOD_LS, BS_PRECOND_NONE, BS_DENSITY_NONE);
	solves(BS_METHOD_LS, BS_PRECOND_JACOBI, BS_DENSITY_PIPE);
	solves(BS_METHOD_SENSE, BS_PRECOND_NONE, BS_DENSITY_PIPE);
	solves(BS_METHOD_SENSE, BS_PRECOND_JACOBI, BS_DENSITY_NONE);
	window(BS_METHOD_GRIDDING, BS_DENSITY_PIPE);
	window(BS_METHOD_LS, BS_DENSITY_NONE);
	window(BS_METHOD_SENSE, BS_DENSITY_PIPE);
	extent();
	engines();
	return check_done();
}
