/* gpu/engine/echoes.c - see echoes.h */
#include "gpu/engine/echoes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/image/phasestep.h"

#define NEITHER UINT32_MAX

struct bs_echoes {
	const struct bs_protocol *p;
	float *earlier;     /* [slice][coil][voxel] complex, of the contrast that came first */
	uint32_t *contrast; /* [slice] number of the contrast that came first; NEITHER */
	/* [slice] order of the frame of the contrast that came first (core/engine.h) */
	uint64_t *order;
	struct bs_phasestep *plan;
	float *steps; /* the array tables->phase_step */
};

static uint64_t bytes_of(const struct bs_protocol *p)
{
	return bs_slot(p->coils * bs_protocol_voxels(p) * 8);
}

int bs_echoes_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	if (!bs_plan_has(&p->plan, BS_PLAN_ECHOES))
		return 0;
	bs_need_add(need, "echoes' coil images", p->slices, bytes_of(p));
	bs_need_add(need, "echoes seen", 1, p->slices * sizeof(uint32_t));
	bs_need_add(need, "their frames", 1, p->slices * sizeof(uint64_t));
	return bs_phasestep_need(p->matrix, need, why);
}

int bs_echoes_arm(struct bs_echoes **echoes, const struct bs_protocol *p,
		  const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_echoes *e;
	int rc;

	*echoes = NULL;
	if (!bs_plan_has(&p->plan, BS_PLAN_ECHOES))
		return 0;
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->steps = tables->phase_step;
	e->earlier = bs_arena_take(env->arena, (size_t)bytes_of(p) * p->slices, BS_ALIGN);
	e->contrast = bs_arena_take(env->arena, p->slices * sizeof(uint32_t), BS_ALIGN);
	e->order = bs_arena_take(env->arena, p->slices * sizeof(uint64_t), BS_ALIGN);
	if (e->earlier == NULL || e->contrast == NULL || e->order == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': the arena is too small", p->name);
	else
		rc = bs_phasestep_plan(&e->plan, p->matrix, p->coils, env->arena, env->team, why);
	if (rc != 0) {
		bs_echoes_disarm(e);
		return rc;
	}
	bs_echoes_scan(e);
	*echoes = e;
	return 0;
}

void bs_echoes_disarm(struct bs_echoes *e)
{
	if (e == NULL)
		return;
	bs_phasestep_close(e->plan);
	free(e);
}

void bs_echoes_scan(struct bs_echoes *e)
{
	if (e == NULL)
		return;
	for (uint64_t v = 0; v < e->p->slices * bs_protocol_voxels(e->p); v++)
		e->steps[v] = NAN;
	for (uint32_t s = 0; s < e->p->slices; s++)
		e->contrast[s] = NEITHER;
}

/*
 * Measures a pair. The first of a pair waits for the other until a later frame's comes. With three
 * contrasts and more, the first two count.
 */
static void measure(struct bs_echoes *e, uint32_t slice, bool second, uint64_t order,
		    const float *coil_images)
{
	const uint64_t voxels = bs_protocol_voxels(e->p);
	float *earlier = e->earlier + slice * bytes_of(e->p) / sizeof(float);
	float *step = e->steps + slice * voxels;
	const bool waits = e->contrast[slice] != NEITHER;

	if (waits && order < e->order[slice])
		return;
	if (!waits || order > e->order[slice] || e->contrast[slice] == second) {
		memcpy(earlier, coil_images, (size_t)(e->p->coils * voxels * 8));
		e->contrast[slice] = second;
		e->order[slice] = order;
		return;
	}
	e->contrast[slice] = NEITHER;
	if (bs_phasestep_run(e->plan, second ? earlier : coil_images,
			     second ? coil_images : earlier, step))
		return;
	for (uint64_t v = 0; v < voxels; v++)
		step[v] = INFINITY;
}

void bs_echoes_measure(struct bs_echoes *e, uint32_t frame, uint64_t order,
		       const float *coil_images)
{
	const uint32_t contrast = e != NULL ? bs_protocol_frame_contrast(e->p, frame) : 0;

	if (e != NULL && contrast <= 1)
		measure(e, bs_protocol_frame_slice(e->p, frame), contrast == 1, order, coil_images);
}
