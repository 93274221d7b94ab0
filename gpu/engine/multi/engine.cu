/*
 * gpu/engine/multi/engine.cu - gridding, ls and sense on several GPUs, frame by frame; see armed.h
 *
 * Each readout goes to every GPU, which takes its own coils alone. For gridding and ls the GPUs are
 * independent: after the last readout each launches what is left. The coil images come together on
 * the first GPU, in the order of the coils, and are combined there as on a single GPU. Under a
 * deadline a thread of the team watches each GPU's solves; where the team has fewer threads than
 * there are GPUs, the GPUs take turns and share the time.
 */
#include <string.h>

#include "core/thread/clock.h"
#include "core/thread/team.h"
#include "gpu/engine/multi/armed.h"
#include "gpu/device/check.h"
#include "gpu/engine/engines.h"

/* Calls `call` for every share, with the share's GPU current; stops at the first failure. */
template <class F> static int on_all(struct bs_armed_multi *e, F call)
{
	const int rc = bs_link_each(e->link, NULL, [=](uint32_t i) { return call(&e->share[i]); });

	return bs_link_leave(e->link, rc, NULL);
}

static int begin(void *self, uint32_t frame)
{
	return on_all((struct bs_armed_multi *)self,
		      [=](struct bs_armed_share *s) { return bs_armed_cuda_begin(s->gpu, frame); });
}

static int add(void *self, uint32_t frame, uint32_t readout, const float *k, const float *data,
	       size_t coil_stride)
{
	return on_all((struct bs_armed_multi *)self, [=](struct bs_armed_share *s) {
		return bs_armed_cuda_add(s->gpu, frame, readout, k,
					 data + 2 * s->coils.first * coil_stride, coil_stride);
	});
}

/* A readout counts as read when all shares have read their part. */
static void reading(void *self, bool wait, uint64_t *made, uint64_t *read)
{
	struct bs_armed_multi *e = (struct bs_armed_multi *)self;

	bs_armed_cuda_reading(e->share[0].gpu, wait, made, read);
	for (uint32_t i = 1; i < e->parts; i++) {
		uint64_t m;
		uint64_t r;

		bs_armed_cuda_reading(e->share[i].gpu, wait, &m, &r);
		*made = m > *made ? m : *made;
		*read = r < *read ? r : *read;
	}
}

/* Returns true when each share's own solve is watched, as on one GPU
 * (gpu/engine/cuda/engine.cu). */
static bool is_watched(const struct bs_armed_multi *e, int64_t deadline_ns,
		       const struct bs_report *report)
{
	return e->p->plan.solve != BS_SOLVE_NONE && !bs_armed_multi_is_joint(e) &&
	       (deadline_ns != INT64_MAX ||
		bs_report_most(report, e->p->iterations) < e->p->iterations);
}

/* The time by which this share must be done, so that the thread can solve others after it. */
static int64_t turn_end(const struct bs_armed_multi *e, int task)
{
	const int members = bs_team_members(e->team);
	const int turns = ((int)e->parts + members - 1) / members;

	return bs_turn_end(e->deadline_ns, bs_now_ns(), turns - task / members);
}

static void watch_share(void *arg, int task, int)
{
	struct bs_armed_multi *e = (struct bs_armed_multi *)arg;
	struct bs_armed_share *s = &e->share[task];

	s->rc = bs_link_enter(e->link, (uint32_t)task, NULL);
	if (s->rc == 0)
		s->rc = bs_armed_cuda_solve(s->gpu, turn_end(e, task), &s->report);
	if (s->rc == 0)
		s->rc = bs_armed_cuda_pass(s->gpu, BS_CUDA_SOLVED, cudaEventRecordDefault, NULL);
}

/* Solves all shares at the same time, each under the deadline. */
static int solve_watched(struct bs_armed_multi *e, int64_t deadline_ns,
			 const struct bs_report *report)
{
	int rc = 0;

	e->deadline_ns = deadline_ns;
	for (uint32_t i = 0; i < e->parts; i++) {
		memset(&e->share[i].report, 0, sizeof(e->share[i].report));
		e->share[i].report.allowed = report->allowed;
	}
	bs_team_run(e->team, watch_share, e, (int)e->parts);
	for (uint32_t i = 0; i < e->parts && rc == 0; i++)
		rc = e->share[i].rc;
	return bs_link_leave(e->link, rc, NULL);
}

/*
 * Adds a share's report: the sum says the worst of the shares, and a stage takes as long as the
 * slowest.
 */
static void add_report(struct bs_report *sum, const struct bs_report *r, bool first)
{
	bs_report_solve(sum, first, r->iterations, r->residual);
	sum->deadline_stop = r->deadline_stop || (!first && sum->deadline_stop);
	for (int t = BS_BUDGET_UPLOAD; t <= BS_BUDGET_SOLVE; t++)
		if (first || r->stage_ns[t] > sum->stage_ns[t])
			sum->stage_ns[t] = r->stage_ns[t];
}

/*
 * Reads, once the stream is idle, the stage times, and the solve's outcome where no thread watched
 * it.
 */
static void outcome(struct bs_armed_cuda *gpu, uint32_t frame, bool watched,
		    struct bs_report *report)
{
	gpu->read = gpu->made;
	bs_armed_cuda_times(gpu, frame, report);
	if (gpu->ls != NULL && !watched) {
		report->deadline_stop = false;
		bs_ls_cuda_outcome(gpu->ls, report);
	}
}

static int tell(struct bs_armed_multi *e, uint32_t frame, bool watched, struct bs_report *report)
{
	int rc = on_all(e, [=](struct bs_armed_share *s) {
		outcome(s->gpu, frame, watched, &s->report);
		add_report(report, &s->report, s == e->share);
		return 0;
	});

	if (bs_armed_multi_is_joint(e)) {
		report->iterations = e->solved.iterations;
		report->residual = e->solved.residual;
		report->deadline_stop = e->solved.deadline_stop;
		report->stage_ns[BS_BUDGET_SOLVE] =
			bs_cuda_between_ns(e->mark[BS_MULTI_SUMMED], e->mark[BS_MULTI_SOLVED]);
	}
	report->stage_ns[BS_BUDGET_COMBINE] =
		bs_cuda_between_ns(e->mark[BS_MULTI_SOLVED], e->mark[BS_MULTI_COMBINED]);
	report->stage_ns[BS_BUDGET_DOWNLOAD] =
		bs_cuda_between_ns(e->mark[BS_MULTI_COMBINED], e->mark[BS_MULTI_DOWNLOADED]);
	return rc;
}

/* Copies the image from the GPUs to the caller. */
static int fetch(struct bs_armed_multi *e, uint32_t frame, bool watched, float *image,
		 struct bs_report *report)
{
	int64_t down_ns;
	int rc = bs_armed_multi_queue_image(e, NULL);

	rc = rc == 0 ? bs_link_wait(e->link, NULL) : bs_link_leave(e->link, rc, NULL);
	if (rc != 0)
		return rc;
	down_ns = bs_now_ns();
	if (image != NULL)
		bs_team_copy(e->team, image, e->image, (size_t)bs_protocol_image_bytes(e->p));
	down_ns = bs_now_ns() - down_ns;
	rc = tell(e, frame, watched, report);
	report->stage_ns[BS_BUDGET_DOWNLOAD] += down_ns;
	return rc;
}

/* Runs the solves that are not queued yet. */
static int solve(struct bs_armed_multi *e, int64_t deadline_ns, const struct bs_report *report)
{
	const uint32_t most = bs_report_most(report, e->p->iterations);
	int rc = 0;

	if (deadline_ns != INT64_MAX)
		deadline_ns -= e->tail_ns;
	if (is_watched(e, deadline_ns, report))
		rc = solve_watched(e, deadline_ns, report);
	if (rc == 0)
		rc = bs_armed_multi_follow(e, NULL);
	if (rc == 0 && bs_armed_multi_is_joint(e))
		rc = bs_armed_multi_solve(e, most, deadline_ns, NULL);
	return bs_link_leave(e->link, rc, NULL);
}

/* Completes the image after F^H d has been queued on all GPUs. */
static int complete(struct bs_armed_multi *e, uint32_t frame, int64_t deadline_ns, float *image,
		    struct bs_report *report)
{
	const bool watched = is_watched(e, deadline_ns, report);
	int64_t solved_ns;
	int rc = bs_link_leave(e->link, bs_armed_multi_slice(e, frame, NULL), NULL);

	if (rc == 0)
		rc = solve(e, deadline_ns, report);
	if (rc != 0)
		return rc;
	solved_ns = bs_now_ns();
	rc = fetch(e, frame, watched, image, report);
	/* without a watched solve the time from solved to image holds the solves, too */
	if (!watched && !bs_armed_multi_is_joint(e))
		return rc;
	solved_ns = bs_now_ns() - solved_ns;
	e->tail_ns = bs_tail_longest(e->tail_ns, solved_ns);
	return rc;
}

static int fold(void *self, uint32_t frame, uint32_t group)
{
	return on_all((struct bs_armed_multi *)self, [=](struct bs_armed_share *s) {
		return bs_armed_cuda_fold(s->gpu, frame, group);
	});
}

static int make(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns, float *image,
		struct bs_report *report)
{
	struct bs_armed_multi *e = (struct bs_armed_multi *)self;
	const bool watched = is_watched(e, deadline_ns, report);
	int rc = on_all(e, [=](struct bs_armed_share *s) {
		return held != NULL ? bs_armed_cuda_queue_slide(s->gpu, frame, held, watched)
				    : bs_armed_cuda_queue_finish(s->gpu, frame, watched);
	});

	return rc != 0 ? rc : complete(e, frame, deadline_ns, image, report);
}

static int peek(void *self, uint32_t frame, float *image)
{
	struct bs_armed_multi *e = (struct bs_armed_multi *)self;
	struct bs_report unread;
	int rc = on_all(e, [=](struct bs_armed_share *s) {
		const int sent = bs_armed_cuda_flush(s->gpu);

		return sent != 0 ? sent
				 : s->gpu->op->peek(s->gpu->plan, frame, s->gpu->coil_images,
						    s->gpu->stream, NULL);
	});

	if (rc == 0)
		rc = bs_link_leave(e->link, bs_armed_multi_slice(e, frame, NULL), NULL);
	if (rc == 0)
		rc = bs_link_leave(e->link, bs_armed_multi_follow(e, NULL), NULL);
	return rc != 0 ? rc : fetch(e, frame, false, image, &unread);
}

static int need(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why)
{
	int rc = bs_cuda_spec_of(p).solve ? bs_ls_cuda_check(p, why) : 0;

	return rc != 0 ? rc : bs_armed_multi_need(p, n, why);
}

/* A protocol with a field map is never shared out. */
static int device(const struct bs_protocol *p, const float *, struct bs_need *n,
		  struct bs_fail *why)
{
	return bs_armed_multi_device(p, n, why);
}

static constexpr struct bs_engine engine(enum bs_plan_place place, const struct bs_engine *preview)
{
	struct bs_engine e = {};

	e.place = place;
	e.need = need;
	e.device = device;
	e.arm = bs_armed_multi_open;
	e.begin = begin;
	e.add = add;
	e.image = make;
	e.disarm = bs_armed_multi_close;
	e.reading = reading;
	e.fold = fold;
	e.peek = peek;
	e.preview = preview;
	return e;
}

const struct bs_engine bs_engine_coils = engine(BS_PLACE_COILS, &bs_engine_coils);
/* The first GPU makes previews alone, since with one coil there is nothing to share. */
const struct bs_engine bs_engine_slabs = engine(BS_PLACE_SLABS, &bs_engine_cuda);
