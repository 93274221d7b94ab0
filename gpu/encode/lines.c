/* gpu/encode/lines.c - F^H d of lines on the grid, by FFTs; see encode.h */
#include "gpu/encode/encode.h"

#include <string.h>

/*
 * Returns the sizes of the transform. With partial Fourier the coils' images are made on the
 * encoded grid, and cropped after completion.
 */
struct bs_cart_spec bs_lines_spec(const struct bs_protocol *p)
{
	const bool completed =
		bs_plan_has(&p->plan, BS_PLAN_POCS) && p->plan.solve == BS_SOLVE_NONE;
	struct bs_cart_spec s = { .samples = p->samples,
				  .coils = p->coils,
				  .states = bs_protocol_frames(p) };

	memcpy(s.encoded, p->encoded, sizeof(s.encoded));
	memcpy(s.matrix, completed ? p->encoded : p->matrix, sizeof(s.matrix));
	/* The phases of slices at once are those of the encoded lines. */
	if (bs_plan_groups(&p->plan))
		s.matrix[1] = p->encoded[1];
	/* Readout oversampling is cropped at once, unless the readout is to be completed. */
	if (p->samples >= p->encoded[0])
		s.matrix[0] = p->matrix[0];
	return s;
}

static int lines_need(const struct bs_encoder *e, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_cart_spec s = bs_lines_spec(e->p);

	return bs_cart_need(&s, need, why);
}

static int lines_plan(struct bs_encoder *e, const struct bs_tables *tables, const float *weight,
		      const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_cart_spec s = bs_lines_spec(e->p);
	struct bs_cart *cart = NULL;
	int rc = bs_cart_plan(&cart, &s, env->arena, env->team, why);

	(void)tables;
	(void)weight;
	e->plan = cart;
	return rc;
}

static void lines_close(struct bs_encoder *e)
{
	bs_cart_close(e->plan);
}

static void lines_begin(const struct bs_encoder *e, uint32_t frame)
{
	bs_cart_begin(e->plan, frame);
}

static void lines_add(const struct bs_encoder *e, uint32_t frame, uint32_t readout,
		      const float *data, size_t coil_stride)
{
	bs_cart_add(e->plan, frame, readout, data, coil_stride);
}

static float *lines_lacking(const struct bs_encoder *e, uint32_t frame)
{
	return bs_cart_hybrid(e->plan, frame);
}

static int lines_finish(const struct bs_encoder *e, uint32_t frame, const uint8_t *held, float *fhd,
			struct bs_fail *why)
{
	(void)held;
	(void)why;
	bs_cart_finish(e->plan, frame, fhd);
	return 0;
}

const struct bs_encoding bs_encode_lines = {
	.need = lines_need,
	.plan = lines_plan,
	.close = lines_close,
	.begin = lines_begin,
	.add = lines_add,
	.lacking = lines_lacking,
	.finish = lines_finish,
};
