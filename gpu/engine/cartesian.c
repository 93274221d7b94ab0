/*
 * gpu/engine/cartesian.c - method "cartesian" on the host: FFT, then coil combination
 *
 * With partial_fourier the coils' images are made on the encoded grid, completed and then cropped.
 */
#include "core/thread/clock.h"
#include "gpu/engine/left_out.h"
#include "gpu/image/cartesian.h"
#include "gpu/image/combine.h"
#include "gpu/engine/engines.h"
#include "gpu/engine/filler.h"

#include <stdlib.h>
#include <string.h>

struct engine {
	const struct bs_protocol *p;
	struct bs_cart *cart;
	struct bs_filler *filler; /* NULL: lines that do not come are zeros */
	struct bs_left_out left_out;
	struct bs_combiner *combiner;
	float *coil_images;
	float *grid; /* coils' images before they are completed; coil_images without that */
	const float *maps;
};

static struct bs_cart_spec spec_of(const struct bs_protocol *p)
{
	struct bs_cart_spec s = { .samples = p->samples,
				  .coils = p->coils,
				  .states = bs_protocol_frames(p) };

	memcpy(s.encoded, p->encoded, sizeof(s.encoded));
	memcpy(s.matrix, p->matrix, sizeof(s.matrix));
	s.matrix[0] = bs_left_out_columns(p);
	for (int a = 1; a < 3 && bs_left_out_wanted(p); a++)
		s.matrix[a] = p->encoded[a];
	return s;
}

/* Bytes of a coil's image on the grid that is completed. */
static uint64_t grid_bytes(const struct bs_cart_spec *s)
{
	return (uint64_t)s->matrix[0] * s->matrix[1] * s->matrix[2] * 8u;
}

static int cart_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	struct bs_cart_spec s = spec_of(p);
	int rc = bs_combiner_need(p, need, why);

	bs_need_add(need, "coil images", p->coils, bs_protocol_voxels(p) * 8u);
	if (rc == 0 && p->parallel == BS_PARALLEL_GRAPPA)
		rc = bs_filler_need(p, s.matrix[0], need, why);
	if (bs_left_out_wanted(p)) {
		bs_need_add(need, "coil images on the grid", p->coils, grid_bytes(&s));
		if (rc == 0)
			rc = bs_left_out_need(p, s.matrix, p->coils, need, why);
	}
	return rc != 0 ? rc : bs_cart_need(&s, need, why);
}

static void cart_disarm(void *self)
{
	struct engine *e = self;

	bs_cart_close(e->cart);
	bs_filler_close(e->filler);
	bs_left_out_close(&e->left_out);
	bs_combiner_close(e->combiner);
	free(e);
}

static int cart_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		    const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_cart_spec s = spec_of(p);
	struct engine *e = calloc(1, sizeof(*e));
	int rc;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->maps = tables->maps;
	/* need states it coil by coil, each rounded up to whole cache lines */
	e->coil_images = bs_arena_take(env->arena, (size_t)(bs_protocol_voxels(p) * 8u) * p->coils,
				       BS_ALIGN);
	e->grid = e->coil_images;
	if (bs_left_out_wanted(p))
		e->grid = bs_arena_take(env->arena, (size_t)grid_bytes(&s) * p->coils, BS_ALIGN);
	if (e->coil_images == NULL || e->grid == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': coil images", p->name);
	else
		rc = bs_cart_plan(&e->cart, &s, env->arena, env->team, why);
	if (rc == 0 && p->parallel == BS_PARALLEL_GRAPPA)
		rc = bs_filler_plan(&e->filler, p, s.matrix[0], env->arena, env->team, why);
	if (rc == 0 && bs_left_out_wanted(p))
		rc = bs_left_out_arm(&e->left_out, p, s.matrix, p->coils, env, why);
	if (rc == 0)
		rc = bs_combiner_plan(&e->combiner, p, env->arena, env->team, why);
	if (rc != 0) {
		cart_disarm(e);
		return rc;
	}
	*self = e;
	return 0;
}

static int cart_begin(void *self, uint32_t frame)
{
	struct engine *e = self;

	bs_cart_begin(e->cart, frame);
	if (e->filler != NULL)
		bs_filler_begin(e->filler, frame);
	if (e->left_out.pocs != NULL)
		bs_left_out_begin(&e->left_out, frame);
	return 0;
}

static int cart_add(void *self, uint32_t frame, uint32_t readout, const float *data,
		    size_t coil_stride)
{
	struct engine *e = self;

	bs_cart_add(e->cart, frame, readout, data, coil_stride);
	if (e->filler != NULL)
		bs_filler_add(e->filler, frame, readout, data, coil_stride);
	if (e->left_out.pocs != NULL)
		bs_left_out_add(&e->left_out, frame, readout);
	return 0;
}

static int cart_side(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		     const struct bs_mrd_acq *head, const float *data, size_t coil_stride)
{
	struct engine *e = self;

	(void)head; /* admission has checked it: as many samples as any line */
	if (e->filler != NULL && kind == BS_KIND_CALIBRATION)
		bs_filler_side(e->filler, frame, row, data, coil_stride);
	return 0;
}

static void cart_scan(void *self)
{
	struct engine *e = self;

	if (e->filler != NULL)
		bs_filler_scan(e->filler);
}

static int cart_finish(void *self, uint32_t frame, int64_t deadline_ns, float *image,
		       struct bs_report *report)
{
	struct engine *e = self;

	int64_t start_ns = bs_now_ns();
	int64_t summed_ns;
	int rc = e->filler != NULL ? bs_filler_prepare(e->filler, frame, &report->why) : 0;

	(void)deadline_ns; /* a direct method has no iterations to leave out */
	if (rc < 0)
		return rc;
	if (rc == 1)
		bs_grappa_fill(bs_filler_grappa(e->filler), bs_cart_hybrid(e->cart, frame), true);
	bs_cart_finish(e->cart, frame, e->grid);
	if (e->left_out.pocs != NULL)
		bs_left_out_run(&e->left_out, frame, report->unknown, e->grid, e->coil_images);
	summed_ns = bs_now_ns();
	bs_combiner_run(e->combiner, e->coil_images,
			bs_maps_of(e->maps, e->p, bs_protocol_frame_slice(e->p, frame)), image);
	if (e->filler != NULL)
		report->stage_ns[BS_BUDGET_CALIBRATION] = bs_filler_calibrated_ns(e->filler);
	report->stage_ns[BS_BUDGET_ACCUMULATE] =
		summed_ns - start_ns - report->stage_ns[BS_BUDGET_CALIBRATION];
	report->stage_ns[BS_BUDGET_COMBINE] = bs_now_ns() - summed_ns;
	return 0;
}

/* GRAPPA's weights of a slice are made with its first image. */
static int cart_pass(void *self, uint32_t frame, const uint8_t *held, struct bs_report *report)
{
	struct engine *e = self;
	const int rc = e->filler != NULL ? bs_filler_prepare(e->filler, frame, &report->why) : 0;

	(void)held;
	return rc < 0 ? rc : 0;
}

const struct bs_engine bs_engine_cartesian_host = {
	.name = "cartesian/host",
	.need = cart_need,
	.arm = cart_arm,
	.begin = cart_begin,
	.add = cart_add,
	.finish = cart_finish,
	.pass = cart_pass,
	.disarm = cart_disarm,
	.side = cart_side,
	.scan = cart_scan,
};
