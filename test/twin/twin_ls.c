/*
 * test/twin/twin_ls.c - the engines ls/cuda and sense/cuda against the same reconstruction on the
 * host
 *
 * The host's F^H d in double, its Q, Toeplitz operator and conjugate gradients; ten iterations on
 * well conditioned systems, 1e-5 as for their parts. Any order of arrival, missing readouts, the
 * same bytes.
 */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "core/thread/clock.h"
#include "core/solve/pcg.h"
#include "gpu/exact/exact.h"
#include "gpu/toeplitz/q.h"
#include "gpu/toeplitz/toeplitz.h"
#include "test/support/plan/engine.h"
#include "test/twin/device.h"

#define READOUTS 90u
#define PER      100u
#define SAMPLES  ((uint64_t)READOUTS * PER)

struct scan {
	struct bs_protocol p;
	struct bs_traj traj;
	struct bs_tables tables;
	float *data, *maps, *want;
	size_t voxels;
};

/* host: x of (T + mu) x = b, or of its sum over coils */
struct host_system {
	struct bs_toeplitz *t;
	const struct scan *s;
	double mu;
};

static void host_apply(void *self, const float *in, float *out)
{
	struct host_system *h = self;

	if (h->s->p.method == BS_METHOD_SENSE)
		bs_toeplitz_sense(h->t, h->s->p.coils, h->s->maps, in, out);
	else
		bs_toeplitz_apply(h->t, 1, in, out);
	for (size_t i = 0; i < 2 * h->s->voxels; i++)
		out[i] += (float)h->mu * in[i];
}

static void host_fhd(const struct scan *s, const float *data, float *images)
{
	struct bs_exact_spec e = { .dims = s->p.dims,
				   .coils = s->p.coils,
				   .samples = SAMPLES,
				   .states = 1,
				   .twice = true,
				   .basis = s->p.basis };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_exact *plan = NULL;
	struct bs_fail why = { 0 };

	memcpy(e.matrix, s->p.matrix, sizeof(e.matrix));
	int rc = bs_exact_need(&e, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_exact_plan(&plan, &e, s->traj.k, NULL, &arena, team, &why);
	CHECK(rc == 0, "host F^H d %s", why.text);
	if (rc == 0)
		bs_exact_adjoint(plan, data, images);
	bs_exact_close(plan);
	bs_arena_close(&arena);
}

/* The image that should leave: each coil's magnitude, or the one of all coils. */
static void host_image(const struct scan *s, const float *data, float *image)
{
	struct bs_q_spec qs = {
		.dims = s->p.dims, .samples = SAMPLES, .sum = BS_SUM_EXACT, .basis = s->p.basis
	};
	struct bs_toeplitz_spec ts = { .dims = s->p.dims, .coils = s->p.coils };
	struct bs_pcg_spec cg = { .size = s->voxels, .iterations = s->p.iterations };
	struct bs_pcg_stop stop = { .iterations = s->p.iterations, .deadline_ns = INT64_MAX };
	struct host_system h = { .s = s, .mu = s->p.lambda * (double)s->voxels };
	struct bs_pcg_system system = { .self = &h, .apply = host_apply };
	struct bs_pcg_result result;
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_pcg *pcg = NULL;
	struct bs_fail why = { 0 };
	const bool sense = s->p.method == BS_METHOD_SENSE;
	float *images = calloc(2 * s->voxels * s->p.coils, 4);
	float *x = malloc(8 * s->voxels);

	memcpy(qs.matrix, s->p.matrix, sizeof(qs.matrix));
	memcpy(ts.matrix, s->p.matrix, sizeof(ts.matrix));
	float *q = malloc(bs_q_size(&qs) * 8);

	host_fhd(s, data, images);
	int rc = bs_q_make(q, &qs, s->traj.k, NULL, &(struct bs_q_making){ .team = team }, &why);

	if (rc == 0)
		rc = bs_toeplitz_need(&ts, &need, &why);
	if (rc == 0)
		rc = bs_pcg_need(&cg, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_toeplitz_plan(&h.t, &ts, q, &arena, team, &why);
	if (rc == 0)
		rc = bs_pcg_plan(&pcg, &cg, &arena, team, &why);
	CHECK(rc == 0, "host solver %s", why.text);
	for (size_t v = 0; sense && v < s->voxels; v++) { /* b = sum conj(S) F^H d, into image 0 */
		double re = 0.0;
		double im = 0.0;

		for (uint32_t c = 0; c < s->p.coils; c++) {
			const float *m = s->maps + 2 * (c * s->voxels + v);
			const float *i = images + 2 * (c * s->voxels + v);

			re += (double)m[0] * i[0] + (double)m[1] * i[1];
			im += (double)m[0] * i[1] - (double)m[1] * i[0];
		}
		images[2 * v] = (float)re;
		images[2 * v + 1] = (float)im;
	}
	for (uint32_t c = 0; rc == 0 && c < (sense ? 1 : s->p.coils); c++) {
		bs_pcg_solve(pcg, &system, images + 2 * c * s->voxels, x, &stop, &result);
		memcpy(images + 2 * c * s->voxels, x, 8 * s->voxels);
	}
	for (size_t v = 0; v < s->voxels; v++) {
		double sum = 0.0;

		for (uint32_t c = 0; c < (sense ? 1 : s->p.coils); c++) {
			const float *i = images + 2 * (c * s->voxels + v);

			sum += (double)i[0] * i[0] + (double)i[1] * i[1];
		}
		image[v] = (float)sqrt(sum);
	}
	bs_pcg_close(pcg);
	bs_toeplitz_close(h.t);
	bs_arena_close(&arena);
	free(images);
	free(x);
	free(q);
}

static int open_scan(struct scan *s, enum bs_method method, uint32_t dims, uint32_t x, uint32_t y,
		     uint32_t z, uint32_t coils, enum bs_precond precond)
{
	struct bs_fail why = { 0 };
	uint64_t seed = 31 + x;

	memset(s, 0, sizeof(*s));
	s->p = path_of(method, BS_TRAJ_FILE, x, y, z, coils);
	readouts_of(&s->p, READOUTS, PER);
	solved(&s->p, 0.5, 10);
	s->p.backend = BS_BACKEND_CUDA;
	s->p.dims = dims;
	s->p.accuracy = 0.0;
	s->p.fhd = s->p.q = BS_SUM_EXACT;
	s->p.contrasts = 2;
	s->p.combine = BS_COMBINE_RSS;
	s->p.precond = precond;
	s->p.basis = BS_BASIS_BOX;
	bs_plan_make(&s->p);
	s->voxels = (size_t)x * y * z;
	if (bs_traj_open(&s->traj, dims, PER, READOUTS, &why) != 0)
		return 0;
	s->data = malloc(SAMPLES * coils * 8);
	s->maps = malloc(s->voxels * coils * 8);
	s->want = malloc(s->voxels * 4);
	fill_k(s->traj.k, SAMPLES * dims, &seed);
	fill_random(s->data, SAMPLES * coils * 2, &seed);
	fill_random(s->maps, s->voxels * coils * 2, &seed);
	s->tables.traj = &s->traj;
	s->tables.maps = s->maps;
	host_image(s, s->data, s->want);
	return 1;
}

static void close_scan(struct scan *s)
{
	bs_traj_close(&s->traj);
	free(s->data);
	free(s->maps);
	free(s->want);
}

/* One frame; readouts in the order r * stride mod READOUTS (stride and READOUTS coprime), but not
 * `lost`. */
static int run_frame(const struct bs_engine *engine, void *self, const struct scan *s,
		     uint32_t frame, uint32_t stride, uint32_t lost, int64_t deadline_ns,
		     float *image, struct bs_report *report)
{
	int rc = engine->begin(self, frame);

	for (uint32_t i = 0; i < READOUTS && rc == 0; i++) {
		uint32_t r = i * stride % READOUTS;

		if (r != lost)
			rc = engine->add(self, frame, r, NULL, s->data + 2 * (size_t)r * PER,
					 SAMPLES);
	}
	return rc != 0 ? rc : engine->image(self, frame, NULL, deadline_ns, image, report);
}

static void check_engine(const struct bs_engine *engine, struct scan *s)
{
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	struct armed a;
	struct bs_fail why = { 0 };
	struct bs_report report = { 0 };
	float *image = malloc(s->voxels * 4);
	int rc = armed_open(&a, engine, &s->p, &s->tables, env, &why);

	CHECK(rc == 0, "%s armed %s", armed_name(&a), why.text);
	if (rc != 0) {
		armed_close(&a);
		free(image);
		return;
	}
	rc = run_frame(engine, a.self, s, 0, 1, READOUTS, INT64_MAX, image, &report);
	CHECK(rc == 0 && report.iterations == 10, "%s: %u iterations, residual %.2e",
	      armed_name(&a), report.iterations, report.residual);
	uint64_t first = hash_of(image, s->voxels);
	double error = check_rel(image, s->want, s->voxels);
	int same = 1;

	CHECK(error <= 1e-5, "%s %ux%ux%u, %u coils: %.2e", armed_name(&a), s->p.matrix[0],
	      s->p.matrix[1], s->p.matrix[2], s->p.coils, error);
	for (uint32_t n = 0; n < 5 && rc == 0; n++) {
		rc = run_frame(engine, a.self, s, n % 2, n % 2 ? 7 : 77, READOUTS, INT64_MAX, image,
			       &report);
		same &= hash_of(image, s->voxels) == first;
	}
	CHECK(rc == 0 && same, "%s: any order of arrival, either frame: the same bytes",
	      armed_name(&a));
	rc = run_frame(engine, a.self, s, 1, 11, 33, INT64_MAX, image, &report);
	for (uint32_t c = 0; c < s->p.coils; c++)
		memset(s->data + 2 * (c * SAMPLES + 33 * PER), 0, PER * 8);
	host_image(s, s->data, s->want);
	CHECK(rc == 0 && check_rel(image, s->want, s->voxels) <= 1e-5,
	      "%s: a readout that never came counts as zeros: %.2e", armed_name(&a),
	      check_rel(image, s->want, s->voxels));
	rc = run_frame(engine, a.self, s, 1, 11, 33, bs_now_ns(), image, &report);
	CHECK(rc == 0 && report.iterations >= 1 && report.deadline_stop,
	      "%s: a deadline already past leaves an image of %u iterations", armed_name(&a),
	      report.iterations);
	armed_close(&a);
	free(image);
}

static void compare_all(void)
{
	static const struct {
		const char *what;
		enum bs_method method;
		uint32_t dims, x, y, z, coils;
	} scans[] = {
		{ "sense, 2D", BS_METHOD_SENSE, 2, 32, 27, 1, 3 },
		{ "ls, 3D", BS_METHOD_LS, 3, 16, 20, 17, 2 },
		/* y and z large enough for the Toeplitz operator's planes */
		{ "ls, 3D, by planes", BS_METHOD_LS, 3, 9, 40, 37, 1 },
		{ "sense, a slab", BS_METHOD_SENSE, 3, 32, 32, 4, 2 },
		{ "ls, one partition", BS_METHOD_LS, 3, 17, 16, 1, 2 },
		{ "ls, 5 x 7", BS_METHOD_LS, 2, 5, 7, 1, 1 },
		/* coils side by side */
		{ "ls, 2D, 5 coils", BS_METHOD_LS, 2, 33, 20, 1, 5 },
		{ "sense, 2D, odd", BS_METHOD_SENSE, 2, 31, 40, 1, 4 },
	};
	struct scan s;

	for (size_t i = 0; i < sizeof(scans) / sizeof(scans[0]); i++) {
		CHECK(open_scan(&s, scans[i].method, scans[i].dims, scans[i].x, scans[i].y,
				scans[i].z, scans[i].coils, BS_PRECOND_NONE),
		      "%s", scans[i].what);
		check_engine(&bs_engine_cuda, &s);
		close_scan(&s);
	}
}

int main(void)
{
	return twin_main("least squares on the GPU", 4, compare_all);
}
