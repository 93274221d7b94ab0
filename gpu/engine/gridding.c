/* gpu/engine/gridding.c - method "gridding" on the host: weighted adjoint NUFFT, coils combined */
#include "core/thread/clock.h"
#include "gpu/image/combine.h"
#include "gpu/nufft/cuda/choice.h"
#include "gpu/nufft/density.h"
#include "gpu/engine/engines.h"
#include "gpu/nufft/nufft.h"
#include "gpu/image/partial.h"
#include "gpu/solve/paths.h"
#include "gpu/solve/segments.h"

#include <stdlib.h>

struct engine {
	const struct bs_protocol *p;
	struct bs_nufft *nufft;
	struct bs_segments *field; /* takes its place off resonance */
	struct bs_paths *paths;    /* or where readouts bring their own */
	struct bs_partial window;
	struct bs_combiner *combiner;
	float *coil_images;
	const float *maps;
};

struct bs_nufft_spec bs_gridding_spec(const struct bs_protocol *p)
{
	struct bs_nufft_spec s = { .dims = p->dims,
				   .coils = p->coils,
				   .samples = bs_protocol_samples(p),
				   .states = bs_protocol_frames(p),
				   .window = p->window,
				   .accuracy = p->accuracy,
				   .width = p->width,
				   .oversampling = p->oversampling };
	uint32_t readouts = p->chunk_readouts;

	for (int a = 0; a < 3; a++)
		s.matrix[a] = p->matrix[a];
	/* About sixteen chunks: 15/16 of the work is done when the last readout comes. */
	if (readouts == 0)
		readouts = (p->readouts + 15) / 16;
	s.chunk = (uint64_t)bs_partial_chunk(p, readouts) * p->samples;
	s.part = (uint64_t)p->frame_step * p->samples;
	s.peek = p->preview_every > 0;
	return s;
}

double bs_gridding_accuracy(const struct bs_protocol *p, const struct bs_engine *engine)
{
	const struct bs_nufft_spec s = bs_gridding_spec(p);

	if (bs_protocol_on_grid(p) || bs_methods[p->method].empty)
		return 0.0;
	return bs_engines_on_gpu(engine->name) ? bs_nufft_cuda_accuracy(&s) : bs_nufft_accuracy(&s);
}

struct bs_segments_spec bs_gridding_segments(const struct bs_protocol *p, uint32_t together)
{
	return (struct bs_segments_spec){
		.nufft = bs_gridding_spec(p),
		.together = together,
		.states = bs_protocol_frames(p),
		.readout = p->samples,
		.slices = p->slices,
		.replaced = p->field.from == BS_FIELD_STUDY,
		.dwell_s = p->field.dwell_us * 1e-6,
		.start_s = p->field.start_ms * 1e-3,
		.error = p->field.error,
	};
}

static int gridding_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	struct bs_nufft_spec s = bs_gridding_spec(p);
	struct bs_segments_spec field = bs_gridding_segments(p, p->coils);
	int rc = bs_combiner_need(p, need, why);

	bs_need_add(need, "coil images", p->coils, bs_protocol_voxels(p) * 8u);
	bs_partial_need(p, need);
	if (rc != 0)
		return rc;
	if (bs_protocol_streams(p))
		return bs_paths_need(p, &s, need, why);
	return bs_protocol_off_resonance(p) ? bs_segments_need(&field, need, why)
					    : bs_nufft_need(&s, need, why);
}

static void gridding_disarm(void *self)
{
	struct engine *e = self;

	bs_nufft_close(e->nufft);
	bs_segments_close(e->field);
	bs_paths_close(e->paths);
	bs_combiner_close(e->combiner);
	free(e);
}

static int plan_sums(struct engine *e, const struct bs_tables *tables, const float *weight,
		     const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_nufft_spec s = bs_gridding_spec(e->p);
	struct bs_segments_spec field = bs_gridding_segments(e->p, e->p->coils);

	if (bs_protocol_streams(e->p))
		return bs_paths_plan(&e->paths, e->p, &s, env->arena, env->team, why);
	if (bs_protocol_off_resonance(e->p))
		return bs_segments_plan(&e->field, &field, tables->traj->k, weight, tables->field,
					env->arena, env->team, env->cache_dir, why);
	return bs_nufft_plan(&e->nufft, &s, tables->traj->k, weight, env->arena, env->team,
			     env->cache_dir, why);
}

static int gridding_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
			const struct bs_arm_env *env, struct bs_fail *why)
{
	uint64_t slot = (bs_protocol_voxels(p) * 8u + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN;
	struct engine *e = calloc(1, sizeof(*e));
	float *weight = malloc((size_t)bs_protocol_samples(p) * sizeof(*weight));
	int rc;

	if (e == NULL || weight == NULL) {
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': density weights", p->name);
		goto fail;
	}
	e->p = p;
	e->maps = tables->maps;
	/* need states it coil by coil, each rounded up to whole cache lines */
	e->coil_images = bs_arena_take(env->arena, (size_t)(slot * p->coils), BS_ALIGN);
	if (e->coil_images == NULL) {
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': coil images", p->name);
		goto fail;
	}
	rc = bs_partial_open(&e->window, p, env->arena, env->team, why);
	if (rc == 0)
		rc = bs_combiner_plan(&e->combiner, p, env->arena, env->team, why);
	if (rc == 0 && !bs_protocol_streams(p))
		rc = bs_density(weight, p, tables->traj, tables->weight, env->team, why);
	if (rc == 0)
		rc = plan_sums(e, tables, weight, env, why);
	if (rc != 0)
		goto fail;
	free(weight);
	*self = e;
	return 0;
fail:
	free(weight);
	if (e != NULL)
		gridding_disarm(e);
	return rc;
}

static int gridding_begin(void *self, uint32_t frame)
{
	struct engine *e = self;

	if (e->paths != NULL)
		bs_paths_begin(e->paths, frame);
	else if (e->field != NULL)
		bs_segments_begin(e->field, frame);
	else
		bs_nufft_begin(e->nufft, frame);
	return 0;
}

static int gridding_path(void *self, uint32_t frame, uint32_t readout, const float *k)
{
	struct engine *e = self;

	bs_paths_path(e->paths, frame, readout, k);
	return 0;
}

static int gridding_add(void *self, uint32_t frame, uint32_t readout, const float *data,
			size_t coil_stride)
{
	struct engine *e = self;

	if (e->paths != NULL)
		bs_paths_add(e->paths, frame, readout, data, coil_stride);
	else if (e->field != NULL)
		bs_segments_add(e->field, frame, readout, data, coil_stride);
	else
		bs_nufft_add(e->nufft, frame, (uint64_t)readout * e->p->samples, e->p->samples,
			     data, coil_stride);
	return 0;
}

/* held: the groups of a window whose path is theirs together; NULL: no window's. */
static int sum_up(struct engine *e, uint32_t frame, const uint8_t *held, float *coil_images,
		  struct bs_fail *why)
{
	if (e->paths != NULL)
		return bs_paths_finish(e->paths, frame, held, coil_images, why);
	if (e->field != NULL)
		bs_segments_finish(e->field, frame, bs_protocol_frame_slice(e->p, frame),
				   coil_images);
	else
		bs_nufft_finish(e->nufft, frame, coil_images);
	return 0;
}

/* start_ns: when the work began whose result is in coil_images. */
static int to_image(struct engine *e, uint32_t frame, int64_t start_ns, float *image,
		    struct bs_report *report)
{
	int64_t summed_ns = bs_now_ns();

	bs_combiner_run(e->combiner, e->coil_images,
			bs_maps_of(e->maps, e->p, bs_protocol_frame_slice(e->p, frame)), image);
	if (e->field != NULL)
		bs_segments_report(e->field, report);
	report->stage_ns[BS_BUDGET_ACCUMULATE] = summed_ns - start_ns;
	report->stage_ns[BS_BUDGET_COMBINE] = bs_now_ns() - summed_ns;
	return 0;
}

static void gridding_scan(void *self)
{
	struct engine *e = self;

	if (e->paths != NULL)
		bs_paths_scan(e->paths);
}

static int gridding_finish(void *self, uint32_t frame, int64_t deadline_ns, float *image,
			   struct bs_report *report)
{
	struct engine *e = self;
	int64_t start_ns = bs_now_ns();
	int rc = e->paths != NULL ? bs_paths_settle(e->paths, frame, NULL, report) : 0;

	if (rc == 0)
		rc = sum_up(e, frame, NULL, e->coil_images, &report->why);

	(void)deadline_ns; /* a direct method has no iterations to leave out */
	return rc == 0 ? to_image(e, frame, start_ns, image, report) : rc;
}

/* The delays that a scan's first frame tells are those of all. */
static int gridding_pass(void *self, uint32_t frame, const uint8_t *held, struct bs_report *report)
{
	struct engine *e = self;

	return e->paths != NULL ? bs_paths_settle(e->paths, frame, held, report) : 0;
}

static int gridding_fold(void *self, uint32_t frame, uint32_t group)
{
	struct engine *e = self;

	if (e->paths != NULL)
		return 0; /* its samples and its path stay */
	return sum_up(e, frame, NULL, bs_partial_write(&e->window, frame, group), NULL);
}

static int gridding_slide(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
			  float *image, struct bs_report *report)
{
	struct engine *e = self;
	int64_t start_ns = bs_now_ns();
	int rc = 0;

	(void)deadline_ns;
	if (e->paths != NULL) {
		rc = bs_paths_settle(e->paths, frame, held, report);
		rc = rc == 0 ? sum_up(e, frame, held, e->coil_images, &report->why) : rc;
	} else {
		bs_partial_sum(&e->window, frame, held, e->coil_images);
	}
	return rc == 0 ? to_image(e, frame, start_ns, image, report) : rc;
}

static int gridding_peek(void *self, uint32_t frame, float *image)
{
	struct engine *e = self;
	struct bs_report unread = { 0 };
	int rc = 0;

	if (e->nufft == NULL)
		rc = sum_up(e, frame, NULL, e->coil_images, &unread.why);
	else
		bs_nufft_peek(e->nufft, frame, e->coil_images);
	return rc == 0 ? to_image(e, frame, 0, image, &unread) : rc;
}

const struct bs_engine bs_engine_gridding_host = {
	.name = "gridding/host",
	.need = gridding_need,
	.arm = gridding_arm,
	.begin = gridding_begin,
	.path = gridding_path,
	.add = gridding_add,
	.finish = gridding_finish,
	.pass = gridding_pass,
	.disarm = gridding_disarm,
	.fold = gridding_fold,
	.slide = gridding_slide,
	.scan = gridding_scan,
	.peek = gridding_peek,
};
