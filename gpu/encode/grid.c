/* gpu/encode/grid.c - F^H d by the NUFFT; see encode.h */
#include "gpu/encode/encode.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/image/partial.h"
#include "gpu/solve/lsq.h"

struct bs_nufft_spec bs_gridding_spec(const struct bs_protocol *p)
{
	struct bs_nufft_spec s = { .dims = p->dims,
				   .coils = p->coils,
				   .samples = bs_protocol_samples(p),
				   .states = bs_protocol_frames(p),
				   .window = p->window,
				   .accuracy = p->accuracy,
				   .width = p->width,
				   .oversampling = p->oversampling };
	uint32_t readouts = p->chunk_readouts;

	memcpy(s.matrix, p->matrix, sizeof(s.matrix));
	/* with about sixteen chunks, 15/16 of the work is done when the last readout comes */
	if (readouts == 0)
		readouts = (p->readouts + 15) / 16;
	s.chunk = (uint64_t)bs_partial_chunk(p, readouts) * p->samples;
	s.part = (uint64_t)p->frame_step * p->samples;
	s.peek = p->preview_every > 0;
	return s;
}

/* Previews of methods that solve are made by another engine. */
static struct bs_nufft_spec spec_of(const struct bs_encoder *e)
{
	struct bs_nufft_spec s = bs_gridding_spec(e->p);

	s.coils = e->coils;
	s.peek = s.peek && e->p->plan.solve == BS_SOLVE_NONE;
	if (e->whole) {
		s.chunk = s.part = 0;
		s.states = 1;
	}
	return s;
}

static int grid_need(const struct bs_encoder *e, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_nufft_spec s = spec_of(e);

	return bs_nufft_need(&s, need, why);
}

static int grid_plan(struct bs_encoder *e, const struct bs_tables *tables, const float *weight,
		     const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_nufft_spec s = spec_of(e);
	const float *k = tables->traj->k;
	struct bs_nufft *nufft = NULL;
	float *boxed = NULL;
	int rc = e->p->plan.solve == BS_SOLVE_NONE ? 0 : bs_lsq_boxed(&boxed, e->p, k, weight, why);

	if (rc == 0)
		rc = bs_nufft_plan(&nufft, &s, k, boxed != NULL ? boxed : weight, env->arena,
				   env->team, why);
	free(boxed);
	e->plan = nufft;
	return rc;
}

static void grid_close(struct bs_encoder *e)
{
	bs_nufft_close(e->plan);
}

static void grid_begin(const struct bs_encoder *e, uint32_t frame)
{
	bs_nufft_begin(e->plan, frame);
}

static void grid_add(const struct bs_encoder *e, uint32_t frame, uint32_t readout,
		     const float *data, size_t coil_stride)
{
	bs_nufft_add(e->plan, frame, (uint64_t)readout * e->p->samples, e->p->samples, data,
		     coil_stride);
}

static int grid_finish(const struct bs_encoder *e, uint32_t frame, const uint8_t *held, float *fhd,
		       struct bs_fail *why)
{
	(void)held;
	(void)why;
	bs_nufft_finish(e->plan, frame, fhd);
	return 0;
}

static int grid_peek(const struct bs_encoder *e, uint32_t frame, const uint8_t *held, float *fhd,
		     struct bs_fail *why)
{
	(void)held;
	(void)why;
	bs_nufft_peek(e->plan, frame, fhd);
	return 0;
}

static void grid_adjoint(const struct bs_encoder *e, const float *data, float *fhd)
{
	bs_nufft_adjoint(e->plan, data, fhd);
}

const struct bs_encoding bs_encode_grid = {
	.need = grid_need,
	.plan = grid_plan,
	.close = grid_close,
	.begin = grid_begin,
	.add = grid_add,
	.finish = grid_finish,
	.peek = grid_peek,
	.adjoint = grid_adjoint,
};
