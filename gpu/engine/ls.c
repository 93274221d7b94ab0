/*
 * gpu/engine/ls.c - methods "ls" and "sense" on the host
 *
 * F^H d accumulates while the readouts arrive, by the exact sum or the NUFFT; finish adds the rest
 * and solves (gpu/solve/ls.h) up to the deadline. ls solves coil by coil, each with its part of the
 * time that remains, and combines the images.
 */
#include "gpu/engine/engines.h"

#include <stdlib.h>
#include <string.h>

#include "core/progress.h"
#include "core/thread/clock.h"
#include "gpu/image/combine.h"
#include "gpu/exact/exact.h"
#include "gpu/solve/ls.h"
#include "gpu/solve/lsq.h"
#include "gpu/solve/paths.h"
#include "gpu/solve/segments.h"
#include "gpu/nufft/nufft.h"
#include "gpu/image/partial.h"

struct engine {
	const struct bs_protocol *p;
	struct bs_exact *exact;
	struct bs_nufft *nufft;
	struct bs_segments *field; /* in the place of both off resonance */
	struct bs_paths *paths;    /* or where readouts bring their own */
	struct bs_ls *ls;
	const float *maps;
	struct bs_partial window;
	struct bs_combiner *combiner;
	float *fhd;      /* [coil][voxel] complex */
	float *images;   /* [coil][voxel] complex, or one */
	int64_t tail_ns; /* kept free before the deadline for the combination */
};

static uint32_t images_of(const struct bs_protocol *p)
{
	return bs_methods[p->method].uses_maps ? bs_protocol_map_images(p) : p->coils;
}

/* Of these, together in one solve the next. */
static uint32_t solves_of(const struct bs_protocol *p)
{
	return bs_methods[p->method].uses_maps ? 1 : p->coils;
}

/* A chunk is by default as many readouts as fill its tables once. */
static struct bs_exact_spec exact_of(const struct bs_protocol *p)
{
	uint32_t readouts = p->chunk_readouts;

	if (readouts == 0)
		readouts = p->samples < 1024 ? 1024 / p->samples : 1;
	return (struct bs_exact_spec){
		.dims = p->dims,
		.matrix = { p->matrix[0], p->matrix[1], p->matrix[2] },
		.coils = p->coils,
		.samples = bs_protocol_samples(p),
		.chunk = (uint64_t)bs_partial_chunk(p, readouts) * p->samples,
		.part = (uint64_t)p->frame_step * p->samples,
		.states = bs_protocol_frames(p),
		.basis = p->basis,
	};
}

/* As for gridding, without the memory for previews: another engine makes them. */
static struct bs_nufft_spec nufft_of(const struct bs_protocol *p)
{
	struct bs_nufft_spec s = bs_gridding_spec(p);

	s.peek = false;
	return s;
}

/* Coils together as the system has them. */
static struct bs_segments_spec segments_of(const struct bs_protocol *p)
{
	return bs_gridding_segments(p, bs_methods[p->method].uses_maps ? p->coils : 1);
}

static struct bs_nufft_spec paths_of(const struct bs_protocol *p)
{
	struct bs_nufft_spec s = nufft_of(p);

	s.coils = bs_methods[p->method].uses_maps ? p->coils : 1;
	return s;
}

static int sums_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	struct bs_exact_spec exact = exact_of(p);
	struct bs_nufft_spec nufft = nufft_of(p);
	struct bs_nufft_spec paths = paths_of(p);
	struct bs_segments_spec field = segments_of(p);

	if (bs_protocol_streams(p))
		return bs_paths_need(p, &paths, need, why);
	if (bs_protocol_off_resonance(p))
		return bs_segments_need(&field, need, why);
	return p->fhd == BS_SUM_EXACT ? bs_exact_need(&exact, need, why)
				      : bs_nufft_need(&nufft, need, why);
}

static int ls_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	struct bs_ls_spec ls = bs_lsq_spec(p);
	int rc = bs_combiner_need(p, need, why);

	if (rc != 0)
		return rc;
	bs_need_add(need, "F^H d", p->coils, bs_protocol_voxels(p) * 8u);
	bs_need_add(need, "solutions", images_of(p), bs_protocol_voxels(p) * 8u);
	bs_partial_need(p, need);
	rc = sums_need(p, need, why);
	return rc != 0 ? rc : bs_ls_need(&ls, need, why);
}

static void ls_disarm(void *self)
{
	struct engine *e = self;

	bs_exact_close(e->exact);
	if (e->nufft != NULL)
		bs_nufft_close(e->nufft);
	bs_segments_close(e->field);
	bs_paths_close(e->paths);
	bs_ls_close(e->ls);
	bs_combiner_close(e->combiner);
	free(e);
}

static int plan_nufft(struct engine *e, const struct bs_tables *tables, const float *weight,
		      const struct bs_arm_env *env, struct bs_fail *why)
{
	const float *k = tables->traj->k;
	struct bs_nufft_spec s = nufft_of(e->p);
	float *boxed;
	int rc = bs_lsq_boxed(&boxed, e->p, k, weight, why);

	if (rc == 0)
		rc = bs_nufft_plan(&e->nufft, &s, k, boxed != NULL ? boxed : weight, env->arena,
				   env->team, env->cache_dir, why);
	free(boxed);
	return rc;
}

static int plan_sums(struct engine *e, const struct bs_tables *tables, const float *weight,
		     const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_exact_spec s = exact_of(e->p);
	struct bs_nufft_spec paths = paths_of(e->p);
	struct bs_segments_spec field = segments_of(e->p);

	if (bs_protocol_streams(e->p))
		return bs_paths_plan(&e->paths, e->p, &paths, env->arena, env->team, why);
	if (bs_protocol_off_resonance(e->p))
		return bs_segments_plan(&e->field, &field, tables->traj->k, weight, tables->field,
					env->arena, env->team, env->cache_dir, why);
	if (e->p->fhd == BS_SUM_NUFFT)
		return plan_nufft(e, tables, weight, env, why);
	return bs_exact_plan(&e->exact, &s, tables->traj->k, weight, env->arena, env->team, why);
}

static void apply_field(void *self, const float *maps, const float *in, float *out)
{
	bs_segments_normal(self, maps, in, out);
}

static void apply_paths(void *self, const float *maps, const float *in, float *out)
{
	bs_paths_normal(self, maps, in, out);
}

/* Told where a command arms it; the service tells nothing. */
static int make_q(float **q, const struct bs_protocol *p, const struct bs_tables *tables,
		  const float *weight, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_progress progress;
	int rc;

	bs_progress_begin(&progress, "arming: Q", BS_PROGRESS_WHOLE, "");
	rc = bs_lsq_q(q, p, tables, weight, env->team, env->cache_dir, bs_progress_part, &progress,
		      NULL, why);
	bs_progress_end(&progress);
	return rc;
}

static int ls_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		  const struct bs_arm_env *env, struct bs_fail *why)
{
	struct bs_ls_spec ls = bs_lsq_spec(p);
	uint64_t bytes = bs_protocol_voxels(p) * 8u;
	uint64_t slot = (bytes + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN;
	struct engine *e = calloc(1, sizeof(*e));
	float *weight = NULL;
	float *q = NULL;
	int rc = 0;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->maps = tables->maps;
	if (bs_methods[p->method].uses_maps && tables->maps == NULL)
		rc = bs_fail(why, BS_ERR_CONFIG, "protocol '%s': method %s needs maps_file",
			     p->name, bs_method_name(p->method));
	/* need states it coil by coil, each rounded up to whole cache lines */
	e->fhd = bs_arena_take(env->arena, (size_t)(slot * p->coils), BS_ALIGN);
	e->images = bs_arena_take(env->arena, (size_t)(slot * images_of(p)), BS_ALIGN);
	if (rc == 0 && (e->fhd == NULL || e->images == NULL))
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': the arena is too small", p->name);
	if (rc == 0)
		rc = bs_partial_open(&e->window, p, env->arena, env->team, why);
	if (rc == 0)
		rc = bs_combiner_plan(&e->combiner, p, env->arena, env->team, why);
	if (rc == 0)
		rc = bs_lsq_weights(&weight, p, tables, env->team, why);
	if (rc == 0)
		rc = plan_sums(e, tables, weight, env, why);
	if (rc == 0)
		rc = make_q(&q, p, tables, weight, env, why);
	if (rc == 0)
		rc = bs_ls_plan(&e->ls, &ls, q,
				bs_methods[p->method].uses_maps ? tables->maps : NULL, tables->w,
				env->arena, env->team, why);
	free(weight);
	free(q);
	if (rc != 0) {
		ls_disarm(e);
		return rc;
	}
	if (e->field != NULL)
		bs_ls_given(e->ls, apply_field, e->field);
	if (e->paths != NULL)
		bs_ls_given(e->ls, apply_paths, e->paths);
	*self = e;
	return 0;
}

static int ls_begin(void *self, uint32_t frame)
{
	struct engine *e = self;

	if (e->paths != NULL)
		bs_paths_begin(e->paths, frame);
	else if (e->field != NULL)
		bs_segments_begin(e->field, frame);
	else if (e->exact != NULL)
		bs_exact_begin(e->exact, frame);
	else
		bs_nufft_begin(e->nufft, frame);
	return 0;
}

static int ls_path(void *self, uint32_t frame, uint32_t readout, const float *k)
{
	struct engine *e = self;

	bs_paths_path(e->paths, frame, readout, k);
	return 0;
}

static int ls_add(void *self, uint32_t frame, uint32_t readout, const float *data,
		  size_t coil_stride)
{
	struct engine *e = self;
	uint64_t first = (uint64_t)readout * e->p->samples;

	if (e->paths != NULL)
		bs_paths_add(e->paths, frame, readout, data, coil_stride);
	else if (e->field != NULL)
		bs_segments_add(e->field, frame, readout, data, coil_stride);
	else if (e->exact != NULL)
		bs_exact_add(e->exact, frame, first, e->p->samples, data, coil_stride);
	else
		bs_nufft_add(e->nufft, frame, first, e->p->samples, data, coil_stride);
	return 0;
}

static void solve(struct engine *e, int64_t deadline_ns, struct bs_report *report)
{
	const struct bs_protocol *p = e->p;
	uint64_t voxels = bs_protocol_voxels(p);
	uint32_t n = solves_of(p);
	uint32_t most = report->allowed > 0 ? report->allowed : p->iterations;

	if (deadline_ns != INT64_MAX)
		deadline_ns -= e->tail_ns;
	for (uint32_t i = 0; i < n; i++) {
		struct bs_pcg_stop stop = { most, p->tolerance,
					    bs_turn_end(deadline_ns, bs_now_ns(), n - i) };
		struct bs_pcg_result result;

		bs_ls_solve(e->ls, e->fhd + 2 * i * voxels, e->images + 2 * i * voxels, &stop,
			    &result);
		bs_report_solve(report, i == 0, result.iterations, result.residual);
		report->deadline_stop = report->deadline_stop || result.deadline_stop;
	}
}

/*
 * F^H d of the readouts that came; the others count as zeros. held: the groups of a window whose
 * path is theirs together; NULL: no window's.
 */
static int sum_up(struct engine *e, uint32_t frame, const uint8_t *held, float *fhd,
		  struct bs_fail *why)
{
	if (e->paths != NULL)
		return bs_paths_finish(e->paths, frame, held, fhd, why);
	if (e->field != NULL)
		bs_segments_finish(e->field, frame, bs_protocol_frame_slice(e->p, frame), fhd);
	else if (e->exact != NULL)
		bs_exact_finish(e->exact, frame, fhd);
	else
		bs_nufft_finish(e->nufft, frame, fhd);
	return 0;
}

/* start_ns: when the work began whose result is in fhd. */
static int to_image(struct engine *e, uint32_t frame, int64_t start_ns, int64_t deadline_ns,
		    float *image, struct bs_report *report)
{
	const uint32_t slice = bs_protocol_frame_slice(e->p, frame);
	int64_t summed_ns = bs_now_ns();
	int64_t solved_ns;
	int64_t spent_ns;

	report->deadline_stop = false;
	if (bs_methods[e->p->method].uses_maps)
		bs_ls_use(e->ls, slice);
	if (e->field != NULL) {
		bs_segments_slice(e->field, slice);
		bs_segments_report(e->field, report);
	}
	if (e->paths != NULL && e->p->precond != BS_PRECOND_NONE) {
		bs_ls_weights(e->ls, bs_paths_sum(e->paths));
		bs_ls_changed(e->ls, bs_methods[e->p->method].uses_maps ? slice : 0);
	}
	solve(e, deadline_ns, report);
	solved_ns = bs_now_ns();
	bs_combiner_run(e->combiner, e->images, bs_maps_of(e->maps, e->p, slice), image);
	spent_ns = bs_now_ns() - solved_ns;
	report->stage_ns[BS_BUDGET_ACCUMULATE] = summed_ns - start_ns;
	report->stage_ns[BS_BUDGET_SOLVE] = solved_ns - summed_ns;
	report->stage_ns[BS_BUDGET_COMBINE] = spent_ns;
	e->tail_ns = bs_tail_longest(e->tail_ns, spent_ns);
	return 0;
}

static void ls_scan(void *self)
{
	struct engine *e = self;

	if (e->paths != NULL)
		bs_paths_scan(e->paths);
}

static int ls_finish(void *self, uint32_t frame, int64_t deadline_ns, float *image,
		     struct bs_report *report)
{
	struct engine *e = self;
	int64_t start_ns = bs_now_ns();
	int rc = e->paths != NULL ? bs_paths_settle(e->paths, frame, NULL, report) : 0;

	if (rc == 0)
		rc = sum_up(e, frame, NULL, e->fhd, &report->why);

	return rc == 0 ? to_image(e, frame, start_ns, deadline_ns, image, report) : rc;
}

static int ls_maps(void *self, uint32_t slice)
{
	bs_ls_changed(((struct engine *)self)->ls, slice);
	return 0;
}

/* The delays that a scan's first frame tells are those of all. */
static int ls_pass(void *self, uint32_t frame, const uint8_t *held, struct bs_report *report)
{
	struct engine *e = self;

	return e->paths != NULL ? bs_paths_settle(e->paths, frame, held, report) : 0;
}

static int ls_fold(void *self, uint32_t frame, uint32_t group)
{
	struct engine *e = self;

	if (e->paths != NULL)
		return 0; /* its samples and its path stay */
	return sum_up(e, frame, NULL, bs_partial_write(&e->window, frame, group), NULL);
}

static int ls_slide(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		    float *image, struct bs_report *report)
{
	struct engine *e = self;
	int64_t start_ns = bs_now_ns();
	int rc = 0;

	if (e->paths != NULL) {
		rc = bs_paths_settle(e->paths, frame, held, report);
		rc = rc == 0 ? sum_up(e, frame, held, e->fhd, &report->why) : rc;
	} else {
		bs_partial_sum(&e->window, frame, held, e->fhd);
	}
	return rc == 0 ? to_image(e, frame, start_ns, deadline_ns, image, report) : rc;
}

const struct bs_engine bs_engine_ls_host = {
	.name = "ls/host",
	.need = ls_need,
	.arm = ls_arm,
	.begin = ls_begin,
	.path = ls_path,
	.add = ls_add,
	.finish = ls_finish,
	.pass = ls_pass,
	.disarm = ls_disarm,
	.fold = ls_fold,
	.slide = ls_slide,
	.scan = ls_scan,
	.preview = &bs_engine_gridding_host,
};

const struct bs_engine bs_engine_sense_host = {
	.name = "sense/host",
	.need = ls_need,
	.arm = ls_arm,
	.begin = ls_begin,
	.path = ls_path,
	.add = ls_add,
	.finish = ls_finish,
	.pass = ls_pass,
	.disarm = ls_disarm,
	.fold = ls_fold,
	.slide = ls_slide,
	.scan = ls_scan,
	.maps = ls_maps,
	.preview = &bs_engine_gridding_host,
};
