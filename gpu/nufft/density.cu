/* gpu/nufft/density.cu - see density_cuda.h */
#include "gpu/nufft/density_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "gpu/device/check.h"
#include "gpu/nufft/nufft_cuda.h"
#include "gpu/device/stream.h"

#define THREADS 256

struct pipe {
	struct bs_nufft_cuda *nufft;
	struct bs_devmem mem;
	cudaStream_t stream;
	uint32_t size[3]; /* voxels on each axis, 2N; 1 beyond dims */
	size_t samples;
	float2 *image;
	float2 *at_samples; /* between steps it holds the weights, for the next step */
	float *weight;
};

static __global__ void start(float *weight, float2 *at_samples, size_t n)
{
	const size_t m = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (m >= n)
		return;
	weight[m] = 1.0f;
	at_samples[m] = make_float2(1.0f, 0.0f);
}

/* Returns 1 - |i - N| / N for size 2N; 1 for an axis beyond dims. */
static __device__ __forceinline__ float triangle(uint32_t i, uint32_t size)
{
	const int half = (int)(size / 2);

	return half == 0 ? 1.0f : (float)(half - abs((int)i - half)) / (float)half;
}

/* Multiplies one row of the image by the triangle in each block. */
static __global__ void taper(float2 *image, uint32_t width)
{
	const uint32_t y = blockIdx.x, z = blockIdx.y;
	const float outer = triangle(y, gridDim.x) * triangle(z, gridDim.y);
	float2 *row = image + ((size_t)z * gridDim.x + y) * width;

	for (uint32_t x = threadIdx.x; x < width; x += blockDim.x) {
		const float h = triangle(x, width) * outer;
		const float2 v = row[x];

		row[x] = make_float2(v.x * h, v.y * h);
	}
}

/* Divides by C (*) w, which is never 0: a sample's own share alone is positive. */
static __global__ void divide(float *weight, float2 *at_samples, size_t n)
{
	const size_t m = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (m >= n)
		return;
	const float w = weight[m] / fmaxf(at_samples[m].x, 1e-30f);

	weight[m] = w;
	at_samples[m] = make_float2(w, 0.0f);
}

static int open_pipe(struct pipe *c, const struct bs_protocol *p, const struct bs_traj *t,
		     struct bs_fail *why)
{
	const struct bs_nufft_spec spec =
		bs_density_nufft(p, t); /* tune is not set: the plan is never a measured one */
	const uint64_t voxels = (uint64_t)spec.matrix[0] * spec.matrix[1] * spec.matrix[2];
	struct bs_need need;
	char words[96];
	int rc;

	memset(&need, 0, sizeof(need));
	memcpy(c->size, spec.matrix, sizeof(c->size));
	c->samples = (size_t)spec.samples;
	bs_need_add(&need, "image of twice the matrix", 1, bs_devmem_round(voxels * 8));
	bs_need_add(&need, "samples", 1, bs_devmem_round(spec.samples * 8));
	bs_need_add(&need, "weights", 1, bs_devmem_round(spec.samples * 4));
	rc = bs_nufft_cuda_need(&spec, &need, why);
	(void)snprintf(words, sizeof(words), "%.63s (density weights)", p->name);
	if (rc == 0 && need.overflow)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol %s: their need does not fit 64 bits",
			     words);
	if (rc == 0)
		rc = bs_devmem_open(&c->mem, need.total_bytes, words, why);
	if (rc != 0)
		return rc;
	c->image = (float2 *)bs_devmem_take(&c->mem, (size_t)voxels * 8);
	c->at_samples = (float2 *)bs_devmem_take(&c->mem, c->samples * 8);
	c->weight = (float *)bs_devmem_take(&c->mem, c->samples * 4);
	rc = bs_nufft_cuda_plan(&c->nufft, &spec, t->k, NULL, &c->mem, why);
	return rc != 0 ? rc : bs_stream_open(&c->stream, why);
}

static void close_pipe(struct pipe *c)
{
	/* waits also after an error: nothing may still run in memory that is freed */
	if (c->stream != NULL) {
		(void)cudaStreamSynchronize(c->stream);
		(void)cudaStreamDestroy(c->stream);
	}
	bs_nufft_cuda_close(c->nufft);
	bs_devmem_close(&c->mem);
}

static int step(const struct pipe *c, unsigned blocks, struct bs_fail *why)
{
	float *image = (float *)c->image;
	float *at_samples = (float *)c->at_samples;
	int rc = bs_nufft_cuda_adjoint(c->nufft, at_samples, image, c->stream, why);

	if (rc != 0)
		return rc;
	taper<<<dim3(c->size[1], c->size[2]), THREADS, 0, c->stream>>>(c->image, c->size[0]);
	BS_CUDA(cudaGetLastError(), why);
	rc = bs_nufft_cuda_forward(c->nufft, image, at_samples, c->stream, why);
	if (rc != 0)
		return rc;
	divide<<<blocks, THREADS, 0, c->stream>>>(c->weight, c->at_samples, c->samples);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/* Queues all iterations; the host waits once. */
static int iterate(const struct pipe *c, uint32_t iterations, float *weight, struct bs_fail *why)
{
	const unsigned blocks = (unsigned)((c->samples + THREADS - 1) / THREADS);
	int rc = 0;

	start<<<blocks, THREADS, 0, c->stream>>>(c->weight, c->at_samples, c->samples);
	BS_CUDA(cudaGetLastError(), why);
	for (uint32_t i = 0; i < iterations && rc == 0; i++)
		rc = step(c, blocks, why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaMemcpyAsync(weight, c->weight, c->samples * sizeof(*weight),
				cudaMemcpyDeviceToHost, c->stream),
		why);
	return BS_CUDA_RC(cudaStreamSynchronize(c->stream), why);
}

int bs_density_pipe_cuda(float *weight, const struct bs_protocol *p, const struct bs_traj *traj,
			 struct bs_team *, struct bs_fail *why)
{
	struct pipe c;
	int rc;

	memset(&c, 0, sizeof(c));
	rc = open_pipe(&c, p, traj, why);
	if (rc == 0)
		rc = iterate(&c, p->density_iterations, weight, why);
	close_pipe(&c);
	return rc;
}

/*
 * Runs pipe on the GPU where there is room, else on the host. A node whose GPU is full still arms,
 * somewhat later, and its log says why.
 */
static int pipe_where_it_fits(float *weight, const struct bs_protocol *p,
			      const struct bs_traj *traj, struct bs_team *team, struct bs_fail *why)
{
	int rc = bs_density_pipe_cuda(weight, p, traj, team, why);

	if (rc != BS_ERR_NOMEM && rc != BS_ERR_UNSUPPORTED && rc != BS_ERR_SIZE)
		return rc;
	bs_log(BS_LOG_WARN, "protocol '%s': density weights by the host, not the GPU: %s", p->name,
	       why->text);
	return bs_density_pipe_host(weight, p, traj, team, why);
}

int bs_density_cuda(float *weight, const struct bs_protocol *p, const struct bs_traj *traj,
		    const float *file, struct bs_team *team, struct bs_fail *why)
{
	/* the GPU's failure, which is not the caller's where the host takes over */
	struct bs_fail own;

	memset(&own, 0, sizeof(own));
	int rc = bs_density_by(pipe_where_it_fits, weight, p, traj, file, team, &own);

	return rc != 0 ? bs_fail(why, rc, "%s", own.text) : 0;
}

static bool weighs(const struct bs_protocol *p)
{
	const enum bs_weighing when = p->plan.weighs;

	return when == BS_WEIGHS_ALWAYS ||
	       (when == BS_WEIGHS_WHEN_ASKED && p->density != BS_DENSITY_NONE);
}

int bs_density_cuda_tables(struct bs_tables *with, float **made, const struct bs_protocol *p,
			   const struct bs_tables *tables, struct bs_team *team,
			   struct bs_fail *why)
{
	int rc;

	*with = *tables;
	*made = NULL;
	if (tables->density != NULL || !weighs(p))
		return 0;
	*made = (float *)malloc((size_t)bs_protocol_samples(p) * sizeof(**made));
	if (*made == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': density weights", p->name);
	rc = bs_density_cuda(*made, p, tables->traj, tables->weight, team, why);
	if (rc != 0) {
		free(*made);
		*made = NULL;
		return rc;
	}
	with->density = *made;
	return 0;
}
