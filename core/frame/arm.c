/* core/frame/arm.c - the engines and tables of a reconstruction; see recon.h, part.h */
#include "core/frame/part.h"

#include <stdlib.h>
#include <string.h>

#include "core/frame/geometry.h"

/* Returns true if a gridding engine can be armed beside one that solves along a trajectory. */
static bool gridding_beside(const struct bs_protocol *p, const struct bs_engine *engine)
{
	return engine->preview != NULL && bs_methods[p->method].uses_q;
}

/*
 * Plans an engine that is armed beside another one. Where the other makes maps from the scan, this
 * one has none, and combines by root sum of squares.
 */
static void plan_beside(struct bs_protocol *out)
{
	bs_plan_make(out);
	if (out->plan.maps != BS_PLAN_MAPS_SCAN)
		return;
	out->combine = BS_COMBINE_RSS;
	out->maps = BS_MAPS_FILE;
	bs_plan_make(out);
}

/* Makes the protocol of a solver's previews: gridding, as accurate as the eye needs. */
static void derive_preview(struct bs_protocol *out, const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	*out = *p;
	out->method = plan->preview;
	if (p->density == BS_DENSITY_NONE && !plan->on_grid)
		out->density = BS_DENSITY_RAMP;
	out->normalize = BS_NORMALIZE_UNIFORM;
	out->accuracy = 1e-2;
	out->width = out->oversampling = 0.0;
	out->frame_step = 0;
	if (p->output == BS_OUTPUT_VELOCITY)
		out->output = BS_OUTPUT_MAGNITUDE;
	plan_beside(out);
}

/*
 * Only the method's own engine has the phase that the image needs. A gridding engine beside it has
 * no maps of the scan, and so no phase; nor does it have the coil images of a set 0 that the
 * method's own engine has made.
 */
static bool alone_has_phase(const struct bs_protocol *p)
{
	return bs_plan_has(&p->plan, BS_PLAN_VELOCITY) ||
	       (bs_plan_has(&p->plan, BS_PLAN_PHASE) && p->plan.maps == BS_PLAN_MAPS_SCAN);
}

/*
 * Returns true if a gridding stand-in is wanted. A sliding window has none: it has no first readout
 * at which its data could go to another engine.
 */
static bool wants_stand_in(const struct bs_protocol *p, const struct bs_engine *engine)
{
	return gridding_beside(p, engine) && p->on_miss == BS_MISS_SHED && p->image_ms > 0.0 &&
	       p->frame_step == 0 && !alone_has_phase(p);
}

/*
 * Makes the protocol of the ladder's gridding: as good as gridding gets. Where a path comes with
 * the stream, weights are made when the frame is complete, and pipe's iteration takes longer than
 * the solver.
 */
static void derive_stand_in(struct bs_protocol *out, const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	*out = *p;
	out->method = plan->preview;
	out->basis = BS_BASIS_DELTA;
	if (p->density == BS_DENSITY_NONE && !plan->on_grid)
		out->density = plan->streams ? BS_DENSITY_RAMP : BS_DENSITY_PIPE;
	out->normalize = BS_NORMALIZE_UNIFORM;
	out->preview_every = 0;
	plan_beside(out);
}

static int check_ways(const struct bs_protocol *p, const struct bs_engine *e, struct bs_fail *why)
{
	const struct bs_plan *plan = &p->plan;
	const char *name = bs_plan_engine(&p->plan, e->place);
	const bool measures = bs_plan_has(plan, BS_PLAN_ECHOES);

	if (p->frame_step > 0 && (!plan->windows || measures))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': frame.step: engine %s has no sliding window",
			       p->name, name);
	if (p->frame_step > 0 && p->readouts % p->frame_step != 0)
		return bs_fail(why, BS_ERR_CONFIG,
			       "protocol '%s': frame.step: %u readouts are no multiple of %u",
			       p->name, p->readouts, p->frame_step);
	if (p->frame_step > 0 && p->preview_every > 0)
		return bs_fail(why, BS_ERR_CONFIG,
			       "protocol '%s': frame.preview_every: a sliding window has none",
			       p->name);
	/* a preview has no maps, and measures no field */
	if (p->preview_every > 0 &&
	    (!plan->previews || measures ||
	     (plan->maps == BS_PLAN_MAPS_SCAN &&
	      (!gridding_beside(p, e) || bs_plan_has(plan, BS_PLAN_PHASE)))))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "protocol '%s': frame.preview_every: engine %s makes no previews",
			       p->name, name);
	return 0;
}

/* What engines are asked for: their need of host memory, or, with device, of GPU memory. */
struct asked {
	bool device;
	const float *field;
	struct bs_need *need;
};

static int need_of(const struct bs_engine *e, const struct asked *a, const struct bs_protocol *p,
		   struct bs_fail *why)
{
	if (!a->device)
		return e->need(p, a->need, why);
	return e->device != NULL ? e->device(p, a->field, a->need, why) : 0;
}

/* Adds the needs of all engines that are armed. */
static int needs(const struct bs_protocol *p, const struct bs_engine *engine, const struct asked *a,
		 struct bs_fail *why)
{
	struct bs_protocol beside;
	int rc = need_of(engine, a, p, why);

	if (rc == 0 && p->preview_every > 0 && gridding_beside(p, engine)) {
		derive_preview(&beside, p);
		rc = need_of(engine->preview, a, &beside, why);
	}
	if (rc == 0 && wants_stand_in(p, engine)) {
		derive_stand_in(&beside, p);
		rc = need_of(engine->preview, a, &beside, why);
	}
	return rc;
}

int bs_recon_need(const struct bs_protocol *p, const struct bs_engine *engine, struct bs_need *need,
		  struct bs_fail *why)
{
	const struct asked host = { .need = need };
	int rc = check_ways(p, engine, why);

	if (rc == 0)
		rc = bs_averages_need(p, bs_protocol_rows(p), need);
	bs_volumes_need(p, need);
	if (bs_protocol_kspace_bytes(p) > 0)
		bs_need_add(need, "readouts for the step", bs_protocol_frames(p),
			    bs_protocol_kspace_bytes(p));
	return rc != 0 ? rc : needs(p, engine, &host, why);
}

int bs_recon_device(const struct bs_protocol *p, const struct bs_engine *engine, const float *field,
		    struct bs_need *need, struct bs_fail *why)
{
	const struct asked device = { .device = true, .field = field, .need = need };
	int rc = check_ways(p, engine, why);

	return rc != 0 ? rc : needs(p, engine, &device, why);
}

static int sit(struct seat *s, const struct bs_engine *engine, const struct bs_protocol *p,
	       const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	int rc = engine->arm(&s->self, p, tables, env, why);

	if (rc == 0)
		s->engine = engine;
	s->name = bs_plan_engine(&p->plan, engine->place);
	return rc;
}

static int arm_preview(struct bs_recon *r, const struct bs_tables *tables,
		       const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct seat *own = &r->seat[0];

	if (r->p->preview_every == 0)
		return 0;
	if (!gridding_beside(r->p, own->engine)) {
		r->preview = *own;
		return 0;
	}
	derive_preview(&r->preview_p, r->p);
	return sit(&r->preview, own->engine->preview, &r->preview_p, tables, env, why);
}

static int arm_stand_in(struct bs_recon *r, const struct bs_tables *tables,
			const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_engine *engine = r->seat[0].engine;

	if (!wants_stand_in(r->p, engine))
		return 0;
	derive_stand_in(&r->stand_in_p, r->p);
	return sit(&r->seat[1], engine->preview, &r->stand_in_p, tables, env, why);
}

/*
 * Returns true if a frame leaves nothing for later frames. Else it may leave maps, a field map and
 * GRAPPA's weights of its slice or its group, and the delays of its scan.
 */
static bool stands_alone(const struct bs_protocol *p, const struct bs_tables *tables)
{
	return tables->made == NULL && tables->phase_step == NULL && tables->live == NULL &&
	       !bs_plan_has(&p->plan, BS_PLAN_FILL) && !p->traj.estimate_delay &&
	       p->frame_step == 0 && !p->plan.follows && !bs_plan_has(&p->plan, BS_PLAN_VELOCITY);
}

static bool open_frame(const struct bs_recon *r, struct frame *f)
{
	if (r->groups > 0) {
		f->w.held = calloc(r->groups, 1);
		f->w.count = calloc(r->groups, sizeof(*f->w.count));
	}
	return r->groups == 0 || (f->w.held != NULL && f->w.count != NULL);
}

int bs_recon_arm(struct bs_recon **out, const struct bs_protocol *p, const struct bs_engine *engine,
		 const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_recon *r;
	int rc = check_ways(p, engine, why);

	if (rc != 0)
		return rc;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	r->p = p;
	r->frames = bs_protocol_frames(p);
	r->rows = bs_protocol_rows(p);
	r->alone = stands_alone(p, tables);
	r->groups = p->frame_step > 0 ? p->readouts / p->frame_step : 0;
	r->frame = calloc(r->frames, sizeof(*r->frame));
	if (r->frame == NULL ||
	    bs_opens_make(&r->opens, bs_protocol_pairs(p), bs_protocol_lanes(p), r->rows) != 0)
		goto nomem;
	for (uint32_t f = 0; f < r->frames; f++)
		if (!open_frame(r, &r->frame[f]))
			goto nomem;
	rc = bs_flows_arm(&r->flows, p, why);
	if (rc == 0)
		rc = bs_averages_arm(&r->averages, p, r->rows, env->arena, why);
	if (rc == 0)
		rc = bs_volumes_arm(&r->volumes, p, env->arena, why);
	if (rc == 0 && bs_protocol_kspace_bytes(p) > 0) {
		r->kspace = bs_arena_take(
			env->arena, (size_t)(bs_protocol_kspace_bytes(p) * r->frames), BS_ALIGN);
		if (r->kspace == NULL)
			goto nomem;
	}
	r->pop = r->volumes.places > 0 ? bs_volume_pop : NULL;
	if (rc == 0)
		rc = sit(&r->seat[0], engine, p, tables, env, why);
	if (rc == 0)
		rc = arm_preview(r, tables, env, why);
	if (rc == 0)
		rc = arm_stand_in(r, tables, env, why);
	if (rc != 0) {
		bs_recon_disarm(r);
		return rc;
	}
	*out = r;
	return 0;
nomem:
	bs_recon_disarm(r);
	return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': frame tables", p->name);
}

void bs_recon_disarm(struct bs_recon *r)
{
	if (r == NULL)
		return;
	if (r->preview.engine != NULL && r->preview.self != r->seat[0].self)
		r->preview.engine->disarm(r->preview.self);
	for (int i = 1; i >= 0; i--)
		if (r->seat[i].engine != NULL)
			r->seat[i].engine->disarm(r->seat[i].self);
	for (uint32_t f = 0; r->frame != NULL && f < r->frames; f++) {
		free(r->frame[f].w.held);
		free(r->frame[f].w.count);
	}
	bs_flows_disarm(&r->flows);
	free(r->frame);
	bs_opens_free(&r->opens);
	free(r);
}

/* ---- a scan ---- */

void bs_recon_scan(struct bs_recon *r, const struct bs_scan_info *info)
{
	struct seat seats[BS_SEATS];

	for (uint32_t i = 0; i < r->frames; i++) {
		struct frame *f = &r->frame[i];

		f->preview_due = f->imaged = f->w.unfolded = false;
		f->calibration_ns = 0;
		f->w.passed = 0;
		if (r->groups > 0)
			memset(f->w.held, 0, r->groups);
	}
	bs_recon_seats(r, seats);
	for (int i = 0; i < BS_SEATS; i++)
		if (seats[i].engine != NULL && seats[i].engine->scan != NULL)
			seats[i].engine->scan(seats[i].self);
	memset(&r->kinds, 0, sizeof(r->kinds));
	r->seen = 0;
	bs_bands_scan(&r->bands, r->p, info);
	bs_apart_scan(&r->apart, r->p, info);
	bs_flows_scan(&r->flows, r->p, info);
	memset(&r->prepared, 0, sizeof(r->prepared));
	memset(&r->earlier, 0, sizeof(r->earlier));
	r->embedded = bs_scan_embeds(r->p, info);
	r->info = *info;
	r->centered = false;
	memset(&r->readouts, 0, sizeof(r->readouts));
	memset(&r->others, 0, sizeof(r->others));
	bs_center_of(&r->center, &r->p->encoded[1], info, NULL);
	bs_lines_of(&r->lines, r->p, info);
	bs_volumes_scan(&r->volumes, info);
	bs_opens_scan(&r->opens, r->p, info, bs_recon_has_lines(r) ? &r->lines : NULL);
	r->expected = bs_averages_expected(r->p, info);
	r->several = false;
	r->misfit.count = 0;
	bs_echo_scan(&r->echo, info, r->groups == 0 ? r->p->contrasts : 1);
	r->broken.lines = r->beyond = 0;
	if (r->averages != NULL)
		bs_averages_scan(r->averages, r->expected);
	memset(&r->corrected, 0, sizeof(r->corrected));
	r->images = r->previews = r->passed = r->begun = 0;
	r->series = (uint16_t)((r->series + 1u) % BS_VELOCITY_SERIES);
	bs_geometry_fov(r->fov_mm, r->p, info);
}

void bs_recon_resume(struct bs_recon *r, uint64_t images, uint64_t previews)
{
	r->passed = images;
	r->previews = previews;
}

void bs_recon_solved(struct bs_recon *r, struct bs_solved *solved)
{
	r->solved = r->p->plan.solve != BS_SOLVE_NONE && bs_budget_sheds(r->p) ? solved : NULL;
}

void bs_recon_share(struct bs_recon *r, const struct bs_share *share)
{
	r->share = share;
}

int bs_recon_maps(struct bs_recon *r, struct bs_fail *why)
{
	struct seat seats[BS_SEATS];
	int rc = 0;

	bs_recon_seats(r, seats);
	for (int i = 0; i < BS_SEATS; i++)
		for (uint32_t s = 0; rc == 0 && s < r->p->slices; s++)
			if (seats[i].engine != NULL && seats[i].engine->maps != NULL)
				rc = seats[i].engine->maps(seats[i].self, s);
	return rc == 0 ? 0 : bs_fail(why, rc, "engine %s refused its maps", r->seat[0].name);
}
