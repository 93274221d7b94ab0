/* gpu/penalty/proximal.c - see proximal.h */
#include "gpu/penalty/proximal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/solve/prox.h"
#include "core/thread/clock.h"
#include "gpu/penalty/shape.h"
#include "gpu/solve/lsq.h"

struct proximal {
	struct bs_encoder *encoder;
	const struct bs_protocol *p;
	struct bs_unfold *unfold; /* the operator of lines; NULL: ls */
	struct bs_ls **ls;        /* [frame of the table] */
	struct bs_prox *prox;
	struct bs_penalty_plan *penalty;
	double w_bound;      /* a bound of W^H W's largest eigenvalue */
	struct scale *scale; /* [slice] */
	uint32_t frames;     /* frames that are solved for together */
	uint64_t values;     /* complex values of a frame's images */
	uint64_t size;       /* complex values of a solve: of its frames' images */
	float *b;            /* [frame][value] */
	float *x;            /* [slot][frame][value]: solutions; slots are for images that follow */
	uint8_t *known;      /* [slot]: it has the last image */
	struct bs_pcg *pcg;  /* the solver without a prior; NULL: there is none */
	double damp;
	/* The next members belong to the solve in progress. */
	const struct bs_task *task;
	uint32_t slice;
	uint32_t first;  /* the oldest frame's number in the table */
	uint32_t before; /* frames that the solve leaves out, the oldest */
};

static struct bs_pcg_spec pcg_of(const struct bs_protocol *p)
{
	return (struct bs_pcg_spec){ bs_protocol_voxels(p) * images_of(p), p->iterations, false };
}

static uint32_t proximal_images(const struct bs_protocol *p)
{
	return p->plan.joint ? bs_protocol_map_images(p) : p->coils;
}

static void lay_out(struct proximal *x, const struct bs_protocol *p, struct bs_room *r)
{
	const uint64_t bytes = prox_of(p).size * 8;

	bs_room_take(r, &x->b, "right-hand side", 1, bytes);
	bs_room_take(r, &x->x, "solutions", 1, slots_of(p) * bytes);
}

static int proximal_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_unfold_spec u = bs_unfolding_spec(p);
	const struct bs_ls_spec ls = bs_lsq_spec(p);
	const struct bs_prox_spec prox = prox_of(p);
	const struct bs_penalty_spec penalty = penalty_of(p);
	const struct bs_pcg_spec pcg = pcg_of(p);
	struct bs_room room = { .need = need };
	struct bs_need one = { 0 };
	struct proximal x = { 0 };
	int rc = on_lines(p) ? bs_unfold_need(&u, need, why) : 0;

	rc = rc == 0 && !on_lines(p) ? bs_ls_need(&ls, &one, why) : rc;
	/* each part states as many as there are frames, so that check's list stays short */
	for (uint32_t i = 0; i < one.parts; i++)
		bs_need_add(need, one.part[i].what, frames_of(p) * one.part[i].count,
			    one.part[i].bytes);
	need->overflow = need->overflow || one.overflow;
	if (rc == 0 && has_pcg(p))
		rc = bs_pcg_need(&pcg, need, why);
	if (rc == 0 && has_prior(p))
		rc = bs_prox_need(&prox, need, why);
	if (rc == 0 && has_prior(p))
		rc = bs_penalty_need(&penalty, need, why);
	if (rc == 0)
		lay_out(&x, p, &room);
	return rc;
}

static void proximal_close(void *plan)
{
	struct proximal *x = plan;

	if (x == NULL)
		return;
	bs_unfold_close(x->unfold);
	for (uint32_t t = 0; t < x->frames && x->ls != NULL; t++)
		bs_ls_close(x->ls[t]);
	bs_prox_close(x->prox);
	bs_pcg_close(x->pcg);
	bs_penalty_close(x->penalty);
	free(x->known);
	free(x->ls);
	free(x->scale);
	free(x);
}

/* Plans least squares of the table's rows of one frame. */
static int plan_frame(struct proximal *x, uint32_t frame, const struct bs_tables *tables,
		      const float *weight, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct frame_table f;
	int rc;

	frame_table(&f, x->p, frame, tables, weight);
	rc = bs_lsq_solver(&x->ls[frame], &f.p, &f.tables, f.weight, env, why);
	if (rc == 0 && x->encoder->row->normal != NULL)
		bs_ls_given(x->ls[frame], x->encoder->row->normal, x->encoder);
	return rc;
}

static int plan_operator(struct proximal *x, const struct bs_tables *tables, const float *weight,
			 const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_unfold_spec u = bs_unfolding_spec(x->p);
	int rc = 0;

	if (on_lines(x->p))
		return bs_unfold_plan(&x->unfold, &u, tables->w, env->arena, env->team, why);
	for (uint32_t t = 0; t < x->frames && rc == 0; t++)
		rc = plan_frame(x, t, tables, weight, env, why);
	return rc;
}

/* The number in the table of the frame that is at a place in the order of time. */
static uint32_t frame_at(const struct proximal *x, uint32_t at)
{
	return (x->first + at) % x->frames;
}

/* The window holds the frame; without frames there is one, which came. */
static bool is_held(const struct proximal *x, uint32_t frame)
{
	return x->frames == 1 || x->task == NULL || x->task->held == NULL || x->task->held[frame];
}

/* Complex values of the solve in progress. */
static uint64_t solved(const struct proximal *x)
{
	return (x->frames - x->before) * x->values;
}

/* Adds scale in to out. */
static void add_scaled(const struct proximal *x, const float *restrict in, double scale,
		       float *restrict out)
{
	for (uint64_t i = 0; i < 2 * solved(x); i++)
		out[i] += (float)scale * in[i];
}

static void apply(void *self, const float *in, float *out)
{
	struct proximal *x = self;

	if (x->unfold != NULL)
		bs_unfold_apply(x->unfold, in, out);
	for (uint32_t at = x->before; at < x->frames && x->unfold == NULL; at++) {
		const uint32_t frame = frame_at(x, at);
		const uint64_t from = 2 * (at - x->before) * x->values;

		if (is_held(x, frame))
			bs_ls_apply(x->ls[frame], in + from, out + from);
		else
			memset(out + from, 0, (size_t)x->values * 8);
	}
	if (x->damp > 0.0)
		add_scaled(x, in, x->damp, out);
}

static struct bs_prox_system system_of(struct proximal *x, double largest)
{
	return (struct bs_prox_system){ x, apply, largest, bs_penalty_get(x->penalty) };
}

static void use_slice(struct proximal *x, uint32_t slice)
{
	struct bs_report unread = { 0 };

	if (x->encoder->row->slice != NULL)
		x->encoder->row->slice(x->encoder, slice, &unread);
	for (uint32_t t = 0; t < x->frames && x->p->plan.joint && x->unfold == NULL; t++)
		bs_ls_use(x->ls[t], slice);
}

/* Finds what F^H F of a slice is like, by its operator. */
static struct scale measure(struct proximal *x, uint32_t slice, uint32_t steps)
{
	const struct bs_prox_system system = system_of(x, 0.0);

	use_slice(x, slice);
	return (struct scale){ bs_prox_power(x->prox, &system, steps), bs_ls_level(x->ls[0]) };
}

/* Measures a slice before its first solve, where neither maps nor the frame's path tell as much. */
static void measure_ahead(struct proximal *x, uint32_t slice)
{
	if (x->prox != NULL && x->unfold == NULL && !x->p->plan.streams)
		x->scale[slice] = measure(x, slice, BS_PROX_POWER_STEPS);
}

static void proximal_changed(void *plan, uint32_t slice)
{
	struct proximal *x = plan;

	x->scale[slice].largest = 0.0;
	for (uint32_t t = 0; t < x->frames && x->unfold == NULL; t++)
		bs_ls_changed(x->ls[t], slice);
	x->task = NULL;
	measure_ahead(x, slice);
}

static int proximal_plan(void **plan, struct bs_encoder *encoder, const struct bs_tables *tables,
			 const float *weight, const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_protocol *p = encoder->p;
	const struct bs_prox_spec prox = prox_of(p);
	const struct bs_penalty_spec penalty = penalty_of(p);
	const struct bs_pcg_spec pcg = pcg_of(p);
	struct proximal *x = calloc(1, sizeof(*x));
	struct bs_room room = { .arena = env->arena };
	int rc = 0;

	if (x == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "solver with a prior");
	x->encoder = encoder;
	x->p = p;
	x->frames = frames_of(p);
	x->size = prox.size;
	x->values = x->size / x->frames;
	x->damp = p->prior.damp * norm_of(p);
	x->known = calloc(slots_of(p), 1);
	x->w_bound = tables->w != NULL ? bs_csr_bound(tables->w) : 1.0;
	x->ls = calloc(x->frames, sizeof(struct bs_ls *));
	x->scale = calloc(p->slices, sizeof(*x->scale));
	lay_out(x, p, &room);
	if (x->ls == NULL || x->scale == NULL || x->known == NULL || room.full)
		rc = bs_fail(why, BS_ERR_NOMEM, "solver with a prior");
	if (rc == 0)
		rc = plan_operator(x, tables, weight, env, why);
	if (rc == 0 && has_pcg(p))
		rc = bs_pcg_plan(&x->pcg, &pcg, env->arena, env->team, why);
	if (rc == 0 && has_prior(p))
		rc = bs_prox_plan(&x->prox, &prox, env->arena, env->team, why);
	if (rc == 0 && has_prior(p))
		rc = bs_penalty_plan(&x->penalty, &penalty, tables->w, env->arena, env->team, why);
	if (rc != 0) {
		proximal_close(x);
		return rc;
	}
	/* maps of the scan are not known yet, and the caller says when they are */
	for (uint32_t s = 0; s < p->slices && p->plan.maps <= BS_PLAN_MAPS_FILE; s++)
		measure_ahead(x, s);
	*plan = x;
	return 0;
}

/* Makes the right-hand side of F^H d of one coil, or of all: [frame][value]. */
static void begin(struct proximal *x, const struct bs_task *t, uint32_t coil)
{
	const uint64_t step = coil * bs_protocol_voxels(x->p);

	if (x->unfold != NULL) {
		memcpy(x->b, bs_unfold_begin(x->unfold, t->maps, t->lines, t->fhd),
		       (size_t)x->values * 8);
		return;
	}
	for (uint32_t at = x->before; at < x->frames; at++) {
		const uint32_t frame = frame_at(x, at);
		const float *fhd = x->frames > 1 ? t->parts + frame * t->part_step : t->fhd;
		float *b = x->b + 2 * (at - x->before) * x->values;

		if (is_held(x, frame))
			memcpy(b, bs_ls_begin(x->ls[frame], fhd + 2 * step), (size_t)x->values * 8);
		else
			memset(b, 0, (size_t)x->values * 8);
	}
}

/* Finds the slice's scale where it is not known, or belongs to the frame's own path. */
static struct scale scale_of(struct proximal *x, const struct bs_task *t)
{
	struct scale *s = &x->scale[t->slice];
	struct scale now;

	if (x->unfold == NULL && x->encoder->row->sum != NULL)
		bs_ls_weights(x->ls[0], x->encoder->row->sum(x->encoder));
	if (x->p->plan.streams)
		return measure(x, t->slice, STREAM_STEPS);
	if (s->largest == 0.0)
		*s = x->unfold != NULL ? scale_of_maps(x->p, t->maps, x->w_bound)
				       : measure(x, t->slice, BS_PROX_POWER_STEPS);
	now = *s;
	if (x->unfold != NULL)
		now.level *= share_of(x->p, t->lines);
	return now;
}

/*
 * Makes of the solution of the image before where this one starts: BS_DAMP_KEEP of it where that
 * damps; of a window, a frame on, the last frame twice.
 */
static void follow(const struct proximal *x, float *last)
{
	const size_t rest = (size_t)(x->frames - 1) * x->values * 8;

	if (x->frames > 1)
		memmove(last, last + 2 * x->values, rest);
	for (uint64_t i = 0; i < 2 * x->size && x->damp > 0.0; i++)
		last[i] *= (float)BS_DAMP_KEEP;
}

/* Solves without a prior, for the difference from where it starts. */
static void solve_quadratic(struct proximal *x, bool warm, float *from, float *difference,
			    const struct bs_pcg_stop *stop, struct bs_report *report, bool first)
{
	const struct bs_pcg_system system = { x, apply, NULL };
	struct bs_pcg_result result;

	if (warm) {
		apply(x, from, difference);
		add_scaled(x, difference, -1.0, x->b);
	} else {
		memset(from, 0, (size_t)solved(x) * 8);
	}
	bs_pcg_solve(x->pcg, &system, x->b, difference, stop, &result);
	add_scaled(x, difference, 1.0, from);
	bs_report_solve(report, first, result.iterations, result.residual);
	report->deadline_stop = report->deadline_stop || result.deadline_stop;
	report->cut = result.deadline_stop ? result.iterations : report->cut;
}

static void solve_prior(struct proximal *x, const struct scale *scale, bool warm, float *solution,
			const struct bs_pcg_stop *until, struct bs_report *report, bool first)
{
	const struct bs_prox_system system = system_of(x, scale->largest);
	const struct bs_prox_stop stop = { until->iterations, until->tolerance, until->deadline_ns,
					   warm };
	struct bs_prox_result result;

	bs_prox_solve(x->prox, &system, x->b, solution, &stop, &result);
	bs_report_solve(report, first, result.iterations, 0.0);
	report->objective += result.objective / norm_of(x->p);
	report->stop = result.reason > report->stop ? result.reason : report->stop;
	report->deadline_stop = report->stop == BS_PROX_DEADLINE;
	report->cut = result.reason == BS_PROX_DEADLINE ? result.iterations : report->cut;
}

/* Finds the scale, and sets the prior's weight by it. */
static struct scale weigh(struct proximal *x, const struct bs_task *t, struct bs_report *report)
{
	const struct bs_protocol *p = x->p;
	const double n = norm_of(p);
	const struct scale scale = scale_of(x, t);
	const double weight =
		p->prior.noise > 0.0 ? p->prior.noise * sqrt(scale.level) : p->prior.lambda * n;

	bs_penalty_lambda(x->penalty, weight);
	report->prior_lambda = weight / n;
	return scale;
}

static void proximal_solve(void *plan, const struct bs_task *t, struct bs_report *report)
{
	struct proximal *x = plan;
	const struct bs_protocol *p = x->p;
	const uint32_t solves = solves_of(p);
	const bool quadratic = x->prox == NULL || report->quadratic;
	struct scale scale = { 0.0, 0.0 };

	x->task = t;
	x->before = quadratic ? x->frames - 1 : 0;
	x->first = x->frames > 1 ? (t->newest + 1) % x->frames : 0;
	report->objective = 0.0;
	report->stop = BS_PROX_ITERATIONS;
	report->deadline_stop = false;
	report->cut = 0;
	use_slice(x, t->slice);
	if (!quadratic)
		scale = weigh(x, t, report);
	for (uint32_t i = 0; i < solves; i++) {
		const uint32_t slot = p->plan.follows ? t->pair * solves + i : 0;
		const bool warm = p->plan.follows && x->known[slot] != 0;
		float *slotted = x->x + 2 * slot * x->size;
		float *solution = slotted + 2 * x->before * x->values;
		float *image = t->images + 2 * i * x->values;
		struct bs_pcg_stop stop = { p->iterations, p->tolerance, 0 };

		stop.deadline_ns =
			bs_report_until(report, i, bs_turn_end(t->deadline_ns, bs_now_ns(), solves),
					&stop.iterations);
		begin(x, t, i);
		if (warm) {
			follow(x, slotted);
			add_scaled(x, solution, x->damp, x->b);
		} else {
			memset(slotted, 0, (size_t)(x->before * x->values) * 8);
		}
		if (!quadratic)
			solve_prior(x, &scale, warm, solution, &stop, report, i == 0);
		else
			solve_quadratic(x, warm, solution, image, &stop, report, i == 0);
		x->known[slot] = 1;
		memcpy(image, slotted + 2 * (x->frames - 1) * x->values, (size_t)x->values * 8);
	}
	x->task = NULL;
	x->before = 0;
}

static void proximal_scan(void *plan)
{
	struct proximal *x = plan;

	memset(x->known, 0, slots_of(x->p));
}

const struct bs_solving bs_solving_proximal = {
	.images = proximal_images,
	.need = proximal_need,
	.plan = proximal_plan,
	.close = proximal_close,
	.solve = proximal_solve,
	.changed = proximal_changed,
	.scan = proximal_scan,
};
