/*
 * test/twin/twin_density.c - Pipe and Menon's weights by the GPU against a direct sum in double
 * precision, against the host's, and through the engines that use them
 *
 * Bounds. A step divides by C (*) w, which a forward and an adjoint NUFFT compute to within
 * STEP = 2e-6: 1e-6 each, the accuracy asked for, roundings included. A relative error u of the
 * weights becomes u - (C w u) / (C w), plus the step's own: C is nowhere negative and positive
 * semidefinite, so this is 1 - P with P's eigenvalues in [0, 1]. No error grows: K steps make at
 * most K STEP, in the norm in which P is symmetric, sqrt(sum w u^2) once C (*) w is near 1. Two
 * twins, each with its own: twice that, and no more than TWINS, the bound of every operator (errors
 * of many steps do not add up in full).
 */
#define _GNU_SOURCE /* M_PI, mkdtemp */
#include "test/support/check.h"
#include "test/support/plan/planned.h"
#include "core/thread/team.h"
#include "gpu/nufft/density_cuda.h"
#include "test/support/plan/engine.h"
#include "test/twin/device.h"

#define STEP  2e-6
#define TWINS 1e-5
#define HOARD 64 /* pieces in which all device memory is taken */

struct scan {
	const char *name;
	enum bs_traj_type type;
	uint32_t dims, matrix[3], samples, readouts, interleaves;
};

/* Small enough for all pairs of samples. */
static const struct scan few[] = {
	{ "2D radial 20x17", BS_TRAJ_RADIAL2D, 2, { 20, 17, 1 }, 40, 24, 1 },
	{ "2D spiral 24x24", BS_TRAJ_SPIRAL2D, 2, { 24, 24, 1 }, 300, 4, 4 },
	{ "3D radial 12x10x9", BS_TRAJ_RADIAL3D, 3, { 12, 10, 9 }, 24, 50, 1 },
	{ "3D random 9x10x12", BS_TRAJ_RANDOM, 3, { 9, 10, 12 }, 24, 50, 1 },
	{ "stack 16x15x4", BS_TRAJ_STACK, 3, { 16, 15, 4 }, 80, 12, 3 },
};

static const struct scan many[] = {
	{ "2D radial 128x121", BS_TRAJ_RADIAL2D, 2, { 128, 121, 1 }, 256, 150, 1 },
	{ "2D spiral 96x96", BS_TRAJ_SPIRAL2D, 2, { 96, 96, 1 }, 2000, 12, 12 },
	{ "2D radial 300x41, an axis of 600", BS_TRAJ_RADIAL2D, 2, { 300, 41, 1 }, 600, 60, 1 },
	{ "3D radial 32x30x27", BS_TRAJ_RADIAL3D, 3, { 32, 30, 27 }, 64, 900, 1 },
	{ "3D random 25x24x26", BS_TRAJ_RANDOM, 3, { 25, 24, 26 }, 200, 150, 1 },
	{ "stack 48x45x6", BS_TRAJ_STACK, 3, { 48, 45, 6 }, 500, 48, 8 },
};

static int open_scan(struct bs_protocol *p, struct bs_traj *traj, const struct scan *s,
		     uint32_t iterations, enum bs_normalize normalize, struct bs_fail *why)
{
	memset(traj, 0, sizeof(*traj));
	*p = path_of(BS_METHOD_GRIDDING, s->type, s->matrix[0], s->matrix[1], s->matrix[2], 2);
	readouts_of(p, s->readouts, s->samples);
	p->dims = s->dims;
	p->fhd = p->q = BS_SUM_EXACT;
	p->traj.interleaves = s->interleaves;
	p->traj.seed = 1;
	p->accuracy = 1e-4;
	p->combine = BS_COMBINE_RSS;
	p->gpu_memory = BS_GPU_MEMORY_COPY;
	p->density = BS_DENSITY_PIPE;
	p->density_iterations = iterations;
	p->normalize = normalize;
	bs_plan_make(p);
	return bs_traj_make(traj, p, why);
}

/* ||got - want|| / ||want||, each sample's square over its weight */
static double weighted(const float *got, const double *want, size_t n)
{
	double e = 0.0;
	double all = 0.0;

	for (size_t m = 0; m < n; m++) {
		const double d = (double)got[m] - want[m];

		e += d * d / want[m];
		all += want[m];
	}
	return sqrt(e / all);
}

/* ---- against a direct sum ------------------------------------------------------------------- */

/* sum over |n| < N of (1 - |n| / N) exp(-i2pi k n), in closed form */
static double fejer(double k, uint32_t size)
{
	const double s = sin(M_PI * k);
	const double r = fabs(s) < 1e-9 ? size : sin(M_PI * size * k) / s;

	return r * r / size;
}

/* C between all pairs of samples; NULL when there is no memory for it. */
static double *kernel_of(const struct bs_protocol *p, const struct bs_traj *t, size_t n)
{
	double *c = malloc(n * n * sizeof(*c));

	for (size_t m = 0; c != NULL && m < n; m++)
		for (size_t j = 0; j < n; j++) {
			double v = 1.0;

			for (uint32_t a = 0; a < p->dims; a++)
				v *= fejer((double)t->k[m * p->dims + a] -
						   (double)t->k[j * p->dims + a],
					   p->matrix[a]);
			c[m * n + j] = v;
		}
	return c;
}

static void direct_step(double *w, double *sum, const double *c, size_t n)
{
	for (size_t m = 0; m < n; m++) {
		sum[m] = 0.0;
		for (size_t j = 0; j < n; j++)
			sum[m] += c[m * n + j] * w[j];
	}
	for (size_t m = 0; m < n; m++)
		w[m] /= sum[m];
}

static void check_direct(const struct scan *s)
{
	static const uint32_t steps[] = { 1, 3, 20 };
	struct bs_protocol p;
	struct bs_traj t;
	struct bs_fail why = { 0 };
	int rc = open_scan(&p, &t, s, 0, BS_NORMALIZE_NONE, &why);
	const size_t n = (size_t)s->samples * s->readouts;
	double *c = rc == 0 ? kernel_of(&p, &t, n) : NULL;
	double *w = malloc(n * sizeof(*w));
	double *sum = malloc(n * sizeof(*sum));
	float *got = malloc(n * sizeof(*got));
	uint32_t done = 0;

	CHECK(c != NULL, "%s: %zu samples, their kernel %s", s->name, n, why.text);
	for (size_t m = 0; m < n; m++)
		w[m] = 1.0;
	for (size_t i = 0; c != NULL && i < (small() ? 2 : 3); i++) {
		const double most = steps[i] * STEP;
		double e;

		for (; done < steps[i]; done++)
			direct_step(w, sum, c, n);
		p.density_iterations = steps[i];
		rc = bs_density_pipe_cuda(got, &p, &t, team, &why);
		e = rc == 0 ? weighted(got, w, n) : 1.0;
		CHECK(rc == 0 && e <= most, "%s: %u steps, the GPU's differ by %.1e of %.1e %s",
		      s->name, steps[i], e, most, rc != 0 ? why.text : "");
		rc = bs_density_pipe_host(got, &p, &t, team, &why);
		e = rc == 0 ? weighted(got, w, n) : 1.0;
		CHECK(rc == 0 && e <= most, "%s: %u steps, the host's differ by %.1e of %.1e %s",
		      s->name, steps[i], e, most, rc != 0 ? why.text : "");
	}
	bs_traj_close(&t);
	free(c);
	free(w);
	free(sum);
	free(got);
}

/* ---- against the host ----------------------------------------------------------------------- */

static uint64_t free_bytes(void)
{
	struct bs_gpu_info now;

	return bs_gpu_probe(&now, NULL) == 0 ? now.free_bytes : 0;
}

static void check_twins(const struct scan *s, enum bs_normalize normalize)
{
	const uint32_t steps = small() ? 2 : 20;
	const char *how = normalize == BS_NORMALIZE_NONE ? "as they are" : "uniform";
	const size_t n = (size_t)s->samples * s->readouts;
	struct bs_protocol p;
	struct bs_traj t;
	struct bs_fail why = { 0 };
	float *host = malloc(n * sizeof(*host));
	float *cuda = malloc(n * sizeof(*cuda));
	float *again = malloc(n * sizeof(*again));
	double *want = malloc(n * sizeof(*want));
	int rc = open_scan(&p, &t, s, steps, normalize, &why);
	uint64_t before;
	double e;

	if (rc == 0)
		rc = bs_density(host, &p, &t, NULL, team, &why);
	if (rc == 0) /* from here on the driver holds what it keeps after a first use */
		rc = bs_density_cuda(cuda, &p, &t, NULL, team, &why);
	before = free_bytes();
	if (rc == 0)
		rc = bs_density_cuda(again, &p, &t, NULL, team, &why);
	CHECK(rc == 0, "%s, %s: made by both %s", s->name, how, rc != 0 ? why.text : "");
	if (rc == 0) {
		for (size_t m = 0; m < n; m++)
			want[m] = (double)host[m];
		e = weighted(cuda, want, n);
		CHECK(e <= fmin(2.0 * steps * STEP, TWINS),
		      "%s, %s: %zu weights, %u steps, GPU and host differ by %.1e of %.1e", s->name,
		      how, n, steps, e, fmin(2.0 * steps * STEP, TWINS));
		CHECK(memcmp(host, cuda, n * sizeof(*host)) != 0,
		      "%s, %s: they are the GPU's own, not the host's bytes", s->name, how);
		CHECK(memcmp(cuda, again, n * sizeof(*cuda)) == 0, "%s, %s: the same bytes again",
		      s->name, how);
		if (!small()) /* a sanitizer keeps memory of its own there */
			CHECK(free_bytes() >= before,
			      "%s, %s: %llu bytes free on the device, %llu before", s->name, how,
			      (unsigned long long)free_bytes(), (unsigned long long)before);
	}
	bs_traj_close(&t);
	free(host);
	free(cuda);
	free(again);
	free(want);
}

/* ---- what the GPU refuses ------------------------------------------------------------------- */

/*
 * The GPU's iteration is refused with that code and word; the weights are the host's, to the byte.
 */
static void check_refused(const char *what, const struct scan *s, int code, const char *word)
{
	const size_t n = (size_t)s->samples * s->readouts;
	struct bs_protocol p;
	struct bs_traj t;
	struct bs_fail why = { 0 };
	float *host = malloc(n * sizeof(*host));
	float *got = malloc(n * sizeof(*got));
	int rc = open_scan(&p, &t, s, 2, BS_NORMALIZE_AUTO, &why);

	if (rc == 0)
		rc = bs_density_pipe_cuda(got, &p, &t, team, &why);
	CHECK(rc == code && strstr(why.text, word) != NULL, "%s: refused: %s", what, why.text);
	memset(&why, 0, sizeof(why));
	rc = bs_density(host, &p, &t, NULL, team, &why);
	if (rc == 0)
		rc = bs_density_cuda(got, &p, &t, NULL, team, &why);
	CHECK(rc == 0 && memcmp(host, got, n * sizeof(*host)) == 0 && why.text[0] == '\0',
	      "%s: then by the host, its bytes, and no failure %s", what, why.text);
	bs_traj_close(&t);
	free(host);
	free(got);
}

static void check_full(void)
{
	void *held[HOARD];
	size_t size = (size_t)free_bytes();
	int n = 0;

	while (n < HOARD && size >= (size_t)1 << 16) {
		if (cudaMalloc(&held[n], size) == cudaSuccess)
			n++;
		else
			size /= 2;
	}
	(void)cudaGetLastError();
	check_refused("a full device", &many[3], BS_ERR_NOMEM, "(density weights) needs");
	while (n > 0)
		(void)cudaFree(held[--n]);
}

/* ---- through the engines -------------------------------------------------------------------- */

static int image_of(const struct bs_engine *engine, const struct bs_protocol *p,
		    const struct bs_traj *t, const float *weight, const char *cache,
		    const float *data, float *image, struct bs_fail *why)
{
	const struct bs_tables tables = { .traj = t, .weight = weight };
	const struct bs_arm_env env = { .team = team, .cache_dir = cache };
	struct bs_report report;
	struct armed a;
	int rc = armed_open(&a, engine, p, &tables, env, why);

	if (rc == 0)
		rc = armed_image(&a, data, image, &report);
	armed_close(&a);
	return rc;
}

/*
 * An engine uses these weights: given as a file they make the same image, byte for byte. With a
 * cache, variants of the gridding are measured first and the best is found again: the weights keep
 * their own.
 */
static void check_engine(const char *name, const struct bs_engine *engine, enum bs_method method,
			 const char *cache)
{
	const struct scan *s = &few[0];
	const size_t n = (size_t)s->samples * s->readouts;
	struct bs_protocol p;
	struct bs_traj t;
	struct bs_fail why = { 0 };
	float *weight = malloc(n * sizeof(*weight));
	float *data = malloc(n * 2 * 8);
	int rc = open_scan(&p, &t, s, 5, BS_NORMALIZE_AUTO, &why);
	uint64_t seed = 4711;

	p.method = method;
	p.lambda = 0.01;
	p.iterations = 4;
	p.fhd = p.q = BS_SUM_EXACT;
	bs_plan_make(&p);
	float *made = malloc(bs_protocol_image_bytes(&p));
	float *given = malloc(bs_protocol_image_bytes(&p));

	fill_random(data, n * 4, &seed);
	if (rc == 0)
		rc = bs_density_cuda(weight, &p, &t, NULL, team, &why);
	if (rc == 0)
		rc = image_of(engine, &p, &t, NULL, cache, data, made, &why);
	p.density = BS_DENSITY_FILE;
	bs_plan_make(&p);
	if (rc == 0)
		rc = image_of(engine, &p, &t, weight, cache, data, given, &why);
	CHECK(rc == 0 && memcmp(made, given, bs_protocol_image_bytes(&p)) == 0,
	      "%s: weights made at arm are the GPU's %s", name, rc != 0 ? why.text : "");
	bs_traj_close(&t);
	free(weight);
	free(data);
	free(made);
	free(given);
}

static void check_measured(void)
{
	char cache[] = "/tmp/boreside-density-XXXXXX";
	char clean[64];

	if (mkdtemp(cache) == NULL) {
		CHECK(false, "a folder");
		return;
	}
	check_engine("gridding, its variant measured", &bs_engine_cuda, BS_METHOD_GRIDDING, cache);
	(void)snprintf(clean, sizeof(clean), "rm -rf '%s'", cache);
	CHECK(system(clean) == 0, "the folder is removed");
}

static void compare_all(void)
{
	static const struct scan wide = { "", BS_TRAJ_RANDOM, 3, { 300, 4, 4 }, 50, 40, 1 };

	for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++)
		check_direct(&few[i]);
	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
		const struct scan *s = small() ? &few[i % 5] : &many[i];

		check_twins(s, BS_NORMALIZE_NONE);
		if (!small())
			check_twins(s, BS_NORMALIZE_UNIFORM);
	}
	check_refused("a volume with an axis of 600", &wide, BS_ERR_SIZE, "matrix");
	check_engine("gridding", &bs_engine_cuda, BS_METHOD_GRIDDING, "");
	check_engine("ls", &bs_engine_cuda, BS_METHOD_LS, "");
	if (!small()) {
		check_measured();
		check_full();
	}
}

int main(void)
{
	return twin_main("density compensation on the GPU", 2, compare_all);
}
