/*
 * test/twin/twin_pcg.c - conjugate gradients on the GPU against the host's over the same operators
 *
 * Eight iterations on well conditioned systems: each adds a few single-precision roundings to what
 * the operators differ by (1e-6), so 1e-5 for the images.
 */
#include "test/support/check.h"
#include "core/thread/clock.h"
#include "core/solve/pcg.h"
#include "gpu/solve/csr.h"
#include "gpu/solve/pcg_cuda.h"
#include "gpu/toeplitz/q.h"
#include "test/twin/device.h"

#define NX         24u
#define NY         20u
#define NZ         16u
#define VOXELS     ((size_t)NX * NY * NZ)
#define COILS      3u
#define SAMPLES    20000u
#define ITERATIONS 8u

static float *q, *maps, *b;
static uint32_t most = ITERATIONS;
static size_t q_floats;

struct host_system {
	struct bs_toeplitz *normal;
	const struct bs_csr *w;
	float *rows;
	double mu;
	const float *inverse;
	bool sense;
};

static void host_apply(void *self, const float *in, float *out)
{
	struct host_system *s = self;

	if (s->sense)
		bs_toeplitz_sense(s->normal, COILS, maps, in, out);
	else
		bs_toeplitz_apply(s->normal, 1, in, out);
	if (s->w != NULL) {
		bs_csr_forward(team, s->w, in, s->rows);
		bs_csr_adjoint_add(team, s->w, (float)s->mu, s->rows, out);
	} else {
		for (size_t i = 0; i < 2 * VOXELS; i++)
			out[i] += (float)s->mu * in[i];
	}
}

static void host_precond(void *self, const float *in, float *out)
{
	struct host_system *s = self;

	for (size_t i = 0; i < 2 * VOXELS; i++)
		out[i] = s->inverse[i / 2] * in[i];
}

/* Weighted differences along x and y, and a last row over many voxels. */
static int make_w(struct bs_csr *w, bool is_complex, uint64_t last)
{
	struct bs_fail why = { 0 };
	uint64_t seed = 12;
	uint64_t rows = 2 * VOXELS + 1;
	uint64_t e = 0;

	if (bs_csr_open(w, rows, VOXELS, 4 * VOXELS + last, is_complex, &why) != 0)
		return 0;
	for (uint64_t r = 0; r < rows; r++) {
		uint64_t n = r < 2 * VOXELS ? 2 : last;

		w->start[r] = e;
		for (uint64_t i = 0; i < n; i++, e++) {
			uint64_t v = r < 2 * VOXELS ? r / 2 : 0;
			uint64_t step = r % 2 == 0 || n > 2 ? 1 : NX;

			v = v + step >= VOXELS ? VOXELS - 1 - step : v;
			w->col[e] = (uint32_t)(v + i * step);
			for (int c = 0; c < (is_complex ? 2 : 1); c++)
				w->value[(is_complex ? 2 * e : e) + (uint64_t)c] =
					(float)((i % 2 ? -1.0 : 1.0) *
						(0.5 + check_uniform(&seed)));
		}
	}
	w->start[rows] = e;
	return bs_csr_seal(w, &why) == 0;
}

/* ||b - A x|| / ||b||, summed in double. */
static double residual_of(struct host_system *s, const float *x)
{
	float *ax = malloc(8 * VOXELS);
	double residual;

	host_apply(s, x, ax);
	residual = check_rel(ax, b, 2 * VOXELS);
	free(ax);
	return residual;
}

/* of: another solution, whose residual is wanted, or NULL. */
static void host_solve(struct host_system *s, float *x, struct bs_pcg_result *result,
		       const float *of, double *residual)
{
	struct bs_toeplitz_spec spec = { .dims = 3, .matrix = { NX, NY, NZ }, .coils = COILS };
	struct bs_pcg_spec cg = { .size = VOXELS,
				  .iterations = most,
				  .precond = s->inverse != NULL };
	struct bs_pcg_stop stop = { .iterations = most, .deadline_ns = INT64_MAX };
	struct bs_pcg_system system = { .self = s,
					.apply = host_apply,
					.precond = s->inverse != NULL ? host_precond : NULL };
	struct bs_need need = { 0 };
	struct bs_arena arena = { 0 };
	struct bs_pcg *pcg = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_toeplitz_need(&spec, &need, &why);

	if (rc == 0)
		rc = bs_pcg_need(&cg, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_toeplitz_plan(&s->normal, &spec, q, &arena, team, &why);
	if (rc == 0)
		rc = bs_pcg_plan(&pcg, &cg, &arena, team, &why);
	CHECK(rc == 0, "host solver %s", why.text);
	if (rc == 0) {
		bs_pcg_solve(pcg, &system, b, x, &stop, result);
		if (of != NULL)
			*residual = residual_of(s, of);
	}
	bs_pcg_close(pcg);
	bs_toeplitz_close(s->normal);
	bs_arena_close(&arena);
}

/* Everything on the device, for one system. */
struct device_side {
	struct bs_devmem mem;
	struct bs_toeplitz_cuda *normal;
	struct bs_csr_cuda gram, c, adjoint;
	struct bs_pcg_cuda *pcg;
	float *q, *maps, *b, *x, *inverse;
};

static int device_open(struct device_side *d, const struct host_system *s, bool gram,
		       struct bs_fail *why)
{
	struct bs_toeplitz_spec spec = { .dims = 3, .matrix = { NX, NY, NZ }, .coils = COILS };
	struct bs_pcg_cuda_spec cg = { .voxels = VOXELS,
				       .iterations = most,
				       .rows = s->w != NULL ? s->w->rows : 0 };
	struct bs_pcg_cuda_system system = { .coils = s->sense ? COILS : 1, .mu = s->mu };
	struct bs_csr g = { 0 };
	uint64_t bytes[2];

	memset(d, 0, sizeof(*d));
	d->q = device_copy(q, q_floats);
	d->maps = device_copy(maps, 2 * VOXELS * COILS);
	d->b = device_copy(b, 2 * VOXELS);
	d->x = device_copy(NULL, 2 * VOXELS);
	d->inverse = s->inverse != NULL ? device_copy(s->inverse, VOXELS) : NULL;
	int rc = bs_toeplitz_cuda_need(&spec, &bytes[0], why);

	if (rc == 0)
		rc = bs_pcg_cuda_need(&cg, &bytes[1], why);
	if (rc == 0)
		rc = bs_devmem_open(&d->mem, bytes[0] + bytes[1] + (64u << 20), "twin_pcg", why);
	if (rc == 0)
		rc = bs_toeplitz_cuda_plan(&d->normal, &spec, d->q, &d->mem, why);
	if (rc == 0 && s->w != NULL && gram) {
		rc = bs_csr_gram(&g, s->w, UINT64_C(1) << 24, why);
		if (rc == 0)
			rc = bs_csr_cuda_plan(&d->gram, &g, BS_CSR_PLAIN, &d->mem, why);
		system.gram = &d->gram;
	} else if (rc == 0 && s->w != NULL) {
		rc = bs_csr_cuda_plan(&d->c, s->w, BS_CSR_PLAIN, &d->mem, why);
		if (rc == 0)
			rc = bs_csr_cuda_plan(&d->adjoint, s->w, BS_CSR_ADJOINT, &d->mem, why);
		system.w = &d->c;
		system.adjoint = &d->adjoint;
	}
	bs_csr_close(&g);
	system.normal = d->normal;
	system.maps = s->sense ? d->maps : NULL;
	system.inverse = d->inverse;
	system.b = d->b;
	system.x = d->x;
	if (rc == 0)
		rc = bs_pcg_cuda_plan(&d->pcg, &cg, &system, &d->mem, why);
	return rc;
}

static void device_close(struct device_side *d)
{
	bs_pcg_cuda_close(d->pcg);
	bs_toeplitz_cuda_close(d->normal);
	bs_devmem_close(&d->mem);
	(void)cudaFree(d->q);
	(void)cudaFree(d->maps);
	(void)cudaFree(d->b);
	(void)cudaFree(d->x);
	(void)cudaFree(d->inverse);
}

static void check_deadlines(struct device_side *d, const float *want)
{
	struct bs_pcg_result result;
	struct bs_fail why = { 0 };
	float *got = malloc(8 * VOXELS);
	int rc = bs_pcg_cuda_solve(d->pcg, ITERATIONS, 1, NULL, &result, &why);

	CHECK(rc == 0 && result.iterations == 1 && result.deadline_stop,
	      "a deadline already past leaves an image of %u iteration, whatever is known %s",
	      result.iterations, why.text);
	rc = bs_pcg_cuda_solve(d->pcg, ITERATIONS, bs_now_ns() + INT64_C(3600000000000), NULL,
			       &result, &why);
	CHECK(rc == 0 && result.iterations == ITERATIONS && !result.deadline_stop &&
		      fetch(got, d->x, 2 * VOXELS) && memcmp(got, want, 8 * VOXELS) == 0,
	      "a distant deadline changes nothing %s", why.text);
	rc = bs_pcg_cuda_solve(d->pcg, 3, INT64_MAX, NULL, &result, &why);
	CHECK(rc == 0 && result.iterations == 3, "three iterations when three are asked for %s",
	      why.text);
	free(got);
}

static void check_system(const char *what, struct host_system *s, bool gram, int runs)
{
	struct device_side d;
	struct bs_pcg_result host = { 0 };
	struct bs_pcg_result result = { 0 };
	struct bs_fail why = { 0 };
	float *want = malloc(8 * VOXELS);
	float *got = malloc(8 * VOXELS);
	uint64_t first = 0;
	int same = 1;

	s->rows = s->w != NULL ? malloc(s->w->rows * 8) : NULL;
	host_solve(s, want, &host, NULL, NULL);
	int rc = device_open(&d, s, gram, &why);

	for (int r = 0; r < runs && rc == 0; r++) {
		rc = bs_pcg_cuda_solve(d.pcg, ITERATIONS, INT64_MAX, NULL, &result, &why);
		if (rc == 0 && !fetch(got, d.x, 2 * VOXELS))
			rc = bs_fail(&why, BS_ERR_GPU, "fetch");
		first = r == 0 ? hash_of(got, 2 * VOXELS) : first;
		same &= hash_of(got, 2 * VOXELS) == first;
	}
	CHECK(rc == 0, "%s %s", what, why.text);
	if (rc == 0) {
		double error = check_rel(got, want, 2 * VOXELS);

		CHECK(same, "%s: %d runs, one hash", what, runs);
		CHECK(result.iterations == host.iterations, "%s: %u iterations as the host", what,
		      result.iterations);
		CHECK(error <= 1e-5, "%s: image %.2e", what, error);
		CHECK(fabs(result.residual - host.residual) <= 1e-4 * host.residual + 1e-7,
		      "%s: residual %.6e, host %.6e", what, result.residual, host.residual);
		check_deadlines(&d, got);
	}
	device_close(&d);
	free(s->rows);
	free(want);
	free(got);
}

/*
 * Where round-off ends it: the recurrence would go on to 1e-16. What remains are the roundings of
 * x, of A x by the device, and of A x by the host: of one size, so a factor of 2.
 */
static void check_round_off(const char *what, struct host_system *s, bool gram)
{
	struct device_side d;
	struct bs_pcg_result host = { 0 };
	struct bs_pcg_result result = { 0 };
	struct bs_fail why = { 0 };
	float *want = malloc(8 * VOXELS);
	float *got = malloc(8 * VOXELS);
	double residual = 0.0;

	most = 400;
	s->rows = s->w != NULL ? malloc(s->w->rows * 8) : NULL;
	int rc = device_open(&d, s, gram, &why);

	if (rc == 0)
		rc = bs_pcg_cuda_solve(d.pcg, most, INT64_MAX, NULL, &result, &why);
	if (rc == 0 && !fetch(got, d.x, 2 * VOXELS))
		rc = bs_fail(&why, BS_ERR_GPU, "fetch");
	CHECK(rc == 0, "%s, to round-off %s", what, why.text);
	host_solve(s, want, &host, got, &residual);
	CHECK(host.iterations < most && result.iterations <= host.iterations + 1 &&
		      result.iterations + 1 >= host.iterations,
	      "%s: stops after %u iterations, the host after %u", what, result.iterations,
	      host.iterations);
	CHECK(result.residual >= 0.5 * residual && result.residual <= 2.0 * residual,
	      "%s: residual %.3e, by the host's A %.3e", what, result.residual, residual);
	device_close(&d);
	free(s->rows);
	free(want);
	free(got);
	most = ITERATIONS;
}

static void make_data(void)
{
	struct bs_q_spec spec = {
		.dims = 3, .matrix = { NX, NY, NZ }, .samples = SAMPLES, .sum = BS_SUM_EXACT
	};
	struct bs_fail why = { 0 };
	uint64_t seed = 4;
	float *k = malloc(SAMPLES * 12);

	q_floats = 2 * bs_q_size(&spec);
	q = malloc(q_floats * 4);
	maps = malloc(VOXELS * COILS * 8);
	b = malloc(VOXELS * 8);
	fill_k(k, SAMPLES * 3, &seed);
	fill_random(maps, VOXELS * COILS * 2, &seed);
	fill_random(b, VOXELS * 2, &seed);
	CHECK(bs_q_make(q, &spec, k, NULL, &(struct bs_q_making){ .team = team }, &why) == 0,
	      "Q %s", why.text);
	free(k);
}

/* out (+)= scale M in, for W, its adjoint and its Gram matrix; a row of 1,000 entries among short
 * ones. */
static void check_products(bool is_complex)
{
	struct bs_csr w = { 0 };
	struct bs_csr gram = { 0 };
	struct bs_csr_cuda m[3];
	struct bs_devmem mem = { 0 };
	struct bs_fail why = { 0 };
	int made = make_w(&w, is_complex, 1000) &&
		   bs_csr_gram(&gram, &w, UINT64_C(1) << 24, &why) == 0 &&
		   bs_csr_seal(&gram, &why) == 0;

	CHECK(made, "a constraint and its Gram matrix %s", why.text);
	if (!made)
		return;
	float *rows = malloc(w.rows * 8);
	float *want = malloc(VOXELS * 8);
	float *got = malloc(w.rows * 8);
	float *p = device_copy(b, 2 * VOXELS);
	float *r = device_copy(NULL, 2 * w.rows);
	float *out = device_copy(b, 2 * VOXELS);
	int rc = bs_devmem_open(&mem, UINT64_C(256) << 20, "products", &why);

	if (rc == 0)
		rc = bs_csr_cuda_plan(&m[0], &w, BS_CSR_PLAIN, &mem, &why);
	if (rc == 0)
		rc = bs_csr_cuda_plan(&m[1], &w, BS_CSR_ADJOINT, &mem, &why);
	if (rc == 0)
		rc = bs_csr_cuda_plan(&m[2], &gram, BS_CSR_PLAIN, &mem, &why);
	if (rc == 0)
		rc = bs_csr_cuda_product(&m[0], 1.0f, p, r, false, NULL, &why);
	CHECK(rc == 0 && fetch(got, r, 2 * w.rows), "products %s", why.text);
	bs_csr_forward(team, &w, b, rows);
	CHECK(check_rel(got, rows, 2 * w.rows) <= 1e-5, "W p: %.2e",
	      check_rel(got, rows, 2 * w.rows));
	memcpy(want, b, VOXELS * 8);
	bs_csr_adjoint_add(team, &w, 0.5f, rows, want);
	rc = bs_csr_cuda_product(&m[1], 0.5f, r, out, true, NULL, &why);
	CHECK(rc == 0 && fetch(got, out, 2 * VOXELS) && check_rel(got, want, 2 * VOXELS) <= 1e-5,
	      "p + W^H W p / 2: %.2e", check_rel(got, want, 2 * VOXELS));
	memset(want, 0, VOXELS * 8);
	bs_csr_adjoint_add(team, &w, 1.0f, rows, want);
	rc = bs_csr_cuda_product(&m[2], 1.0f, p, out, false, NULL, &why);
	CHECK(rc == 0 && fetch(got, out, 2 * VOXELS) && check_rel(got, want, 2 * VOXELS) <= 1e-5,
	      "(W^H W) p: %.2e", check_rel(got, want, 2 * VOXELS));
	bs_devmem_close(&mem);
	(void)cudaFree(p);
	(void)cudaFree(r);
	(void)cudaFree(out);
	free(rows);
	free(want);
	free(got);
	bs_csr_close(&w);
	bs_csr_close(&gram);
}

static void check_all(void)
{
	struct bs_csr real = { 0 };
	struct bs_csr complex_w = { 0 };
	struct host_system plain = { .mu = 500.0 };
	struct host_system sense = { .mu = 500.0, .sense = true };
	struct host_system with_w = { .mu = 300.0, .w = &real };
	struct host_system with_complex = { .mu = 300.0, .w = &complex_w };
	struct host_system jacobi = { .mu = 300.0, .w = &real };
	struct bs_fail why = { 0 };
	struct bs_csr gram = { 0 };
	float *inverse = malloc(VOXELS * 4);

	check_products(false);
	check_products(true);
	CHECK(make_w(&real, false, 5) && make_w(&complex_w, true, 40), "constraints");
	bs_csr_gram_diagonal(&real, inverse);
	for (size_t i = 0; i < VOXELS; i++)
		inverse[i] = 1.0f / (q[0] + 300.0f * inverse[i]);
	jacobi.inverse = inverse;
	if (small()) { /* under compute-sanitizer */
		check_system("gram of real W", &with_w, true, 1);
		bs_csr_close(&real);
		bs_csr_close(&complex_w);
		free(inverse);
		return;
	}
	check_system("identity", &plain, false, 100);
	check_system("sense", &sense, false, 3);
	check_system("gram of real W", &with_w, true, 3);
	check_system("real W and its adjoint", &with_w, false, 3);
	check_system("gram of complex W", &with_complex, true, 3);
	check_system("complex W and its adjoint", &with_complex, false, 3);
	check_system("Jacobi", &jacobi, true, 3);
	check_round_off("identity", &plain, false);
	check_round_off("sense", &sense, false);
	check_round_off("complex W and its adjoint", &with_complex, false);
	check_round_off("Jacobi", &jacobi, true);
	CHECK(bs_csr_gram(&gram, &complex_w, 1000, &why) == BS_ERR_UNSUPPORTED, "refused: %s",
	      why.text);
	bs_csr_close(&real);
	bs_csr_close(&complex_w);
	free(inverse);
}

static void compare_all(void)
{
	make_data();
	check_all();
	free(q);
	free(maps);
	free(b);
}

int main(void)
{
	return twin_main("conjugate gradients on the GPU", 4, compare_all);
}
