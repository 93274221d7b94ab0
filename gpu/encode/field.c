/* gpu/encode/field.c - F^H d off resonance, by time segments; see encode.h */
#include "gpu/encode/encode.h"

struct bs_segments_spec bs_gridding_segments(const struct bs_protocol *p, uint32_t together)
{
	return (struct bs_segments_spec){
		.nufft = bs_gridding_spec(p),
		.together = together,
		.states = bs_protocol_frames(p),
		.readout = p->samples,
		.slices = p->slices,
		.replaced = p->plan.takes[BS_KEPT_FIELD],
		.dwell_s = p->field.dwell_us * 1e-6,
		.start_s = p->field.start_ms * 1e-3,
		.error = p->field.error,
	};
}

static int field_need(const struct bs_encoder *e, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_segments_spec s = bs_gridding_segments(e->p, e->p->plan.together);

	return bs_segments_need(&s, need, why);
}

static int field_plan(struct bs_encoder *e, const struct bs_tables *tables, const float *weight,
		      const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_segments_spec s = bs_gridding_segments(e->p, e->p->plan.together);
	struct bs_segments *segments = NULL;
	int rc = bs_segments_plan(&segments, &s, tables->traj->k, weight, tables->field, env, why);

	e->plan = segments;
	return rc;
}

static void field_close(struct bs_encoder *e)
{
	bs_segments_close(e->plan);
}

static void field_begin(const struct bs_encoder *e, uint32_t frame)
{
	bs_segments_begin(e->plan, frame);
}

static void field_add(const struct bs_encoder *e, uint32_t frame, uint32_t readout,
		      const float *data, size_t coil_stride)
{
	bs_segments_add(e->plan, frame, readout, data, coil_stride);
}

static int field_finish(const struct bs_encoder *e, uint32_t frame, const uint8_t *held, float *fhd,
			struct bs_fail *why)
{
	(void)held;
	(void)why;
	bs_segments_finish(e->plan, frame, bs_protocol_frame_slice(e->p, frame), fhd);
	return 0;
}

static void field_normal(void *encoder, const float *maps, const float *in, float *out)
{
	bs_segments_normal(((struct bs_encoder *)encoder)->plan, maps, in, out);
}

static void field_slice(const struct bs_encoder *e, uint32_t slice, struct bs_report *report)
{
	bs_segments_slice(e->plan, slice);
	bs_segments_report(e->plan, report);
}

const struct bs_encoding bs_encode_field = {
	.need = field_need,
	.plan = field_plan,
	.close = field_close,
	.begin = field_begin,
	.add = field_add,
	.finish = field_finish,
	.peek = field_finish,
	.normal = field_normal,
	.slice = field_slice,
};
