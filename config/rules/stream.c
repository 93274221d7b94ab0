/* config/rules/stream.c - the rules of paths that come with the stream; see rules.h */
#include "config/rules.h"

#include "config/rule.h"
#include "core/protocol.h"

/*
 * Rules of delays from the scan's own spokes: they need paths that can be moved when a frame is
 * whole.
 */
static void estimate(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	if (!p->traj.estimate_delay || !sound(s, "trajectory.type", "method", "dims", NULL))
		return;
	if (!plan->streams || plan->encode == BS_ENCODE_NOTHING || p->dims != 2 ||
	    bs_traj_delayed(&p->traj) || p->image_ms > 0.0)
		fault(s, "trajectory.estimate_delay",
		      "is for trajectory.type stream in 2D, without given delays, "
		      "budget.image_ms or method noop");
}

void bs_rules_stream(const struct bs_scope *s, const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;
	static const char *const of_q[] = { "ls.fhd", "ls.q" };

	estimate(s, p);
	if (!plan->streams || !sound(s, "trajectory.type", "method", NULL))
		return;
	if (sound(s, "averages", NULL) && p->averages > 1)
		fault(s, "averages", "not with trajectory.type stream: each has its own path");
	if (sound(s, "gridding.density", NULL) && p->density == BS_DENSITY_FILE)
		fault(s, "gridding.density",
		      "file: weights of a trajectory that is known before, not of type stream");
	if (sound(s, "gridding.chunk_readouts", NULL) && p->chunk_readouts > 0)
		fault(s, "gridding.chunk_readouts",
		      "has no effect with trajectory.type stream: a frame is gridded as a whole");
	if (sound(s, "field.map_file", "field.from", NULL) &&
	    (plan->off_resonance || bs_plan_has(plan, BS_PLAN_ECHOES)))
		fault(s, p->field.from != BS_FIELD_FILE ? "field.from" : "field.map_file",
		      "not with trajectory.type stream");
	if (sound(s, "image.maps", NULL) && plan->maps == BS_PLAN_MAPS_SCAN)
		fault(s, "image.maps",
		      "of the scan: its center is found before, not with trajectory.type stream");
	if (sound(s, "backend", NULL) && p->backend == BS_BACKEND_CUDA &&
	    plan->encode != BS_ENCODE_NOTHING && plan->host_only == BS_HOST_ONLY_STREAM)
		fault(s, "backend",
		      "trajectory.type stream has a CUDA engine in 2D alone, with density ramp or "
		      "none, without a preconditioner, delays to estimate, windows and previews: "
		      "host, or auto");
	if (plan->solve == BS_SOLVE_NONE)
		return;
	for (size_t i = 0; i < 2; i++)
		if (sound(s, of_q[i], NULL) && (i == 0 ? p->fhd : p->q) == BS_SUM_EXACT)
			fault(s, of_q[i], "exact: trajectory.type stream is for the NUFFT alone");
	if (sound(s, "image.map_sets", NULL) && p->map_images > 1)
		fault(s, "image.map_sets", "2: not with trajectory.type stream");
	if (sound(s, "ls.basis", NULL) && p->basis == BS_BASIS_BOX)
		fault(s, "ls.basis", "box: not with trajectory.type stream");
	if (sound(s, "ls.preconditioner", NULL) && p->precond == BS_PRECOND_CIRCULANT)
		fault(s, "ls.preconditioner",
		      "circulant is made from Q: not with trajectory.type stream");
}
