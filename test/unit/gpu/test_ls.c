/*
 * test/unit/gpu/test_ls.c - the regularized system and its solution against a dense one by LAPACK
 *
 * The dense system is formed from the definitions (sums of exponentials, sensitivities, W), nothing
 * of the operators under test. Tolerance 1e-5 of the solution (the issue's): single precision,
 * condition numbers of some hundreds at most.
 */
#define _DEFAULT_SOURCE /* M_PI */
#include "gpu/calibrate/dense.h"
#include "gpu/solve/ls.h"
#include "gpu/toeplitz/circulant.h"
#include "gpu/toeplitz/q.h"
#include "test/support/check.h"

#include <complex.h>
#include <string.h>

/* CMPLX is not in every compiler's complex.h; here all parts are finite. */
static double complex cplx(double re, double im)
{
	return re + im * I;
}

struct problem {
	const char *name;
	uint32_t dims, matrix[3], coils, samples;
	double lambda;
	int w; /* 0: identity, 1: real differences, 2: complex entries */
	enum bs_precond precond;
	uint32_t images; /* that coils see together; 0: one */
};

static struct bs_team *team;
static double l2;
static bool off; /* W is not used */

struct parts {
	size_t voxels, coils, images;
	float *k, *q, *maps, *fhd, *rho, *image;
	double complex *f;     /* [sample][voxel] */
	double complex *a, *b; /* the dense system */
	struct bs_csr w;
};

static float *random_floats(size_t n, uint64_t seed)
{
	float *x = malloc(n * 4);

	for (size_t i = 0; i < n; i++)
		x[i] = (float)(check_uniform(&seed) - 0.5);
	return x;
}

static double complex pair(const float *x, size_t i)
{
	return cplx((double)x[2 * i], (double)x[2 * i + 1]);
}

/* Differences between neighbors in memory, with uneven weights: rows of two entries. */
static void make_w(struct parts *p, bool is_complex)
{
	size_t n = p->voxels - 1;
	size_t parts = is_complex ? 2 : 1;
	uint64_t seed = 31;

	(void)bs_csr_open(&p->w, n + 1, p->voxels, 2 * n + 1, is_complex, NULL);
	for (size_t i = 0; i < n; i++) {
		float weight = (float)(0.2 + check_uniform(&seed));

		p->w.col[2 * i] = (uint32_t)i;
		p->w.col[2 * i + 1] = (uint32_t)i + 1;
		p->w.value[2 * i * parts] = -weight;
		p->w.value[(2 * i + 1) * parts + parts - 1] = weight; /* complex: i weight */
		p->w.start[i + 1] = 2 * (i + 1);
	}
	/* one row that holds the level, or constants would be free */
	p->w.col[2 * n] = 0;
	p->w.value[2 * n * parts] = 0.5f;
	p->w.start[n + 1] = 2 * n + 1;
	CHECK(bs_csr_seal(&p->w, NULL) == 0, "W");
}

static double complex w_at(const struct bs_csr *w, uint64_t e)
{
	return w->is_complex ? pair(w->value, e) : (double complex)(double)w->value[e];
}

static void make_f(struct parts *p, const struct problem *t)
{
	for (size_t m = 0; m < t->samples; m++)
		for (size_t v = 0; v < p->voxels; v++) {
			size_t at = v;
			double turn = 0.0;

			for (uint32_t a = 0; a < t->dims; a++) {
				int n = (int)(at % t->matrix[a]) - (int)(t->matrix[a] / 2);

				turn += (double)p->k[m * t->dims + a] * n;
				at /= t->matrix[a];
			}
			p->f[m * p->voxels + v] = cexp(cplx(0.0, -2.0 * M_PI * turn));
		}
}

/* v: a voxel of any image */
static double complex map_at(const struct parts *p, size_t c, size_t v)
{
	const size_t map = v / p->voxels * p->coils + c;

	return p->maps != NULL ? pair(p->maps, map * p->voxels + v % p->voxels) : 1.0;
}

static void make_dense(struct parts *p, const struct problem *t)
{
	double alone = off && l2 == 0.0 ? t->lambda : l2;
	double mu = off ? 0.0 : t->lambda * (double)p->voxels;
	size_t N = p->voxels;
	size_t V = p->images * N;

	for (size_t i = 0; i < V; i++)
		for (size_t j = 0; j < V; j++) {
			double complex sum = 0.0;
			double complex power = 0.0;

			for (size_t m = 0; m < t->samples; m++)
				sum += conj(p->f[m * N + i % N]) * p->f[m * N + j % N];
			for (size_t c = 0; c < p->coils; c++)
				power += conj(map_at(p, c, i)) * map_at(p, c, j);
			p->a[i + j * V] = sum * power + (t->w == 0 && i == j ? mu : 0.0) +
					  (i == j ? alone * (double)p->voxels : 0.0);
		}
	for (uint64_t row = 0; t->w != 0 && row < p->w.rows; row++)
		for (uint64_t e = p->w.start[row]; e < p->w.start[row + 1]; e++)
			for (uint64_t g = p->w.start[row]; g < p->w.start[row + 1]; g++)
				for (size_t at = 0; at < V; at += N)
					p->a[at + p->w.col[e] + (at + p->w.col[g]) * V] +=
						mu * conj(w_at(&p->w, e)) * w_at(&p->w, g);
}

/* F^H d of random data: the float fhd of each coil, and b = sum_c S_c^H of just those floats. */
static void make_rhs(struct parts *p, const struct problem *t)
{
	float *d = random_floats(p->coils * t->samples * 2, 61);

	for (size_t v = 0; v < p->images * p->voxels; v++)
		p->b[v] = 0.0;
	for (size_t c = 0; c < p->coils; c++)
		for (size_t v = 0; v < p->voxels; v++) {
			double complex sum = 0.0;
			float *to = p->fhd + 2 * (c * p->voxels + v);

			for (size_t m = 0; m < t->samples; m++)
				sum += conj(p->f[m * p->voxels + v]) * pair(d, c * t->samples + m);
			to[0] = (float)creal(sum);
			to[1] = (float)cimag(sum);
			for (size_t at = v; at < p->images * p->voxels; at += p->voxels)
				p->b[at] +=
					conj(map_at(p, c, at)) * cplx((double)to[0], (double)to[1]);
		}
	free(d);
}

static double rel(const float *x, const double complex *y, size_t n)
{
	double e = 0.0;
	double r = 0.0;

	for (size_t i = 0; i < n; i++) {
		double complex d = pair(x, i) - y[i];

		e += creal(d * conj(d));
		r += creal(y[i] * conj(y[i]));
	}
	return sqrt(e / r);
}

static void check_apply(struct bs_ls *plan, struct parts *p)
{
	const size_t n = p->images * p->voxels;
	double complex *truth = calloc(n, sizeof(*truth));
	float *x = random_floats(n * 2, 77);
	double e;

	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < n; i++)
			truth[i] += p->a[i + j * n] * pair(x, j);
	bs_ls_apply(plan, x, p->image);
	e = rel(p->image, truth, n);
	CHECK(e <= 1e-5, "the system's matrix: %.1e <= 1e-5", e);
	free(truth);
	free(x);
}

static uint32_t solve(const struct problem *t)
{
	struct parts p = { .voxels = (size_t)t->matrix[0] * t->matrix[1] * t->matrix[2],
			   .coils = t->coils > 0 ? t->coils : 1,
			   .images = t->images > 0 ? t->images : 1 };
	struct bs_q_spec qs = { t->dims,      { t->matrix[0], t->matrix[1], t->matrix[2] },
				t->samples,   BS_BASIS_DELTA,
				BS_SUM_EXACT, 0.0 };
	struct bs_ls_spec s = { .dims = t->dims,
				.matrix = { t->matrix[0], t->matrix[1], t->matrix[2] },
				.coils = t->coils,
				.images = t->images,
				.precond = t->precond,
				.iterations = 400,
				.lambda = t->lambda,
				.l2 = l2 };
	struct bs_pcg_stop stop = { 400, 1e-7, INT64_MAX };
	struct bs_pcg_result result = { 0 };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_fail why = { 0 };
	struct bs_ls *plan = NULL;
	const int n = (int)(p.images * p.voxels);
	double e;
	int rc;

	p.k = random_floats((size_t)t->samples * t->dims, 3);
	p.maps = t->coils > 0 ? random_floats(p.images * p.coils * p.voxels * 2, 17) : NULL;
	p.q = malloc(bs_q_size(&qs) * 8);
	p.fhd = malloc(p.coils * p.voxels * 8);
	p.rho = malloc((size_t)n * 8);
	p.image = malloc((size_t)n * 8);
	p.f = malloc(t->samples * p.voxels * sizeof(*p.f));
	p.a = malloc((size_t)n * (size_t)n * sizeof(*p.a));
	p.b = malloc((size_t)n * sizeof(*p.b));
	if (t->w != 0)
		make_w(&p, t->w == 2);
	make_f(&p, t);
	make_dense(&p, t);
	make_rhs(&p, t);
	rc = bs_q_make(p.q, &qs, p.k, NULL, &(struct bs_q_making){ .team = team }, &why);
	if (rc == 0)
		rc = bs_ls_need(&s, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_ls_plan(&plan, &s, p.q, p.maps, t->w != 0 ? &p.w : NULL,
				&(struct bs_arm_env){ .arena = &arena, .team = team }, &why);
	CHECK(rc == 0 && arena.used == need.total_bytes, "%s: plan takes what need states %s",
	      t->name, why.text);
	if (rc == 0 && t->w != 0) {
		bs_ls_hold(plan, off); /* changed back and forth */
		bs_ls_hold(plan, !off);
	}
	if (rc == 0) {
		check_apply(plan, &p);
		bs_ls_solve(plan, p.fhd, p.rho, &stop, &result);
		CHECK(bs_dense_open(&why) == 0 && bs_dense_solve((uint32_t)n, 1, (double *)p.a,
								 (double *)p.b, &why) == 0,
		      "LAPACK solves it: %s", why.text);
		e = rel(p.rho, p.b, (size_t)n);
		CHECK(e <= 1e-5, "%s: %.1e of the dense solution after %u iterations", t->name, e,
		      result.iterations);
	}
	bs_ls_close(plan);
	bs_arena_close(&arena);
	if (t->w != 0)
		bs_csr_close(&p.w);
	free(p.k);
	free(p.maps);
	free(p.q);
	free(p.fhd);
	free(p.rho);
	free(p.image);
	free(p.f);
	free(p.a);
	free(p.b);
	return result.iterations;
}

/*
 * With weights that make F^H F diagonal in Fourier space (a full Cartesian grid) C is F^H F itself.
 */
static void circulant_inverse(void)
{
	const uint32_t N[3] = { 6, 5, 4 };
	struct bs_q_spec qs = { 3, { 6, 5, 4 }, 120, BS_BASIS_DELTA, BS_SUM_EXACT, 0.0 };
	struct bs_need need = { 0 };
	struct bs_arena arena;
	struct bs_circulant *plan = NULL;
	float *q = malloc(bs_q_size(&qs) * 8);
	float *weight = random_floats(120, 41);
	float *in = random_floats(240, 43);
	float out[240];
	float k[360];
	double complex truth[120] = { 0 };
	double e;

	for (int m = 0; m < 120; m++) {
		int at = m;

		weight[m] += 1.0f;
		for (int a = 0; a < 3; a++) {
			k[3 * m + a] = (float)(at % (int)N[a] - (int)(N[a] / 2)) / (float)N[a];
			at /= (int)N[a];
		}
	}
	/* (F^H D F + s)^-1 = sum over k of e_k e_k^H / (120 (120 w_k + s)) */
	for (int m = 0; m < 120; m++) {
		double complex f[120];
		double complex dot = 0.0;

		for (int v = 0; v < 120; v++) {
			double turn = (double)k[3 * m] * (v % 6) +
				      (double)k[3 * m + 1] * (v / 6 % 5) +
				      (double)k[3 * m + 2] * (v / 30);

			f[v] = cexp(cplx(0.0, 2.0 * M_PI * turn));
			dot += conj(f[v]) * pair(in, (size_t)v);
		}
		for (int v = 0; v < 120; v++)
			truth[v] += f[v] * dot / (120.0 * (2.0 * 120.0 * (double)weight[m] + 7.0));
	}
	CHECK(bs_q_make(q, &qs, k, weight, &(struct bs_q_making){ .team = team }, NULL) == 0 &&
		      bs_circulant_need(3, N, &need, NULL) == 0 &&
		      bs_arena_open(&arena, need.total_bytes, NULL) == 0 &&
		      bs_circulant_plan(&plan, 3, N, q, &arena, team, NULL) == 0,
	      "circulant of a full grid");
	if (plan == NULL)
		return;
	bs_circulant_shift(plan, 2.0, 7.0);
	bs_circulant_apply(plan, in, out);
	e = rel(out, truth, 120);
	CHECK(e <= 1e-5, "on a full Cartesian grid it is the inverse: %.1e <= 1e-5", e);
	bs_circulant_close(plan);
	bs_arena_close(&arena);
	free(q);
	free(weight);
	free(in);
}

int main(void)
{
	const struct problem problems[] = {
		{ "2D", 2, { 9, 8, 1 }, 0, 400, 0.05, 0, BS_PRECOND_NONE, 1 },
		{ "2D without regularization", 2, { 9, 8, 1 }, 0, 600, 0.0, 0, BS_PRECOND_NONE, 1 },
		{ "3D", 3, { 5, 6, 4 }, 0, 500, 0.05, 0, BS_PRECOND_NONE, 1 },
		{ "2D with W", 2, { 9, 8, 1 }, 0, 300, 0.5, 1, BS_PRECOND_NONE, 1 },
		{ "3D with a complex W", 3, { 5, 6, 4 }, 0, 500, 0.5, 2, BS_PRECOND_NONE, 1 },
		{ "F^H F singular", 2, { 9, 8, 1 }, 0, 40, 0.1, 0, BS_PRECOND_NONE, 1 },
		{ "F^H F singular, with W", 2, { 9, 8, 1 }, 0, 40, 1.0, 1, BS_PRECOND_NONE, 1 },
		{ "3 coils", 2, { 9, 8, 1 }, 3, 60, 0.1, 0, BS_PRECOND_NONE, 1 },
		{ "3 coils in 3D, with W", 3, { 5, 6, 4 }, 3, 100, 0.5, 1, BS_PRECOND_NONE, 1 },
		{ "1 coil", 2, { 9, 8, 1 }, 1, 300, 0.1, 0, BS_PRECOND_NONE, 1 },
		{ "Jacobi, 3 coils", 2, { 9, 8, 1 }, 3, 60, 0.1, 0, BS_PRECOND_JACOBI, 1 },
		{ "Jacobi with W", 2, { 9, 8, 1 }, 0, 300, 0.5, 1, BS_PRECOND_JACOBI, 1 },
		{ "circulant", 2, { 9, 8, 1 }, 0, 300, 0.05, 0, BS_PRECOND_CIRCULANT, 1 },
		{ "2 images, 4 coils", 2, { 9, 8, 1 }, 4, 80, 0.1, 0, BS_PRECOND_NONE, 2 },
		{ "2 images in 3D, W", 3, { 5, 6, 4 }, 5, 90, 0.5, 1, BS_PRECOND_NONE, 2 },
		{ "circulant in 3D, coils, W",
		  3,
		  { 5, 6, 4 },
		  3,
		  100,
		  0.5,
		  1,
		  BS_PRECOND_CIRCULANT,
		  1 },
	};

	(void)bs_team_open(&team, 2, NULL);
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		(void)solve(&problems[i]);
	l2 = 0.3;
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		(void)solve(&problems[i]);
	off = true;
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		if (problems[i].w != 0)
			(void)solve(&problems[i]);
	l2 = 0.0; /* lambda stands in for it */
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		if (problems[i].w != 0)
			(void)solve(&problems[i]);
	off = false;
	circulant_inverse();
	bs_team_close(team);
	return check_done();
}
