/* core/plan/plan.c - see plan.h */
#include "core/plan/plan.h"

#include "core/text.h"

static enum bs_encode encode_of(const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];

	if (method->empty)
		return BS_ENCODE_NOTHING;
	if (method->on_grid)
		return BS_ENCODE_LINES;
	if (bs_plan_streams(p))
		return BS_ENCODE_PATH;
	if (bs_plan_off_resonance(p))
		return BS_ENCODE_FIELD;
	return method->solves && p->fhd == BS_SUM_EXACT ? BS_ENCODE_EXACT : BS_ENCODE_GRID;
}

static enum bs_plan_maps maps_of(const struct bs_protocol *p)
{
	if (p->combine != BS_COMBINE_SENSE && !bs_methods[p->method].uses_maps)
		return BS_PLAN_MAPS_NONE;
	return p->maps == BS_MAPS_FILE    ? BS_PLAN_MAPS_FILE
	       : p->maps == BS_MAPS_STUDY ? BS_PLAN_MAPS_STUDY
					  : BS_PLAN_MAPS_SCAN;
}

/* Images that explain the coils together are combined again, where one image leaves. */
static bool combines(const struct bs_protocol *p)
{
	return p->combine != BS_COMBINE_NONE &&
	       (!bs_methods[p->method].uses_maps ||
		(bs_protocol_map_images(p) > 1 && !bs_protocol_keeps_phase(p)));
}

static bool resizes(const struct bs_protocol *p)
{
	for (int a = 0; a < 3; a++)
		if (bs_protocol_image_axis(p, a) != p->matrix[a])
			return true;
	return false;
}

static uint32_t stages_of(const struct bs_protocol *p)
{
	return (uint32_t)p->epi_correct << BS_PLAN_EPI |
	       (uint32_t)(p->navigators != BS_NAVIGATE_OFF) << BS_PLAN_NAVIGATE |
	       (uint32_t)(p->whiten != BS_WHITEN_OFF) << BS_PLAN_WHITEN |
	       (uint32_t)(p->virtual_coils > 0) << BS_PLAN_COMPRESS |
	       (uint32_t)(p->averages > 1) << BS_PLAN_AVERAGE |
	       (uint32_t)(p->parallel == BS_PARALLEL_GRAPPA) << BS_PLAN_FILL |
	       (uint32_t)(p->partial_fourier == BS_PARTIAL_FOURIER_POCS) << BS_PLAN_POCS |
	       (uint32_t)(p->field.from == BS_FIELD_ECHOES) << BS_PLAN_ECHOES |
	       (uint32_t)combines(p) << BS_PLAN_COMBINE | (uint32_t)resizes(p) << BS_PLAN_RESIZE |
	       (uint32_t)(p->output == BS_OUTPUT_PHASE) << BS_PLAN_PHASE |
	       (uint32_t)(p->output == BS_OUTPUT_VELOCITY) << BS_PLAN_VELOCITY;
}

/* Of streams, a GPU has: 2D, whole frames, weights that each readout tells, no preconditioner. */
static bool host_only(const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];

	return bs_plan_streams(p) &&
	       (method->on_grid || (method->solves && p->precond != BS_PRECOND_NONE) ||
		p->dims != 2 || p->density == BS_DENSITY_PIPE || p->frame_step > 0 ||
		p->preview_every > 0 || p->traj.estimate_delay);
}

struct bs_plan bs_plan_of(const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];
	struct bs_plan plan = {
		.encode = encode_of(p),
		.solve = method->uses_q   ? BS_SOLVE_CG
			 : method->solves ? BS_SOLVE_UNFOLD
					  : BS_SOLVE_NONE,
		.together = method->solves && !method->uses_maps ? 1 : p->coils,
		.stages = stages_of(p),
		.maps = maps_of(p),
		.weighs = method->weighs,
		.preview = method->preview,
		.counting = method->counting,
		.joint = method->uses_maps,
		.on_grid = bs_plan_on_grid(p),
		.streams = bs_plan_streams(p),
		.host_only = host_only(p),
		.off_resonance = bs_plan_off_resonance(p),
		.accelerated = p->parallel != BS_PARALLEL_NONE,
		.corrects = p->epi_correct || p->navigators != BS_NAVIGATE_OFF,
		.prepares = p->whiten != BS_WHITEN_OFF || p->virtual_coils > 0,
		.shares_coils = method->shares_coils,
		.shares_rows = method->shares_rows,
	};

	plan.takes[BS_KEPT_MAPS] = plan.maps == BS_PLAN_MAPS_STUDY && p->slices > 0;
	plan.takes[BS_KEPT_FIELD] = p->field.from == BS_FIELD_STUDY;
	plan.calibrates =
		bs_plan_has(plan, BS_PLAN_FILL) || (plan.maps == BS_PLAN_MAPS_SCAN && plan.on_grid);
	plan.waits = plan.calibrates || plan.maps == BS_PLAN_MAPS_SCAN || plan.prepares;
	return plan;
}

static const char *const maps[] = { "", " by maps_file", " by maps of the scan",
				    " by maps of the study" };

/* The stages from first up to end, one behind the other. */
static void put_stages(struct bs_text *t, const struct bs_plan *plan, enum bs_plan_stage first,
		       enum bs_plan_stage end)
{
	static const char *const names[] = { "EPI",     "navigate", "whiten", "compress",
					     "average", "GRAPPA",   "POCS",   "measure field",
					     "combine", "resize",   "phase",  "velocity" };
	_Static_assert(sizeof(names) / sizeof(names[0]) == BS_PLAN_STAGES, "a name for each");
	const char *between = t->len > 0 ? " > " : "";

	for (unsigned s = first; s < end; s++)
		if (bs_plan_has(*plan, (enum bs_plan_stage)s)) {
			bs_text_put(t, "%s%s%s", between, names[s],
				    s == BS_PLAN_COMBINE && !plan->joint ? maps[plan->maps] : "");
			between = ", ";
		}
}

const char *bs_plan_words(char *to, size_t size, const struct bs_plan *plan)
{
	static const char *const encodings[] = { "nothing", "grid", "exact",
						 "field",   "path", "lines" };
	static const char *const solvers[] = { "", " > cg", " > unfold" };
	_Static_assert(sizeof(encodings) / sizeof(encodings[0]) == BS_ENCODES, "a name for each");
	_Static_assert(sizeof(solvers) / sizeof(solvers[0]) == BS_SOLVES, "a name for each");
	struct bs_text t = { to, size, 0, false };

	to[0] = '\0';
	put_stages(&t, plan, BS_PLAN_EPI, BS_PLAN_POCS);
	bs_text_put(&t, "%s%s%s%s", t.len > 0 ? " > " : "", encodings[plan->encode],
		    solvers[plan->solve], plan->joint ? maps[plan->maps] : "");
	put_stages(&t, plan, BS_PLAN_POCS, BS_PLAN_STAGES);
	return to;
}
