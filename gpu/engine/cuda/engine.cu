/*
 * gpu/engine/cuda/engine.cu - from the last readout to the image on one GPU; see armed.h
 *
 * One graph launch does all of it and ends with the image in pinned memory. Under a deadline the
 * host watches the solve, iteration by iteration. A solve whose graph would be too large is
 * launched in two parts.
 */

#include "core/log.h"
#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "gpu/calibrate/maps.h"
#include "gpu/engine/cuda/armed.h"
#include "gpu/device/check.h"
#include "gpu/engine/engines.h"
#include "gpu/encode/encode.h"
#include "gpu/engine/left_out.h"
#include "gpu/solve/segments_cuda.h"

void bs_armed_cuda_times(const struct bs_armed_cuda *e, uint32_t frame, struct bs_report *report)
{
	for (int i = 0; i < 5; i++) {
		const bool both = (e->marked >> (BS_CUDA_UPLOADING + i) & 3u) == 3u;

		report->stage_ns[BS_BUDGET_UPLOAD + i] =
			both ? bs_cuda_between_ns(e->mark[BS_CUDA_UPLOADING + i],
						  e->mark[BS_CUDA_UPLOADING + i + 1])
			     : 0; /* one GPU of several records only some of the marks */
	}
	/* the marks hold times of the run while arming */
	for (int i = 1; i < 5 && e->unmarked; i++)
		report->stage_ns[BS_BUDGET_UPLOAD + i] = 0;
	if (!e->added[frame]) /* nothing was uploaded, so the upload marks are another frame's */
		report->stage_ns[BS_BUDGET_UPLOAD] = report->stage_ns[BS_BUDGET_ACCUMULATE] = 0;
	if (!bs_armed_cuda_solves(e))
		report->stage_ns[BS_BUDGET_SOLVE] = 0;
}

/* Waits for what is queued, and copies the image from pinned memory. */
static int fetch(struct bs_armed_cuda *e, uint32_t frame, float *image, struct bs_report *report)
{
	int64_t down_ns;

	BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
	e->read = e->made;
	down_ns = bs_now_ns();
	if (image != NULL)
		bs_team_copy(e->team, image, e->image, (size_t)bs_protocol_image_bytes(e->p));
	down_ns = bs_now_ns() - down_ns;
	bs_armed_cuda_times(e, frame, report);
	report->stage_ns[BS_BUDGET_DOWNLOAD] += down_ns;
	if (e->field != NULL) {
		const struct bs_segments_info info = bs_segments_cuda_info(e->field);

		report->segments = info.segments;
		report->field_error = info.error;
	}
	return 0;
}

/*
 * Returns true when the host queues the iterations: there is a deadline, fewer iterations are
 * allowed than the graph has, or the lines that came must be known first.
 */
static bool is_watched(const struct bs_armed_cuda *e, int64_t deadline_ns,
		       const struct bs_report *report)
{
	return bs_armed_cuda_between(e) ||
	       (e->ls != NULL && (deadline_ns != INT64_MAX ||
				  bs_report_most(report, e->p->iterations) < e->p->iterations));
}

int bs_armed_cuda_solve(struct bs_armed_cuda *e, int64_t deadline_ns, struct bs_report *report)
{
	const uint32_t most = bs_report_most(report, e->p->iterations);

	report->deadline_stop = false;
	return bs_ls_cuda_run(e->ls, e->coil_images, most, deadline_ns, e->stream, report, NULL);
}

static int solve_watched(struct bs_armed_cuda *e, uint32_t frame, const uint8_t *held,
			 int64_t deadline_ns, float *image, struct bs_report *report)
{
	int64_t solved_ns;
	int rc;

	if (deadline_ns != INT64_MAX)
		deadline_ns -= e->tail_ns;
	if (e->prox != NULL)
		rc = bs_armed_cuda_proximal(e, frame, held, deadline_ns, report, NULL);
	else if (e->unfold != NULL)
		rc = bs_armed_cuda_unfold(e, frame, bs_report_most(report, e->p->iterations),
					  deadline_ns, report, NULL);
	else
		rc = bs_armed_cuda_solve(e, deadline_ns, report);
	solved_ns = bs_now_ns();
	if (rc == 0)
		rc = bs_armed_cuda_complete(e, frame, report->unknown, NULL);
	if (rc != 0)
		return rc;
	if (e->combine != NULL)
		BS_CUDA(cudaGraphLaunch(e->combine, e->stream), NULL);
	else
		rc = bs_armed_cuda_queue_image(e, cudaEventRecordDefault, NULL);
	if (rc == 0)
		rc = fetch(e, frame, image, report);
	if (rc == 0 && e->op->outcome != NULL)
		rc = e->op->outcome(e->plan, frame, &report->why);
	solved_ns = bs_now_ns() - solved_ns;
	e->tail_ns = bs_tail_longest(e->tail_ns, solved_ns);
	return rc;
}

/* Waits for the graphs of a whole solve or a direct method, and copies the image. */
static int fetch_whole(struct bs_armed_cuda *e, uint32_t frame, float *image,
		       struct bs_report *report)
{
	int rc = fetch(e, frame, image, report);

	if (rc == 0 && e->op->outcome != NULL)
		rc = e->op->outcome(e->plan, frame, &report->why);
	if (rc == 0 && e->ls != NULL) {
		report->deadline_stop = false;
		bs_ls_cuda_outcome(e->ls, report);
	}
	return rc;
}

int bs_armed_cuda_made(struct bs_armed_cuda *e, uint32_t frame, const uint8_t *held,
		       int64_t deadline_ns, float *image, struct bs_report *report)
{
	const bool watched = is_watched(e, deadline_ns, report);
	int rc;

	e->flow = report->flow;
	e->falling = report->falling;
	if (e->moved != NULL)
		BS_CUDA(cudaMemcpyAsync(e->hz,
					e->host_field + bs_protocol_frame_slice(e->p, frame) *
								bs_protocol_voxels(e->p),
					bs_protocol_voxels(e->p) * sizeof(float),
					cudaMemcpyHostToDevice, e->stream),
			NULL);
	rc = held != NULL ? bs_armed_cuda_queue_slide(e, frame, held, watched)
			  : bs_armed_cuda_queue_finish(e, frame, watched);
	if (rc != 0)
		return rc;
	return watched ? solve_watched(e, frame, held, deadline_ns, image, report)
		       : fetch_whole(e, frame, image, report);
}

/* Makes the weights of the missing lines. *spent_ns: the time that it took. */
static int prepare_lines(struct bs_armed_cuda *e, uint32_t frame, struct bs_report *report,
			 int64_t *spent_ns)
{
	const int64_t from_ns = bs_now_ns();
	int rc;

	*spent_ns = 0;
	if (e->op->prepare == NULL)
		return 0;
	rc = e->op->prepare(e->plan, e->filler, e->slicer, frame, report, e->stream);
	*spent_ns = bs_now_ns() - from_ns;
	return rc;
}

int bs_armed_cuda_image(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
			float *image, struct bs_report *report)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;
	int64_t calibrated_ns;
	int64_t spent_ns;
	/* of slices at once it is known before maps are made whether references have phases */
	const bool later = bs_plan_groups(&e->p->plan);
	int rc = later ? 0 : bs_mapped_make(e->scan_maps, frame, held, &deadline_ns, report);

	if (rc != 0)
		return rc;
	rc = prepare_lines(e, frame, report, &spent_ns);
	if (rc == 0 && later)
		rc = bs_mapped_make(e->scan_maps, frame, held, &deadline_ns, report);
	if (rc == 0)
		rc = bs_armed_cuda_made(e, frame, held, deadline_ns, image, report);
	calibrated_ns = e->filler != NULL ? bs_filler_calibrated_ns(e->filler) : 0;
	calibrated_ns += e->slicer != NULL ? bs_slicer_prepared(e->slicer)->calibrated_ns : 0;
	report->stage_ns[BS_BUDGET_CALIBRATION] += calibrated_ns;
	report->stage_ns[BS_BUDGET_ACCUMULATE] += spent_ns - calibrated_ns;
	return rc;
}

int bs_armed_cuda_peek(void *self, uint32_t frame, float *image)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;
	struct bs_report unread;
	int rc = bs_armed_cuda_slice(e, bs_protocol_frame_slice(e->p, frame));

	e->flow = (struct bs_flow){ 0, 0, 0.0f };
	if (rc == 0)
		rc = e->op->peek(e->plan, frame, e->coil_images, e->stream, NULL);
	if (rc == 0)
		rc = bs_armed_cuda_queue_image(e, cudaEventRecordDefault, NULL);
	return rc != 0 ? rc : fetch(e, frame, image, &unread);
}

static const struct bs_cuda_operator *row_of(const struct bs_protocol *p)
{
	switch (p->plan.encode) {
	case BS_ENCODE_GRID:
		return &bs_cuda_sum_nufft;
	case BS_ENCODE_EXACT:
		return &bs_cuda_sum_exact;
	case BS_ENCODE_FIELD:
		return &bs_cuda_sum_field;
	case BS_ENCODE_PATH:
		return &bs_cuda_sum_path;
	case BS_ENCODE_LINES:
		return (bs_left_out_wanted(p) && p->plan.solve == BS_SOLVE_NONE) ||
				       (bs_plan_has(&p->plan, BS_PLAN_APART) && !p->plan.joint)
			       ? &bs_cuda_lines_varied
			       : &bs_cuda_lines;
	case BS_ENCODE_NOTHING:
	case BS_ENCODES:
		break;
	}
	return NULL;
}

struct bs_cuda_spec bs_cuda_spec_of(const struct bs_protocol *p)
{
	return { p, row_of(p), p->plan.solve != BS_SOLVE_NONE, false, NULL };
}

/* Returns true where missing lines are filled by GRAPPA, whose weights the host makes. */
static bool fills(const struct bs_protocol *p)
{
	return bs_plan_has(&p->plan, BS_PLAN_FILL);
}

static int cuda_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_cuda_spec s = bs_cuda_spec_of(p);
	int rc = bs_mapped_need(p, need, why);

	if (rc == 0 && s.solve && p->plan.solve != BS_SOLVE_PROX)
		rc = bs_ls_cuda_check(p, why);
	if (rc == 0)
		rc = bs_armed_cuda_need(&s, need, why);
	if (rc == 0 && fills(p))
		rc = bs_filler_need(p, bs_lines_spec(p).matrix[0], need, why);
	return rc == 0 && bs_slicer_wanted(p)
		       ? bs_slicer_need(p, bs_lines_spec(p).matrix[0], need, why)
		       : rc;
}

static int cuda_device(const struct bs_protocol *p, const float *field, struct bs_need *need,
		       struct bs_fail *why)
{
	const struct bs_cuda_spec s = bs_cuda_spec_of(p);
	struct bs_espirit_spec maps;

	if (bs_maps_by_espirit(p, &maps)) /* ESPIRiT on the GPU, where it has room */
		bs_need_add(need, "device coil maps", 1, bs_mapped_cuda_bytes(&maps));
	return bs_armed_cuda_device(&s, field, need, why);
}

/* Makes maps by ESPIRiT on this GPU; where the GPU has no room, the host does it later. */
static int make_maps_here(struct bs_armed_cuda *e, struct bs_fail *why)
{
	struct bs_maps *maps = bs_mapped_maps(e->scan_maps);
	struct bs_fail own;
	int rc;

	bs_mapped_told(e->scan_maps, bs_armed_cuda_maps, e);
	if (maps == NULL || bs_maps_espirit(maps) == NULL)
		return 0;
	rc = bs_mapped_cuda_open(&e->makes, bs_maps_espirit(maps), e->p->name, &own);
	if (rc == 0)
		bs_maps_elsewhere(maps, bs_mapped_cuda_run, e->makes);
	else if (rc == BS_ERR_NOMEM)
		bs_log(BS_LOG_WARN, "protocol '%s': coil maps by the host, not the GPU: %s",
		       e->p->name, own.text);
	return rc == 0 || rc == BS_ERR_NOMEM ? 0 : bs_fail(why, rc, "%s", own.text);
}

static int cuda_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		    const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_cuda_spec s = bs_cuda_spec_of(p);
	struct bs_armed_cuda *e;
	struct bs_mapped *mapped;
	int rc = bs_mapped_arm(&mapped, p, tables, env, why);

	if (rc != 0)
		return rc;
	rc = bs_armed_cuda_open(self, &s, tables, env, why);
	if (rc != 0) {
		bs_mapped_disarm(mapped);
		return rc;
	}
	e = (struct bs_armed_cuda *)*self;
	e->scan_maps = mapped;
	/* the engine's own memory, which it cannot do without, comes first */
	rc = make_maps_here(e, why);
	if (rc == 0 && fills(p))
		rc = bs_filler_plan(&e->filler, p, bs_lines_spec(p).matrix[0], env->arena,
				    env->team, why);
	if (rc == 0 && bs_slicer_wanted(p))
		rc = bs_slicer_plan(&e->slicer, p, bs_lines_spec(p).matrix[0], env->arena,
				    env->team, why);
	if (rc != 0) {
		bs_armed_cuda_close(e);
		*self = NULL;
	}
	return rc;
}

static constexpr struct bs_engine engine(void)
{
	struct bs_engine e = {};

	e.place = BS_PLACE_GPU;
	e.need = cuda_need;
	e.device = cuda_device;
	e.arm = cuda_arm;
	e.begin = bs_armed_cuda_begin;
	e.add = bs_armed_cuda_add;
	e.side = bs_armed_cuda_side;
	e.scan = bs_armed_cuda_scan;
	e.image = bs_armed_cuda_image;
	e.disarm = bs_armed_cuda_close;
	e.reading = bs_armed_cuda_reading;
	e.fold = bs_armed_cuda_fold;
	e.peek = bs_armed_cuda_peek;
	e.maps = bs_armed_cuda_maps;
	e.preview = &bs_engine_cuda;
	return e;
}

const struct bs_engine bs_engine_cuda = engine();
