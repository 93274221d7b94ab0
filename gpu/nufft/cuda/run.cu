/* gpu/nufft/cuda/run.cu - what a CUDA gridding plan runs, at once or in pieces; see nufft_cuda.h */
#include "gpu/nufft/cuda/plan.cuh"

#include <string.h>

#include "gpu/device/launch.cuh"

/* ---- transforms --------------------------------------------------------------------------- */

/* Samples as spreading wants them; *data: where they then are. *follows: they come from a kernel,
 * and the next may start while it ends. */
static int prepare(struct bs_nufft_cuda *p, const struct bs_nufft_chunk *c, const float2 **data,
		   bool *follows, cudaStream_t stream, struct bs_fail *why)
{
	int rc = 0;

	if (p->stacked)
		rc = bs_nufft_stack_in(&p->stack, *data, p->mixed, stream, why);
	else if (p->choice.mixed)
		rc = bs_nufft_mix(*data, p->weight, p->spec.samples, c->first, c->count,
				  p->spec.coils, p->mixed, stream, why);
	*follows = p->choice.mixed && p->close;
	*data = p->choice.mixed ? p->mixed : *data;
	return rc;
}

/* Into the padded sectors. */
static int spread(struct bs_nufft_cuda *p, const struct bs_nufft_chunk *c, const float2 *data,
		  cudaStream_t stream, struct bs_fail *why)
{
	bool follows;
	int rc = prepare(p, c, &data, &follows, stream, why);

	if (rc == 0)
		rc = bs_launch(p->kernels.spread, dim3(c->dev.tasks, c->dev.groups),
			       p->kernels.spread_threads, p->kernels.spread_bytes, follows, stream,
			       why, c->dev, data, p->scratch);
	return rc != 0 ? rc
		       : bs_nufft_merge(&c->dev, p->choice.lanes, p->scratch, p->close, stream,
					why);
}

/* Into the grid, cell by cell. */
static int collect(struct bs_nufft_cuda *p, const struct bs_nufft_chunk *c, const float2 *data,
		   float2 *grid, bool add, cudaStream_t stream, struct bs_fail *why)
{
	bool follows;
	int rc = prepare(p, c, &data, &follows, stream, why);

	return rc != 0 ? rc
		       : bs_nufft_collect(&c->dev, p->choice.taps, p->choice.lanes, add, data, grid,
					  follows, stream, why);
}

/* The image of a grid that has been transformed along x into half. */
static int from_half(struct bs_nufft_cuda *p, float *image, cudaStream_t stream,
		     struct bs_fail *why)
{
	if (p->choice.sectors.dims == 2)
		return bs_line_launch(&p->in[1], 1, p->half, (float2 *)image, stream, why);
	int rc = bs_line_launch(&p->in[1], 1, p->half, p->scratch, stream, why);

	return rc != 0 ? rc
		       : bs_line_launch(&p->in[2], 1, p->scratch, (float2 *)image, stream, why);
}

static int from_grid(struct bs_nufft_cuda *p, const float2 *grid, float *image, cudaStream_t stream,
		     struct bs_fail *why)
{
	int rc = bs_line_launch(&p->in[0], 1, grid, p->half, stream, why);

	return rc != 0 ? rc : from_half(p, image, stream, why);
}

/* The image of one chunk by padded sectors, which are added up on the way along x. */
static int from_chunk(struct bs_nufft_cuda *p, const struct bs_nufft_chunk *c, const float2 *data,
		      float *image, cudaStream_t stream, struct bs_fail *why)
{
	int rc = spread(p, c, data, stream, why);

	if (rc == 0)
		rc = bs_nufft_gather_rows(&c->dev, p->choice.lanes, &p->in[0], p->scratch, p->half,
					  stream, why);
	return rc != 0 ? rc : from_half(p, image, stream, why);
}

int bs_nufft_add_chunk(struct bs_nufft_cuda *p, uint64_t chunk, const float2 *data, float2 *grid,
		       cudaStream_t stream, struct bs_fail *why)
{
	int rc;

	if (p->choice.collect)
		return collect(p, &p->chunk[chunk], data, grid, true, stream, why);
	rc = spread(p, &p->chunk[chunk], data, stream, why);
	return rc != 0 ? rc
		       : bs_nufft_gather(&p->chunk[chunk].dev, p->choice.lanes, p->scratch, grid,
					 stream, why);
}

int bs_nufft_cuda_adjoint(struct bs_nufft_cuda *p, const float *data, float *image, void *stream,
			  struct bs_fail *why)
{
	cudaStream_t st = (cudaStream_t)stream;
	const float2 *in = (const float2 *)data;
	int rc = 0;

	if (p->choice.chunks == 1 && p->choice.collect) {
		rc = collect(p, &p->chunk[0], in, p->grid, false, st, why);
	} else if (p->direct) {
		rc = bs_nufft_direct(&p->chunk[0].dev, p->choice.taps, in, p->grid, false, st, why);
	} else if (p->choice.chunks == 1) {
		return from_chunk(p, &p->chunk[0], in, image, st, why);
	} else {
		BS_CUDA(cudaMemsetAsync(p->grid, 0, bs_nufft_cells(p) * sizeof(float2), st), why);
		for (uint64_t i = 0; rc == 0 && i < p->choice.chunks; i++)
			rc = bs_nufft_add_chunk(p, i, in, p->grid, st, why);
	}
	return rc != 0 ? rc : from_grid(p, p->grid, image, st, why);
}

int bs_nufft_cuda_forward(struct bs_nufft_cuda *p, const float *image, float *data, void *stream,
			  struct bs_fail *why)
{
	cudaStream_t st = (cudaStream_t)stream;
	const float2 *from = (const float2 *)image;
	const bool shared = p->choice.launch.parts == 4;
	float2 *to = p->choice.mixed && p->stacked ? p->mixed : (float2 *)data;
	int rc = 0;

	if (p->choice.sectors.dims == 3) {
		rc = bs_line_launch(&p->out[2], -1, from, p->scratch, st, why);
		from = p->scratch;
	}
	if (rc == 0)
		rc = bs_line_launch(&p->out[1], -1, from, p->half, st, why);
	if (rc == 0)
		rc = bs_line_launch(&p->out[0], -1, p->half, p->grid, st, why);
	for (uint64_t i = 0; rc == 0 && i < p->choice.chunks; i++) {
		bs_nufft_dev d = p->chunk[i].dev;

		if (!p->stacked) { /* written where it belongs, mixed or not */
			d.sample_step = 1;
			d.channel_step = p->spec.samples;
		}
		rc = bs_launch(shared ? p->kernels.interpolate_shared : p->kernels.interpolate,
			       dim3(d.tasks, d.groups), p->kernels.interpolate_threads,
			       shared ? p->kernels.interpolate_shared_bytes
				      : p->kernels.interpolate_bytes,
			       p->close, st, why, d, p->grid, to);
	}
	if (rc == 0 && p->stacked)
		rc = bs_nufft_stack_out(&p->stack, p->mixed, (float2 *)data, st, why);
	return rc;
}

/* ---- incremental -------------------------------------------------------------------------- */

float *bs_nufft_cuda_samples(struct bs_nufft_cuda *p, uint32_t state)
{
	return (float *)p->state[state].data;
}

int bs_nufft_cuda_begin(struct bs_nufft_cuda *p, uint32_t state, void *stream, struct bs_fail *why)
{
	struct bs_nufft_cuda_state *s = &p->state[state];
	cudaStream_t st = (cudaStream_t)stream;

	s->next = 0;
	memset(s->arrived, 0, (size_t)p->choice.chunks * sizeof(*s->arrived));
	BS_CUDA(cudaMemsetAsync(s->data, 0, p->spec.samples * p->spec.coils * sizeof(float2), st),
		why);
	if (s->grid != NULL)
		BS_CUDA(cudaMemsetAsync(s->grid, 0, bs_nufft_cells(p) * sizeof(float2), st), why);
	return 0;
}

/* The last chunk waits for finish, so that what finish queues is always the same. */
int bs_nufft_cuda_arrived(struct bs_nufft_cuda *p, uint32_t state, uint64_t first, uint64_t count,
			  void *stream, struct bs_fail *why)
{
	struct bs_nufft_cuda_state *s = &p->state[state];
	int rc = 0;

	if (p->choice.chunks == 1)
		return 0;
	while (count > 0) {
		uint64_t c = first / p->choice.chunk;
		uint64_t left = p->chunk[c].first + p->chunk[c].count - first;
		uint64_t part = count < left ? count : left;

		s->arrived[c] += part;
		first += part;
		count -= part;
	}
	while (rc == 0 && s->next + 1 < p->choice.chunks &&
	       s->arrived[s->next] >= p->chunk[s->next].count)
		rc = bs_nufft_add_chunk(p, s->next++, s->data, s->grid, (cudaStream_t)stream, why);
	return rc;
}

int bs_nufft_cuda_settle(struct bs_nufft_cuda *p, uint32_t state, void *stream, struct bs_fail *why)
{
	struct bs_nufft_cuda_state *s = &p->state[state];
	int rc = 0;

	while (rc == 0 && s->next + 1 < p->choice.chunks)
		rc = bs_nufft_add_chunk(p, s->next++, s->data, s->grid, (cudaStream_t)stream, why);
	return rc;
}

int bs_nufft_cuda_finish(struct bs_nufft_cuda *p, uint32_t state, float *image, void *stream,
			 struct bs_fail *why)
{
	struct bs_nufft_cuda_state *s = &p->state[state];
	cudaStream_t st = (cudaStream_t)stream;

	if (p->choice.chunks == 1)
		return bs_nufft_cuda_adjoint(p, (const float *)s->data, image, stream, why);
	int rc = bs_nufft_add_chunk(p, p->choice.chunks - 1, s->data, s->grid, st, why);

	return rc != 0 ? rc : from_grid(p, s->grid, image, st, why);
}

int bs_nufft_cuda_part(struct bs_nufft_cuda *p, uint32_t state, uint64_t chunk, float *image,
		       void *stream, struct bs_fail *why)
{
	const float2 *data = p->state[state].data;

	if (p->choice.chunks == 1) /* the rest of the samples are zeros */
		return bs_nufft_cuda_adjoint(p, (const float *)data, image, stream, why);
	return from_chunk(p, &p->chunk[chunk], data, image, (cudaStream_t)stream, why);
}

int bs_nufft_cuda_peek(struct bs_nufft_cuda *p, uint32_t state, float *image, void *stream,
		       struct bs_fail *why)
{
	const struct bs_nufft_cuda_state *s = &p->state[state];
	cudaStream_t st = (cudaStream_t)stream;
	int rc = 0;

	if (p->choice.chunks == 1)
		return bs_nufft_cuda_adjoint(p, (const float *)s->data, image, stream, why);
	BS_CUDA(cudaMemcpyAsync(p->spare, s->grid, bs_nufft_cells(p) * sizeof(float2),
				cudaMemcpyDeviceToDevice, st),
		why);
	for (uint64_t c = s->next; rc == 0 && c < p->choice.chunks; c++)
		if (s->arrived[c] > 0)
			rc = bs_nufft_add_chunk(p, c, s->data, p->spare, st, why);
	return rc != 0 ? rc : from_grid(p, p->spare, image, st, why);
}
