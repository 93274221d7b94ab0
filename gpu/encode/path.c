/* gpu/encode/path.c - F^H d along the path that readouts bring; see encode.h */
#include "gpu/encode/encode.h"

#include "gpu/solve/paths.h"

static struct bs_nufft_spec spec_of(const struct bs_encoder *e)
{
	struct bs_nufft_spec s = bs_gridding_spec(e->p);

	s.coils = e->p->plan.together;
	return s;
}

static int path_need(const struct bs_encoder *e, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_nufft_spec s = spec_of(e);

	return bs_paths_need(e->p, &s, need, why);
}

static int path_plan(struct bs_encoder *e, const struct bs_tables *tables, const float *weight,
		     const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_nufft_spec s = spec_of(e);
	struct bs_paths *paths = NULL;
	int rc = bs_paths_plan(&paths, e->p, &s, env->arena, env->team, why);

	(void)tables;
	(void)weight;
	e->plan = paths;
	return rc;
}

static void path_close(struct bs_encoder *e)
{
	bs_paths_close(e->plan);
}

static void path_scan(const struct bs_encoder *e)
{
	bs_paths_scan(e->plan);
}

static void path_begin(const struct bs_encoder *e, uint32_t frame)
{
	bs_paths_begin(e->plan, frame);
}

static void path_path(const struct bs_encoder *e, uint32_t frame, uint32_t readout, const float *k)
{
	bs_paths_path(e->plan, frame, readout, k);
}

static void path_add(const struct bs_encoder *e, uint32_t frame, uint32_t readout,
		     const float *data, size_t coil_stride)
{
	bs_paths_add(e->plan, frame, readout, data, coil_stride);
}

/* The delays that a scan's first frame tells hold for all its frames. */
static int path_settle(const struct bs_encoder *e, uint32_t frame, const uint8_t *held,
		       struct bs_report *report)
{
	return bs_paths_settle(e->plan, frame, held, report);
}

static int path_finish(const struct bs_encoder *e, uint32_t frame, const uint8_t *held, float *fhd,
		       struct bs_fail *why)
{
	return bs_paths_finish(e->plan, frame, held, fhd, why);
}

static void path_normal(void *encoder, const float *maps, const float *in, float *out)
{
	bs_paths_normal(((struct bs_encoder *)encoder)->plan, maps, in, out);
}

static double path_sum(const struct bs_encoder *e)
{
	return bs_paths_sum(e->plan);
}

const struct bs_encoding bs_encode_path = {
	.need = path_need,
	.plan = path_plan,
	.close = path_close,
	.scan = path_scan,
	.begin = path_begin,
	.path = path_path,
	.add = path_add,
	.settle = path_settle,
	.finish = path_finish,
	.peek = path_finish,
	.normal = path_normal,
	.sum = path_sum,
};
