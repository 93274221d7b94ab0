/* gpu/encode/exact.c - F^H d by the exact sum; see encode.h */
#include "gpu/encode/encode.h"

#include <string.h>

#include "gpu/exact/exact.h"
#include "gpu/image/partial.h"

/* The default chunk is as many readouts as fill its tables once. */
static struct bs_exact_spec spec_of(const struct bs_encoder *e)
{
	const struct bs_protocol *p = e->p;
	struct bs_exact_spec s = { .dims = p->dims,
				   .coils = e->coils,
				   .samples = bs_protocol_samples(p),
				   .states = e->whole ? 1 : bs_protocol_frames(p),
				   .basis = p->basis };
	uint32_t readouts = p->chunk_readouts;

	memcpy(s.matrix, p->matrix, sizeof(s.matrix));
	if (e->whole)
		return s;
	if (readouts == 0)
		readouts = p->samples < 1024 ? 1024 / p->samples : 1;
	s.chunk = (uint64_t)bs_partial_chunk(p, readouts) * p->samples;
	s.part = (uint64_t)p->frame_step * p->samples;
	return s;
}

static int exact_need(const struct bs_encoder *e, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_exact_spec s = spec_of(e);

	return bs_exact_need(&s, need, why);
}

static int exact_plan(struct bs_encoder *e, const struct bs_tables *tables, const float *weight,
		      const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_exact_spec s = spec_of(e);
	struct bs_exact *exact = NULL;
	int rc = bs_exact_plan(&exact, &s, tables->traj->k, weight, env->arena, env->team, why);

	e->plan = exact;
	return rc;
}

static void exact_close(struct bs_encoder *e)
{
	bs_exact_close(e->plan);
}

static void exact_begin(const struct bs_encoder *e, uint32_t frame)
{
	bs_exact_begin(e->plan, frame);
}

static void exact_add(const struct bs_encoder *e, uint32_t frame, uint32_t readout,
		      const float *data, size_t coil_stride)
{
	bs_exact_add(e->plan, frame, (uint64_t)readout * e->p->samples, e->p->samples, data,
		     coil_stride);
}

static int exact_finish(const struct bs_encoder *e, uint32_t frame, const uint8_t *held, float *fhd,
			struct bs_fail *why)
{
	(void)held;
	(void)why;
	bs_exact_finish(e->plan, frame, fhd);
	return 0;
}

static void exact_adjoint(const struct bs_encoder *e, const float *data, float *fhd)
{
	bs_exact_adjoint(e->plan, data, fhd);
}

const struct bs_encoding bs_encode_exact = {
	.need = exact_need,
	.plan = exact_plan,
	.close = exact_close,
	.begin = exact_begin,
	.add = exact_add,
	.finish = exact_finish,
	.adjoint = exact_adjoint,
};
