/* gpu/engine/mapped.c - see mapped.h */
#include "gpu/engine/mapped.h"

#include <stdlib.h>

#include "core/latency/budget.h"
#include "core/multiband/apart.h"
#include "core/thread/clock.h"
#include "gpu/calibrate/maps.h"
#include "gpu/engine/center.h"

struct bs_mapped {
	const struct bs_protocol *p;
	struct bs_maps *maps;
	struct bs_center *center; /* center of paths; NULL: samples are on the grid */
	int (*changed)(void *engine, uint32_t slice);
	void *engine;
};

int bs_mapped_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_plan *plan = &p->plan;
	int rc = bs_maps_need(p, need, why);

	return rc == 0 && plan->maps == BS_PLAN_MAPS_SCAN && !plan->on_grid
		       ? bs_center_need(p, need, why)
		       : rc;
}

int bs_mapped_arm(struct bs_mapped **mapped, const struct bs_protocol *p,
		  const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_plan *plan = &p->plan;
	struct bs_mapped *m;
	int rc;

	*mapped = NULL;
	if (plan->maps != BS_PLAN_MAPS_SCAN)
		return 0;
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	m->p = p;
	rc = bs_maps_plan(&m->maps, p, tables->made, env->arena, env->team, why);
	if (rc == 0 && !plan->on_grid)
		rc = bs_center_arm(&m->center, p, bs_maps_fewest(p), tables->traj, env, why);
	if (rc != 0) {
		bs_mapped_disarm(m);
		return rc;
	}
	*mapped = m;
	return 0;
}

void bs_mapped_told(struct bs_mapped *m, int (*changed)(void *engine, uint32_t slice), void *engine)
{
	if (m == NULL)
		return;
	m->changed = changed;
	m->engine = engine;
}

void bs_mapped_disarm(struct bs_mapped *m)
{
	if (m == NULL)
		return;
	bs_center_disarm(m->center);
	bs_maps_close(m->maps);
	free(m);
}

void bs_mapped_scan(struct bs_mapped *m)
{
	if (m != NULL)
		bs_maps_scan(m->maps);
}

/* The block of k-space around its center, where maps may still need it; else NULL. */
static struct bs_center *center_of(const struct bs_mapped *m, uint32_t frame)
{
	return m != NULL && m->center != NULL && bs_maps_wants(m->maps, frame) ? m->center : NULL;
}

int bs_mapped_begin(struct bs_mapped *m, uint32_t frame)
{
	struct bs_center *center = center_of(m, frame);

	return center != NULL ? bs_center_begin(center, frame) : 0;
}

int bs_mapped_add(struct bs_mapped *m, uint32_t frame, uint32_t readout, const float *data,
		  size_t coil_stride)
{
	struct bs_center *center = center_of(m, frame);

	if (m != NULL)
		bs_maps_add(m->maps, frame, readout, false, data, coil_stride);
	return center != NULL ? bs_center_add(center, frame, readout, data, coil_stride) : 0;
}

void bs_mapped_side(struct bs_mapped *m, uint32_t frame, enum bs_kind kind, uint32_t row,
		    const float *data, size_t coil_stride)
{
	if (m != NULL && kind == BS_KIND_CALIBRATION)
		bs_maps_add(m->maps, frame, row, true, data, coil_stride);
}

int bs_mapped_fold(struct bs_mapped *m, uint32_t frame, uint32_t group)
{
	struct bs_center *center = center_of(m, frame);

	return center != NULL ? bs_center_fold(center, frame, group) : 0;
}

static int make_one(struct bs_mapped *m, uint32_t frame, double cycles, const uint8_t *held,
		    int64_t *deadline_ns, struct bs_report *report)
{
	const int64_t start_ns = bs_now_ns();
	uint32_t size[3];
	const float *block;
	bool made = true;
	int64_t spent_ns;
	int rc;

	if (!bs_maps_due(m->maps, frame, cycles))
		return 0;
	if (m->center == NULL) {
		rc = bs_maps_make(m->maps, frame, cycles, &made, &report->why);
	} else {
		rc = bs_center_block(m->center, frame, held, size, &block, &report->why);
		if (rc == 0)
			rc = bs_maps_given(m->maps, frame, size, block, &report->why);
	}
	if (rc == BS_ERR_VALUE) /* lines of zeros count as no lines */
		report->why.code = rc = BS_ERR_CALIBRATION;
	if (rc != 0 || !made)
		return rc;
	if (m->changed != NULL)
		rc = m->changed(m->engine, bs_protocol_frame_slice(m->p, frame));
	spent_ns = bs_now_ns() - start_ns;
	report->stage_ns[BS_BUDGET_CALIBRATION] += spent_ns;
	*deadline_ns = bs_budget_later(m->p, *deadline_ns, spent_ns);
	return rc;
}

int bs_mapped_make(struct bs_mapped *m, uint32_t frame, const uint8_t *held, int64_t *deadline_ns,
		   struct bs_report *report)
{
	const struct bs_apartness *a = &report->apart;
	int rc = 0;

	if (m == NULL)
		return 0;
	if (a->of <= 1)
		return make_one(m, frame, 0.0, held, deadline_ns, report);
	for (uint32_t b = 0; rc == 0 && b < a->of; b++)
		rc = make_one(m, bs_apart_frame(m->p, frame, b), a->phased ? a->cycles[b] : 0.0,
			      held, deadline_ns, report);
	return rc;
}

struct bs_maps *bs_mapped_maps(struct bs_mapped *m)
{
	return m != NULL ? m->maps : NULL;
}
