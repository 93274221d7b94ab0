/*
 * gpu/engine/unfold.c - method "cartesian" with parallel "sense" on the host
 *
 * The coils' images of the lines that came are what finish solves for (gpu/image/unfold.h), up to
 * the deadline; what is left out at an end of k-space is completed in the one image behind it.
 */
#include "gpu/engine/engines.h"

#include <stdlib.h>
#include <string.h>

#include "core/thread/clock.h"
#include "gpu/engine/left_out.h"
#include "gpu/image/cartesian.h"
#include "gpu/image/combine.h"
#include "gpu/image/unfold.h"

struct engine {
	const struct bs_protocol *p;
	struct bs_cart *cart;
	struct bs_unfold *unfold;
	struct bs_left_out left_out;
	struct bs_combiner *combiner;
	const float *maps;
	float *coil_images; /* [coil][voxel] complex */
	float *image;       /* the solution, an image or two */
	float *completed;
	int64_t tail_ns; /* kept free before the deadline for what follows the solve */
};

static struct bs_cart_spec cart_of(const struct bs_protocol *p)
{
	struct bs_cart_spec s = { .samples = p->samples,
				  .coils = p->coils,
				  .states = bs_protocol_frames(p) };

	memcpy(s.encoded, p->encoded, sizeof(s.encoded));
	memcpy(s.matrix, p->matrix, sizeof(s.matrix));
	return s;
}

struct bs_unfold_spec bs_unfolding_spec(const struct bs_protocol *p)
{
	return (struct bs_unfold_spec){
		.encoded = { p->encoded[1], p->encoded[2] },
		.matrix = { p->matrix[0], p->matrix[1], p->matrix[2] },
		.coils = p->coils,
		.sets = bs_protocol_map_images(p),
		.iterations = p->iterations,
		.lambda = p->lambda,
	};
}

static uint64_t image_bytes(const struct bs_protocol *p)
{
	return (bs_protocol_voxels(p) * 8u + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN;
}

/* Of the images that are solved for. */
static uint64_t solution_bytes(const struct bs_protocol *p)
{
	const uint64_t bytes = bs_protocol_map_images(p) * bs_protocol_voxels(p) * 8u;

	return (bytes + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN;
}

static int unfold_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_cart_spec cart = cart_of(p);
	const struct bs_unfold_spec unfold = bs_unfolding_spec(p);
	int rc = bs_cart_need(&cart, need, why);

	bs_need_add(need, "coil images", p->coils, image_bytes(p));
	bs_need_add(need, "solution", bs_left_out_wanted(p) ? 2 : 1, solution_bytes(p));
	if (rc == 0)
		rc = bs_unfold_need(&unfold, need, why);
	if (rc == 0)
		rc = bs_left_out_need(p, p->matrix, bs_protocol_map_images(p), need, why);
	return rc != 0 ? rc : bs_combiner_need(p, need, why);
}

static void unfold_disarm(void *self)
{
	struct engine *e = self;

	bs_cart_close(e->cart);
	bs_unfold_close(e->unfold);
	bs_left_out_close(&e->left_out);
	bs_combiner_close(e->combiner);
	free(e);
}

static int take_images(struct engine *e, struct bs_arena *arena, struct bs_fail *why)
{
	const size_t bytes = (size_t)image_bytes(e->p);
	const size_t solution = (size_t)solution_bytes(e->p);

	e->coil_images = bs_arena_take(arena, bytes * e->p->coils, BS_ALIGN);
	e->image = e->completed = bs_arena_take(arena, solution, BS_ALIGN);
	if (bs_left_out_wanted(e->p))
		e->completed = bs_arena_take(arena, solution, BS_ALIGN);
	return e->coil_images == NULL || e->image == NULL || e->completed == NULL
		       ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': the arena is too small",
				 e->p->name)
		       : 0;
}

static int unfold_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		      const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_cart_spec cart = cart_of(p);
	const struct bs_unfold_spec unfold = bs_unfolding_spec(p);
	struct engine *e = calloc(1, sizeof(*e));
	int rc = 0;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->maps = tables->maps;
	if (tables->maps == NULL)
		rc = bs_fail(why, BS_ERR_CONFIG, "protocol '%s': method %s needs maps_file",
			     p->name, bs_method_name(p->method));
	if (rc == 0)
		rc = take_images(e, env->arena, why);
	if (rc == 0)
		rc = bs_cart_plan(&e->cart, &cart, env->arena, env->team, why);
	if (rc == 0)
		rc = bs_unfold_plan(&e->unfold, &unfold, tables->w, env->arena, env->team, why);
	if (rc == 0)
		rc = bs_left_out_arm(&e->left_out, p, p->matrix, bs_protocol_map_images(p), env,
				     why);
	if (rc == 0)
		rc = bs_combiner_plan(&e->combiner, p, env->arena, env->team, why);
	if (rc != 0) {
		unfold_disarm(e);
		return rc;
	}
	*self = e;
	return 0;
}

static int unfold_begin(void *self, uint32_t frame)
{
	struct engine *e = self;

	bs_cart_begin(e->cart, frame);
	bs_left_out_begin(&e->left_out, frame);
	return 0;
}

static int unfold_add(void *self, uint32_t frame, uint32_t readout, const float *data,
		      size_t coil_stride)
{
	struct engine *e = self;

	bs_cart_add(e->cart, frame, readout, data, coil_stride);
	bs_left_out_add(&e->left_out, frame, readout);
	return 0;
}

static void solve(struct engine *e, uint32_t frame, int64_t deadline_ns, struct bs_report *report)
{
	struct bs_pcg_stop stop = { bs_report_most(report, e->p->iterations), e->p->tolerance,
				    deadline_ns };
	struct bs_pcg_result result;

	if (deadline_ns != INT64_MAX)
		stop.deadline_ns -= e->tail_ns;
	bs_unfold_solve(e->unfold, bs_maps_of(e->maps, e->p, bs_protocol_frame_slice(e->p, frame)),
			bs_left_out_lines(&e->left_out, frame), e->coil_images, e->image, &stop,
			&result);
	bs_report_solve(report, true, result.iterations, result.residual);
	report->deadline_stop = result.deadline_stop;
}

static int unfold_finish(void *self, uint32_t frame, int64_t deadline_ns, float *image,
			 struct bs_report *report)
{
	struct engine *e = self;
	const int64_t start_ns = bs_now_ns();
	int64_t summed_ns;
	int64_t solved_ns;
	int64_t spent_ns;

	bs_cart_finish(e->cart, frame, e->coil_images);
	summed_ns = bs_now_ns();
	solve(e, frame, deadline_ns, report);
	solved_ns = bs_now_ns();
	if (bs_left_out_wanted(e->p))
		bs_left_out_run(&e->left_out, frame, report->unknown, e->image, e->completed);
	bs_combiner_run(e->combiner, e->completed, NULL, image);
	spent_ns = bs_now_ns() - solved_ns;
	report->stage_ns[BS_BUDGET_ACCUMULATE] = summed_ns - start_ns;
	report->stage_ns[BS_BUDGET_SOLVE] = solved_ns - summed_ns;
	report->stage_ns[BS_BUDGET_COMBINE] = spent_ns;
	e->tail_ns = bs_tail_longest(e->tail_ns, spent_ns);
	return 0;
}

/* A frame leaves nothing to those after it. */
static int unfold_pass(void *self, uint32_t frame, const uint8_t *held, struct bs_report *report)
{
	(void)self;
	(void)frame;
	(void)held;
	(void)report;
	return 0;
}

const struct bs_engine bs_engine_unfold_host = {
	.name = "unfold/host",
	.need = unfold_need,
	.arm = unfold_arm,
	.begin = unfold_begin,
	.add = unfold_add,
	.finish = unfold_finish,
	.pass = unfold_pass,
	.disarm = unfold_disarm,
};
