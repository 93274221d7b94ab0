/*
 * gpu/engine/host.c - every method on the host: an encoding, a solver, and what follows
 *
 * Readouts go to the protocol's encoding (gpu/encode/encode.h) as they arrive. The function image
 * makes the coil maps where they come from the scan, fills in missing lines, adds the rest of F^H
 * d, solves (gpu/solve/solve.h) up to the deadline, completes partial Fourier, combines the coils,
 * and measures the field.
 */
#include <stdlib.h>

#include "core/multiband/apart.h"
#include "core/solve/live.h"
#include "core/thread/clock.h"
#include "gpu/encode/encode.h"
#include "gpu/engine/echoes.h"
#include "gpu/engine/engines.h"
#include "gpu/engine/filler.h"
#include "gpu/engine/left_out.h"
#include "gpu/engine/mapped.h"
#include "gpu/engine/slicer.h"
#include "gpu/image/combine.h"
#include "gpu/image/partial.h"
#include "gpu/encode/unwarp.h"
#include "gpu/solve/lsq.h"
#include "gpu/solve/solve.h"

struct engine {
	const struct bs_protocol *p;
	struct bs_encoder encoder;
	const struct bs_solving *solving; /* solver; NULL: the sums F^H d are the images */
	void *solver;
	struct bs_mapped *mapped; /* maps from the scan; NULL: maps are not made from it */
	struct bs_partial window;
	struct bs_slicer *slicer;    /* takes slices apart; NULL: lines hold one slice */
	struct bs_filler *filler;    /* filler of missing lines; NULL: missing lines are zeros */
	struct bs_left_out left_out; /* lines that have come, where the protocol needs that */
	struct bs_combiner *combiner;
	struct bs_echoes *echoes; /* echoes that measure a field map; NULL: none is measured */
	struct bs_live *live;     /* W of each scan; NULL: W is of a file, or there is none */
	const float *maps;
	float *fhd;       /* sums F^H d, [coil][voxel] complex */
	float *images;    /* [image][voxel] complex, the solver's result; else fhd */
	float *whole;     /* images completed by partial Fourier; else images */
	float *moved;     /* images moved back along the blips; NULL: they stay */
	const float *hz;  /* field map [slice][voxel] for that */
	uint32_t *newest; /* [frame] the group of a window that was folded last */
	struct bs_team *team;
	struct bs_once once;
	int64_t tail_ns; /* time kept free before the deadline for what follows the solver, ns */
};

/* ---- memory ---- */

static bool fills(const struct bs_protocol *p)
{
	return bs_encoder_of(p).row->lacking != NULL && bs_plan_has(&p->plan, BS_PLAN_FILL);
}

static bool completes(const struct bs_protocol *p)
{
	return p->plan.encode == BS_ENCODE_LINES && bs_left_out_wanted(p);
}

/* Number of images that the solver makes of F^H d; each takes image_bytes. */
static uint32_t images_of(const struct bs_protocol *p)
{
	const struct bs_solving *solving = bs_solving_of(p->plan.solve);

	return solving != NULL ? solving->images(p) : p->coils;
}

/* Number of images that partial Fourier completes. */
static uint32_t completed_of(const struct bs_protocol *p)
{
	return p->plan.joint ? bs_protocol_map_images(p) : p->coils;
}

/* Returns the bytes of one coil's image before partial Fourier completes it. */
static uint64_t grid_bytes(const struct bs_protocol *p)
{
	const struct bs_cart_spec s = bs_lines_spec(p);

	return (uint64_t)s.matrix[0] * s.matrix[1] * s.matrix[2] * 8u;
}

/* States the images that arm takes, or takes them. */
static void lay_out_images(struct engine *e, struct bs_room *r)
{
	const struct bs_protocol *p = e->p;
	const bool lines = p->plan.encode == BS_ENCODE_LINES;
	const uint64_t bytes = bs_protocol_voxels(p) * 8u;
	const uint32_t images = images_of(p);

	if (p->plan.solve == BS_SOLVE_NONE) {
		bs_room_take(r, &e->whole, "coil images", p->coils, bytes);
		e->fhd = e->whole;
		if (completes(p))
			bs_room_take(r, &e->fhd, "coil images on the grid", p->coils,
				     grid_bytes(p));
		e->images = e->fhd;
	} else {
		bs_room_take(r, &e->fhd, lines ? "coil images" : "F^H d", p->coils,
			     lines ? grid_bytes(p) : bytes);
		bs_room_take(r, &e->images, lines ? "solution" : "solutions", images, bytes);
		e->whole = e->images;
		if (completes(p))
			bs_room_take(r, &e->whole, "solution", images, bytes);
	}
	if (bs_plan_has(&p->plan, BS_PLAN_UNWARP))
		bs_room_take(r, &e->moved, "images moved back", 1, bytes * p->coils);
}

static int need_images(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct engine e = { .p = p };

	(void)why;
	lay_out_images(&e, &room);
	return 0;
}

static int need_window(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	(void)why;
	bs_partial_need(p, need);
	return 0;
}

static int need_encoder(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_encoder e = bs_encoder_of(p);

	return e.row->need(&e, need, why);
}

static int need_solver(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	return bs_solving_of(p->plan.solve)->need(p, need, why);
}

static int need_filler(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const uint32_t columns = fills(p) ? bs_lines_spec(p).matrix[0] : 0;
	int rc = fills(p) ? bs_filler_need(p, columns, need, why) : 0;

	return rc == 0 && bs_slicer_wanted(p)
		       ? bs_slicer_need(p, bs_lines_spec(p).matrix[0], need, why)
		       : rc;
}

/* True for Cartesian SENSE, which needs to know which lines came. */
static bool keeps_lines(const struct bs_protocol *p)
{
	return completes(p) ||
	       (p->plan.encode == BS_ENCODE_LINES && p->plan.solve != BS_SOLVE_NONE);
}

static int need_lines(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_cart_spec s = bs_lines_spec(p);

	if (!keeps_lines(p))
		return 0;
	return bs_left_out_need(p, p->plan.joint ? p->matrix : s.matrix, completed_of(p), need,
				why);
}

/* Parts are added in the order in which the check command lists them. */
static int host_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	static int (*const parts[BS_SOLVES][9])(const struct bs_protocol *p, struct bs_need *need,
						struct bs_fail *why) = {
		[BS_SOLVE_NONE] = { bs_mapped_need, bs_echoes_need, bs_combiner_need, need_images,
				    need_window, need_filler, need_lines, need_encoder },
		[BS_SOLVE_CG] = { bs_mapped_need, bs_combiner_need, need_images, need_window,
				  need_encoder, need_solver },
		[BS_SOLVE_UNFOLD] = { bs_mapped_need, need_encoder, need_images, need_solver,
				      need_lines, bs_combiner_need, need_filler },
		[BS_SOLVE_PROX] = { bs_mapped_need, bs_combiner_need, need_images, need_window,
				    need_encoder, need_solver, need_lines },
	};
	const enum bs_solve solve = p->plan.solve;
	int rc = 0;

	for (int i = 0; rc == 0 && parts[solve][i] != NULL; i++)
		rc = parts[solve][i](p, need, why);
	return rc;
}

/* ---- armed ---- */

static void host_disarm(void *self)
{
	struct engine *e = self;

	if (e->encoder.plan != NULL)
		e->encoder.row->close(&e->encoder);
	if (e->solving != NULL)
		e->solving->close(e->solver);
	bs_filler_close(e->filler);
	bs_slicer_close(e->slicer);
	bs_left_out_close(&e->left_out);
	bs_combiner_close(e->combiner);
	bs_mapped_disarm(e->mapped);
	bs_echoes_disarm(e->echoes);
	free(e->newest);
	free(e);
}

static int plan_sums(struct engine *e, const struct bs_tables *tables, const struct bs_arm_env *env,
		     struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	float *weight = NULL;
	int rc = e->p->plan.encode == BS_ENCODE_LINES
			 ? 0
			 : bs_lsq_weights(&weight, p, tables, env->team, why);

	if (rc == 0)
		rc = e->encoder.row->plan(&e->encoder, tables, weight, env, why);
	if (rc == 0 && e->solving != NULL)
		rc = e->solving->plan(&e->solver, &e->encoder, tables, weight, env, why);
	free(weight);
	return rc;
}

static int plan_lines(struct engine *e, const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const struct bs_cart_spec s = bs_lines_spec(p);
	int rc = 0;

	if (fills(p))
		rc = bs_filler_plan(&e->filler, p, s.matrix[0], env->arena, env->team, why);
	if (rc == 0 && bs_slicer_wanted(p))
		rc = bs_slicer_plan(&e->slicer, p, s.matrix[0], env->arena, env->team, why);
	if (rc == 0 && keeps_lines(p))
		rc = bs_left_out_arm(&e->left_out, p, p->plan.joint ? p->matrix : s.matrix,
				     completed_of(p), env, why);
	return rc;
}

static int host_maps(void *self, uint32_t slice)
{
	struct engine *e = self;

	e->once.lines = 0;
	if (e->p->plan.joint && e->solving->changed != NULL)
		e->solving->changed(e->solver, slice);
	return 0;
}

static int host_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		    const struct bs_arm_env *env, struct bs_fail *why)
{
	struct engine *e = calloc(1, sizeof(*e));
	struct bs_room room = { .arena = env->arena };
	int rc = 0;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->encoder = bs_encoder_of(p);
	e->solving = bs_solving_of(e->p->plan.solve);
	e->maps = tables->maps;
	e->live = e->solving != NULL ? tables->live : NULL;
	e->hz = tables->field;
	e->team = env->team;
	e->newest = calloc(bs_protocol_frames(p), sizeof(*e->newest));
	if (e->newest == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	if (e->p->plan.joint && tables->maps == NULL)
		rc = bs_fail(why, BS_ERR_CONFIG, "protocol '%s': method %s needs maps_file",
			     p->name, bs_method_name(p->method));
	if (rc == 0)
		rc = bs_mapped_arm(&e->mapped, p, tables, env, why);
	if (rc == 0)
		rc = bs_echoes_arm(&e->echoes, p, tables, env, why);
	lay_out_images(e, &room);
	if (rc == 0 && room.full)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images", p->name);
	if (rc == 0)
		rc = bs_partial_open(&e->window, p, env->arena, env->team, why);
	if (rc == 0)
		rc = bs_combiner_plan(&e->combiner, p, env->arena, env->team, why);
	if (rc == 0)
		rc = plan_lines(e, env, why);
	if (rc == 0)
		rc = plan_sums(e, tables, env, why);
	if (rc != 0) {
		host_disarm(e);
		return rc;
	}
	bs_mapped_told(e->mapped, host_maps, e);
	*self = e;
	return 0;
}

/* ---- readouts ---- */

static void host_scan(void *self)
{
	struct engine *e = self;

	e->once.lines = 0;
	bs_mapped_scan(e->mapped);
	bs_echoes_scan(e->echoes);
	if (e->encoder.row->scan != NULL)
		e->encoder.row->scan(&e->encoder);
	if (e->solving != NULL && e->solving->scan != NULL)
		e->solving->scan(e->solver);
	if (e->filler != NULL)
		bs_filler_scan(e->filler);
	if (e->slicer != NULL)
		bs_slicer_scan(e->slicer);
}

static int host_begin(void *self, uint32_t frame)
{
	struct engine *e = self;

	e->encoder.row->begin(&e->encoder, frame);
	if (e->filler != NULL)
		bs_filler_begin(e->filler, frame);
	if (e->left_out.lines != NULL)
		bs_left_out_begin(&e->left_out, frame);
	return e->mapped != NULL ? bs_mapped_begin(e->mapped, frame) : 0;
}

static int host_add(void *self, uint32_t frame, uint32_t readout, const float *k, const float *data,
		    size_t coil_stride)
{
	struct engine *e = self;

	if (e->encoder.row->path != NULL)
		e->encoder.row->path(&e->encoder, frame, readout, k);
	e->encoder.row->add(&e->encoder, frame, readout, data, coil_stride);
	if (e->filler != NULL)
		bs_filler_add(e->filler, frame, readout, data, coil_stride);
	if (e->left_out.lines != NULL)
		bs_left_out_add(&e->left_out, frame, readout);
	/* of slices at once only references make maps, and these come to host_side */
	return e->mapped != NULL && e->slicer == NULL
		       ? bs_mapped_add(e->mapped, frame, readout, data, coil_stride)
		       : 0;
}

static int host_side(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		     const struct bs_mrd_acq *head, const float *data, size_t coil_stride)
{
	struct engine *e = self;

	bs_mapped_side(e->mapped, frame, kind, row, data, coil_stride);
	/* admission has checked that it has as many samples as any line */
	if (kind == BS_KIND_CALIBRATION &&
	    (e->slicer == NULL || bs_slicer_side(e->slicer, frame, head, row, data, coil_stride)) &&
	    e->filler != NULL)
		bs_filler_side(e->filler, frame, row, data, coil_stride);
	return 0;
}

static int64_t host_ahead(void *self, uint32_t frame)
{
	const struct engine *e = self;

	return e->slicer != NULL ? bs_slicer_ahead(e->slicer, e->filler, frame) : 0;
}

/* ---- images ---- */

/* Takes the frame's slice out of the lines of its group. Returns 0 or an error. */
static int take_apart(struct engine *e, uint32_t frame, bool apply, struct bs_report *report)
{
	uint8_t *fill = e->filler != NULL ? bs_filler_have(e->filler, frame) : NULL;
	const uint8_t *have = fill != NULL ? fill : bs_left_out_lines(&e->left_out, frame);
	float *hybrid = e->encoder.row->lacking(&e->encoder, frame);
	const struct bs_slicer_lines lines = { hybrid, true, 1.0 };
	int rc = bs_slicer_prepare(e->slicer, frame, have, &lines, report);

	report->stage_ns[BS_BUDGET_CALIBRATION] += bs_slicer_prepared(e->slicer)->calibrated_ns;
	if (rc == 1 && fill != NULL)
		bs_slicer_leave(e->slicer, fill);
	if (rc == 1 && apply)
		bs_slicer_apply(e->slicer, hybrid);
	return rc < 0 ? rc : 0;
}

/*
 * Returns 1 where the filler makes the frame's missing lines. A slice's weights are made with its
 * first image. apply: the image is wanted, not only what it leaves.
 */
static int prepare(struct engine *e, uint32_t frame, const uint8_t *held, bool apply,
		   struct bs_report *report)
{
	int rc = e->encoder.row->settle != NULL
			 ? e->encoder.row->settle(&e->encoder, frame, held, report)
			 : 0;

	if (rc == 0 && e->slicer != NULL && e->mapped == NULL)
		rc = take_apart(e, frame, apply, report);
	if (rc != 0 || e->filler == NULL || (report->apart.of > 1 && !bs_slicer_fills(e->slicer)))
		return rc;
	rc = bs_filler_prepare(e->filler, frame, bs_filler_have(e->filler, frame), &report->why);
	report->stage_ns[BS_BUDGET_CALIBRATION] += bs_filler_calibrated_ns(e->filler);
	return rc;
}

/*
 * Makes F^H d of the readouts that came; the others count as zeros. held: groups that the window
 * holds.
 */
static int sum_up(struct engine *e, uint32_t frame, const uint8_t *held, struct bs_report *report)
{
	const struct bs_encoder *encoder = &e->encoder;
	int rc = prepare(e, frame, held, true, report);

	if (rc < 0)
		return rc;
	if (rc == 1)
		bs_grappa_fill(bs_filler_grappa(e->filler), encoder->row->lacking(encoder, frame),
			       true);
	if (held == NULL || e->window.groups == 0)
		return encoder->row->finish(encoder, frame, held, e->fhd, &report->why);
	bs_partial_sum(&e->window, frame, held, e->fhd);
	return 0;
}

static int solve(struct engine *e, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		 struct bs_report *report)
{
	const struct bs_partial *w = &e->window;
	const uint32_t slice = bs_protocol_frame_slice(e->p, frame);
	const uint32_t first = bs_plan_groups(&e->p->plan) ? bs_apart_group(e->p, slice) : slice;
	const struct bs_task task = {
		.encoder = &e->encoder,
		.slice = slice,
		.pair = frame / bs_protocol_lanes(e->p),
		.maps = bs_maps_of(e->maps, e->p, first),
		.lines = e->left_out.lines != NULL ? bs_left_out_lines(&e->left_out, frame) : NULL,
		.fhd = e->fhd,
		.parts = w->part != NULL ? w->part + (uint64_t)frame * w->groups * w->stride : NULL,
		.part_step = w->stride,
		.held = held,
		.newest = e->newest[frame],
		.images = e->images,
		.deadline_ns = deadline_ns == INT64_MAX ? INT64_MAX : deadline_ns - e->tail_ns,
	};
	int rc;

	if (bs_once_made(&e->once, report))
		return 0;
	rc = bs_solving_run(e->solving, e->solver, &task, e->live, report);
	bs_once_make(&e->once, report);
	return rc;
}

/* Completes the images of the frame's slice. Returns where they are. */
static const float *complete(struct engine *e, uint32_t frame, const struct bs_report *report)
{
	const uint32_t slice = bs_protocol_frame_slice(e->p, frame);
	const uint64_t before = bs_plan_groups(&e->p->plan) ? bs_apart_band_of(e->p, slice) : 0;
	float *own = e->images + 2 * before * bs_protocol_voxels(e->p);

	if (e->left_out.pocs == NULL)
		return own;
	bs_left_out_run(&e->left_out, frame, report->unknown, own, e->whole);
	return e->whole;
}

static void select_slice(struct engine *e, uint32_t frame, struct bs_report *report)
{
	if (e->encoder.row->slice != NULL)
		e->encoder.row->slice(&e->encoder, bs_protocol_frame_slice(e->p, frame), report);
}

/*
 * Makes the image from fhd, or from the groups that a window holds. start_ns: when the work began
 * whose result is in fhd.
 */
static int to_image(struct engine *e, uint32_t frame, const uint8_t *held, int64_t start_ns,
		    int64_t deadline_ns, float *image, struct bs_report *report)
{
	const uint32_t slice = bs_protocol_frame_slice(e->p, frame);
	const float *whole = e->solving == NULL ? complete(e, frame, report) : NULL;
	const int64_t summed_ns = bs_now_ns();
	int64_t solved_ns = summed_ns;
	int64_t spent_ns;
	int rc;

	select_slice(e, frame, report);
	if (e->solving != NULL) {
		rc = solve(e, frame, held, deadline_ns, report);
		if (rc != 0)
			return rc;
		solved_ns = bs_now_ns();
		whole = complete(e, frame, report);
	}
	if (e->moved != NULL)
		bs_unwarp(e->team, e->p, e->hz + slice * bs_protocol_voxels(e->p), report->falling,
			  whole, e->moved);
	bs_combiner_run(e->combiner, e->moved != NULL ? e->moved : whole,
			bs_maps_of(e->maps, e->p, slice), &report->flow, image);
	if (e->echoes != NULL)
		bs_echoes_measure(e->echoes, frame, report->order, whole);
	spent_ns = bs_now_ns() - solved_ns;
	report->stage_ns[BS_BUDGET_ACCUMULATE] =
		summed_ns - start_ns - report->stage_ns[BS_BUDGET_CALIBRATION];
	report->stage_ns[BS_BUDGET_SOLVE] = solved_ns - summed_ns;
	report->stage_ns[BS_BUDGET_COMBINE] = spent_ns;
	e->tail_ns = bs_tail_longest(e->tail_ns, spent_ns);
	return 0;
}

/*
 * Finds, for an image that was skipped, what later images need of it: maps, a field, delays, the
 * solution that they start from.
 */
static int pass_by(struct engine *e, uint32_t frame, const uint8_t *held, struct bs_report *report)
{
	const bool solves = (e->live != NULL && !e->live->aligned) || e->p->plan.follows;
	const bool whole = e->echoes != NULL || solves;
	int rc = whole ? sum_up(e, frame, held, report) : prepare(e, frame, held, false, report);

	if (rc < 0 || !whole)
		return rc < 0 ? rc : 0;
	rc = 0;
	if (solves) {
		select_slice(e, frame, report);
		rc = solve(e, frame, held, INT64_MAX, report);
	}
	if (rc == 0 && e->echoes != NULL)
		bs_echoes_measure(e->echoes, frame, report->order, complete(e, frame, report));
	return rc;
}

static int host_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		      float *image, struct bs_report *report)
{
	struct engine *e = self;
	const int64_t start_ns = bs_now_ns();
	/* whether references have phases is known before maps are made of them */
	int rc = e->slicer != NULL && e->mapped != NULL ? take_apart(e, frame, false, report) : 0;

	if (rc == 0 && e->mapped != NULL)
		rc = bs_mapped_make(e->mapped, frame, held, &deadline_ns, report);
	if (rc == 0 && image == NULL)
		return pass_by(e, frame, held, report);
	if (rc == 0)
		rc = sum_up(e, frame, held, report);
	return rc == 0 ? to_image(e, frame, held, start_ns, deadline_ns, image, report) : rc;
}

/* Does nothing where a window's groups are not summed one by one: samples and path stay. */
static int host_fold(void *self, uint32_t frame, uint32_t group)
{
	struct engine *e = self;
	const int rc = bs_mapped_fold(e->mapped, frame, group);

	e->newest[frame] = group;
	return rc != 0 || e->window.groups == 0
		       ? rc
		       : e->encoder.row->finish(&e->encoder, frame, NULL,
						bs_partial_write(&e->window, frame, group), NULL);
}

static int host_peek(void *self, uint32_t frame, float *image)
{
	struct engine *e = self;
	struct bs_report unread = { 0 };
	int rc = e->encoder.row->peek(&e->encoder, frame, NULL, e->fhd, &unread.why);

	return rc == 0 ? to_image(e, frame, NULL, 0, INT64_MAX, image, &unread) : rc;
}

const struct bs_engine bs_engine_host = {
	.place = BS_PLACE_HOST,
	.need = host_need,
	.arm = host_arm,
	.scan = host_scan,
	.begin = host_begin,
	.add = host_add,
	.side = host_side,
	.ahead = host_ahead,
	.image = host_image,
	.fold = host_fold,
	.peek = host_peek,
	.maps = host_maps,
	.disarm = host_disarm,
	.preview = &bs_engine_host,
};
