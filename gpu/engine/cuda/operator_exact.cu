/*
 * gpu/engine/cuda/operator_exact.cu - the exact F^H d as an operator; see operator.h
 *
 * Chunks (gpu/exact/exact_cuda.h) are summed in order, each as soon as its readouts are there and
 * the chunks before it are summed, so that the image does not depend on the order of arrival. The
 * last chunk waits for finish, which therefore always queues the same launches, fit for a graph.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/engine/cuda/operator.h"
#include "gpu/device/check.h"
#include "gpu/exact/exact_cuda.h"
#include "gpu/solve/lsq_cuda.h"

struct frame {
	uint32_t *missing; /* [chunk]: number of readouts that have not come */
	uint32_t next;     /* number of the chunk to be queued next */
};

struct exact {
	struct bs_exact_cuda *sum;
	uint32_t samples, readouts, chunk, chunks, frames;
	uint64_t all;  /* samples of a frame */
	uint64_t part; /* samples of a sliding window's group; without one, of a frame */
	uint32_t dims;
	const float *k, *weight; /* device; weight may be NULL */
	float2 *data;            /* [frame][coil][sample]; frames are frame_values apart */
	uint64_t frame_values;
	uint32_t *touched; /* [chunk]: number of readouts that lie in it, whole or in part */
	struct frame *frame;
};

static void spec_of(struct bs_exact_cuda_spec *s, const struct bs_protocol *p)
{
	memset(s, 0, sizeof(*s));
	s->sum = BS_EXACT_FHD;
	s->dims = p->dims;
	memcpy(s->matrix, p->matrix, sizeof(s->matrix));
	s->coils = p->coils;
	s->states = bs_protocol_frames(p);
	s->samples = (uint64_t)(p->frame_step > 0 ? p->frame_step : p->readouts) * p->samples;
}

static uint64_t frame_bytes(const struct bs_protocol *p)
{
	return bs_devmem_round(bs_protocol_samples(p) * p->coils * 8);
}

static int need(const struct bs_cuda_spec *c, struct bs_need *n, struct bs_fail *why)
{
	const struct bs_protocol *p = c->p;
	struct bs_exact_cuda_spec s;
	uint64_t bytes = 0;
	int rc;

	spec_of(&s, p);
	rc = bs_exact_cuda_need(&s, &bytes, why);
	if (rc != 0)
		return rc;
	bs_need_add(n, "device sums and tables", 1, bytes);
	bs_need_add(n, "device trajectory", 1,
		    bs_devmem_round(bs_protocol_samples(p) * s.dims * 4));
	bs_need_add(n, "device weights", 1, bs_devmem_round(bs_protocol_samples(p) * 4));
	bs_need_add(n, "device samples", s.states, frame_bytes(p));
	return 0;
}

static void close_exact(void *op)
{
	struct exact *e = (struct exact *)op;

	bs_exact_cuda_close(e->sum);
	for (uint32_t f = 0; e->frame != NULL && f < e->frames; f++)
		free(e->frame[f].missing);
	free(e->frame);
	free(e->touched);
	free(e);
}

/* Finds the first and the last chunk that a readout lies in. */
static void chunks_of(const struct exact *e, uint32_t row, uint32_t *first, uint32_t *last)
{
	*first = (uint32_t)((uint64_t)row * e->samples / e->chunk);
	*last = (uint32_t)(((uint64_t)(row + 1) * e->samples - 1) / e->chunk);
}

static int plan_frames(struct exact *e, const struct bs_protocol *p, struct bs_fail *why)
{
	struct bs_exact_cuda_info info;
	uint32_t first;
	uint32_t last;

	bs_exact_cuda_info(e->sum, &info);
	e->chunk = info.chunk;
	e->chunks = info.chunks;
	e->touched = (uint32_t *)calloc(e->chunks, sizeof(*e->touched));
	e->frame = (struct frame *)calloc(e->frames, sizeof(*e->frame));
	for (uint32_t f = 0; e->frame != NULL && f < e->frames; f++) {
		e->frame[f].missing = (uint32_t *)calloc(e->chunks, sizeof(uint32_t));
		if (e->frame[f].missing == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': frames", p->name);
	}
	if (e->touched == NULL || e->frame == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': frames", p->name);
	for (uint32_t r = 0; r < e->readouts && e->part == e->all; r++) {
		chunks_of(e, r, &first, &last);
		for (uint32_t c = first; c <= last; c++)
			e->touched[c]++;
	}
	return 0;
}

/* Makes k, weight and the sums on the device. weight: host memory; NULL: ones. */
static int plan_tables(struct exact *e, const struct bs_protocol *p, const float *k,
		       const float *weight, int32_t slab_y, struct bs_devmem *mem,
		       struct bs_fail *why)
{
	struct bs_exact_cuda_spec s;

	spec_of(&s, p);
	s.offset[1] = slab_y;
	e->frame_values = frame_bytes(p) / sizeof(float2);
	e->data = (float2 *)bs_devmem_take_readouts(mem, (size_t)frame_bytes(p) * e->frames);
	if (e->data == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': samples of the exact sum",
			       p->name);
	int rc = bs_devmem_upload(mem, &e->k, k, e->all * s.dims * 4, why);

	if (rc == 0 && weight != NULL)
		rc = bs_devmem_upload(mem, &e->weight, weight, e->all * 4, why);
	e->part = s.samples;
	e->dims = s.dims;
	return rc != 0 ? rc : bs_exact_cuda_plan(&e->sum, &s, e->k, e->weight, mem, why);
}

static int plan(void **op, const struct bs_cuda_spec *c, const struct bs_tables *tables,
		struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_protocol *p = c->p;
	struct exact *e = (struct exact *)calloc(1, sizeof(*e));
	float *weight = NULL;
	int rc;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': exact sum", p->name);
	*op = e;
	e->samples = p->samples;
	e->readouts = p->readouts;
	e->frames = bs_protocol_frames(p);
	e->all = bs_protocol_samples(p);
	rc = bs_lsq_cuda_weights(&weight, p, tables, team, 1, why);
	if (rc == 0)
		rc = plan_tables(e, p, tables->traj->k, weight, tables->slab_y, mem, why);
	free(weight);
	return rc != 0 ? rc : plan_frames(e, p, why);
}

static float2 *samples(void *op, uint32_t frame)
{
	const struct exact *e = (const struct exact *)op;

	return e->data + frame * e->frame_values;
}

static int begin(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	struct exact *e = (struct exact *)op;

	memcpy(e->frame[frame].missing, e->touched, e->chunks * sizeof(*e->touched));
	e->frame[frame].next = 0;
	bs_exact_cuda_begin(e->sum, frame);
	return BS_CUDA_RC(
		cudaMemsetAsync(samples(op, frame), 0, e->frame_values * sizeof(float2), stream),
		why);
}

static int add_next(struct exact *e, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	return bs_exact_cuda_chunk(e->sum, frame, e->frame[frame].next++,
				   (const float *)samples(e, frame), (size_t)e->all, stream, why);
}

static int arrived(void *op, uint32_t frame, uint32_t row, cudaStream_t stream, struct bs_fail *why)
{
	struct exact *e = (struct exact *)op;
	struct frame *f = &e->frame[frame];
	uint32_t first;
	uint32_t last;
	int rc = 0;

	chunks_of(e, row, &first, &last);
	for (uint32_t c = first; c <= last; c++)
		f->missing[c]--;
	while (rc == 0 && f->next + 1 < e->chunks && f->missing[f->next] == 0)
		rc = add_next(e, frame, stream, why);
	return rc;
}

static int settle(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	struct exact *e = (struct exact *)op;
	int rc = 0;

	while (rc == 0 && e->frame[frame].next + 1 < e->chunks)
		rc = add_next(e, frame, stream, why);
	return rc;
}

static int finish(void *op, uint32_t frame, float2 *image, cudaStream_t stream, struct bs_fail *why)
{
	struct exact *e = (struct exact *)op;
	int rc;

	/* finish is called twice for a frame: to run it, and to capture the graph. */
	bs_exact_cuda_expect(e->sum, frame, e->chunks - 1);
	rc = bs_exact_cuda_chunk(e->sum, frame, e->chunks - 1, (const float *)samples(e, frame),
				 (size_t)e->all, stream, why);
	return rc != 0 ? rc : bs_exact_cuda_finish(e->sum, frame, (float *)image, stream, why);
}

/* Sums the group as if it were a frame of its own. */
static int part(void *op, uint32_t frame, uint32_t group, float2 *image, cudaStream_t stream,
		struct bs_fail *why)
{
	struct exact *e = (struct exact *)op;
	const size_t at = (size_t)group * (size_t)e->part;

	bs_exact_cuda_move(e->sum, e->k + at * e->dims, e->weight != NULL ? e->weight + at : NULL);
	return bs_exact_cuda_sum(e->sum, frame, (const float *)(samples(e, frame) + at),
				 (size_t)e->all, (float *)image, stream, why);
}

const struct bs_cuda_operator bs_cuda_sum_exact = {
	bs_coil_step, need, plan, close_exact, samples, begin, arrived, settle, finish, part,
	NULL,         NULL, NULL, NULL,        false,   NULL,  NULL,    NULL,   NULL,   NULL,
};
