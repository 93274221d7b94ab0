/*
 * test/unit/gpu/test_thin.c - slabs, volumes of few partitions, single rows and columns: every
 * engine on the host against the model as a direct sum in double precision
 *
 * Gridding: the accuracy asked for, 1e-5. ls and sense: data of a known image, twice as many random
 * samples as voxels, so that the condition number is some tens: the bounds of test_engine_ls.c,
 * 1e-4 with exact sums, 2e-3 with the NUFFT at 1e-5. Pipe's weights are normalized by a direct sum:
 * what is left at the center of an image of ones is gridding's error, 1e-5 of the image's rms.
 */
#define _GNU_SOURCE /* M_PI */
#include <complex.h>

#include "test/support/direct.h"
#include "test/support/plan/planned.h"
#include "test/support/plan/engine.h"

#define COILS    2u
#define READOUTS 8u
#define POINTS   64 /* voxels of a coil that are summed directly */

struct trial {
	struct bs_protocol p;
	struct bs_traj traj;
	size_t voxels, samples;
	float *x, *maps;       /* one image; [coil] */
	float *each, *weighed; /* data [coil][sample]: of x, of x through the maps */
	double *e[3];          /* phases on each axis, [sample][voxel] complex */
};

static struct bs_team *team;
static uint64_t seed = 77;

static float *uniform(size_t n, double from, double to)
{
	float *v = malloc(n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = (float)(from + (to - from) * check_uniform(&seed));
	return v;
}

static double complex at(const double *e, size_t i)
{
	return e[2 * i] + I * e[2 * i + 1];
}

/* sum_n image(n) exp(-i2pi k_m.n), axis by axis. */
static double complex sample_of(const struct trial *t, const double complex *image, size_t m)
{
	const uint32_t *n = t->p.matrix;
	double complex sum = 0.0;

	for (uint32_t z = 0; z < n[2]; z++) {
		double complex plane = 0.0;

		for (uint32_t y = 0; y < n[1]; y++) {
			double complex row = 0.0;

			for (uint32_t x = 0; x < n[0]; x++)
				row += *image++ * conj(at(t->e[0], m * n[0] + x));
			plane += row * conj(at(t->e[1], m * n[1] + y));
		}
		sum += plane * conj(at(t->e[2], m * n[2] + z));
	}
	return sum;
}

/* The data of [coil] images, each x or x times its map. */
static float *data_of(const struct trial *t, const float *x, const float *maps)
{
	double complex *in = malloc(t->voxels * sizeof(*in));
	float *d = malloc(COILS * t->samples * 8);

	for (uint32_t c = 0; c < COILS; c++) {
		for (size_t v = 0; v < t->voxels; v++) {
			const float *s = maps + 2 * (c * t->voxels + v);

			in[v] = (double)x[2 * v] + I * (double)x[2 * v + 1];
			in[v] *= maps != NULL ? (double)s[0] + I * (double)s[1] : 1.0;
		}
		for (size_t m = 0; m < t->samples; m++) {
			const double complex value = sample_of(t, in, m);

			d[2 * (c * t->samples + m)] = (float)creal(value);
			d[2 * (c * t->samples + m) + 1] = (float)cimag(value);
		}
	}
	free(in);
	return d;
}

/* The adjoint at one voxel. */
static double complex voxel_of(const struct trial *t, const float *data, uint32_t coil, size_t v)
{
	const uint32_t *n = t->p.matrix;
	double complex sum = 0.0;

	for (size_t m = 0; m < t->samples; m++) {
		const float *d = data + 2 * (coil * t->samples + m);

		sum += ((double)d[0] + I * (double)d[1]) * at(t->e[0], m * n[0] + v % n[0]) *
		       at(t->e[1], m * n[1] + v / n[0] % n[1]) *
		       at(t->e[2], m * n[2] + v / n[0] / n[1]);
	}
	return sum;
}

static void open_trial(struct trial *t, uint32_t dims, uint32_t x, uint32_t y, uint32_t z)
{
	struct bs_protocol *p = &t->p;

	memset(t, 0, sizeof(*t));
	*p = path_of(BS_METHOD_GRIDDING, BS_TRAJ_FILE, x, y, z, COILS);
	solved(p, 1e-7, 200);
	p->backend = BS_BACKEND_HOST;
	p->dims = dims;
	p->readouts = READOUTS;
	p->output = BS_OUTPUT_COMPLEX;
	p->tolerance = 1e-6;
	p->density = BS_DENSITY_NONE;
	p->density_iterations = 4;
	p->fhd = p->q = BS_SUM_EXACT;
	t->voxels = (size_t)bs_protocol_voxels(p);
	p->samples = (uint32_t)(2 * t->voxels + READOUTS - 1) / READOUTS + 1;
	t->samples = (size_t)bs_protocol_samples(p);
	t->traj = (struct bs_traj){ .dims = dims, .samples = p->samples, .readouts = READOUTS };
	t->traj.k = uniform(t->samples * dims, -0.5, 0.49999);
	t->x = uniform(2 * t->voxels, -0.3, 0.7);
	t->maps = uniform(2 * COILS * t->voxels, 0.5, 1.0);
	for (uint32_t a = 0; a < 3; a++) {
		float *none = calloc(t->samples, 4); /* an axis that 2D lacks: k is 0 */

		t->e[a] = a < dims ? phases(t->traj.k, dims, a, t->samples, p->matrix[a])
				   : phases(none, 1, 0, t->samples, 1);
		free(none);
	}
	t->each = data_of(t, t->x, NULL);
	t->weighed = data_of(t, t->x, t->maps);
}

static void close_trial(struct trial *t)
{
	for (uint32_t a = 0; a < 3; a++)
		free(t->e[a]);
	free(t->traj.k);
	free(t->x);
	free(t->maps);
	free(t->each);
	free(t->weighed);
}

/* The image of one frame, or NULL; the caller frees it. */
static float *image_of(const struct trial *t, const struct bs_protocol *p, const float *data)
{
	const struct bs_tables tables = { .traj = &t->traj,
					  .maps = bs_methods[p->method].uses_maps ? t->maps
										  : NULL };
	const struct bs_arm_env env = { .team = team, .cache_dir = "" };
	float *image = malloc((size_t)bs_protocol_image_bytes(p));
	struct bs_report report = { 0 };
	struct bs_fail why = { 0 };
	struct armed a;
	int rc = armed_open(&a, NULL, p, &tables, env, &why);

	CHECK(rc == 0, "%s %ux%ux%u armed %s", bs_method_name(p->method), p->matrix[0],
	      p->matrix[1], p->matrix[2], why.text);
	if (rc == 0)
		rc = a.engine->begin(a.self, 0);
	for (uint32_t r = 0; rc == 0 && r < p->readouts; r++)
		rc = a.engine->add(a.self, 0, r, NULL, data + 2 * (size_t)r * p->samples,
				   t->samples);
	if (rc == 0)
		rc = a.engine->image(a.self, 0, NULL, INT64_MAX, image, &report);
	armed_close(&a);
	if (rc == 0)
		return image;
	free(image);
	return NULL;
}

static void gridding(const struct trial *t)
{
	struct bs_protocol p = t->p;
	double error = 0.0;
	double size = 0.0;
	float *got;

	p.method = BS_METHOD_GRIDDING;
	bs_plan_make(&p);
	got = image_of(t, &p, t->weighed);
	for (uint32_t i = 0; got != NULL && i < COILS * POINTS; i++) {
		const size_t v = (size_t)(check_uniform(&seed) * (double)t->voxels);
		const float *g = got + 2 * (i % COILS * t->voxels + v);
		const double complex want = voxel_of(t, t->weighed, i % COILS, v);
		const double complex off = want - ((double)g[0] + I * (double)g[1]);

		error += creal(off * conj(off));
		size += creal(want * conj(want));
	}
	error = sqrt(error / size);
	CHECK(error <= 1e-5, "gridding %ux%ux%u: %.1e from the direct sum; at most 1e-5",
	      p.matrix[0], p.matrix[1], p.matrix[2], error);
	free(got);
}

static void pipe_menon(const struct trial *t)
{
	struct bs_protocol p = t->p;
	float *ones = malloc(t->voxels * 8);
	size_t center = (size_t)(p.matrix[2] / 2 * p.matrix[1] + p.matrix[1] / 2) * p.matrix[0] +
			p.matrix[0] / 2;
	double error = 1.0;
	double rms = 0.0;
	float *data;
	float *got;

	for (size_t v = 0; v < t->voxels; v++) {
		ones[2 * v] = 1.0f;
		ones[2 * v + 1] = 0.0f;
	}
	p.method = BS_METHOD_GRIDDING;
	p.density = BS_DENSITY_PIPE;
	bs_plan_make(&p);
	data = data_of(t, ones, NULL);
	got = image_of(t, &p, data);
	for (size_t v = 0; got != NULL && v < 2 * t->voxels; v++)
		rms += pow((double)got[v], 2.0) / (double)t->voxels;
	rms = sqrt(rms);
	if (got != NULL)
		error = fabs((double)got[2 * center] - 1.0);
	CHECK(error <= 1e-5 * fmax(rms, 1.0),
	      "pipe %ux%ux%u: an image of ones is one at its center: %.1e of rms %.1e", p.matrix[0],
	      p.matrix[1], p.matrix[2], error, rms);
	free(data);
	free(got);
	free(ones);
}

static void solver(const struct trial *t, enum bs_method method, enum bs_sum sum,
		   enum bs_precond precond)
{
	struct bs_protocol p = t->p;
	const double bound = sum == BS_SUM_EXACT ? 1e-4 : 2e-3;
	float *got;
	double error = 1.0;

	p.method = method;
	p.fhd = p.q = sum;
	p.precond = precond;
	bs_plan_make(&p);
	got = image_of(t, &p, bs_methods[method].uses_maps ? t->weighed : t->each);
	if (got != NULL)
		error = check_rel(got, t->x, 2 * t->voxels);
	CHECK(error <= bound, "%s %ux%ux%u, %s, preconditioner %d: %.1e of the image; at most %.0e",
	      bs_method_name(method), p.matrix[0], p.matrix[1], p.matrix[2],
	      sum == BS_SUM_EXACT ? "exact" : "NUFFT", (int)precond, error, bound);
	free(got);
}

int main(void)
{
	static const uint32_t sizes[][4] = {
		{ 3, 32, 32, 4 }, { 3, 20, 33, 3 }, { 3, 17, 16, 1 }, { 3, 8, 8, 8 },
		{ 3, 16, 18, 2 }, { 2, 5, 7, 1 },   { 2, 1, 16, 1 },  { 2, 16, 1, 1 },
		{ 3, 1, 1, 6 },   { 3, 1, 5, 3 },   { 2, 1, 1, 1 },
	};

	if (bs_team_open(&team, 1, NULL) != 0)
		return 1;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct trial t;

		open_trial(&t, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);
		gridding(&t);
		pipe_menon(&t);
		if (t.voxels < 1000) {
			solver(&t, BS_METHOD_LS, BS_SUM_EXACT, BS_PRECOND_NONE);
			solver(&t, BS_METHOD_LS, BS_SUM_NUFFT, BS_PRECOND_CIRCULANT);
		}
		solver(&t, BS_METHOD_SENSE, BS_SUM_EXACT, BS_PRECOND_JACOBI);
		solver(&t, BS_METHOD_SENSE, BS_SUM_NUFFT, BS_PRECOND_CIRCULANT);
		close_trial(&t);
	}
	bs_team_close(team);
	return check_done();
}
