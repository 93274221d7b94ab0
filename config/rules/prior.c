/* config/rules/prior.c - rules about solve.*, the prior of a solver; see rules.h */
#include "config/rule.h"
#include "config/rules.h"

/* The prior goes along frames. */
static bool along_frames(enum bs_prior kind)
{
	return kind == BS_PRIOR_TV_FRAMES || kind == BS_PRIOR_TV_CYCLE || kind == BS_PRIOR_LOW_RANK;
}

static void rule_weight(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (!sound(s, "solve.lambda", "solve.lambda_noise", "noise.whiten", NULL))
		return;
	if ((p->prior.lambda > 0.0) == (p->prior.noise > 0.0))
		fault_near(s, p->prior.noise > 0.0 ? "solve.lambda_noise" : "solve.lambda",
			   "solve.prior", "either solve.lambda or solve.lambda_noise is above 0");
	else if (p->prior.noise > 0.0 && p->whiten != BS_WHITEN_REQUIRE)
		fault(s, "solve.lambda_noise", "needs noise.whiten require");
	else if (p->prior.noise > 0.0 && p->density != BS_DENSITY_NONE &&
		 p->plan.encode != BS_ENCODE_LINES)
		fault(s, "solve.lambda_noise",
		      "is for samples without weights, gridding.density none");
}

static void rule_frames(const struct bs_scope *s, const struct bs_protocol *p)
{
	if (!along_frames(p->prior.kind) || !sound(s, "frame.step", NULL))
		return;
	if (p->frame_step == 0)
		fault(s, "solve.prior",
		      "goes along the frames of a sliding window: needs frame.step");
	else if (p->plan.encode != BS_ENCODE_GRID && p->plan.encode != BS_ENCODE_EXACT)
		fault(s, "solve.prior",
		      "not along frames whose paths come with the stream, or with "
		      "a field map");
	else if (p->readouts / p->frame_step > 512)
		fault(s, "solve.prior", "%u frames in a window, 512 at most",
		      p->readouts / p->frame_step);
}

static void rule_last(const struct bs_scope *s, const struct bs_protocol *p)
{
	const bool damps = p->prior.damp > 0.0;
	const char *key = damps ? "solve.damp" : "solve.start";

	if (!sound(s, "method", "solve.start", "solve.damp", "solve.prior", NULL) ||
	    (!damps && p->prior.start != BS_START_LAST))
		return;
	if (!p->plan.follows)
		fault(s, key, "has no effect without a solver");
	else if (damps && along_frames(p->prior.kind))
		fault(s, key, "not along frames, which hold each other");
	else if (p->plan.maps == BS_PLAN_MAPS_SCAN && p->maps_every > 0)
		fault(s, key, "not with maps that change within the scan");
}

void bs_rules_prior(const struct bs_scope *s, const struct bs_protocol *p)
{
	static const char *const alone[] = { "solve.lambda", "solve.lambda_noise" };

	rule_last(s, p);
	if (!sound(s, "method", "solve.prior", NULL))
		return;
	for (int i = 0; i < 2 && p->prior.kind == BS_PRIOR_NONE; i++)
		if (sound(s, alone[i], NULL) && (i == 0 ? p->prior.lambda : p->prior.noise) > 0.0)
			fault(s, alone[i], "has no effect without solve.prior");
	if (p->plan.solve == BS_SOLVE_PROX && sound(s, "ls.preconditioner", NULL) &&
	    p->precond != BS_PRECOND_NONE)
		fault(s, "ls.preconditioner", "not with solve.prior, start or damp");
	if (p->plan.solve == BS_SOLVE_PROX && sound(s, "backend", NULL) &&
	    p->backend == BS_BACKEND_CUDA && p->plan.host_only >= BS_HOST_ONLY_FOLLOWS &&
	    p->plan.host_only <= BS_HOST_ONLY_FRAMES)
		fault(s, "backend", "%s has no CUDA engine: host, or auto",
		      bs_host_only_words(p->plan.host_only));
	if (p->plan.solve == BS_SOLVE_PROX && sound(s, "parallel", NULL) &&
	    bs_plan_groups(&p->plan))
		fault(s, "parallel", "sense_sms: not with solve.prior, start or damp");
	if (p->prior.kind == BS_PRIOR_NONE)
		return;
	if (p->plan.solve != BS_SOLVE_PROX) {
		fault(s, "solve.prior", "has no effect without a solver");
		return;
	}
	rule_weight(s, p);
	rule_frames(s, p);
	if (p->prior.kind == BS_PRIOR_W && sound(s, "ls.w_file", "ls.w", NULL) &&
	    p->w_file[0] == '\0' && p->w.from == BS_W_FILE)
		fault(s, "solve.prior", "w: needs ls.w_file");
}
