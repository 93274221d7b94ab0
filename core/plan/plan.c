/* core/plan/plan.c - see plan.h */
#include "core/protocol.h"

#include <string.h>

#include "core/text.h"

static bool on_grid(const struct bs_protocol *p)
{
	return bs_methods[p->method].on_grid || p->traj.type == BS_TRAJ_CARTESIAN;
}

static bool streams(const struct bs_protocol *p)
{
	return p->traj.type == BS_TRAJ_STREAM;
}

static bool off_resonance(const struct bs_protocol *p)
{
	return p->field.map_file[0] != '\0' || p->field.from == BS_FIELD_STUDY;
}

static bool keeps_phase(const struct bs_protocol *p)
{
	return p->output == BS_OUTPUT_COMPLEX || p->output == BS_OUTPUT_PHASE;
}

static bool follows(const struct bs_protocol *p)
{
	return bs_methods[p->method].solves &&
	       (p->prior.start == BS_START_LAST || p->prior.damp > 0.0);
}

static enum bs_encode encode_of(const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];

	if (method->empty)
		return BS_ENCODE_NOTHING;
	if (method->on_grid)
		return BS_ENCODE_LINES;
	if (streams(p))
		return BS_ENCODE_PATH;
	if (off_resonance(p))
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

/*
 * Returns true if the plan combines. Images that explain the coils together are combined again,
 * where one image leaves.
 */
static bool combines(const struct bs_protocol *p)
{
	return p->combine != BS_COMBINE_NONE &&
	       (!bs_methods[p->method].uses_maps ||
		(bs_protocol_map_images(p) > 1 && !keeps_phase(p)));
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
	       (uint32_t)(p->parallel >= BS_PARALLEL_SLICES) << BS_PLAN_APART |
	       (uint32_t)(p->parallel == BS_PARALLEL_GRAPPA || p->parallel == BS_PARALLEL_SLICES)
		       << BS_PLAN_FILL |
	       (uint32_t)(p->partial_fourier == BS_PARTIAL_FOURIER_POCS) << BS_PLAN_POCS |
	       (uint32_t)(bs_methods[p->method].on_grid && off_resonance(p)) << BS_PLAN_UNWARP |
	       (uint32_t)(p->field.from == BS_FIELD_ECHOES) << BS_PLAN_ECHOES |
	       (uint32_t)combines(p) << BS_PLAN_COMBINE | (uint32_t)resizes(p) << BS_PLAN_RESIZE |
	       (uint32_t)(p->output == BS_OUTPUT_PHASE) << BS_PLAN_PHASE |
	       (uint32_t)(p->output == BS_OUTPUT_VELOCITY) << BS_PLAN_VELOCITY |
	       (uint32_t)p->volume << BS_PLAN_JOIN | (uint32_t)(p->step.at > 0) << BS_PLAN_STEP;
}

/*
 * Returns true if an engine has the plan's stages. It can measure a field map where the sums are
 * the coils' images. It can make maps from the scan there, and where it solves for all coils with
 * them.
 */
static bool has_stages(const struct bs_plan *plan)
{
	const bool works = plan->encode != BS_ENCODE_NOTHING;
	const bool direct = works && plan->solve == BS_SOLVE_NONE;

	return (!bs_plan_has(plan, BS_PLAN_ECHOES) || direct) &&
	       (plan->maps != BS_PLAN_MAPS_SCAN || direct || (works && plan->joint));
}

/* Returns true if an engine can work with a path that is known only when a frame is whole. */
static bool takes_path(const struct bs_plan *plan)
{
	return plan->encode == BS_ENCODE_NOTHING ||
	       (plan->encode == BS_ENCODE_PATH && plan->maps != BS_PLAN_MAPS_SCAN &&
		!bs_plan_has(plan, BS_PLAN_ECHOES));
}

/*
 * GRAPPA's weights, and ESPIRiT's maps on the grid, are made of lines as the scan measures them.
 * Walsh's maps need no more than the central line, and a trajectory has a center of its own.
 */
static bool own_calibration(const struct bs_plan *plan, const struct bs_protocol *p)
{
	return (bs_plan_has(plan, BS_PLAN_FILL) && p->grappa_lacking == BS_LACKING_REFUSE) ||
	       (plan->maps == BS_PLAN_MAPS_SCAN && p->maps == BS_MAPS_ESPIRIT && plan->on_grid);
}

static void make(struct bs_plan *plan, const struct bs_protocol *p)
{
	const struct bs_method_traits *method = &bs_methods[p->method];

	memset(plan, 0, sizeof(*plan)); /* plans are compared byte by byte */
	plan->encode = encode_of(p);
	plan->solve = method->solves && (p->prior.kind != BS_PRIOR_NONE || follows(p))
			      ? BS_SOLVE_PROX
		      : method->uses_q ? BS_SOLVE_CG
		      : method->solves ? BS_SOLVE_UNFOLD
				       : BS_SOLVE_NONE;
	plan->together = method->solves && !method->uses_maps ? 1 : p->coils;
	plan->stages = stages_of(p);
	plan->maps = maps_of(p);
	plan->weighs = method->weighs;
	plan->preview = method->preview;
	plan->counting = method->counting;
	plan->joint = method->uses_maps;
	plan->on_grid = on_grid(p);
	plan->streams = streams(p);
	plan->from_file = p->traj.type == BS_TRAJ_FILE;
	plan->passes = method->passes;
	plan->windows = method->windows && !bs_plan_groups(plan);
	plan->previews = method->previews && !bs_plan_groups(plan);
	plan->off_resonance = off_resonance(p);
	plan->takes[BS_KEPT_MAPS] = plan->maps == BS_PLAN_MAPS_STUDY && p->slices > 0;
	plan->takes[BS_KEPT_FIELD] = p->field.from == BS_FIELD_STUDY;
	plan->takes[BS_KEPT_IMAGE] = method->solves && p->w.from == BS_W_STUDY;
	plan->embeds = p->parallel != BS_PARALLEL_NONE && !bs_plan_has(plan, BS_PLAN_APART);
	plan->own_calibration = own_calibration(plan, p);
	plan->accelerated = p->parallel != BS_PARALLEL_NONE;
	plan->corrects = p->epi_correct || p->navigators != BS_NAVIGATE_OFF;
	plan->prepares = p->whiten != BS_WHITEN_OFF || p->virtual_coils > 0;
	plan->calibrates = bs_plan_has(plan, BS_PLAN_FILL) ||
			   (plan->maps == BS_PLAN_MAPS_SCAN && plan->on_grid);
	plan->waits = plan->calibrates || plan->maps == BS_PLAN_MAPS_SCAN || plan->prepares;
	plan->follows = follows(p);
	plan->keeps_phase = keeps_phase(p);
	plan->absent = !has_stages(plan)                    ? BS_ABSENT_STAGES
		       : plan->streams && !takes_path(plan) ? BS_ABSENT_PATH
							    : BS_ABSENT_NOT;
	bs_plan_choose_place(plan, p);
	plan->quadratic = plan->solve == BS_SOLVE_PROX && p->prior.kind != BS_PRIOR_NONE &&
			  p->on_miss == BS_MISS_SHED && p->image_ms > 0.0;
}

void bs_plan_make(struct bs_protocol *p)
{
	make(&p->plan, p);
}

bool bs_plan_holds(const struct bs_protocol *p)
{
	struct bs_plan now;

	make(&now, p);
	return memcmp(&now, &p->plan, sizeof(now)) == 0;
}

const char *const bs_prior_names[] = { "none",     "wavelet",  "tv", "tv_frames",
				       "tv_cycle", "low_rank", "w",  NULL };
_Static_assert(sizeof(bs_prior_names) / sizeof(bs_prior_names[0]) == BS_PRIORS + 1,
	       "a name for each prior");

static const char *const maps[] = { "", " by maps_file", " by maps of the scan",
				    " by maps of the study" };

/* Writes the stages from first up to end. */
static void put_stages(struct bs_text *t, const struct bs_plan *plan, enum bs_plan_stage first,
		       enum bs_plan_stage end)
{
	static const char *const names[] = { "EPI",     "navigate",      "whiten",  "compress",
					     "average", "slice-GRAPPA",  "GRAPPA",  "POCS",
					     "unwarp",  "measure field", "combine", "resize",
					     "phase",   "velocity",      "join",    "step" };
	_Static_assert(sizeof(names) / sizeof(names[0]) == BS_PLAN_STAGES, "a name for each");
	const char *between = t->len > 0 ? " > " : "";

	for (unsigned s = first; s < end; s++)
		if (bs_plan_has(plan, (enum bs_plan_stage)s)) {
			bs_text_put(t, "%s%s%s", between,
				    s == BS_PLAN_APART && plan->joint ? "slices at once" : names[s],
				    s == BS_PLAN_COMBINE && !plan->joint ? maps[plan->maps] : "");
			between = ", ";
		}
}

const char *bs_plan_stage_words(char *to, size_t size, const struct bs_plan *plan, uint32_t stages)
{
	struct bs_plan some = *plan;
	struct bs_text t = { to, size, 0, false };

	to[0] = '\0';
	some.stages &= stages;
	put_stages(&t, &some, BS_PLAN_EPI, BS_PLAN_STAGES);
	return to;
}

const char *bs_plan_words(char *to, size_t size, const struct bs_plan *plan)
{
	static const char *const encodings[] = { "nothing", "grid", "exact",
						 "field",   "path", "lines" };
	static const char *const solvers[] = { "", " > cg", " > unfold", " > prox" };
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

const struct bs_protocol *bs_site_protocol(const struct bs_site *site, const char *name)
{
	for (uint32_t i = 0; i < site->protocols; i++)
		if (strcmp(site->protocol[i].name, name) == 0)
			return &site->protocol[i];
	return NULL;
}
