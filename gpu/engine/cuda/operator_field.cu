/*
 * gpu/engine/cuda/operator_field.cu - F^H d off resonance, by time segments, as an operator
 * (gpu/solve/segments_cuda.h), for gridding, ls and sense; see operator.h
 *
 * Samples are kept until finish, which transforms all of them once for each time segment. A
 * window's group is summed as a frame whose other readouts are zeros, as on the host.
 */
#include <stdlib.h>

#include "gpu/encode/encode.h"
#include "gpu/engine/cuda/operator.h"
#include "gpu/solve/lagged_cuda.h"
#include "gpu/solve/lsq_cuda.h"
#include "gpu/solve/segments_cuda.h"

struct field {
	struct bs_segments_cuda *segments;
	const struct bs_protocol *p;
};

/* The spec, with as many coils transformed together as in the system that is solved. */
static struct bs_segments_spec spec_of(const struct bs_cuda_spec *c)
{
	return bs_gridding_segments(c->p, c->p->plan.together);
}

static int need(const struct bs_cuda_spec *c, struct bs_need *n, struct bs_fail *why)
{
	const struct bs_segments_spec s = spec_of(c);

	return bs_segments_cuda_need(&s, n, why);
}

static int beside(const struct bs_cuda_spec *c, const float *field, struct bs_need *n,
		  struct bs_fail *why)
{
	const struct bs_segments_spec s = spec_of(c);
	uint64_t bytes = 0;
	int rc = c->solve && field != NULL ? bs_lagged_cuda_bytes(&s, field, &bytes, why) : 0;

	if (bytes > 0)
		bs_need_add(n, "device operators of the field", 1, bytes);
	return rc;
}

static void close_field(void *op)
{
	bs_segments_cuda_close(((struct field *)op)->segments);
	free(op);
}

/* Plans the operator. For method gridding, armed.cu has made the weights. */
static int plan(void **op, const struct bs_cuda_spec *c, const struct bs_tables *tables,
		struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_segments_spec s = spec_of(c);
	struct field *f = (struct field *)calloc(1, sizeof(*f));
	float *weight = NULL;
	int rc = 0;

	if (f == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': field", c->p->name);
	*op = f;
	f->p = c->p;
	if (c->solve)
		rc = bs_lsq_cuda_weights(&weight, c->p, tables, team, 1, why);
	if (rc == 0)
		rc = bs_segments_cuda_plan(&f->segments, &s, tables->traj->k,
					   c->solve ? weight : tables->density, tables->field, mem,
					   why);
	if (rc == 0 && c->solve)
		rc = bs_segments_cuda_lag(f->segments, tables->traj->k, weight, tables->field, why);
	free(weight);
	return rc;
}

static float2 *samples(void *op, uint32_t frame)
{
	return (float2 *)bs_segments_cuda_samples(((struct field *)op)->segments, frame);
}

static int begin(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	return bs_segments_cuda_begin(((struct field *)op)->segments, frame, stream, why);
}

/* Nothing is done before finish. */
static int arrived(void *, uint32_t, uint32_t, cudaStream_t, struct bs_fail *)
{
	return 0;
}

static int settle(void *, uint32_t, cudaStream_t, struct bs_fail *)
{
	return 0;
}

static int finish(void *op, uint32_t frame, float2 *image, cudaStream_t stream, struct bs_fail *why)
{
	const struct field *f = (const struct field *)op;

	return bs_segments_cuda_finish(f->segments, frame, (float *)image, stream, why);
}

static int part(void *op, uint32_t frame, uint32_t, float2 *image, cudaStream_t stream,
		struct bs_fail *why)
{
	const struct field *f = (const struct field *)op;
	int rc = bs_segments_cuda_slice(f->segments, bs_protocol_frame_slice(f->p, frame), stream,
					why);

	return rc != 0 ? rc : finish(op, frame, image, stream, why);
}

static struct bs_segments_cuda *field_of(void *op)
{
	return ((struct field *)op)->segments;
}

/* peek is finish, since finish keeps the samples. */
const struct bs_cuda_operator bs_cuda_sum_field = {
	bs_coil_step, need, plan,     close_field, samples, begin, arrived, settle, finish, part,
	finish,       NULL, field_of, NULL,        true,    NULL,  NULL,    NULL,   beside, NULL,
};
