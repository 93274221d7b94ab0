/* gpu/toeplitz/cuda/measure.cu - times the variants of the Toeplitz operator; see tune.h */
#include "gpu/toeplitz/cuda/tune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "gpu/device/check.h"
#include "gpu/device/stopwatch.h"
#include "gpu/toeplitz/toeplitz_cuda.h"

#define TIMES 4 /* applications in a graph, as in a solve */

const struct bs_tune_kind bs_toeplitz_tunable = { "Toeplitz operator",
						  BS_TOEPLITZ_FIELDS,
						  { { "middle", 1, 2 }, { "close", 1, 2 } } };

static const struct bs_tune_stage stages[] = {
	{ BS_TOEPLITZ_MIDDLE, 0, { 1, 2 } },
	{ BS_TOEPLITZ_CLOSE, 0, { 1, 2 } },
};

struct bench {
	struct bs_toeplitz_spec spec;
	struct bs_devmem mem;
	struct bs_toeplitz_cuda *plan;
	float *in, *out;
	uint32_t coils; /* coils of the application that is timed */
	struct bs_stopwatch watch;
};

struct trial {
	struct bench *bench;
	const struct bs_tune *tune;
};

/* The spectrum may be in the order of another choice: times are the same, and no result is read. */
static int applications(void *arg, cudaStream_t stream, struct bs_fail *why)
{
	const struct trial *t = (const struct trial *)arg;
	struct bench *b = t->bench;
	int rc = bs_toeplitz_cuda_choose(b->plan, t->tune->v[BS_TOEPLITZ_MIDDLE],
					 t->tune->v[BS_TOEPLITZ_CLOSE], why);

	for (int i = 0; rc == 0 && i < TIMES; i++)
		rc = bs_toeplitz_cuda_apply(b->plan, b->coils, b->in, b->out, stream, why);
	return rc;
}

static int measure(void *arg, const struct bs_tune *tune, const struct bs_tune *rival,
		   struct bs_tune_match *m, struct bs_fail *why)
{
	struct bench *b = (struct bench *)arg;
	struct trial trial[2] = { { b, rival }, { b, tune } };
	void *const both[2] = { rival != NULL ? &trial[0] : NULL, &trial[1] };
	int rc = 0;

	m->own.n[0] = m->own.n[1] = 0;
	for (int d = 0; rc == 0 && d < 2; d++) { /* the first direction decides in all stages */
		double *const ms[2] = { m->against.ms[d], m->own.ms[d] };
		struct bs_tune_turns pairs = { m, d };

		if (d == 1 && rival != NULL && bs_tune_lost(m))
			break;
		b->coils = d == 0 ? 1 : b->spec.coils;
		m->own.n[d] = rival != NULL ? BS_TUNE_RUNS : bs_tune_alone(d);
		rc = bs_stopwatch_turns(&b->watch, applications, both, ms, &m->own.n[d],
					rival != NULL ? bs_tune_turns_settled : NULL, &pairs, why);
		if (rival != NULL)
			m->against.n[d] = m->own.n[d];
		for (int i = 0; rc == 0 && i < m->own.n[d]; i++) {
			m->own.ms[d][i] /= TIMES;
			m->against.ms[d][i] /= rival != NULL ? TIMES : 1;
		}
	}
	return rc;
}

/* Prepares the operator with a random Q, since Q's values do not change the time. */
static int prepare(struct bench *b, struct bs_fail *why)
{
	const struct bs_toeplitz_spec *s = &b->spec;
	const size_t voxels = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2];
	const size_t q = voxels * (s->dims == 3 ? 4 : 2) * 2;
	const size_t image = voxels * s->coils * 2;
	uint64_t bytes = 0;
	int rc = bs_toeplitz_cuda_need(s, &bytes, why);

	if (rc == 0)
		rc = bs_devmem_open(&b->mem,
				    bytes + bs_devmem_round(q * 4) + 2 * bs_devmem_round(image * 4),
				    "(tuning)", why);
	if (rc != 0)
		return rc;
	float *values = (float *)bs_devmem_take(&b->mem, q * 4);

	b->in = (float *)bs_devmem_take(&b->mem, image * 4);
	b->out = (float *)bs_devmem_take(&b->mem, image * 4);
	rc = bs_stopwatch_fill(values, q, 777, why);
	if (rc == 0)
		rc = bs_stopwatch_fill(b->in, image, 777, why);
	if (rc == 0)
		rc = bs_stopwatch_open(&b->watch, why);
	return rc != 0 ? rc : bs_toeplitz_cuda_plan(&b->plan, s, values, &b->mem, why);
}

int bs_toeplitz_tuned(struct bs_tuning *t, const struct bs_toeplitz_spec *spec,
		      const char *cache_dir, struct bs_fail *why)
{
	struct bs_gpu_info gpu;
	struct bench b;
	char key[512];
	int rc = bs_gpu_probe(&gpu, why);

	if (rc != 0)
		return rc;
	(void)snprintf(key, sizeof(key),
		       "Toeplitz 5 on %s, driver %" PRIu32 ": %" PRIu32 "D %" PRIu32 "x%" PRIu32
		       "x%" PRIu32 ", %" PRIu32 " coils",
		       gpu.name, gpu.driver, spec->dims, spec->matrix[0], spec->matrix[1],
		       spec->matrix[2], spec->coils);
	if (bs_tune_load(t, &bs_toeplitz_tunable, key, cache_dir))
		return 0;
	memset(&b, 0, sizeof(b));
	b.spec = *spec;
	rc = prepare(&b, why);
	if (rc == 0)
		rc = bs_tune_search(t, &bs_toeplitz_tunable, stages,
				    sizeof(stages) / sizeof(stages[0]), 2, 10.0, measure, &b, why);
	bs_toeplitz_cuda_close(b.plan);
	bs_stopwatch_close(&b.watch);
	bs_devmem_close(&b.mem);
	if (rc == 0)
		bs_tune_save(t, key, cache_dir);
	return rc;
}

void bs_toeplitz_use_tuned(struct bs_toeplitz_cuda *plan, const struct bs_toeplitz_spec *spec,
			   const char *cache_dir)
{
	struct bs_tuning *t = (struct bs_tuning *)calloc(1, sizeof(*t));
	struct bs_fail why;

	/* 2D has only one way, so there is nothing to measure */
	if (t != NULL && spec->dims == 3 && cache_dir != NULL && cache_dir[0] != '\0') {
		int rc = bs_toeplitz_tuned(t, spec, cache_dir, &why);
		const struct bs_tune *best = &t->trial[t->best].tune;

		if (rc == 0)
			rc = bs_toeplitz_cuda_choose(plan, best->v[BS_TOEPLITZ_MIDDLE],
						     best->v[BS_TOEPLITZ_CLOSE], &why);
		if (rc != 0)
			bs_log(BS_LOG_WARN, "Toeplitz operator: by itself, not as measured: %s",
			       why.text);
	}
	free(t);
}
