/* gpu/engine/echoes.c - see echoes.h */
#include "gpu/engine/echoes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "gpu/engine/engines.h"
#include "gpu/image/combine.h"
#include "gpu/image/turn.h"

#define NEITHER UINT32_MAX

struct engine {
	const struct bs_engine *inner;
	void *self;
	const struct bs_protocol *p;
	struct bs_protocol own; /* the inner engine's: images of all coils */
	const float *maps;
	float *coil_images; /* [coil][voxel] complex */
	float *earlier;     /* [slice][coil][voxel] complex, of the contrast that came first */
	uint32_t *contrast; /* [slice]: which one that is; NEITHER */
	struct bs_combiner *combiner;
	struct bs_turn *turn;
	float *turns; /* tables->turn */
};

static void inner_of(struct bs_protocol *inner, const struct bs_protocol *p)
{
	*inner = *p;
	inner->combine = BS_COMBINE_NONE;
	inner->output = BS_OUTPUT_COMPLEX;
	inner->maps = BS_MAPS_FILE;
	inner->preview_every = 0;
	memcpy(inner->image_matrix, inner->matrix, sizeof(inner->image_matrix));
}

static uint64_t bytes_of(const struct bs_protocol *p)
{
	return (p->coils * bs_protocol_voxels(p) * 8 + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN;
}

static int need_of(const struct bs_engine *engine, const struct bs_protocol *p,
		   struct bs_need *need, struct bs_fail *why)
{
	struct bs_protocol inner;
	int rc;

	inner_of(&inner, p);
	bs_need_add(need, "echoes' coil images", p->slices + 1, bytes_of(p));
	bs_need_add(need, "echoes seen", 1, p->slices * sizeof(uint32_t));
	rc = bs_combiner_need(p, need, why);
	if (rc == 0)
		rc = bs_turn_need(p->matrix, need, why);
	return rc != 0 ? rc : engine->need(&inner, need, why);
}

static void echoes_disarm(void *self)
{
	struct engine *e = self;

	if (e->self != NULL)
		e->inner->disarm(e->self);
	bs_turn_close(e->turn);
	bs_combiner_close(e->combiner);
	free(e);
}

static void echoes_scan(void *self)
{
	struct engine *e = self;

	for (uint64_t v = 0; v < e->p->slices * bs_protocol_voxels(e->p); v++)
		e->turns[v] = NAN;
	for (uint32_t s = 0; s < e->p->slices; s++)
		e->contrast[s] = NEITHER;
	if (e->inner->scan != NULL)
		e->inner->scan(e->self);
}

static int arm_of(const struct bs_engine *engine, void **self, const struct bs_protocol *p,
		  const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct engine *e = calloc(1, sizeof(*e));
	int rc;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->inner = engine;
	e->p = p;
	inner_of(&e->own, p);
	e->maps = tables->maps;
	e->turns = tables->turn;
	e->coil_images = bs_arena_take(env->arena, (size_t)bytes_of(p), BS_ALIGN);
	e->earlier = bs_arena_take(env->arena, (size_t)bytes_of(p) * p->slices, BS_ALIGN);
	e->contrast = bs_arena_take(env->arena, p->slices * sizeof(uint32_t), BS_ALIGN);
	if (e->coil_images == NULL || e->earlier == NULL || e->contrast == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': the arena is too small", p->name);
	else
		rc = bs_combiner_plan(&e->combiner, p, env->arena, env->team, why);
	if (rc == 0)
		rc = bs_turn_plan(&e->turn, p->matrix, p->coils, env->arena, env->team, why);
	if (rc == 0)
		rc = engine->arm(&e->self, &e->own, tables, env, why);
	if (rc != 0) {
		e->self = NULL;
		echoes_disarm(e);
		return rc;
	}
	echoes_scan(e);
	*self = e;
	return 0;
}

static int echoes_begin(void *self, uint32_t frame)
{
	const struct engine *e = self;

	return e->inner->begin(e->self, frame);
}

static int echoes_add(void *self, uint32_t frame, uint32_t readout, const float *data,
		      size_t coil_stride)
{
	const struct engine *e = self;

	return e->inner->add(e->self, frame, readout, data, coil_stride);
}

static int echoes_side(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		       const struct bs_mrd_acq *head, const float *data, size_t coil_stride)
{
	const struct engine *e = self;

	return e->inner->side != NULL
		       ? e->inner->side(e->self, frame, kind, row, head, data, coil_stride)
		       : 0;
}

/* The first of a pair waits for the other; of three and more contrasts the first two count. */
static void measure(struct engine *e, uint32_t slice, uint32_t contrast)
{
	const uint64_t voxels = bs_protocol_voxels(e->p);
	float *earlier = e->earlier + slice * bytes_of(e->p) / sizeof(float);
	float *turn = e->turns + slice * voxels;
	const bool second = contrast == 1;

	if (contrast > 1)
		return;
	if (e->contrast[slice] != 1 - contrast) {
		memcpy(earlier, e->coil_images, (size_t)(e->p->coils * voxels * 8));
		e->contrast[slice] = contrast;
		return;
	}
	e->contrast[slice] = NEITHER;
	if (bs_turn_run(e->turn, second ? earlier : e->coil_images,
			second ? e->coil_images : earlier, turn))
		return;
	for (uint64_t v = 0; v < voxels; v++)
		turn[v] = INFINITY;
}

static int echoes_finish(void *self, uint32_t frame, int64_t deadline_ns, float *image,
			 struct bs_report *report)
{
	struct engine *e = self;
	const uint32_t slice = bs_protocol_frame_slice(e->p, frame);
	int rc = e->inner->finish(e->self, frame, deadline_ns, e->coil_images, report);
	const int64_t start_ns = bs_now_ns();

	if (rc != 0)
		return rc;
	bs_combiner_run(e->combiner, e->coil_images, bs_maps_of(e->maps, e->p, slice), image);
	measure(e, slice, frame % e->p->contrasts);
	report->stage_ns[BS_BUDGET_COMBINE] += bs_now_ns() - start_ns;
	return 0;
}

#define ECHOES(engine, called)                                                                     \
	static int engine##_need(const struct bs_protocol *p, struct bs_need *need,                \
				 struct bs_fail *why)                                              \
	{                                                                                          \
		return need_of(&bs_engine_##engine, p, need, why);                                 \
	}                                                                                          \
	static int engine##_arm(void **self, const struct bs_protocol *p,                          \
				const struct bs_tables *tables, const struct bs_arm_env *env,      \
				struct bs_fail *why)                                               \
	{                                                                                          \
		return arm_of(&bs_engine_##engine, self, p, tables, env, why);                     \
	}                                                                                          \
	const struct bs_engine bs_engine_echoes_##engine = {                                       \
		.name = called,                                                                    \
		.need = engine##_need,                                                             \
		.arm = engine##_arm,                                                               \
		.begin = echoes_begin,                                                             \
		.add = echoes_add,                                                                 \
		.side = echoes_side,                                                               \
		.scan = echoes_scan,                                                               \
		.finish = echoes_finish,                                                           \
		.disarm = echoes_disarm,                                                           \
	};

ECHOES(cartesian_host, "cartesian/host")
ECHOES(gridding_host, "gridding/host")

const struct bs_engine *bs_engine_echoes(const struct bs_engine *engine)
{
	if (engine == &bs_engine_cartesian_host)
		return &bs_engine_echoes_cartesian_host;
	return engine == &bs_engine_gridding_host ? &bs_engine_echoes_gridding_host : NULL;
}
