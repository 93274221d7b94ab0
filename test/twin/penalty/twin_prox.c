/*
 * test/twin/penalty/twin_prox.c - the proximal solver on the GPU against the host's, by each prior
 *
 * A is M^H M of a sparse M. Both make the same decisions where no test lies within rounding, and
 * 1e-7 of a vector in each of 30 iterations, of which momentum makes some 10 times more, is 1e-4 of
 * the image; the objective is flat there (1e-6). At no step does it rise.
 */
#include "gpu/calibrate/dense.h"
#include "gpu/penalty/penalty_cuda.h"
#include "gpu/solve/csr.h"
#include "gpu/solve/csr_cuda.h"
#include "test/twin/device.h"

#define ITERATIONS 30u
#define RUNS       4

struct problem {
	enum bs_prior kind;
	uint32_t n[3], images;
	bool shifts, warm;
	double lambda, tolerance;
	uint32_t iterations;
};

static const struct problem problems[] = {
	{ BS_PRIOR_WAVELET, { 61, 46, 1 }, 1, false, false, 0.3, 0.0, ITERATIONS },
	{ BS_PRIOR_WAVELET, { 50, 64, 1 }, 2, true, false, 0.3, 0.0, ITERATIONS },
	{ BS_PRIOR_WAVELET, { 34, 30, 23 }, 1, false, true, 0.3, 0.0, ITERATIONS },
	{ BS_PRIOR_WAVELET, { 40, 44, 1 }, 1, false, false, 0.3, 1e-4, 300 }, /* ends by itself */
	{ BS_PRIOR_TV, { 37, 45, 1 }, 1, false, false, 0.2, 0.0, ITERATIONS },
	{ BS_PRIOR_TV_FRAMES, { 21, 19, 1 }, 11, false, false, 0.2, 0.0, ITERATIONS },
	{ BS_PRIOR_TV_CYCLE, { 21, 19, 1 }, 11, false, true, 0.2, 0.0, ITERATIONS },
	{ BS_PRIOR_LOW_RANK, { 27, 30, 1 }, 13, false, false, 2.0, 0.0, ITERATIONS },
	{ BS_PRIOR_W, { 33, 29, 1 }, 1, false, false, 0.2, 0.0, ITERATIONS },
};

/* A solve's vectors on the host, and the operator on both. */
struct bench {
	const struct problem *t;
	struct bs_penalty_spec penalty;
	size_t n; /* complex values */
	struct bs_csr m, w;
	struct bs_csr_cuda plain, adjoint;
	float *rows; /* M in: host */
	float *rows_dev;
	float *b, *start, *want, *got;
	struct bs_prox_result host, device;
	double history[ITERATIONS * 10 + 1];
	double largest;
};

/* Rows that weigh neighbors in memory: `shift` places on, another weight each. */
static void make_matrix(struct bs_csr *m, size_t n, size_t shift)
{
	(void)bs_csr_open(m, n, n, 2 * n, false, NULL);
	for (size_t i = 0; i < n; i++) {
		const size_t other = (i + shift) % n;

		m->col[2 * i] = (uint32_t)(i < other ? i : other);
		m->col[2 * i + 1] = (uint32_t)(i < other ? other : i);
		m->value[2 * i] = 1.0f + 0.001f * (float)(i % 97);
		m->value[2 * i + 1] = -0.6f;
		m->start[i + 1] = 2 * (i + 1);
	}
	CHECK(bs_csr_seal(m, NULL) == 0, "a matrix");
}

static void apply_host(void *self, const float *in, float *out)
{
	struct bench *b = self;

	bs_csr_forward(team, &b->m, in, b->rows);
	memset(out, 0, b->n * 8);
	bs_csr_adjoint_add(team, &b->m, 1.0f, b->rows, out);
}

static int apply_device(void *self, const float *in, float *out, struct CUstream_st *stream,
			struct bs_fail *why)
{
	struct bench *b = self;
	const int rc = bs_csr_cuda_product(&b->plain, 1.0f, in, b->rows_dev, false, stream, why);

	return rc != 0 ? rc
		       : bs_csr_cuda_product(&b->adjoint, 1.0f, b->rows_dev, out, false, stream,
					     why);
}

static struct bs_prox_spec spec_of(const struct bench *b)
{
	return (struct bs_prox_spec){ b->n, b->t->iterations };
}

static bool solve_host(struct bench *b, const char *name)
{
	const struct bs_prox_spec spec = spec_of(b);
	const struct bs_prox_stop stop = { b->t->iterations, b->t->tolerance, INT64_MAX,
					   b->t->warm };
	struct bs_penalty_plan *penalty = NULL;
	struct bs_prox *prox = NULL;
	struct bs_arena arena = { 0 };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_prox_need(&spec, &need, &why);

	if (rc == 0)
		rc = bs_penalty_need(&b->penalty, &need, &why);
	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_penalty_plan(&penalty, &b->penalty, &b->w, &arena, team, &why);
	if (rc == 0)
		rc = bs_prox_plan(&prox, &spec, &arena, team, &why);
	CHECK(rc == 0, "%s: host %s", name, why.text);
	if (rc == 0) {
		struct bs_prox_system system = { b, apply_host, 0.0, bs_penalty_get(penalty) };

		bs_penalty_lambda(penalty, b->t->lambda);
		system.largest = b->largest = bs_prox_power(prox, &system, BS_PROX_POWER_STEPS);
		memcpy(b->want, b->start, b->n * 8);
		bs_prox_solve(prox, &system, b->b, b->want, &stop, &b->host);
		memcpy(b->history, b->host.history, (b->host.iterations + 1) * 8);
	}
	bs_prox_close(prox);
	bs_penalty_close(penalty);
	bs_arena_close(&arena);
	return rc == 0;
}

/* Solves some times: each run and each way of waiting gives the same bytes. */
static int runs(struct bench *b, struct bs_prox_cuda *prox, float *x, const char *name,
		struct bs_fail *why)
{
	const struct bs_prox_cuda_scale scale = { b->largest, b->t->lambda };
	const size_t n = b->n * 2;
	uint64_t first = 0;
	double largest = 0.0;
	int same = 1;
	int rc = bs_prox_cuda_power(prox, BS_PROX_POWER_STEPS, NULL, &largest, why);

	CHECK(fabs(largest / b->largest - 1.0) < 1e-5,
	      "%s: largest eigenvalue %.8g, the host's %.8g", name, largest, b->largest);
	for (int run = 0; rc == 0 && run < (small() ? 2 : RUNS); run++) {
		const struct bs_prox_stop stop = { b->t->iterations, b->t->tolerance,
						   run % 2 == 0 ? INT64_MAX : INT64_MAX - 1,
						   b->t->warm };

		(void)cudaMemcpy(x, b->start, b->n * 8, cudaMemcpyHostToDevice);
		rc = bs_prox_cuda_solve(prox, &scale, x, &stop, NULL, &b->device, why);
		if (rc == 0 && !fetch(b->got, x, n))
			rc = -1;
		if (run == 0)
			first = hash_of(b->got, n);
		same &= hash_of(b->got, n) == first;
	}
	CHECK(rc == 0 && same, "%s: the same bytes every run %s", name, why->text);
	return rc;
}

/* Under a deadline already past one iteration is made, as one without a deadline. */
static void late(struct bench *b, struct bs_prox_cuda *prox, float *x, const char *name)
{
	const struct bs_prox_cuda_scale scale = { b->largest, b->t->lambda };
	float *one = malloc(b->n * 8);
	struct bs_prox_stop stop = { 1, 0.0, INT64_MAX, b->t->warm };
	struct bs_prox_result r = { 0 };
	struct bs_fail why = { 0 };
	int rc;

	(void)cudaMemcpy(x, b->start, b->n * 8, cudaMemcpyHostToDevice);
	rc = bs_prox_cuda_solve(prox, &scale, x, &stop, NULL, &r, &why);
	(void)fetch(one, x, b->n * 2);
	stop.iterations = b->t->iterations;
	stop.deadline_ns = 1;
	(void)cudaMemcpy(x, b->start, b->n * 8, cudaMemcpyHostToDevice);
	if (rc == 0)
		rc = bs_prox_cuda_solve(prox, &scale, x, &stop, NULL, &r, &why);
	(void)fetch(b->rows, x, b->n * 2);
	CHECK(rc == 0 && r.iterations == 1 && r.reason == BS_PROX_DEADLINE &&
		      memcmp(one, b->rows, b->n * 8) == 0,
	      "%s: a deadline already past: %u iteration, %s %s", name, r.iterations,
	      bs_prox_reason_words(r.reason), why.text);
	free(one);
}

static void solve_device(struct bench *b, const char *name)
{
	const struct bs_prox_spec spec = spec_of(b);
	struct bs_penalty_cuda_plan *penalty = NULL;
	struct bs_prox_cuda *prox = NULL;
	struct bs_prox_cuda_system system = { .self = b, .apply = apply_device };
	struct bs_devmem mem = { 0 };
	struct bs_fail why = { 0 };
	float *x = device_copy(NULL, b->n * 2);
	float *rhs = device_copy(b->b, b->n * 2);
	uint64_t bytes[2] = { 0 };
	int rc = bs_prox_cuda_need(&spec, &bytes[0], &why);

	b->rows_dev = device_copy(NULL, b->n * 2);
	if (rc == 0)
		rc = bs_penalty_cuda_need(&b->penalty, &b->w, &bytes[1], &why);
	bytes[0] += bs_csr_cuda_need(&b->m, BS_CSR_PLAIN) + bs_csr_cuda_need(&b->m, BS_CSR_ADJOINT);
	if (rc == 0)
		rc = bs_devmem_open(&mem, bytes[0] + bytes[1], "twin", &why);
	if (rc == 0)
		rc = bs_csr_cuda_plan(&b->plain, &b->m, BS_CSR_PLAIN, &mem, &why);
	if (rc == 0)
		rc = bs_csr_cuda_plan(&b->adjoint, &b->m, BS_CSR_ADJOINT, &mem, &why);
	if (rc == 0)
		rc = bs_penalty_cuda_plan(&penalty, &b->penalty, &b->w, &mem, &why);
	if (rc == 0) {
		system.penalty = bs_penalty_cuda_get(penalty);
		system.b = rhs;
		rc = bs_prox_cuda_plan(&prox, &spec, &system, &mem, &why);
	}
	CHECK(rc == 0 && bs_devmem_round(mem.used) == mem.size,
	      "%s: plan takes what need states: %zu of %zu %s", name, mem.used, mem.size, why.text);
	if (rc == 0)
		rc = runs(b, prox, x, name, &why);
	if (rc == 0) {
		const double e = check_rel(b->got, b->want, b->n * 2);
		int rises = 0;

		CHECK(e <= 1e-4, "%s: image %.1e of the host's <= 1e-4", name, e);
		CHECK(fabs(b->device.objective / b->host.objective - 1.0) <= 1e-6,
		      "%s: objective %.9g, the host's %.9g", name, b->device.objective,
		      b->host.objective);
		for (uint32_t i = 0; i < b->device.iterations; i++)
			rises += !b->t->shifts && b->device.history[i + 1] > b->device.history[i];
		CHECK(rises == 0, "%s: the objective rises %d times", name, rises);
		CHECK(b->device.iterations == b->host.iterations &&
			      b->device.reason == b->host.reason,
		      "%s: %u iterations, %s; the host %u, %s", name, b->device.iterations,
		      bs_prox_reason_words(b->device.reason), b->host.iterations,
		      bs_prox_reason_words(b->host.reason));
		late(b, prox, x, name);
	}
	bs_prox_cuda_close(prox);
	bs_penalty_cuda_close(penalty);
	bs_devmem_close(&mem);
	(void)cudaFree(x);
	(void)cudaFree(rhs);
	(void)cudaFree(b->rows_dev);
}

static void one(const struct problem *t)
{
	static struct bench b;
	const size_t voxels = (size_t)t->n[0] * t->n[1] * t->n[2];
	uint64_t seed = 23;
	char name[96];

	(void)snprintf(name, sizeof(name), "%s %ux%ux%u x %u%s%s", bs_prior_names[t->kind], t->n[0],
		       t->n[1], t->n[2], t->images, t->shifts ? ", shifts" : "",
		       t->warm ? ", warm" : "");
	b = (struct bench){ .t = t, .n = voxels * t->images };
	b.penalty = (struct bs_penalty_spec){
		t->kind, { t->n[0], t->n[1], t->n[2] }, t->images, 8, t->shifts
	};
	make_matrix(&b.m, b.n, 7);
	make_matrix(&b.w, voxels, 1);
	b.rows = malloc(b.n * 8);
	b.b = malloc(b.n * 8);
	b.start = malloc(b.n * 8);
	b.want = malloc(b.n * 8);
	b.got = malloc(b.n * 8);
	fill_random(b.b, b.n * 2, &seed);
	fill_random(b.start, b.n * 2, &seed);
	for (size_t i = 0; i < 2 * b.n; i++) /* a square, and noise */
		b.b[i] += i / 2 % t->n[0] > t->n[0] / 3 && i / 2 / t->n[0] % t->n[1] < 20 ? 2.0f
											  : 0.0f;
	if (solve_host(&b, name))
		solve_device(&b, name);
	bs_csr_close(&b.m);
	bs_csr_close(&b.w);
	free(b.rows);
	free(b.b);
	free(b.start);
	free(b.want);
	free(b.got);
}

static void compare_all(void)
{
	CHECK(bs_dense_open(NULL) == 0, "LAPACK");
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		one(&problems[i]);
}

int main(void)
{
	return twin_main("twins of the proximal solver", 2, compare_all);
}
