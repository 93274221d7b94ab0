/* gpu/solve/solve.c - the rows of the solvers; see solve.h */
#include "gpu/solve/solve.h"

#include "core/multiband/apart.h"
#include "core/solve/live.h"
#include "core/thread/clock.h"
#include "gpu/solve/lsq.h"
#include "gpu/penalty/proximal.h"

/* ---- conjugate gradients (gpu/solve/ls.h): coil by coil, or all of them with maps ---- */

static bool by_maps(const struct bs_protocol *p)
{
	return p->plan.joint;
}

static uint32_t cg_images(const struct bs_protocol *p)
{
	return by_maps(p) ? bs_protocol_map_images(p) : p->coils;
}

static int cg_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_ls_spec s = bs_lsq_spec(p);

	return bs_ls_need(&s, need, why);
}

static int cg_plan(void **plan, struct bs_encoder *encoder, const struct bs_tables *tables,
		   const float *weight, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_ls *ls = NULL;
	const int rc = bs_lsq_solver(&ls, encoder->p, tables, weight, env, why);

	if (rc == 0 && encoder->row->normal != NULL)
		bs_ls_given(ls, encoder->row->normal, encoder);
	*plan = ls;
	return rc;
}

static void cg_close(void *plan)
{
	bs_ls_close(plan);
}

/* Solves coil by coil; the first coil gets its part of the time, and the others make as much. */
static void cg_solve(void *plan, const struct bs_task *t, struct bs_report *report)
{
	const struct bs_encoder *e = t->encoder;
	const uint64_t voxels = bs_protocol_voxels(e->p);
	const uint32_t solves = by_maps(e->p) ? 1 : e->p->coils;

	report->deadline_stop = false;
	report->cut = 0;
	if (by_maps(e->p))
		bs_ls_use(plan, t->slice);
	if (e->row->sum != NULL && e->p->precond != BS_PRECOND_NONE) {
		bs_ls_weights(plan, e->row->sum(e));
		bs_ls_changed(plan, by_maps(e->p) ? t->slice : 0);
	}
	for (uint32_t i = 0; i < solves; i++) {
		struct bs_pcg_stop stop = { e->p->iterations, e->p->tolerance, 0 };
		struct bs_pcg_result result;

		stop.deadline_ns =
			bs_report_until(report, i, bs_turn_end(t->deadline_ns, bs_now_ns(), solves),
					&stop.iterations);
		bs_ls_solve(plan, t->fhd + 2 * i * voxels, t->images + 2 * i * voxels, &stop,
			    &result);
		bs_report_solve(report, i == 0, result.iterations, result.residual);
		report->deadline_stop = report->deadline_stop || result.deadline_stop;
		report->cut = result.deadline_stop ? result.iterations : report->cut;
	}
}

static void cg_changed(void *plan, uint32_t slice)
{
	bs_ls_changed(plan, slice);
}

static void cg_hold(void *plan, bool hold)
{
	bs_ls_hold(plan, hold);
}

static const struct bs_solving cg = {
	.images = cg_images,
	.need = cg_need,
	.plan = cg_plan,
	.close = cg_close,
	.solve = cg_solve,
	.changed = cg_changed,
	.hold = cg_hold,
};

/* ---- Cartesian SENSE (gpu/image/unfold.h) ---- */

struct bs_unfold_spec bs_unfolding_spec(const struct bs_protocol *p)
{
	const bool groups = bs_plan_groups(&p->plan);

	return (struct bs_unfold_spec){
		.encoded = { p->encoded[1], p->encoded[2] },
		.matrix = { p->matrix[0], p->matrix[1],
			    groups ? p->multiband.factor : p->matrix[2] },
		.group = groups ? bs_multiband_groups(&p->multiband, p->slices) *
					  bs_protocol_map_values(p)
				: 0,
		.coils = p->coils,
		.sets = bs_protocol_map_images(p),
		.iterations = p->iterations,
		.lambda = p->lambda,
		.l2 = p->w.l2,
	};
}

struct bs_unfold_group bs_unfolding_group(const struct bs_protocol *p, uint32_t slice,
					  const struct bs_apartness *a)
{
	static const double alone[BS_BANDS_MAX]; /* no phase */
	const uint32_t band = bs_apart_band_of(p, slice);

	return a->of > 1 ? (struct bs_unfold_group){ 0, a->of, a->cycles }
			 : (struct bs_unfold_group){ band, band + 1, alone };
}

static uint32_t unfold_images(const struct bs_protocol *p)
{
	return bs_protocol_map_images(p) * (bs_plan_groups(&p->plan) ? p->multiband.factor : 1);
}

static int unfold_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_unfold_spec s = bs_unfolding_spec(p);

	return bs_unfold_need(&s, need, why);
}

static int unfold_plan(void **plan, struct bs_encoder *encoder, const struct bs_tables *tables,
		       const float *weight, const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_unfold_spec s = bs_unfolding_spec(encoder->p);
	struct bs_unfold *unfold = NULL;
	int rc = bs_unfold_plan(&unfold, &s, tables->w, env->arena, env->team, why);

	(void)weight;
	*plan = unfold;
	return rc;
}

static void unfold_close(void *plan)
{
	bs_unfold_close(plan);
}

static void unfold_solve(void *plan, const struct bs_task *t, struct bs_report *report)
{
	const struct bs_protocol *p = t->encoder->p;
	const struct bs_pcg_stop stop = { bs_report_most(report, p->iterations), p->tolerance,
					  t->deadline_ns };
	const struct bs_unfold_group group = bs_unfolding_group(p, t->slice, &report->apart);
	struct bs_pcg_result result;

	if (bs_plan_groups(&p->plan))
		bs_unfold_hold(plan, &group);
	bs_unfold_solve(plan, t->maps, t->lines, t->fhd, t->images, &stop, &result);
	bs_report_solve(report, true, result.iterations, result.residual);
	report->deadline_stop = result.deadline_stop;
}

static void unfold_hold(void *plan, bool hold)
{
	bs_unfold_use_w(plan, hold);
}

static const struct bs_solving unfold = {
	.images = unfold_images,
	.need = unfold_need,
	.plan = unfold_plan,
	.close = unfold_close,
	.solve = unfold_solve,
	.hold = unfold_hold,
};

const struct bs_solving *bs_solving_of(enum bs_solve solve)
{
	switch (solve) {
	case BS_SOLVE_CG:
		return &cg;
	case BS_SOLVE_UNFOLD:
		return &unfold;
	case BS_SOLVE_PROX:
		return &bs_solving_proximal;
	case BS_SOLVE_NONE:
	case BS_SOLVES:
		break;
	}
	return NULL;
}

static int align(const struct bs_solving *solving, void *plan, struct bs_task task,
		 struct bs_live *live, struct bs_report *report)
{
	struct bs_report own = { .allowed = report->first };
	int rc = live->settle(live->self, &report->why);

	if (rc != 0)
		return rc;
	live->aligned = true;
	if (live->made && live->limit > 0.0) {
		solving->hold(plan, false);
		task.deadline_ns = bs_turn_end(task.deadline_ns, bs_now_ns(), 2);
		solving->solve(plan, &task, &own);
		report->first = own.deadline_stop ? own.iterations : own.allowed;
		bs_live_judge(live, task.images, solving->images(task.encoder->p));
	}
	solving->hold(plan, bs_live_used(live));
	return 0;
}

int bs_solving_run(const struct bs_solving *solving, void *plan, const struct bs_task *task,
		   struct bs_live *live, struct bs_report *report)
{
	int rc = live != NULL && !live->aligned ? align(solving, plan, *task, live, report) : 0;

	if (rc != 0)
		return rc;
	if (live != NULL)
		report->w = live->report;
	solving->solve(plan, task, report);
	return 0;
}
