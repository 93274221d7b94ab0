/* core/plan/place.c - where a plan's work is done, and why not elsewhere; see plan.h */
#include "core/protocol.h"
#include "core/text.h"

/* The fewer of the frames of a window and of the voxels of a block. */
static uint32_t shorter_of(const struct bs_protocol *p)
{
	const uint32_t frames = p->frame_step > 0 ? p->readouts / p->frame_step : 0;
	uint32_t voxels = 1;

	for (int a = 0; a < 3; a++)
		voxels *= p->matrix[a] < p->prior.block ? p->matrix[a] : p->prior.block;
	return frames < voxels ? frames : voxels;
}

/* Finds what of a solve with a prior only the host can do. */
static enum bs_host_only prior_host_only(const struct bs_plan *plan, const struct bs_protocol *p)
{
	const enum bs_prior kind = p->prior.kind;
	const bool frames = kind == BS_PRIOR_TV_FRAMES || kind == BS_PRIOR_TV_CYCLE ||
			    kind == BS_PRIOR_LOW_RANK;

	if (kind == BS_PRIOR_NONE)
		return BS_HOST_ONLY_FOLLOWS;
	if ((plan->encode != BS_ENCODE_GRID && plan->encode != BS_ENCODE_EXACT &&
	     plan->encode != BS_ENCODE_LINES) ||
	    bs_protocol_map_images(p) > 1 || bs_plan_has(plan, BS_PLAN_POCS))
		return BS_HOST_ONLY_PRIOR;
	if (frames &&
	    (p->dims != 2 || (kind == BS_PRIOR_LOW_RANK && shorter_of(p) > BS_PRIOR_SHORTER_MAX)))
		return BS_HOST_ONLY_FRAMES;
	return BS_HOST_ONLY_NOT;
}

/*
 * Finds what of the protocol only the host can do. Of streams, a GPU can do 2D, whole frames,
 * weights that each readout tells, no preconditioner. Only the host measures a field map, solves
 * with some priors, and lets two images explain a voxel together.
 */
static enum bs_host_only host_only(const struct bs_plan *plan, const struct bs_protocol *p)
{
	const bool solves = plan->solve != BS_SOLVE_NONE;

	if (plan->streams &&
	    (bs_methods[p->method].on_grid || (solves && p->precond != BS_PRECOND_NONE) ||
	     p->dims != 2 || p->density == BS_DENSITY_PIPE || p->frame_step > 0 ||
	     p->preview_every > 0 || p->traj.estimate_delay))
		return BS_HOST_ONLY_STREAM;
	if (p->field.from == BS_FIELD_ECHOES)
		return BS_HOST_ONLY_ECHOES;
	if (plan->solve == BS_SOLVE_PROX)
		return prior_host_only(plan, p);
	if (solves && (plan->takes[BS_KEPT_IMAGE] || p->w.l2 > 0.0))
		return BS_HOST_ONLY_W;
	return bs_protocol_map_images(p) > 1 ? BS_HOST_ONLY_MAP_SETS : BS_HOST_ONLY_NOT;
}

/* Returns why one coil's exact sum is not divided by rows, of which each GPU would take some. */
static enum bs_undivided by_rows(const struct bs_plan *plan, const struct bs_protocol *p)
{
	if (plan->solve != BS_SOLVE_CG || plan->joint || p->fhd != BS_SUM_EXACT)
		return BS_UNDIVIDED_SUM;
	if (p->matrix[1] < p->gpu_devices.count)
		return BS_UNDIVIDED_ROWS;
	return p->density != BS_DENSITY_NONE ? BS_UNDIVIDED_WEIGHTS : BS_UNDIVIDED_NOT;
}

static enum bs_undivided undivided(const struct bs_plan *plan, const struct bs_protocol *p)
{
	if (plan->encode == BS_ENCODE_NOTHING)
		return BS_UNDIVIDED_NOTHING;
	if (plan->maps == BS_PLAN_MAPS_SCAN || plan->maps == BS_PLAN_MAPS_STUDY)
		return BS_UNDIVIDED_MAPS;
	if (plan->streams)
		return BS_UNDIVIDED_PATH;
	if (bs_plan_has(plan, BS_PLAN_VELOCITY))
		return BS_UNDIVIDED_VELOCITY;
	if (plan->encode == BS_ENCODE_LINES || bs_plan_groups(plan))
		return BS_UNDIVIDED_METHOD;
	if (plan->solve == BS_SOLVE_PROX)
		return BS_UNDIVIDED_PRIOR;
	if (plan->off_resonance)
		return BS_UNDIVIDED_FIELD;
	return p->coils > 1 ? BS_UNDIVIDED_NOT : by_rows(plan, p);
}

/* Divides the work of a plan among several GPUs. */
static void divide(struct bs_plan *plan, const struct bs_protocol *p)
{
	const uint32_t n = p->gpu_devices.count;

	plan->undivided = undivided(plan, p);
	if (plan->undivided != BS_UNDIVIDED_NOT)
		return;
	plan->place = p->coils > 1 ? BS_PLACE_COILS : BS_PLACE_SLABS;
	plan->parts = p->coils > 1 && p->coils < n ? p->coils : n;
}

void bs_plan_choose_place(struct bs_plan *plan, const struct bs_protocol *p)
{
	plan->parts = 1;
	plan->host_only = host_only(plan, p);
	plan->place = plan->encode == BS_ENCODE_NOTHING ? BS_PLACE_NOTHING
		      : plan->host_only != BS_HOST_ONLY_NOT || p->backend == BS_BACKEND_HOST
			      ? BS_PLACE_HOST
			      : BS_PLACE_GPU;
	if (plan->place != BS_PLACE_HOST && p->gpu_devices.count > 1)
		divide(plan, p);
}

const char *bs_host_only_words(enum bs_host_only reason)
{
	static const char *const words[] = {
		[BS_HOST_ONLY_NOT] = "",
		[BS_HOST_ONLY_STREAM] = ("trajectory.type stream, but for whole frames in 2D, "
					 "density ramp or none, without a preconditioner,"),
		[BS_HOST_ONLY_ECHOES] = "field.from echoes",
		[BS_HOST_ONLY_MAP_SETS] = "image.map_sets 2",
		[BS_HOST_ONLY_FOLLOWS] = "solve.start or damp without a prior",
		[BS_HOST_ONLY_PRIOR] = ("solve.prior with a stream's paths, a field map, two sets "
					"of maps or partial Fourier"),
		[BS_HOST_ONLY_FRAMES] = ("solve.prior along frames in 3D, or low_rank of more than "
					 "48 frames and voxels,"),
		[BS_HOST_ONLY_W] = "ls.w study or ls.l2",
	};
	_Static_assert(sizeof(words) / sizeof(words[0]) == BS_HOST_ONLY_REASONS, "words for each");

	return words[reason];
}

const char *bs_plan_engine(const struct bs_plan *plan, enum bs_plan_place place)
{
	static const char *const names[][2] = {
		{ "noop", "noop" },
		{ "gridding/host", "gridding/cuda" },
		{ "cartesian/host", "cartesian/cuda" },
		{ "ls/host", "ls/cuda" },
		{ "sense/host", "sense/cuda" },
		{ "unfold/host", "unfold/cuda" },
		{ "prox/host", "prox/cuda" },
	};
	const int row = plan->solve == BS_SOLVE_PROX      ? 6
			: plan->solve == BS_SOLVE_UNFOLD  ? 5
			: plan->solve == BS_SOLVE_CG      ? 3 + plan->joint
			: plan->encode == BS_ENCODE_LINES ? 2
							  : plan->encode != BS_ENCODE_NOTHING;

	return names[row][bs_plan_on_gpu(place)];
}

/* Writes the reason why the first GPU works alone, behind its number. */
static void put_reason(struct bs_text *t, const struct bs_protocol *p)
{
	static const char *const words[] = {
		[BS_UNDIVIDED_NOT] = "",
		[BS_UNDIVIDED_NOTHING] = "has no work",
		[BS_UNDIVIDED_METHOD] = "is not shared out",
		[BS_UNDIVIDED_PRIOR] = "solve.prior is not shared out",
		[BS_UNDIVIDED_MAPS] = "its maps come from a scan",
		[BS_UNDIVIDED_PATH] = "its path comes with the readouts",
		[BS_UNDIVIDED_VELOCITY] = "velocities are not shared out",
		[BS_UNDIVIDED_FIELD] = "field.map_file is not shared out",
		[BS_UNDIVIDED_SUM] = "there is one coil, and no exact sum",
		[BS_UNDIVIDED_ROWS] = "there is one coil, and",
		[BS_UNDIVIDED_WEIGHTS] = "there is one coil, and its samples have weights",
	};
	const enum bs_undivided why = p->plan.undivided;

	_Static_assert(sizeof(words) / sizeof(words[0]) == BS_UNDIVIDED_WEIGHTS + 1,
		       "words for each");
	if (why == BS_UNDIVIDED_NOTHING || why == BS_UNDIVIDED_METHOD)
		bs_text_put(t, " alone: method %s %s", bs_method_name(p->method), words[why]);
	else if (why == BS_UNDIVIDED_ROWS)
		bs_text_put(t, " alone: %s %u rows", words[why], p->matrix[1]);
	else if (why != BS_UNDIVIDED_NOT)
		bs_text_put(t, " alone: %s", words[why]);
}

const char *bs_plan_place_words(char *to, size_t size, const struct bs_protocol *p)
{
	const struct bs_devices *d = &p->gpu_devices;
	const uint32_t parts = p->plan.parts;
	struct bs_text t = { to, size, 0, false };

	to[0] = '\0';
	bs_text_put(&t, "GPU%s %u", parts > 1 ? "s" : "", d->count > 0 ? d->device[0] : 0);
	for (uint32_t i = 1; i < parts; i++)
		bs_text_put(&t, ", %u", d->device[i]);
	if (p->plan.place == BS_PLACE_SLABS)
		bs_text_put(&t, ": F^H d shared out by rows of the image, solved on GPU %u",
			    d->device[0]);
	else if (p->plan.place == BS_PLACE_COILS)
		bs_text_put(&t, ": %u coils shared out%s", p->coils,
			    parts < d->count ? ", one each" : "");
	else
		put_reason(&t, p);
	return to;
}
