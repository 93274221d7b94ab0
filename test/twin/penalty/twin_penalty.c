/*
 * test/twin/penalty/twin_penalty.c - each prior's proximal step on the GPU against the host's
 *
 * Three steps one after the other, as a solve takes them: what a prior remembers is compared, too.
 * Exact steps differ by the roundings of some dozen additions (2e-6); low rank is in double and
 * rounded once. Those on the dual repeat such roundings 10 times a step and through a restart
 * (2e-5). P is a sum in double of values that are rounded alike (1e-5).
 */
#include "gpu/calibrate/dense.h"
#include "gpu/penalty/penalty_cuda.h"
#include "gpu/penalty/cuda/prox_state.h"
#include "test/twin/device.h"

#define RUNS   5
#define STEPS  3u
#define LAMBDA 0.4

struct problem {
	enum bs_prior kind;
	uint32_t n[3], images, block;
	bool shifts;
	double step, most; /* length of a step; largest difference, relative */
};

static const struct problem problems[] = {
	{ BS_PRIOR_WAVELET, { 13, 34, 1 }, 2, 8, false, 0.5, 2e-6 },
	{ BS_PRIOR_WAVELET, { 20, 9, 24 }, 1, 8, true, 0.5, 2e-6 },
	{ BS_PRIOR_WAVELET, { 1, 2, 36 }, 3, 8, true, 0.5, 2e-6 },
	{ BS_PRIOR_WAVELET, { 15, 7, 1 }, 2, 8, true, 0.5, 2e-6 }, /* no axis is halved */
	{ BS_PRIOR_WAVELET, { 256, 256, 1 }, 1, 8, true, 0.5, 2e-6 },
	{ BS_PRIOR_WAVELET, { 230, 180, 1 }, 3, 8, true, 0.5, 2e-6 },
	{ BS_PRIOR_WAVELET, { 96, 52, 44 }, 1, 8, true, 0.5, 2e-6 },
	{ BS_PRIOR_TV, { 13, 11, 1 }, 2, 8, false, 0.4, 2e-5 },
	{ BS_PRIOR_TV, { 7, 5, 9 }, 1, 8, false, 0.4, 2e-5 },
	{ BS_PRIOR_TV, { 150, 122, 1 }, 3, 8, false, 0.4, 2e-5 },
	{ BS_PRIOR_TV_FRAMES, { 5, 3, 3 }, 9, 8, false, 0.5, 2e-5 },
	{ BS_PRIOR_TV_FRAMES, { 61, 90, 1 }, 20, 8, false, 0.5, 2e-5 },
	{ BS_PRIOR_TV_CYCLE, { 5, 3, 3 }, 9, 8, false, 0.5, 2e-5 },
	{ BS_PRIOR_LOW_RANK, { 13, 11, 1 }, 5, 4, false, 1.5, 1e-6 },
	{ BS_PRIOR_LOW_RANK, { 6, 5, 1 }, 23, 4, false, 1.5, 1e-6 }, /* more frames than voxels */
	{ BS_PRIOR_LOW_RANK, { 9, 7, 5 }, 7, 4, false, 1.5, 1e-6 },
	{ BS_PRIOR_LOW_RANK, { 41, 50, 1 }, 1, 8, false, 1.5, 1e-6 },
	{ BS_PRIOR_LOW_RANK, { 100, 91, 1 }, 20, 8, false, 5.0, 1e-6 },
	{ BS_PRIOR_LOW_RANK, { 40, 40, 1 }, 47, 16, false, 5.0, 1e-6 },
	{ BS_PRIOR_W, { 9, 7, 1 }, 2, 8, false, 0.4, 2e-5 },
	{ BS_PRIOR_W, { 60, 47, 3 }, 1, 8, false, 0.4, 2e-5 },
};

static void make_w(struct bs_csr *w, size_t voxels)
{
	(void)bs_csr_open(w, voxels, voxels, 2 * voxels - 1, true, NULL);
	for (size_t i = 0, e = 0; i < voxels; i++) {
		if (i > 0) {
			w->col[e] = (uint32_t)i - 1;
			w->value[2 * e] = i % 3 == 0 ? -0.5f : -1.0f;
			w->value[2 * e++ + 1] = 0.25f;
		}
		w->col[e] = (uint32_t)i;
		w->value[2 * e] = i > 0 && i % 3 == 0 ? 0.5f : 1.0f;
		w->value[2 * e++ + 1] = 0.0f;
		w->start[i + 1] = e;
	}
	CHECK(bs_csr_seal(w, NULL) == 0, "W");
}

/* Takes the steps on the host, each from its own v; values [STEPS + 1], the last of v itself. */
static bool host(const struct bs_penalty_spec *spec, const struct bs_csr *w, double step,
		 const float *v, float *z, size_t n, double *values)
{
	struct bs_penalty_plan *plan = NULL;
	struct bs_arena arena = { 0 };
	struct bs_need need = { 0 };
	struct bs_fail why = { 0 };
	int rc = bs_penalty_need(spec, &need, &why);

	if (rc == 0)
		rc = bs_arena_open(&arena, need.total_bytes, &why);
	if (rc == 0)
		rc = bs_penalty_plan(&plan, spec, w, &arena, team, &why);
	CHECK(rc == 0, "host %s", why.text);
	if (rc == 0) {
		const struct bs_penalty *p = bs_penalty_get(plan);

		bs_penalty_lambda(plan, LAMBDA);
		memcpy(z, v, STEPS * n * 4);
		for (uint32_t i = 0; i < STEPS; i++)
			values[i] = p->prox(p->self, step, i, z + i * n);
		values[STEPS] = p->value(p->self, v);
	}
	bs_penalty_close(plan);
	bs_arena_close(&arena);
	return rc == 0;
}

/* Runs one function on the device as iteration i of a solve; returns P, NAN where it failed. */
static double device_run(int (*run)(void *self, struct bs_prox_state *state, float *x,
				    struct CUstream_st *stream, struct bs_fail *why),
			 void *self, struct bs_prox_state *state, double step, uint32_t i, float *x)
{
	struct bs_prox_state s = { .lambda = LAMBDA, .step = step, .passes = 1, .iterations = i };
	int rc = cudaMemcpy(state, &s, sizeof(s), cudaMemcpyHostToDevice) == cudaSuccess ? 0 : -1;

	if (rc == 0)
		rc = run(self, state, x, NULL, NULL);
	if (rc == 0)
		rc = cudaMemcpy(&s, state, sizeof(s), cudaMemcpyDeviceToHost) == cudaSuccess ? 0
											     : -1;
	return rc == 0 && s.tickets == 0 && s.pass == 0 ? s.value : NAN;
}

static int measure(void *self, struct bs_prox_state *state, float *x, struct CUstream_st *stream,
		   struct bs_fail *why)
{
	const struct bs_penalty_cuda *p = self;

	return p->value(p->self, state, x, stream, why);
}

static struct bs_penalty_spec spec_of(const struct problem *t)
{
	return (struct bs_penalty_spec){
		t->kind, { t->n[0], t->n[1], t->n[2] }, t->images, t->block, t->shifts
	};
}

static void device(const struct problem *t, const char *name, const struct bs_csr *w,
		   const float *v, float *z, size_t n, double *values)
{
	const struct bs_penalty_spec spec = spec_of(t);
	struct bs_penalty_cuda_plan *plan = NULL;
	struct bs_prox_state *state = (struct bs_prox_state *)device_copy(NULL, sizeof(*state) / 4);
	float *x = device_copy(NULL, STEPS * n);
	struct bs_devmem mem = { 0 };
	struct bs_fail why = { 0 };
	uint64_t bytes = 0;
	uint64_t first = 0;
	int same = 1;
	int rc = bs_penalty_cuda_need(&spec, w, &bytes, &why);

	if (rc == 0)
		rc = bs_devmem_open(&mem, bytes, "twin", &why);
	if (rc == 0)
		rc = bs_penalty_cuda_plan(&plan, &spec, w, &mem, &why);
	CHECK(rc == 0 && bs_devmem_round(mem.used) == mem.size,
	      "%s: plan takes what need states: %zu of %zu %s", name, mem.used, mem.size, why.text);
	for (int run = 0; rc == 0 && run < (small() ? 2 : RUNS); run++) {
		const struct bs_penalty_cuda *p = bs_penalty_cuda_get(plan);

		(void)cudaMemcpy(x, v, STEPS * n * 4, cudaMemcpyHostToDevice);
		values[STEPS] = device_run(measure, (void *)p, state, t->step, 0, x);
		for (uint32_t i = 0; i < STEPS; i++)
			values[i] = device_run(p->prox, p->self, state, t->step, i, x + i * n);
		if (!fetch(z, x, STEPS * n))
			rc = -1;
		if (run == 0)
			first = hash_of(z, STEPS * n);
		same &= hash_of(z, STEPS * n) == first;
	}
	CHECK(rc == 0 && same, "%s: the same bytes every run", name);
	bs_penalty_cuda_close(plan);
	bs_devmem_close(&mem);
	(void)cudaFree(x);
	(void)cudaFree(state);
}

static void one(const struct problem *t)
{
	const struct bs_penalty_spec spec = spec_of(t);
	const size_t voxels = (size_t)t->n[0] * t->n[1] * t->n[2];
	const size_t n = voxels * t->images * 2;
	float *v = malloc(STEPS * n * 4);
	float *want = malloc(STEPS * n * 4);
	float *got = malloc(STEPS * n * 4);
	double values[2][STEPS + 1] = { 0 };
	struct bs_csr w = { 0 };
	uint64_t seed = 19;
	char name[96];

	(void)snprintf(name, sizeof(name), "%s %ux%ux%u x %u", bs_prior_names[t->kind], t->n[0],
		       t->n[1], t->n[2], t->images);
	fill_random(v, STEPS * n, &seed);
	if (t->kind == BS_PRIOR_W)
		make_w(&w, voxels);
	if (host(&spec, &w, t->step, v, want, n, values[0])) {
		device(t, name, &w, v, got, n, values[1]);
		for (uint32_t i = 0; i < STEPS; i++) {
			const double e = check_rel(got + i * n, want + i * n, n);

			CHECK(e <= t->most, "%s, step %u: %.1e of the host's <= %.0e", name, i, e,
			      t->most);
		}
		for (uint32_t i = 0; i <= STEPS; i++)
			CHECK(fabs(values[1][i] - values[0][i]) <= 1e-5 * fabs(values[0][i]),
			      "%s: value %u is %.9g, the host's %.9g", name, i, values[1][i],
			      values[0][i]);
	}
	if (t->kind == BS_PRIOR_W)
		bs_csr_close(&w);
	free(v);
	free(want);
	free(got);
}

static void compare_all(void)
{
	const struct bs_penalty_spec large = { BS_PRIOR_LOW_RANK, { 40, 40, 1 }, 49, 16, false };
	struct bs_fail why = { 0 };
	uint64_t bytes;

	CHECK(bs_dense_open(NULL) == 0, "LAPACK");
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		one(&problems[i]);
	CHECK(bs_penalty_cuda_need(&large, NULL, &bytes, &why) == BS_ERR_UNSUPPORTED, "refused: %s",
	      why.text);
}

int main(void)
{
	return twin_main("twins of the priors' steps", 2, compare_all);
}
