/*
 * test/twin/twin_segments.c - time segments on the device against the host's, and the engines that
 * use them: windows, previews, deadlines
 *
 * Bound 1e-5 for a NUFFT of accuracy 1e-6, as in twin_nufft.c. A sample goes through all segments
 * with weights b_l, whose squares sum to more than 1: to 2 squared to 5 squared in the mean over a
 * readout. The errors of the segments add up with them, so the bound is 1e-5 times the root of that
 * mean. F^H F: the host by two transforms of segments, each within `error` of the exact one for
 * random images; the device in 2D by Toeplitz operators, within `error` for random pairs of voxels:
 * three times that together. In 3D both by the same segments: two transforms.
 * Engines that solve carry that on by the condition of their system, below 4 here; else they are
 * twin_engine.c's systems.
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "gpu/solve/interpolators.h"
#include "gpu/solve/lagged_cuda.h"
#include "gpu/solve/segments_cuda.h"
#include "test/support/plan/engine.h"
#include "test/twin/device.h"

#define RUNS 3

static uint64_t seed = 160192220;

struct twin {
	struct bs_segments_spec s;
	size_t voxels, samples;
	float *k, *weight, *hz, *data, *maps;
	double gain; /* root of the mean, over a readout, of sum_l |b_l|^2 */
	struct bs_segments *host;
	struct bs_segments_cuda *cuda;
	struct bs_arena arena;
	struct bs_devmem mem;
};

/* A slope and noise, another in each slice; before maps come, as the service has it. */
static void fill_field(float *hz, uint32_t slices, size_t voxels, float most, bool replaced)
{
	for (size_t v = 0; replaced && v < slices * voxels; v++)
		hz[v] = most *
			(float)cos(acos(-1.0) * ((double)v + 0.5) / (double)(slices * voxels));
	if (replaced)
		return;
	for (size_t v = 0; v < slices * voxels; v++)
		hz[v] = most * ((float)(v % voxels) / (float)voxels - 0.5f) +
			most * (float)(check_uniform(&seed) - 0.5) * (float)(1 + v / voxels) /
				(float)slices;
}

static int measure_gain(struct twin *t, struct bs_fail *why)
{
	const struct bs_segments_spec *s = &t->s;
	const struct bs_interpolators_spec asked = { t->hz,      t->voxels * s->slices,
						     s->readout, BS_SEGMENTS_MAX,
						     s->dwell_s, s->start_s,
						     s->error };
	float *b = malloc((size_t)BS_SEGMENTS_MAX * s->readout * 8);
	struct bs_interpolators fit;
	int rc = bs_interpolators_find(&fit, &asked, b, why);
	double sum = 0.0;

	for (size_t i = 0; rc == 0 && i < (size_t)2 * fit.segments * s->readout; i++)
		sum += (double)b[i] * b[i];
	t->gain = fmax(sqrt(sum / s->readout), 1.0);
	free(b);
	return rc;
}

static size_t free_now(void)
{
	size_t now = 0;
	size_t total = 0;

	return cudaDeviceSynchronize() == cudaSuccess && cudaMemGetInfo(&now, &total) == cudaSuccess
		       ? now
		       : 0;
}

/* The operators' own device memory is what was told beforehand, 2 % or two pages of 2 MiB apart. */
static void check_told(struct twin *t)
{
	const bool lagged = t->cuda != NULL && bs_segments_cuda_lagged(t->cuda);
	const size_t before = free_now();
	struct bs_fail why = { 0 };
	uint64_t told = 1;
	uint64_t taken;
	int rc = bs_lagged_cuda_bytes(&t->s, t->hz, &told, &why);

	bs_segments_cuda_close(t->cuda);
	taken = free_now() - before;
	CHECK(rc == 0 && (told > 0) == lagged &&
		      fabs((double)taken - (double)told) <= fmax(0.02 * (double)told, 0x1p22),
	      "operators of the field: told %.2f MiB, given back %.2f %s", (double)told * 0x1p-20,
	      (double)taken * 0x1p-20, why.text);
}

static int open_twin(struct twin *t, const struct bs_segments_spec *s, float most,
		     struct bs_fail *why)
{
	const size_t coils = s->nufft.coils;
	struct bs_need need = { 0 };
	struct bs_need device = { 0 };
	int rc;

	memset(t, 0, sizeof(*t));
	t->s = *s;
	t->voxels = (size_t)s->nufft.matrix[0] * s->nufft.matrix[1] * s->nufft.matrix[2];
	t->samples = s->nufft.samples;
	t->k = malloc(t->samples * s->nufft.dims * 4);
	t->weight = malloc(t->samples * 4);
	t->hz = malloc(t->voxels * s->slices * 4);
	t->data = malloc(t->samples * coils * 8);
	t->maps = malloc(t->voxels * coils * 8);
	fill_k(t->k, t->samples * s->nufft.dims, &seed);
	for (size_t m = 0; m < t->samples; m++)
		t->weight[m] = (float)(0.5 + check_uniform(&seed));
	fill_field(t->hz, s->slices, t->voxels, most, s->replaced);
	fill_random(t->data, t->samples * coils * 2, &seed);
	fill_random(t->maps, t->voxels * coils * 2, &seed);
	rc = measure_gain(t, why);
	if (rc == 0)
		rc = bs_segments_need(s, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&t->arena, need.total_bytes, why);
	if (rc == 0)
		rc = bs_segments_plan(&t->host, s, t->k, t->weight, t->hz,
				      &(struct bs_arm_env){ .arena = &t->arena, .team = team },
				      why);
	if (rc == 0)
		rc = bs_segments_cuda_need(s, &device, why);
	if (rc == 0)
		rc = bs_devmem_open(&t->mem, device.total_bytes, "twin", why);
	if (rc == 0)
		rc = bs_segments_cuda_plan(&t->cuda, s, t->k, t->weight, t->hz, &t->mem, why);
	if (rc == 0)
		rc = bs_segments_cuda_lag(t->cuda, t->k, t->weight, t->hz, why);
	t->mem.sealed = true;
	return rc;
}

static void close_twin(struct twin *t)
{
	bs_segments_close(t->host);
	bs_arena_close(&t->arena);
	if (t->hz != NULL)
		check_told(t);
	bs_devmem_close(&t->mem);
	free(t->k);
	free(t->weight);
	free(t->hz);
	free(t->data);
	free(t->maps);
}

/* All readouts but one, into the second of two states. */
static void host_images(struct twin *t, uint32_t slice, uint32_t missing, float *images)
{
	const uint32_t per = t->s.readout;

	bs_segments_begin(t->host, 1);
	for (uint32_t r = 0; r < t->samples / per; r++)
		if (r != missing)
			bs_segments_add(t->host, 1, r, t->data + 2 * (size_t)r * per, t->samples);
	bs_segments_finish(t->host, 1, slice, images);
}

static int cuda_images(struct twin *t, uint32_t slice, uint32_t missing, float *dev, float *images,
		       struct bs_fail *why)
{
	const size_t per = (size_t)t->s.readout * 8;
	int rc = bs_segments_cuda_begin(t->cuda, 1, NULL, why);
	float *to = bs_segments_cuda_samples(t->cuda, 1);

	for (uint32_t r = 0; rc == 0 && r < t->samples / t->s.readout; r++)
		if (r != missing &&
		    cudaMemcpy2D(to + 2 * (size_t)r * t->s.readout, t->samples * 8,
				 t->data + 2 * (size_t)r * t->s.readout, t->samples * 8, per,
				 t->s.nufft.coils, cudaMemcpyHostToDevice) != cudaSuccess)
			rc = -1;
	if (rc == 0)
		rc = bs_segments_cuda_slice(t->cuda, slice, NULL, why);
	if (rc == 0)
		rc = bs_segments_cuda_finish(t->cuda, 1, dev, NULL, why);
	return rc == 0 && fetch(images, dev, t->voxels * t->s.nufft.coils * 2) ? 0 : -1;
}

static void adjoints(const char *name, struct twin *t)
{
	const size_t n = t->voxels * t->s.nufft.coils * 2;
	const uint32_t slice = t->s.slices - 1;
	float *want = malloc(n * 4);
	float *got = malloc(n * 4);
	float *again = malloc(n * 4);
	float *dev = device_copy(NULL, n);
	struct bs_fail why = { 0 };
	double e[2];
	int same = 1;
	int rc = 0;

	for (uint32_t i = 0; i < 2; i++) { /* whole; without readout 1 */
		host_images(t, slice, i == 0 ? UINT32_MAX : 1, want);
		rc |= cuda_images(t, slice, i == 0 ? UINT32_MAX : 1, dev, got, &why);
		e[i] = check_rel(got, want, n);
	}
	for (int run = 0; run < RUNS; run++) {
		rc |= cuda_images(t, 0, UINT32_MAX, dev, again, &why); /* another slice between */
		rc |= cuda_images(t, slice, 1, dev, again, &why);
		same &= memcmp(again, got, n * 4) == 0;
	}
	CHECK(rc == 0 && e[0] <= 1e-5 * t->gain && e[1] <= 1e-5 * t->gain && same,
	      "%s: F^H d differs by %.1e, %.1e with a gap, at most %.1e; the same bytes every run "
	      "%s",
	      name, e[0], e[1], 1e-5 * t->gain, why.text);
	(void)cudaFree(dev);
	free(want);
	free(got);
	free(again);
}

static void normals(const char *name, struct twin *t)
{
	const size_t n = t->voxels * 2;
	const bool with = t->s.together > 1;
	const double most = 2e-5 * t->gain + (t->s.nufft.dims == 2 ? 3.0 * t->s.error : 0.0);
	float *in = malloc(n * 4);
	float *want = malloc(n * 4);
	float *got = malloc(n * 4);
	float *again = malloc(n * 4);
	float *dev[3];
	struct bs_fail why = { 0 };
	int same = 1;
	int rc = 0;

	fill_random(in, n, &seed);
	dev[0] = device_copy(in, n);
	dev[1] = device_copy(NULL, n);
	dev[2] = device_copy(t->maps, n * t->s.nufft.coils);
	bs_segments_slice(t->host, t->s.slices - 1);
	bs_segments_normal(t->host, with ? t->maps : NULL, in, want);
	rc |= bs_segments_cuda_slice(t->cuda, t->s.slices - 1, NULL, &why);
	for (int run = 0; run < RUNS; run++) {
		rc |= bs_segments_cuda_normal(t->cuda, with ? dev[2] : NULL, dev[0], dev[1], NULL,
					      &why);
		rc |= !fetch(run == 0 ? got : again, dev[1], n);
		same &= run == 0 || memcmp(again, got, n * 4) == 0;
	}
	CHECK(rc == 0 && check_rel(got, want, n) <= most && same,
	      "%s: F^H F differs by %.1e, at most %.1e; the same bytes every run %s", name,
	      check_rel(got, want, n), most, why.text);
	for (int i = 0; i < 3; i++)
		(void)cudaFree(dev[i]);
	free(in);
	free(want);
	free(got);
	free(again);
}

/* Another map, within the range of the first; the host reads its own as it is. Where maps are
 * replaced, half of it at each end of the range. */
static void another_map(const char *name, struct twin *t, float most)
{
	struct bs_fail why = { 0 };
	int rc = 0;

	for (size_t v = 0; v < t->voxels * t->s.slices; v++)
		t->hz[v] = !t->s.replaced ? -0.5f * t->hz[v] : v * 7 % 13 < 6 ? most : -most;
	for (uint32_t s = 0; rc == 0 && s < t->s.slices; s++)
		rc = bs_segments_cuda_field(t->cuda, s, t->hz + s * t->voxels, NULL, &why);
	CHECK(rc == 0, "%s: another map %s", name, why.text);
	adjoints(name, t);
	normals(name, t);
}

#define REPLACED 7u /* of operators' scans */

static void operators(void)
{
	static const struct {
		const char *name;
		uint32_t dims, matrix[3], coils, together, readout, readouts, slices;
		float most;
	} scans[] = {
		{ "37 x 53, 3 coils", 2, { 37, 53, 1 }, 3, 3, 301, 17, 2, 280.0f },
		{ "160 x 160, 8 coils", 2, { 160, 160, 1 }, 8, 8, 1500, 16, 1, 200.0f },
		{ "192 x 220, 5 coils one by one", 2, { 192, 220, 1 }, 5, 1, 777, 31, 3, 150.0f },
		{ "a slab of 32 x 32 x 4", 3, { 32, 32, 4 }, 4, 4, 200, 60, 1, 120.0f },
		{ "one partition", 3, { 21, 16, 1 }, 2, 2, 130, 20, 1, 120.0f },
		{ "readouts of one sample", 2, { 18, 19, 1 }, 2, 1, 1, 700, 1, 90.0f },
		{ "32 coils", 2, { 48, 45, 1 }, 32, 32, 256, 12, 1, 200.0f },
		{ "before maps come", 2, { 44, 38, 1 }, 3, 3, 301, 24, 2, 200.0f },
	};

	for (size_t i = 0; i < sizeof(scans) / sizeof(scans[0]); i++) {
		const struct bs_segments_spec s = {
			.nufft = { .dims = scans[i].dims,
				   .matrix = { scans[i].matrix[0], scans[i].matrix[1],
					       scans[i].matrix[2] },
				   .coils = scans[i].coils,
				   .samples = (uint64_t)scans[i].readout * scans[i].readouts,
				   .accuracy = 1e-6 },
			.together = scans[i].together,
			.states = 2,
			.readout = scans[i].readout,
			.slices = scans[i].slices,
			.replaced = i == REPLACED,
			.dwell_s = 0.02 / scans[i].readout,
			.start_s = i % 2 ? 1e-3 : 0.0,
			.error = 1e-3,
		};
		struct bs_fail why = { 0 };
		struct twin t;
		int rc;

		if (small() && scans[i].matrix[0] > 100)
			continue;
		rc = open_twin(&t, &s, scans[i].most, &why);
		CHECK(rc == 0 && bs_segments_cuda_info(t.cuda).segments ==
					 bs_segments_info(t.host).segments,
		      "%s: planned in what need says; %u segments %s", scans[i].name,
		      rc == 0 ? bs_segments_info(t.host).segments : 0, why.text);
		CHECK(rc != 0 || bs_segments_cuda_lagged(t.cuda) == (s.nufft.dims == 2),
		      "%s: Toeplitz operators in 2D alone", scans[i].name);
		if (rc == 0) {
			adjoints(scans[i].name, &t);
			normals(scans[i].name, &t);
		}
		if (rc == 0 && (i == 0 || i == REPLACED))
			another_map("another map", &t, scans[i].most);
		close_twin(&t);
	}
}

/* ---- engines --------------------------------------------------------------------------------- */

#define GROUPS 4u

struct scan {
	struct bs_protocol p;
	struct bs_traj traj;
	struct bs_tables tables;
	float *hz, *maps, *data; /* [readout][coil][sample] */
	uint64_t floats;         /* of an image */
};

static int open_scan(struct scan *s, enum bs_method method)
{
	struct bs_fail why = { 0 };
	struct bs_protocol p = path_of(method, BS_TRAJ_RANDOM, 33, 26, 1, 3);

	readouts_of(&p, 60, 100);
	solved(&p, 0.5, 8);
	p.traj.seed = 3;
	p.slices = 2;
	p.accuracy = 1e-6;
	p.density = BS_DENSITY_NONE;
	p.normalize = BS_NORMALIZE_NONE;
	p.combine = method == BS_METHOD_SENSE ? BS_COMBINE_SENSE : BS_COMBINE_RSS;
	p.field = (struct bs_field_spec){
		.map_file = "map", .dwell_us = 100.0, .start_ms = 0.5, .error = 1e-3
	};
	memset(s, 0, sizeof(*s));
	s->p = p;
	const size_t voxels = (size_t)bs_protocol_voxels(&p);

	s->floats = bs_protocol_image_bytes(&p) / 4;
	s->hz = malloc(voxels * p.slices * 4);
	s->maps = malloc(voxels * p.slices * p.coils * 8);
	s->data = malloc(bs_protocol_samples(&p) * p.coils * 8);
	fill_field(s->hz, p.slices, voxels, 250.0f, false);
	fill_random(s->maps, voxels * p.slices * p.coils * 2, &seed);
	fill_random(s->data, bs_protocol_samples(&p) * p.coils * 2, &seed);
	s->tables.traj = &s->traj;
	s->tables.maps = method == BS_METHOD_SENSE ? s->maps : NULL;
	s->tables.field = s->hz;
	return bs_traj_make(&s->traj, &p, &why);
}

static void close_scan(struct scan *s)
{
	bs_traj_close(&s->traj);
	free(s->hz);
	free(s->maps);
	free(s->data);
}

static int arm(struct armed *a, const struct scan *s, const struct bs_engine *engine,
	       struct bs_fail *why)
{
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };

	return armed_open(a, engine, &s->p, &s->tables, env, why);
}

static int add_rows(struct armed *a, const struct scan *s, uint32_t frame, uint32_t from,
		    uint32_t to)
{
	int rc = a->engine->begin(a->self, frame);

	for (uint32_t r = from; rc == 0 && r < to; r++)
		rc = a->engine->add(a->self, frame, r, NULL,
				    s->data + 2ull * r * s->p.samples * s->p.coils, s->p.samples);
	return rc;
}

/* How far images of the twins may lie apart. */
static double apart(const struct scan *s)
{
	return bs_methods[s->p.method].solves ? 4.0 * 3.0 * s->p.field.error : 1e-5;
}

/* The frame of the second slice from its groups, but one. */
static int window(struct armed *a, const struct scan *s, float *image, struct bs_report *report)
{
	static const uint8_t held[GROUPS] = { 1, 0, 1, 1 };
	int rc = 0;

	for (uint32_t g = 0; rc == 0 && g < GROUPS; g++) {
		rc = add_rows(a, s, 1, g * s->p.frame_step, (g + 1) * s->p.frame_step);
		if (rc == 0)
			rc = a->engine->fold(a->self, 1, g);
	}
	memset(report, 0, sizeof(*report));
	return rc != 0 ? rc : a->engine->image(a->self, 1, held, INT64_MAX, image, report);
}

static void windows(struct scan *s, const struct bs_engine *host, const struct bs_engine *cuda,
		    float *want, float *got)
{
	struct bs_report report;
	struct bs_fail why = { 0 };
	struct armed a;
	int rc;

	s->p.frame_step = s->p.readouts / GROUPS;
	bs_plan_make(&s->p);
	rc = arm(&a, s, host, &why);
	rc = rc != 0 ? rc : window(&a, s, want, &report);
	armed_close(&a);
	rc = rc != 0 ? rc : arm(&a, s, cuda, &why);
	rc = rc != 0 ? rc : window(&a, s, got, &report);
	CHECK(rc == 0 && check_rel(got, want, s->floats) <= apart(s) && report.segments > 2,
	      "%s: a window without one group differs by %.1e, %u segments %s",
	      bs_method_name(s->p.method), check_rel(got, want, s->floats), report.segments,
	      why.text);
	armed_close(&a);
	s->p.frame_step = 0;
	bs_plan_make(&s->p);
}

static void previews(struct scan *s, const struct bs_engine *cuda, float *want, float *got)
{
	struct bs_report report = { 0 };
	struct bs_fail why = { 0 };
	struct armed a;
	int rc;

	s->p.preview_every = 5;
	bs_plan_make(&s->p);
	rc = arm(&a, s, cuda, &why);
	rc = rc != 0 ? rc : add_rows(&a, s, 1, 0, s->p.readouts);
	rc = rc != 0 ? rc : a.engine->peek(a.self, 1, got);
	rc = rc != 0 ? rc : a.engine->image(a.self, 1, NULL, INT64_MAX, want, &report);
	CHECK(rc == 0 && memcmp(got, want, s->floats * 4) == 0,
	      "%s: a preview of all readouts is the image, bit for bit %s",
	      bs_method_name(s->p.method), why.text);
	armed_close(&a);
	s->p.preview_every = 0;
	bs_plan_make(&s->p);
}

/* Armed with twice the map, which then changes; the other engine has had it from the start. */
static void changes(struct scan *s, const struct bs_engine *host, const struct bs_engine *cuda,
		    float *want, float *got)
{
	const size_t n = (size_t)bs_protocol_voxels(&s->p) * s->p.slices;
	const struct bs_engine *engine[2] = { host, cuda };
	float *image[2] = { want, got };
	struct bs_report report = { 0 };
	struct bs_fail why = { 0 };
	struct armed a;
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++) {
		rc = arm(&a, s, engine[i], &why);
		for (size_t v = 0; v < n; v++)
			s->hz[v] *= 0.5f;
		for (uint32_t z = 0; rc == 0 && a.engine->maps != NULL && z < s->p.slices; z++)
			rc = a.engine->maps(a.self, z);
		rc = rc != 0 ? rc : add_rows(&a, s, 1, 0, s->p.readouts);
		rc = rc != 0 ? rc : a.engine->image(a.self, 1, NULL, INT64_MAX, image[i], &report);
		armed_close(&a);
		for (size_t v = 0; v < n; v++)
			s->hz[v] *= 2.0f;
	}
	CHECK(rc == 0 && check_rel(got, want, s->floats) <= apart(s),
	      "%s: a field map that changes after arm: differs by %.1e %s",
	      bs_method_name(s->p.method), check_rel(got, want, s->floats), why.text);
}

/* Watched, iteration by iteration: the same bytes with time enough, fewer steps without. */
static void deadlines(struct scan *s, const struct bs_engine *cuda, float *want, float *got)
{
	const int64_t far_ns = bs_now_ns() + INT64_C(3600000000000);
	struct bs_report report[3] = { { 0 } };
	struct bs_fail why = { 0 };
	struct armed a;
	int rc = arm(&a, s, cuda, &why);

	rc = rc != 0 ? rc : add_rows(&a, s, 1, 0, s->p.readouts);
	rc = rc != 0 ? rc : a.engine->image(a.self, 1, NULL, INT64_MAX, want, &report[0]);
	rc = rc != 0 ? rc : add_rows(&a, s, 1, 0, s->p.readouts);
	rc = rc != 0 ? rc : a.engine->image(a.self, 1, NULL, far_ns, got, &report[1]);
	CHECK(rc == 0 && memcmp(got, want, s->floats * 4) == 0 && report[1].iterations == 8,
	      "%s: the same bytes with a deadline far away, %u iterations %s",
	      bs_method_name(s->p.method), report[1].iterations, why.text);
	rc = rc != 0 ? rc : add_rows(&a, s, 1, 0, s->p.readouts);
	rc = rc != 0 ? rc : a.engine->image(a.self, 1, NULL, bs_now_ns(), got, &report[2]);
	CHECK(rc == 0 && report[2].deadline_stop && report[2].iterations >= 1 &&
		      report[2].iterations < 8,
	      "%s: a deadline that is past leaves %u iterations", bs_method_name(s->p.method),
	      report[2].iterations);
	armed_close(&a);
}

static void engines(void)
{
	static const struct {
		enum bs_method method;
		const struct bs_engine *host, *cuda;
	} each[] = {
		{ BS_METHOD_GRIDDING, &bs_engine_host, &bs_engine_cuda },
		{ BS_METHOD_LS, &bs_engine_host, &bs_engine_cuda },
		{ BS_METHOD_SENSE, &bs_engine_host, &bs_engine_cuda },
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct scan s;
		const bool made = open_scan(&s, each[i].method) == 0;
		float *want = malloc(s.floats * 4);
		float *got = malloc(s.floats * 4);

		CHECK(made, "%s: a scan", bs_method_name(each[i].method));
		windows(&s, each[i].host, each[i].cuda, want, got);
		changes(&s, each[i].host, each[i].cuda, want, got);
		if (s.p.plan.solve == BS_SOLVE_NONE)
			previews(&s, each[i].cuda, want, got);
		else
			deadlines(&s, each[i].cuda, want, got);
		free(want);
		free(got);
		close_scan(&s);
	}
}

static void compare_all(void)
{
	operators();
	engines();
}

int main(void)
{
	return twin_main("time segments on the GPU", 2, compare_all);
}
