/* gpu/multi/multi_grid.cu - gridding over several GPUs, the coils split; see multi.h */
#include "gpu/multi/multi.h"

#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "gpu/device/check.h"
#include "gpu/nufft/nufft_cuda.h"

#define SUM_THREADS 256

/* A part's coils. */
struct share {
	struct bs_split coils;
	struct bs_devmem mem;
	struct bs_nufft_cuda *plan;
	float2 *data, *images; /* [coil][sample], [coil][voxel] */
	float *squares;        /* sum over the own coils */
};

struct bs_multi_grid {
	struct bs_link *link;
	uint64_t samples, voxels;
	struct share share[BS_DEVICES_MAX];
	float *squares; /* on part 0: [part][voxel] */
	float *out;     /* on part 0 */
};

static __global__ void __launch_bounds__(SUM_THREADS)
	sum_squares(float *out, const float2 *images, uint64_t voxels, uint32_t coils)
{
	const uint64_t v = (uint64_t)blockIdx.x * SUM_THREADS + threadIdx.x;
	float sum = 0.0f;

	if (v >= voxels)
		return;
	for (uint32_t c = 0; c < coils; c++) {
		const float2 a = images[c * voxels + v];

		sum += a.x * a.x + a.y * a.y;
	}
	out[v] = sum;
}

/* The parts' sums in their order. */
static __global__ void __launch_bounds__(SUM_THREADS)
	root(float *out, const float *squares, uint64_t voxels, uint32_t parts)
{
	const uint64_t v = (uint64_t)blockIdx.x * SUM_THREADS + threadIdx.x;
	float sum = 0.0f;

	if (v >= voxels)
		return;
	for (uint32_t i = 0; i < parts; i++)
		sum += squares[i * voxels + v];
	out[v] = sqrtf(sum);
}

static unsigned blocks_of(uint64_t voxels)
{
	return (unsigned)((voxels + SUM_THREADS - 1) / SUM_THREADS);
}

static int open_share(struct bs_multi_grid *m, uint32_t i, const struct bs_nufft_spec *spec,
		      const float *k, const float *weight, struct bs_fail *why)
{
	struct share *s = &m->share[i];
	struct bs_nufft_spec own = *spec;
	struct bs_need need;
	int err = bs_link_enter(m->link, i, why);

	s->coils = bs_split_part(spec->coils, 1, bs_link_parts(m->link), i);
	if (err != 0 || s->coils.count == 0)
		return err;
	own.coils = (uint32_t)s->coils.count;
	own.states = 1;
	own.chunk = 0;
	memset(&need, 0, sizeof(need));
	BS_CUDA(cudaMalloc(&s->data, own.coils * m->samples * sizeof(float2)), why);
	BS_CUDA(cudaMalloc(&s->images, own.coils * m->voxels * sizeof(float2)), why);
	BS_CUDA(cudaMalloc(&s->squares, m->voxels * sizeof(float)), why);
	err = bs_nufft_cuda_need(&own, &need, why);
	if (err == 0)
		err = bs_devmem_open(&s->mem, need.total_bytes + 64 * BS_DEV_ALIGN, "several GPUs",
				     why);
	if (err == 0)
		err = bs_nufft_cuda_plan(&s->plan, &own, k, weight, &s->mem, why);
	if (err != 0)
		return err;
	BS_CUDA(cudaDeviceSynchronize(), why); /* what was copied up is there */
	return 0;
}

int bs_multi_grid_open(struct bs_multi_grid **out, struct bs_link *link,
		       const struct bs_nufft_spec *spec, const float *k, const float *weight,
		       struct bs_fail *why)
{
	const uint32_t parts = bs_link_parts(link);
	struct bs_multi_grid *m;
	int err = 0;

	*out = NULL;
	for (uint32_t a = 0; a < 3; a++)
		if (spec->matrix[a] < 1 || spec->matrix[a] > 512)
			return bs_fail(why, BS_ERR_SIZE, "several GPUs: matrix[%u] is %u", a,
				       spec->matrix[a]);
	if (spec->coils < 1 || spec->coils > BS_COILS_MAX || spec->samples < 1 ||
	    spec->samples > UINT64_C(1) << 31)
		return bs_fail(why, BS_ERR_SIZE, "several GPUs: %u coils, %llu samples",
			       spec->coils, (unsigned long long)spec->samples);
	m = (struct bs_multi_grid *)calloc(1, sizeof(*m));
	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "several GPUs");
	m->link = link;
	m->samples = spec->samples;
	m->voxels = (uint64_t)spec->matrix[0] * spec->matrix[1] * spec->matrix[2];
	for (uint32_t i = 0; i < parts && err == 0; i++)
		err = open_share(m, i, spec, k, weight, why);
	if (err == 0)
		err = bs_link_enter(link, 0, why);
	if (err == 0 &&
	    (cudaMalloc(&m->squares, parts * m->voxels * sizeof(float)) != cudaSuccess ||
	     cudaMalloc(&m->out, m->voxels * sizeof(float)) != cudaSuccess))
		err = bs_cuda_fail(why, cudaGetLastError(), "cudaMalloc of the result", __FILE__,
				   __LINE__);
	if (err != 0) {
		bs_multi_grid_close(m);
		return err;
	}
	*out = m;
	return 0;
}

int bs_multi_grid_load(struct bs_multi_grid *m, const float *data, struct bs_fail *why)
{
	const void *from[BS_DEVICES_MAX];
	void *to[BS_DEVICES_MAX];
	size_t bytes[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < bs_link_parts(m->link); i++) {
		const struct share *s = &m->share[i];

		from[i] = data + 2 * s->coils.first * m->samples;
		to[i] = s->data;
		bytes[i] = s->coils.count * m->samples * sizeof(float2);
	}
	return bs_link_upload(m->link, from, to, bytes, why);
}

static int queue_share(struct bs_multi_grid *m, uint32_t i, struct bs_fail *why)
{
	struct share *s = &m->share[i];
	cudaStream_t stream = bs_link_stream(m->link, i);
	int err = bs_link_enter(m->link, i, why);

	if (err == 0)
		err = bs_nufft_cuda_adjoint(s->plan, (const float *)s->data, (float *)s->images,
					    stream, why);
	if (err != 0)
		return err;
	sum_squares<<<blocks_of(m->voxels), SUM_THREADS, 0, stream>>>(
		s->squares, s->images, m->voxels, (uint32_t)s->coils.count);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

static int queue_all(struct bs_multi_grid *m, struct bs_fail *why)
{
	const uint32_t parts = bs_link_parts(m->link);
	const void *from[BS_DEVICES_MAX];
	void *to[BS_DEVICES_MAX];
	size_t bytes[BS_DEVICES_MAX];
	uint32_t busy = 0; /* the first parts: later ones have no coils */
	int err = 0;

	for (uint32_t i = 0; i < parts && err == 0; i++) {
		from[i] = m->share[i].squares;
		to[i] = m->squares + i * m->voxels;
		bytes[i] = m->share[i].coils.count > 0 ? m->voxels * sizeof(float) : 0;
		busy += bytes[i] > 0;
		if (bytes[i] > 0)
			err = queue_share(m, i, why);
	}
	if (err == 0)
		err = bs_link_gather(m->link, from, to, bytes, why);
	if (err != 0)
		return err;
	root<<<blocks_of(m->voxels), SUM_THREADS, 0, bs_link_stream(m->link, 0)>>>(
		m->out, m->squares, m->voxels, busy);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

int bs_multi_grid_run(struct bs_multi_grid *m, float *out, double *ms, struct bs_fail *why)
{
	const int64_t from = bs_now_ns();
	int err = bs_link_end(m->link, queue_all(m, why), from, ms, why);

	if (err != 0)
		return err;
	if (out != NULL)
		BS_CUDA(cudaMemcpy(out, m->out, m->voxels * sizeof(float), cudaMemcpyDeviceToHost),
			why);
	return 0;
}

void bs_multi_grid_close(struct bs_multi_grid *m)
{
	struct bs_fail why;

	if (m == NULL)
		return;
	for (uint32_t i = 0; i < bs_link_parts(m->link); i++) {
		struct share *s = &m->share[i];

		if (bs_link_enter(m->link, i, &why) != 0)
			continue;
		bs_nufft_cuda_close(s->plan);
		bs_devmem_close(&s->mem);
		(void)cudaFree(s->data);
		(void)cudaFree(s->images);
		(void)cudaFree(s->squares);
	}
	(void)bs_link_enter(m->link, 0, &why);
	(void)cudaFree(m->squares);
	(void)cudaFree(m->out);
	free(m);
}
