/* gpu/nufft_measure.cu - the CUDA gridding's variants timed on this device; see nufft_tune.h */
#include "gpu/nufft_tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "gpu/cudacheck.h"
#include "gpu/nufft_choice.h"
#include "gpu/nufft_cuda.h"
#include "gpu/stopwatch.h"

#define REPEATS 15

struct bench {
	struct bs_nufft_spec spec;
	const float *k;
	bool stack;
	uint64_t positions;
	struct bs_nufft_choice tried[BS_TUNE_TRIALS];
	uint32_t count;
	struct bs_devmem data; /* samples and images of both directions */
	float *samples, *image;
	struct bs_devmem mem; /* of the plan that is there */
	struct bs_nufft_cuda *plan;
	struct bs_stopwatch watch;
};

static void drop_plan(struct bench *b)
{
	bs_nufft_cuda_close(b->plan);
	b->plan = NULL;
	bs_devmem_close(&b->mem);
}

static int adjoint(void *arg, cudaStream_t stream, struct bs_fail *why)
{
	struct bench *b = (struct bench *)arg;

	return bs_nufft_cuda_adjoint(b->plan, b->samples, b->image, stream, why);
}

static int forward(void *arg, cudaStream_t stream, struct bs_fail *why)
{
	struct bench *b = (struct bench *)arg;

	return bs_nufft_cuda_forward(b->plan, b->image, b->samples, stream, why);
}

static int make_plan(struct bench *b, const struct bs_tune *tune, struct bs_fail *why)
{
	struct bs_nufft_spec s = b->spec;
	struct bs_need need;
	int rc;

	memset(&need, 0, sizeof(need));
	drop_plan(b);
	s.tune = tune;
	rc = bs_nufft_cuda_need(&s, &need, why);
	if (rc == 0 && need.overflow)
		rc = bs_fail(why, BS_ERR_NOMEM, "more device memory than 64 bits hold");
	if (rc == 0)
		rc = bs_devmem_open(&b->mem, need.total_bytes, "(tuning)", why);
	if (rc == 0)
		rc = bs_nufft_cuda_plan(&b->plan, &s, b->k, NULL, &b->mem, why);
	if (rc != 0)
		drop_plan(b);
	return rc;
}

/* The plan that is there serves when only the launches differ. */
static bool serves(const struct bench *b, const struct bs_nufft_choice *c)
{
	struct bs_nufft_choice mine;

	if (b->plan == NULL)
		return false;
	mine = *bs_nufft_cuda_choice(b->plan);
	mine.launch = c->launch;
	return memcmp(&mine, c, sizeof(mine)) == 0;
}

static int measure(void *arg, const struct bs_tune *tune, double ms[2], struct bs_fail *why)
{
	struct bench *b = (struct bench *)arg;
	struct bs_nufft_spec s = b->spec;
	struct bs_nufft_choice c;
	float all[REPEATS];

	s.tune = tune;
	int rc = bs_nufft_choose(&c, &s, b->stack, b->positions, why);

	if (rc != 0)
		return b->count > 0 ? 1 : rc; /* this protocol has no such variant */
	for (uint32_t i = 0; i < b->count; i++)
		if (memcmp(&b->tried[i], &c, sizeof(c)) == 0)
			return 1;
	b->tried[b->count++] = c;
	if (serves(b, &c))
		rc = bs_nufft_cuda_relaunch(b->plan, &c.launch, why);
	else
		rc = make_plan(b, tune, why);
	for (int d = 0; rc == 0 && d < 2; d++) {
		rc = bs_stopwatch_time(&b->watch, true, d == 0 ? adjoint : forward, b, all, REPEATS,
				       why);
		ms[d] = rc == 0 ? bs_stopwatch_median(all, REPEATS) : 0.0;
	}
	return rc;
}

static int take_data(struct bench *b, struct bs_fail *why)
{
	const struct bs_nufft_spec *s = &b->spec;
	const size_t samples = (size_t)s->samples * s->coils * 2;
	const size_t image = (size_t)s->matrix[0] * s->matrix[1] * s->matrix[2] * s->coils * 2;
	int rc = bs_devmem_open(&b->data, bs_devmem_round(samples * 4) + bs_devmem_round(image * 4),
				"(tuning)", why);

	if (rc != 0)
		return rc;
	b->samples = (float *)bs_devmem_take(&b->data, samples * 4);
	b->image = (float *)bs_devmem_take(&b->data, image * 4);
	rc = bs_stopwatch_fill(b->samples, samples, 12345, why);
	if (rc == 0)
		rc = bs_stopwatch_fill(b->image, image, 12345, why);
	if (rc == 0)
		rc = bs_cuda_copied(why);
	return rc != 0 ? rc : bs_stopwatch_open(&b->watch, why);
}

static int search(struct bench *b, struct bs_tuning *t, double seconds, struct bs_fail *why)
{
	uint32_t *source = NULL;
	int rc = 0;

	if (b->spec.dims == 3 && b->spec.matrix[2] > 1)
		rc = bs_nufft_stack_table(&b->spec, b->k, &source, &b->positions, why);
	free(source);
	b->stack = b->positions > 0;
	if (rc == 0)
		rc = take_data(b, why);
	if (rc == 0)
		rc = bs_tune_search(t, &bs_nufft_tunable, bs_nufft_stages, bs_nufft_stage_count, 2,
				    seconds, measure, b, why);
	drop_plan(b);
	bs_stopwatch_close(&b->watch);
	bs_devmem_close(&b->data);
	return rc;
}

int bs_nufft_tuned(struct bs_tuning *t, const struct bs_nufft_spec *spec, const float *k,
		   const char *cache_dir, double seconds, struct bs_fail *why)
{
	struct bs_gpu_info gpu;
	struct bench *b;
	char key[512];
	int rc = bs_gpu_probe(&gpu, why);

	if (rc != 0)
		return rc;
	bs_nufft_tune_key(key, sizeof(key), spec, k, gpu.name, gpu.driver);
	if (bs_tune_load(t, &bs_nufft_tunable, key, cache_dir))
		return 0;
	b = (struct bench *)calloc(1, sizeof(*b));
	if (b == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: tuning");
	b->spec = *spec;
	b->spec.tune = NULL;
	b->spec.states = 1;
	b->k = k;
	rc = search(b, t, seconds, why);
	free(b);
	if (rc == 0)
		bs_tune_save(t, key, cache_dir);
	return rc;
}
