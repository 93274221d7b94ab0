/*
 * config/rules/field.c - the rules of where a field map comes from, and of image.output and
 * image.volume; see rules.h
 */
#include "config/rules.h"

#include "config/rule.h"
#include "core/plan/scankey.h"
#include "core/protocol.h"

/* Rules of a protocol that measures a field map. */
static void echoes(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];

	if (method->empty || method->solves)
		fault(s, "field.from", "echoes: method gridding or cartesian, not %s",
		      bs_method_name(p->method));
	if (sound(s, "contrasts", NULL) && p->contrasts < 2)
		fault(s, "field.from", "echoes: of 2 contrasts, not %u", p->contrasts);
	if (sound(s, "frame.step", NULL) && p->frame_step > 0)
		fault(s, "field.from", "echoes: not with frame.step");
	if (sound(s, "frame.preview_every", NULL) && p->preview_every > 0)
		fault(s, "field.from", "echoes: not with frame.preview_every");
	if (sound(s, "backend", NULL) && p->backend == BS_BACKEND_CUDA)
		fault(s, "backend", "field.from echoes has no CUDA engine: host, or auto");
}

/* Rules of a field map on the grid. */
static void blips(const struct bs_scope *s, const struct bs_protocol *p)
{
	const char *key = p->field.from == BS_FIELD_STUDY ? "field.from" : "field.map_file";

	if (sound(s, "field.echo_spacing_us", NULL) && p->field.echo_spacing_us == 0.0)
		fault_near(s, "field.echo_spacing_us", key, "missing; %s needs it", key);
	if (p->field.dwell_us != 0.0 || p->field.start_ms != 0.0)
		fault(s, p->field.dwell_us != 0.0 ? "field.dwell_us" : "field.start_ms",
		      "has no effect with method cartesian: field.echo_spacing_us");
	if (sound(s, "matrix", "encoded", NULL) &&
	    (p->matrix[2] > 1 || p->matrix[1] != p->encoded[1]))
		fault(s, key, "on the grid: in 2D, with as many voxels along y as lines");
	if (p->plan.solve != BS_SOLVE_NONE || p->plan.maps == BS_PLAN_MAPS_SCAN)
		fault(s, key, "on the grid: not with a solver, nor with maps made from the scan");
}

void bs_rules_field(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;
	const bool off = plan->off_resonance;

	if (!bs_plan_has(plan, BS_PLAN_UNWARP) && p->field.echo_spacing_us != 0.0)
		fault(s, "field.echo_spacing_us",
		      "has no effect without method cartesian and field.map_file or from study");
	if (!off && p->field.dwell_us != 0.0)
		fault(s, "field.dwell_us", "has no effect without field.map_file");
	if (!off && p->field.start_ms != 0.0)
		fault(s, "field.start_ms", "has no effect without field.map_file");
	if (p->field.from != BS_FIELD_STUDY && p->field.range_hz != 0.0)
		fault(s, "field.range_hz", "has no effect without field.from study");
	if (p->field.from == BS_FIELD_STUDY && sound(s, "field.range_hz", NULL) &&
	    p->field.range_hz == 0.0)
		fault_near(s, "field.range_hz", "field.from", "missing; field.from study needs it");
	if (p->field.from != BS_FIELD_FILE && p->field.map_file[0] != '\0')
		fault(s, "field.map_file", "has no effect without field.from file");
	if (bs_plan_has(plan, BS_PLAN_ECHOES))
		echoes(s, p);
	if (bs_plan_has(plan, BS_PLAN_UNWARP))
		blips(s, p);
}

/* Rules of joined slices: they leave together, and only when all of them are whole. */
static void volume(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (p->matrix[2] > 1)
		fault(s, "image.volume", "not in 3D: it joins slices");
	if (p->preview_every > 0)
		fault(s, "image.volume", "not with frame.preview_every: no slice leaves alone");
	if (p->frame_step > 0)
		fault(s, "image.volume", "not with a sliding window (frame.step)");
}

void bs_rules_output(const struct bs_scope *s, const struct bs_protocol *p)
{
	const bool flows = p->output == BS_OUTPUT_VELOCITY;

	if (p->combine == BS_COMBINE_RSS && p->plan.keeps_phase)
		fault(s, "image.output",
		      "the root of a sum of squares has no phase: magnitude, or combine none or "
		      "sense");
	if (flows && (p->combine == BS_COMBINE_NONE || p->frame_step > 0))
		fault(s, "image.output", "velocity: not with combine none, frame.step");
	if (!flows && p->venc > 0.0 && sound(s, "image.venc", NULL))
		fault(s, "image.venc", "has no effect without image.output velocity");
	if (!flows && (p->scan_keys >> BS_SCANKEY_VENC & 1u))
		fault(s, "scan_keys", "image.venc has no effect without image.output velocity");
	if (p->volume &&
	    sound(s, "image.volume", "matrix", "frame.preview_every", "frame.step", NULL))
		volume(s, p);
	if (p->plan.solve == BS_SOLVE_NONE && (p->scan_keys >> BS_SCANKEY_ITERATIONS & 1u))
		fault(s, "scan_keys", "ls.iterations has no effect without a solver");
}
