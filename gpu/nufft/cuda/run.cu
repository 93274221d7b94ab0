/* gpu/nufft/cuda/run.cu - what a CUDA gridding plan runs, at once or in pieces; see nufft_cuda.h */
#include "gpu/nufft/cuda/plan.cuh"

#include <string.h>

#include "gpu/device/launch.cuh"

/* ---- transforms --------------------------------------------------------------------------- */

/* A turn: coils that are transformed together and share the scratch. */
struct turn {
	uint32_t first, coils;
};

static struct turn turn_of(const struct bs_nufft_cuda *p, uint32_t i)
{
	const uint32_t first = i * p->choice.turn;
	const uint32_t left = p->spec.coils - first;

	return { first, left < p->choice.turn ? left : p->choice.turn };
}

/* Returns the arguments of the kernels for a chunk and the coils of a turn. */
static bs_nufft_dev dev_of(const struct bs_nufft_cuda *p, uint64_t chunk, struct turn t)
{
	const struct bs_nufft_choice *c = &p->choice;
	bs_nufft_dev d = p->chunk[chunk].dev;

	d.channels = t.coils * c->planes;
	d.groups = (d.channels + c->lanes - 1) / c->lanes;
	if (c->mixed)
		d.sample_step = d.channels;
	return d;
}

static int pass(const struct bs_nufft_cuda *p, const bs_line_pass *of, int sign, struct turn t,
		const float2 *in, float2 *out, cudaStream_t stream, struct bs_fail *why)
{
	bs_line_pass own = *of;

	own.outer = own.outer / p->choice.turn * t.coils;
	return bs_line_launch(&own, sign, in, out, stream, why);
}

static uint64_t voxels_of(const struct bs_nufft_cuda *p)
{
	const struct bs_nufft_choice *c = &p->choice;

	return (uint64_t)c->planes * c->matrix[0] * c->matrix[1] * c->matrix[2];
}

static bs_stack_dev stack_of(const struct bs_nufft_cuda *p, struct turn t)
{
	bs_stack_dev s = p->stack;

	s.coils = t.coils;
	return s;
}

/*
 * Prepares samples for spreading. *data: first the turn's samples, then where they are. *follows: a
 * kernel has made them, and the next kernel may start while it ends.
 */
static int prepare(struct bs_nufft_cuda *p, uint64_t chunk, struct turn t, const float2 **data,
		   bool *follows, cudaStream_t stream, struct bs_fail *why)
{
	const struct bs_nufft_chunk *c = &p->chunk[chunk];
	const bs_stack_dev stack = stack_of(p, t);
	int rc = 0;

	if (p->stacked)
		rc = bs_nufft_stack_in(&stack, *data, p->mixed, stream, why);
	else if (p->choice.mixed)
		rc = bs_nufft_mix(*data, p->weight, p->spec.samples, c->first, c->count, t.coils,
				  p->mixed, stream, why);
	*follows = p->choice.mixed && p->close;
	*data = p->choice.mixed ? p->mixed : *data;
	return rc;
}

/* Spreads a chunk into the padded sectors. */
static int spread(struct bs_nufft_cuda *p, uint64_t chunk, struct turn t, const bs_nufft_dev *d,
		  const float2 *data, cudaStream_t stream, struct bs_fail *why)
{
	bool follows;
	int rc = prepare(p, chunk, t, &data, &follows, stream, why);

	if (rc == 0)
		rc = bs_launch(p->kernels.spread, dim3(d->tasks, d->groups),
			       p->kernels.spread_threads, p->kernels.spread_bytes, follows, stream,
			       why, *d, data, p->scratch);
	return rc != 0 ? rc : bs_nufft_merge(d, p->choice.lanes, p->scratch, p->close, stream, why);
}

/* Fills the grid from a chunk, cell by cell. */
static int collect(struct bs_nufft_cuda *p, uint64_t chunk, struct turn t, const float2 *data,
		   float2 *grid, bool add, cudaStream_t stream, struct bs_fail *why)
{
	const bs_nufft_dev d = dev_of(p, chunk, t);
	bool follows;
	int rc = prepare(p, chunk, t, &data, &follows, stream, why);

	return rc != 0 ? rc
		       : bs_nufft_collect(&d, p->choice.taps, p->choice.lanes, add, data, grid,
					  follows, stream, why);
}

/* Makes the image from half, a grid that has been transformed along x. */
static int from_half(struct bs_nufft_cuda *p, struct turn t, float2 *image, cudaStream_t stream,
		     struct bs_fail *why)
{
	if (p->choice.sectors.dims == 2)
		return pass(p, &p->in[1], 1, t, p->half, image, stream, why);
	int rc = pass(p, &p->in[1], 1, t, p->half, p->scratch, stream, why);

	return rc != 0 ? rc : pass(p, &p->in[2], 1, t, p->scratch, image, stream, why);
}

static int from_grid(struct bs_nufft_cuda *p, struct turn t, const float2 *grid, float2 *image,
		     cudaStream_t stream, struct bs_fail *why)
{
	int rc = pass(p, &p->in[0], 1, t, grid, p->half, stream, why);

	return rc != 0 ? rc : from_half(p, t, image, stream, why);
}

/* Makes the image of one chunk by padded sectors, which are added up with the transform along x. */
static int from_sectors(struct bs_nufft_cuda *p, uint64_t chunk, struct turn t, const float2 *data,
			float2 *image, cudaStream_t stream, struct bs_fail *why)
{
	const bs_nufft_dev d = dev_of(p, chunk, t);
	int rc = spread(p, chunk, t, &d, data, stream, why);

	if (rc == 0)
		rc = bs_nufft_gather_rows(&d, p->choice.lanes, &p->in[0], p->scratch, p->half,
					  stream, why);
	return rc != 0 ? rc : from_half(p, t, image, stream, why);
}

/* Makes the image of one chunk for the coils of a turn, to whom data and image belong. */
static int turn_image(struct bs_nufft_cuda *p, uint64_t chunk, struct turn t, const float2 *data,
		      float2 *image, cudaStream_t stream, struct bs_fail *why)
{
	int rc;

	if (!p->choice.collect && !p->direct)
		return from_sectors(p, chunk, t, data, image, stream, why);
	if (p->choice.collect)
		rc = collect(p, chunk, t, data, p->grid, false, stream, why);
	else
		rc = bs_nufft_direct(&p->chunk[chunk].dev, p->choice.taps, data, p->grid, false,
				     stream, why);
	return rc != 0 ? rc : from_grid(p, t, p->grid, image, stream, why);
}

/*
 * Makes, or adds to image (add), the image of one chunk for all coils. An image that is added is
 * first made where half was, in 2D in scratch: a turn's images are no larger.
 */
static int chunk_image(struct bs_nufft_cuda *p, uint64_t chunk, const float2 *data, float2 *image,
		       bool add, cudaStream_t stream, struct bs_fail *why)
{
	float2 *between = p->choice.sectors.dims == 2 ? p->scratch : p->half;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < p->choice.turns; i++) {
		const struct turn t = turn_of(p, i);
		float2 *to = image + t.first * voxels_of(p);

		rc = turn_image(p, chunk, t, data + t.first * p->spec.samples, add ? between : to,
				stream, why);
		if (rc == 0 && add)
			rc = bs_nufft_sum(to, between, t.coils * voxels_of(p), stream, why);
	}
	return rc;
}

/* Makes the image of all chunks with the same sums as chunk by chunk. */
static int sum_chunks(struct bs_nufft_cuda *p, const float2 *data, float2 *image,
		      cudaStream_t stream, struct bs_fail *why)
{
	int rc = 0;

	for (uint64_t c = 0; rc == 0 && c < p->choice.chunks; c++)
		rc = chunk_image(p, c, data, image, c > 0, stream, why);
	return rc;
}

int bs_nufft_add_chunk(struct bs_nufft_cuda *p, uint64_t chunk, const float2 *data, float2 *grid,
		       cudaStream_t stream, struct bs_fail *why)
{
	const struct turn all = turn_of(p, 0);
	const bs_nufft_dev *d = &p->chunk[chunk].dev;
	int rc;

	if (p->choice.collect)
		return collect(p, chunk, all, data, grid, true, stream, why);
	rc = spread(p, chunk, all, d, data, stream, why);
	return rc != 0 ? rc : bs_nufft_gather(d, p->choice.lanes, p->scratch, grid, stream, why);
}

int bs_nufft_cuda_adjoint(struct bs_nufft_cuda *p, const float *data, float *image, void *stream,
			  struct bs_fail *why)
{
	cudaStream_t st = (cudaStream_t)stream;
	const float2 *in = (const float2 *)data;
	int rc = 0;

	if (p->choice.chunks == 1 || p->choice.sums)
		return sum_chunks(p, in, (float2 *)image, st, why);
	BS_CUDA(cudaMemsetAsync(p->grid, 0, bs_nufft_cells(p) * sizeof(float2), st), why);
	for (uint64_t i = 0; rc == 0 && i < p->choice.chunks; i++)
		rc = bs_nufft_add_chunk(p, i, in, p->grid, st, why);
	return rc != 0 ? rc : from_grid(p, turn_of(p, 0), p->grid, (float2 *)image, st, why);
}

static int turn_forward(struct bs_nufft_cuda *p, struct turn t, const float2 *from, float2 *data,
			cudaStream_t st, struct bs_fail *why)
{
	const bool shared = p->choice.launch.parts == 4;
	const bs_stack_dev stack = stack_of(p, t);
	const bs_line_pass *last = &p->out[0];
	bs_line_pass by_fours = *last;
	/* the blocks of interpolate_shared want the channels of a cell beside each other */
	const bool fours = shared && p->kernels.shared_lanes == 4 && p->choice.sectors.dims == 3 &&
			   t.coils % 4 == 0 && by_fours.registers &&
			   bs_line_has_fours(by_fours.line.n);
	float2 *to = p->choice.mixed && p->stacked ? p->mixed : data;
	int rc = 0;

	if (fours) {
		by_fours.fours = p->choice.sectors.grid[1] * p->choice.sectors.grid[2];
		last = &by_fours;
	}
	if (p->choice.sectors.dims == 3) {
		rc = pass(p, &p->out[2], -1, t, from, p->scratch, st, why);
		from = p->scratch;
	}
	if (rc == 0)
		rc = pass(p, &p->out[1], -1, t, from, p->half, st, why);
	if (rc == 0)
		rc = pass(p, last, -1, t, p->half, p->grid, st, why);
	for (uint64_t i = 0; rc == 0 && i < p->choice.chunks; i++) {
		bs_nufft_dev d = dev_of(p, i, t);

		d.fours = fours;
		if (shared)
			d.groups = (d.channels + p->kernels.shared_lanes - 1) /
				   p->kernels.shared_lanes;
		if (!p->stacked) { /* the results are written where they belong, mixed or not */
			d.sample_step = 1;
			d.channel_step = p->spec.samples;
		}
		rc = bs_launch(shared ? p->kernels.interpolate_shared : p->kernels.interpolate,
			       dim3(d.tasks, d.groups),
			       shared ? p->kernels.shared_threads : p->kernels.interpolate_threads,
			       shared ? p->kernels.interpolate_shared_bytes
				      : p->kernels.interpolate_bytes,
			       last->close, st, why, d, p->grid, to);
	}
	if (rc == 0 && p->stacked)
		rc = bs_nufft_stack_out(&stack, p->mixed, data, st, why);
	return rc;
}

int bs_nufft_cuda_forward(struct bs_nufft_cuda *p, const float *image, float *data, void *stream,
			  struct bs_fail *why)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < p->choice.turns; i++) {
		const struct turn t = turn_of(p, i);

		rc = turn_forward(p, t, (const float2 *)image + t.first * voxels_of(p),
				  (float2 *)data + t.first * p->spec.samples, (cudaStream_t)stream,
				  why);
	}
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
	/* Sums of images need no zeros: the first chunk's image is written. */
	if (s->sum != NULL && !p->choice.sums)
		BS_CUDA(cudaMemsetAsync(s->sum, 0, bs_nufft_cells(p) * sizeof(float2), st), why);
	return 0;
}

/* Adds the next chunk to those before it. */
static int add_next(struct bs_nufft_cuda *p, struct bs_nufft_cuda_state *s, cudaStream_t stream,
		    struct bs_fail *why)
{
	const uint64_t c = s->next++;

	return p->choice.sums ? chunk_image(p, c, s->data, s->sum, c > 0, stream, why)
			      : bs_nufft_add_chunk(p, c, s->data, s->sum, stream, why);
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
		rc = add_next(p, s, (cudaStream_t)stream, why);
	return rc;
}

int bs_nufft_cuda_settle(struct bs_nufft_cuda *p, uint32_t state, void *stream, struct bs_fail *why)
{
	struct bs_nufft_cuda_state *s = &p->state[state];
	int rc = 0;

	while (rc == 0 && s->next + 1 < p->choice.chunks)
		rc = add_next(p, s, (cudaStream_t)stream, why);
	return rc;
}

int bs_nufft_cuda_finish(struct bs_nufft_cuda *p, uint32_t state, float *image, void *stream,
			 struct bs_fail *why)
{
	struct bs_nufft_cuda_state *s = &p->state[state];
	const uint64_t last = p->choice.chunks - 1;
	cudaStream_t st = (cudaStream_t)stream;
	int rc;

	if (last == 0)
		return bs_nufft_cuda_adjoint(p, (const float *)s->data, image, stream, why);
	if (p->choice.sums) {
		rc = chunk_image(p, last, s->data, (float2 *)image, false, st, why);
		return rc != 0 ? rc
			       : bs_nufft_sum((float2 *)image, s->sum, p->spec.coils * voxels_of(p),
					      st, why);
	}
	rc = bs_nufft_add_chunk(p, last, s->data, s->sum, st, why);
	return rc != 0 ? rc : from_grid(p, turn_of(p, 0), s->sum, (float2 *)image, st, why);
}

int bs_nufft_cuda_part(struct bs_nufft_cuda *p, uint32_t state, uint64_t chunk, float *image,
		       void *stream, struct bs_fail *why)
{
	const float2 *data = p->state[state].data;

	/* with one chunk in the plan, the samples outside of the part are zeros */
	return chunk_image(p, p->choice.chunks == 1 ? 0 : chunk, data, (float2 *)image, false,
			   (cudaStream_t)stream, why);
}

/* Makes the image so far: the first chunks together, then the other chunks that have samples. */
static int peek_sums(struct bs_nufft_cuda *p, const struct bs_nufft_cuda_state *s, float2 *image,
		     cudaStream_t stream, struct bs_fail *why)
{
	const size_t bytes = (size_t)(p->spec.coils * voxels_of(p)) * sizeof(float2);
	int rc = 0;

	if (s->next > 0)
		BS_CUDA(cudaMemcpyAsync(image, s->sum, bytes, cudaMemcpyDeviceToDevice, stream),
			why);
	else
		BS_CUDA(cudaMemsetAsync(image, 0, bytes, stream), why);
	for (uint64_t c = s->next; rc == 0 && c < p->choice.chunks; c++)
		if (s->arrived[c] > 0)
			rc = chunk_image(p, c, s->data, image, true, stream, why);
	return rc;
}

int bs_nufft_cuda_peek(struct bs_nufft_cuda *p, uint32_t state, float *image, void *stream,
		       struct bs_fail *why)
{
	const struct bs_nufft_cuda_state *s = &p->state[state];
	cudaStream_t st = (cudaStream_t)stream;
	int rc = 0;

	if (p->choice.chunks == 1)
		return bs_nufft_cuda_adjoint(p, (const float *)s->data, image, stream, why);
	if (p->choice.sums)
		return peek_sums(p, s, (float2 *)image, st, why);
	BS_CUDA(cudaMemcpyAsync(p->spare, s->sum, bs_nufft_cells(p) * sizeof(float2),
				cudaMemcpyDeviceToDevice, st),
		why);
	for (uint64_t c = s->next; rc == 0 && c < p->choice.chunks; c++)
		if (s->arrived[c] > 0)
			rc = bs_nufft_add_chunk(p, c, s->data, p->spare, st, why);
	return rc != 0 ? rc : from_grid(p, turn_of(p, 0), p->spare, (float2 *)image, st, why);
}
