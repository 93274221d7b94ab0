/* gpu/nufft_measure.cu - the CUDA gridding's variants timed on this device; see nufft_tune.h */
#include "gpu/nufft_tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "gpu/cudacheck.h"
#include "gpu/nufft_choice.h"
#include "gpu/nufft_cuda.h"

#define REPEATS 15
#define WARM    2

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
	cudaStream_t stream;
	cudaEvent_t from, to;
};

/* Never zeros: those can run faster than real samples. */
static __global__ void fill(float *v, size_t n)
{
	const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t x = (uint32_t)i * 2654435761u + 12345u;

	x ^= x >> 16;
	x *= 2246822519u;
	x ^= x >> 13;
	if (i < n)
		v[i] = (float)(int32_t)x * 0x1p-31f;
}

static void drop_plan(struct bench *b)
{
	bs_nufft_cuda_close(b->plan);
	b->plan = NULL;
	bs_devmem_close(&b->mem);
}

static int ascending(const void *a, const void *b)
{
	const float x = *(const float *)a;
	const float y = *(const float *)b;

	return x < y ? -1 : x > y;
}

static int one_run(struct bench *b, int direction, struct bs_fail *why)
{
	return direction == 0
		       ? bs_nufft_cuda_adjoint(b->plan, b->samples, b->image, b->stream, why)
		       : bs_nufft_cuda_forward(b->plan, b->image, b->samples, b->stream, why);
}

static int replay(struct bench *b, cudaGraphExec_t graph, double *ms, struct bs_fail *why)
{
	float all[REPEATS];

	for (int i = -WARM; i < REPEATS; i++) {
		float one = 0.0f;

		BS_CUDA(cudaEventRecord(b->from, b->stream), why);
		BS_CUDA(cudaGraphLaunch(graph, b->stream), why);
		BS_CUDA(cudaEventRecord(b->to, b->stream), why);
		BS_CUDA(cudaEventSynchronize(b->to), why);
		BS_CUDA(cudaEventElapsedTime(&one, b->from, b->to), why);
		if (i >= 0)
			all[i] = one;
	}
	qsort(all, REPEATS, sizeof(*all), ascending);
	*ms = (double)all[REPEATS / 2];
	return 0;
}

/* Once as it is, so that all kernels are loaded; then as a graph, like the engines. */
static int time_one(struct bench *b, int direction, double *ms, struct bs_fail *why)
{
	cudaGraph_t graph = NULL;
	cudaGraphExec_t exec = NULL;
	int rc = one_run(b, direction, why);

	if (rc != 0)
		return rc;
	BS_CUDA(cudaStreamSynchronize(b->stream), why);
	BS_CUDA(cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal), why);
	rc = one_run(b, direction, why);
	const cudaError_t end = cudaStreamEndCapture(b->stream, &graph);

	if (rc == 0)
		BS_CUDA_GO(end, why, rc, out);
	if (rc == 0)
		BS_CUDA_GO(cudaGraphInstantiate(&exec, graph, 0), why, rc, out);
	if (rc == 0)
		rc = replay(b, exec, ms, why);
out:
	if (exec != NULL)
		(void)cudaGraphExecDestroy(exec);
	if (graph != NULL)
		(void)cudaGraphDestroy(graph);
	return rc;
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
	for (int d = 0; rc == 0 && d < 2; d++)
		rc = time_one(b, d, &ms[d], why);
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
	fill<<<(unsigned)((samples + 255) / 256), 256>>>(b->samples, samples);
	fill<<<(unsigned)((image + 255) / 256), 256>>>(b->image, image);
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cudaDeviceSynchronize(), why);
	BS_CUDA(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking), why);
	BS_CUDA(cudaEventCreate(&b->from), why);
	BS_CUDA(cudaEventCreate(&b->to), why);
	return 0;
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
	if (b->stream != NULL)
		(void)cudaStreamDestroy(b->stream);
	if (b->from != NULL)
		(void)cudaEventDestroy(b->from);
	if (b->to != NULL)
		(void)cudaEventDestroy(b->to);
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
