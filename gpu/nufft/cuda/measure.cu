/* gpu/nufft/cuda/measure.cu - the CUDA gridding's variants timed on this device; see tune.h */
#include "gpu/nufft/cuda/tune.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "gpu/nufft/cuda/choice.h"
#include "gpu/nufft/nufft_cuda.h"
#include "gpu/nufft/trajectory.h"
#include "gpu/device/stopwatch.h"

struct slot {
	struct bs_devmem mem;
	struct bs_nufft_cuda *plan;
};

struct bench {
	struct bs_nufft_spec spec;
	const float *k;
	bool stack;
	uint64_t positions;
	struct bs_nufft_choice tried[BS_TUNE_TRIALS];
	uint32_t count;
	struct bs_devmem data; /* samples and images for both directions */
	float *samples, *image;
	struct slot slot[2]; /* plan of the best variant so far, and plan of its challenger */
	struct bs_stopwatch watch;
};

static void drop_plan(struct slot *slot)
{
	bs_nufft_cuda_close(slot->plan);
	slot->plan = NULL;
	bs_devmem_close(&slot->mem);
}

/* One side of a comparison: a plan, how it is launched, and what is timed. */
struct trial {
	struct bench *bench;
	struct slot *slot;
	const struct bs_nufft_launch *launch;
	/* what is timed: 0: the adjoint after the last readout; 1: the forward transform */
	int direction;
};

static int run(void *arg, cudaStream_t stream, struct bs_fail *why)
{
	const struct trial *t = (const struct trial *)arg;
	struct bs_nufft_cuda *plan = t->slot->plan;
	struct bench *b = t->bench;
	int rc = bs_nufft_cuda_relaunch(plan, t->launch, why);

	if (rc != 0)
		return rc;
	if (t->direction == 1)
		return bs_nufft_cuda_forward(plan, b->image, b->samples, stream, why);
	return b->spec.part > 0
		       ? bs_nufft_cuda_part(plan, 0, bs_nufft_cuda_choice(plan)->chunks - 1,
					    b->image, stream, why)
		       : bs_nufft_cuda_finish(plan, 0, b->image, stream, why);
}

/* Fills a frame with random samples, as if all had come. */
static int fill_frame(struct bench *b, struct bs_nufft_cuda *plan, struct bs_fail *why)
{
	int rc = bs_nufft_cuda_begin(plan, 0, NULL, why);

	if (rc != 0)
		return rc;
	BS_CUDA(cudaMemcpyAsync(bs_nufft_cuda_samples(plan, 0), b->samples,
				b->spec.samples * b->spec.coils * sizeof(float2),
				cudaMemcpyDeviceToDevice, NULL),
		why);
	return bs_cuda_copied(why);
}

static int make_plan(struct bench *b, struct slot *slot, const struct bs_tune *tune,
		     struct bs_fail *why)
{
	struct bs_nufft_spec s = b->spec;
	struct bs_need need;
	int rc;

	memset(&need, 0, sizeof(need));
	drop_plan(slot);
	s.tune = tune;
	rc = bs_nufft_cuda_need(&s, &need, why);
	if (rc == 0 && need.overflow)
		rc = bs_fail(why, BS_ERR_NOMEM, "more device memory than 64 bits hold");
	if (rc == 0)
		rc = bs_devmem_open(&slot->mem, need.total_bytes, "(tuning)", why);
	if (rc == 0)
		rc = bs_nufft_cuda_plan(&slot->plan, &s, b->k, NULL, &slot->mem, why);
	if (rc == 0)
		rc = fill_frame(b, slot->plan, why);
	if (rc != 0)
		drop_plan(slot);
	return rc;
}

/* Returns a plan that serves the choice, because only the launches differ; else NULL. */
static struct slot *slot_of(struct bench *b, const struct bs_nufft_choice *c)
{
	for (struct slot &slot : b->slot) {
		struct bs_nufft_choice mine;

		if (slot.plan == NULL)
			continue;
		mine = *bs_nufft_cuda_choice(slot.plan);
		mine.launch = c->launch;
		if (memcmp(&mine, c, sizeof(mine)) == 0)
			return &slot;
	}
	return NULL;
}

/*
 * Makes a plan beside the rival's. Where there is no memory for two, it makes it alone: *theirs is
 * NULL.
 */
static int make_beside(struct bench *b, struct slot **mine, struct slot **theirs,
		       const struct bs_tune *tune, struct bs_fail *why)
{
	*mine = *theirs == &b->slot[0] ? &b->slot[1] : &b->slot[0];
	if (*theirs == NULL)
		drop_plan(&b->slot[1]);
	int rc = make_plan(b, *mine, tune, why);

	if (rc != BS_ERR_NOMEM || *theirs == NULL)
		return rc;
	drop_plan(*theirs);
	*theirs = NULL;
	return make_plan(b, *mine, tune, why);
}

/*
 * Measures a variant in turns with the rival. Where memory does not hold the rival's plan as well,
 * the variant makes all its runs, to be compared with the rival's runs from before.
 */
static int measure(void *arg, const struct bs_tune *tune, const struct bs_tune *rival,
		   struct bs_tune_match *m, struct bs_fail *why)
{
	struct bench *b = (struct bench *)arg;
	struct bs_nufft_spec s = b->spec;
	struct bs_nufft_choice c, best;
	struct slot *theirs = NULL;
	struct slot *mine;

	s.tune = tune;
	int rc = bs_nufft_choose(&c, &s, b->stack, b->positions, why);

	if (rc != 0)
		return b->count > 0 ? 1 : rc; /* 1 says that this protocol has no such variant */
	for (uint32_t i = 0; i < b->count; i++)
		if (memcmp(&b->tried[i], &c, sizeof(c)) == 0)
			return 1;
	b->tried[b->count++] = c;
	s.tune = rival;
	const bool known =
		rival != NULL && bs_nufft_choose(&best, &s, b->stack, b->positions, why) == 0;

	if (known)
		theirs = slot_of(b, &best);
	mine = slot_of(b, &c);
	if (mine == NULL)
		rc = make_beside(b, &mine, &theirs, tune, why);
	if (rc == 0 && known && theirs == NULL) /* the plan just made may serve both */
		theirs = slot_of(b, &best);
	m->own.n[0] = m->own.n[1] = 0;
	for (int i = 0; rc == 0 && i < 2; i++) {
		const int d = i == 0 ? m->direction : 1 - m->direction;
		double *const ms[2] = { m->against.ms[d], m->own.ms[d] };
		struct bs_tune_turns pairs = { m, d };
		struct trial trial[2] = { { b, theirs, &best.launch, d },
					  { b, mine, &c.launch, d } };
		void *const both[2] = { theirs != NULL ? &trial[0] : NULL, &trial[1] };

		if (i == 1 && rival != NULL && bs_tune_lost(m))
			break;

		m->own.n[d] = rival != NULL ? BS_TUNE_RUNS : bs_tune_alone(d);
		rc = bs_stopwatch_turns(&b->watch, run, both, ms, &m->own.n[d],
					theirs != NULL ? bs_tune_turns_settled : NULL, &pairs, why);
		if (theirs != NULL)
			m->against.n[d] = m->own.n[d];
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
	int rc = bs_nufft_stack_find(&b->spec, b->k, true, &source, &b->positions, why);

	free(source);
	b->stack = b->positions > 0;
	if (rc == 0)
		rc = take_data(b, why);
	if (rc == 0)
		rc = bs_tune_search(t, &bs_nufft_tunable, bs_nufft_stages, bs_nufft_stage_count, 2,
				    seconds, measure, b, why);
	for (struct slot &slot : b->slot)
		drop_plan(&slot);
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
