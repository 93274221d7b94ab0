/*
 * gpu/engine_multi.cu - gridding, ls and sense on several GPUs as engines: a share each
 * (gpu/share_cuda.h), split by coils or slabs (gpu/shares.h), and a link (gpu/link.h) between them
 *
 * Each readout goes to every GPU, its own coils alone. Gridding and ls need nothing of each other:
 * after the last readout each GPU launches what is left; the coil images are gathered on the first,
 * in the order of the coils, and combined there as one GPU does it. Under a deadline a thread of the
 * team watches each GPU's solves, so the ladder is that of one GPU; where the team has fewer threads than
 * there are GPUs, they take turns, and share the time. Sense: the solve is one on all GPUs together
 * (gpu/solver_multi.h), and its image lies on the first. Slabs: every GPU has all readouts and sums
 * its own rows of F^H d, which are put together on the first and solved there. The first GPU is current between all calls.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "gpu/cuda_operator.h"
#include "gpu/cudacheck.h"
#include "gpu/engines.h"
#include "gpu/link.h"
#include "gpu/share_cuda.h"
#include "gpu/shares.h"
#include "gpu/solver_cuda.h"
#include "gpu/solver_multi.h"
#include "gpu/stream.h"

/* Passed by the first GPU's stream, for the report's stages. */
enum mark { SUMMED, SOLVED, COMBINED, DOWNLOADED, MARKS };

/* One GPU's coils, or rows of y, as a protocol of their own. */
struct share {
	struct bs_split coils, rows;
	struct bs_protocol p;
	struct bs_tables tables;
	void *self;       /* gpu/share_cuda.h */
	cudaEvent_t done; /* what is queued on its stream */
	struct bs_report report;
	int rc;
};

struct engine {
	const struct bs_protocol *p;
	struct bs_link *link;
	struct bs_team *team;
	uint32_t parts;
	struct share share[BS_DEVICES_MAX];
	enum bs_sharing how;
	struct bs_solver_multi *solver; /* sense */
	struct bs_solver_cuda *lone;    /* slabs: on the first GPU */
	struct bs_report solved;        /* of either */
	/* on the first GPU */
	struct bs_devmem mem;
	float2 *images; /* [coil][voxel]; sense: none */
	float2 *slabs;  /* [GPU][z][own y][x]; coils: none */
	float2 *maps;   /* NULL: none */
	float *out;
	unsigned char *pinned; /* of the arena, registered */
	float *image;
	cudaEvent_t mark[MARKS];
	int64_t tail_ns;     /* from solved to image: the longest of late, fading */
	int64_t deadline_ns; /* of the solves that the team watches */
};

#define GRAIN_3D 16u /* rows of y in a tile of the exact sum: exact_tile.h */
#define GRAIN_2D 64u

static void own_protocol(struct share *s, const struct bs_protocol *p, const struct bs_shares *all,
			 uint32_t i)
{
	const uint32_t y = p->matrix[1];
	const uint64_t grain = bs_split_grain(y, p->dims == 3 ? GRAIN_3D : GRAIN_2D, all->parts);
	const bool slabs = all->how == BS_SHARING_SLABS;

	s->coils = bs_split_part(p->coils, 1, slabs ? 1 : all->parts, slabs ? 0 : i);
	s->rows = bs_split_part(y, grain, slabs ? all->parts : 1, slabs ? i : 0);
	s->p = *p;
	s->p.coils = (uint32_t)s->coils.count;
	s->p.matrix[1] = (uint32_t)s->rows.count;
	s->p.combine = BS_COMBINE_NONE;
	s->p.output = BS_OUTPUT_COMPLEX;
}

static bool is_sense(const struct bs_protocol *p)
{
	return p->method == BS_METHOD_SENSE;
}

static uint64_t images_bytes(const struct bs_protocol *p)
{
	return is_sense(p) ? 0 : bs_protocol_voxels(p) * p->coils * 8;
}

static uint64_t slabs_bytes(const struct engine *e)
{
	return e->how == BS_SHARING_SLABS ? images_bytes(e->p) : 0;
}

static uint64_t maps_bytes(const struct bs_protocol *p)
{
	return p->combine == BS_COMBINE_SENSE ? images_bytes(p) : 0;
}

static uint64_t pinned_bytes(const struct bs_protocol *p)
{
	return BS_DEV_ALIGN + bs_devmem_round(bs_protocol_image_bytes(p));
}

static int need(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why)
{
	const struct bs_shares all = bs_shares_of(p);
	struct share s;
	int rc = 0;

	for (uint32_t i = 0; i < all.parts && rc == 0; i++) {
		own_protocol(&s, p, &all, i);
		rc = bs_share_need(&s.p, n, why);
	}
	if (rc == 0)
		bs_need_add(n, "pinned image", 1, pinned_bytes(p));
	return rc;
}

static int ls_need(const struct bs_protocol *p, struct bs_need *n, struct bs_fail *why)
{
	int rc = bs_solver_cuda_check(p, why);

	return rc != 0 ? rc : need(p, n, why);
}

/* ---- arming ----------------------------------------------------------------------------------- */

static void disarm(void *self)
{
	struct engine *e = (struct engine *)self;

	if (e->link != NULL)
		(void)bs_link_wait(e->link, NULL);
	bs_solver_multi_close(e->solver);
	bs_solver_cuda_close(e->lone);
	for (uint32_t i = 0; i < e->parts && e->link != NULL; i++) {
		if (bs_link_enter(e->link, i, NULL) != 0)
			continue;
		if (e->share[i].self != NULL)
			bs_share_disarm(e->share[i].self);
		if (e->share[i].done != NULL)
			(void)cudaEventDestroy(e->share[i].done);
	}
	if (e->link != NULL)
		(void)bs_link_enter(e->link, 0, NULL);
	for (int i = 0; i < MARKS; i++)
		if (e->mark[i] != NULL)
			(void)cudaEventDestroy(e->mark[i]);
	if (e->pinned != NULL)
		(void)cudaHostUnregister(e->pinned);
	bs_devmem_close(&e->mem);
	bs_link_close(e->link);
	free(e);
}

static int open_link(struct engine *e, struct bs_fail *why)
{
	int device[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < e->parts; i++)
		device[i] = (int)e->p->gpu_devices.device[i];
	return bs_link_open(&e->link, e->parts, device, BS_LINK_AUTO, why);
}

static int arm_share(struct engine *e, const struct bs_shares *all, uint32_t i,
		     const struct bs_tables *tables, const struct bs_arm_env *env,
		     struct bs_fail *why)
{
	struct share *s = &e->share[i];
	int rc = bs_link_enter(e->link, i, why);

	own_protocol(s, e->p, all, i);
	s->tables = *tables;
	if (!is_sense(e->p))
		s->tables.maps = NULL;
	else if (tables->maps != NULL)
		s->tables.maps += 2 * s->coils.first * bs_protocol_voxels(e->p);
	/* from the image's center to the slab's */
	s->tables.slab_y =
		(int32_t)(s->rows.first + s->rows.count / 2) - (int32_t)(e->p->matrix[1] / 2);
	if (rc == 0)
		rc = bs_stream_event(&s->done, why);
	return rc != 0 ? rc
		       : bs_share_arm(e->p->method == BS_METHOD_LS && e->how == BS_SHARING_COILS,
				      &s->self, &s->p, &s->tables, env, why);
}

/* more: for the solver that is planned next. */
static int take_memory(struct engine *e, const struct bs_tables *tables,
		       const struct bs_arm_env *env, uint64_t more, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const size_t bytes = (size_t)pinned_bytes(p);
	int rc = bs_devmem_open(&e->mem,
				bs_devmem_round(images_bytes(p)) + bs_devmem_round(maps_bytes(p)) +
					bs_devmem_round(slabs_bytes(e)) +
					bs_devmem_round(bs_protocol_image_bytes(p)) + more,
				p->name, why);
	unsigned char *host = (unsigned char *)bs_arena_take(env->arena, bytes, BS_ALIGN);

	if (rc != 0)
		return rc;
	e->images = (float2 *)bs_devmem_take(&e->mem, images_bytes(p));
	e->maps = maps_bytes(p) > 0 ? (float2 *)bs_devmem_take(&e->mem, maps_bytes(p)) : NULL;
	e->slabs = (float2 *)bs_devmem_take(&e->mem, slabs_bytes(e));
	e->out = (float *)bs_devmem_take(&e->mem, bs_protocol_image_bytes(p));
	if (host == NULL || e->images == NULL || e->slabs == NULL || e->out == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images", p->name);
	if (maps_bytes(p) > 0 && tables->maps == NULL)
		return bs_fail(why, BS_ERR_CONFIG, "protocol '%s': no sensitivity maps", p->name);
	if (maps_bytes(p) > 0)
		BS_CUDA(cudaMemcpy(e->maps, tables->maps, maps_bytes(p), cudaMemcpyHostToDevice),
			why);
	BS_CUDA(cudaHostRegister(host, bytes, cudaHostRegisterPortable), why);
	e->pinned = host;
	e->image = (float *)(host + (bs_devmem_round((uintptr_t)host) - (uintptr_t)host));
	for (int i = 0; i < MARKS; i++)
		BS_CUDA(cudaEventCreate(&e->mark[i]), why);
	return 0;
}

/* The link's streams go on behind what the shares have queued. */
static int follow_shares(struct engine *e, struct bs_fail *why)
{
	for (uint32_t i = 0; i < e->parts; i++) {
		struct share *s = &e->share[i];
		int rc = bs_link_enter(e->link, i, why);

		if (rc != 0)
			return rc;
		BS_CUDA(cudaEventRecord(s->done, bs_share_stream(s->self)), why);
		BS_CUDA(cudaStreamWaitEvent(bs_link_stream(e->link, i), s->done, 0), why);
	}
	int rc = bs_link_enter(e->link, 0, why);

	if (rc == 0)
		BS_CUDA(cudaEventRecord(e->mark[SUMMED], bs_link_stream(e->link, 0)), why);
	return rc;
}

/* A slab's rows to their place in the image. */
static int place(struct engine *e, const struct share *s, const float2 *from, struct bs_fail *why)
{
	const uint32_t *n = e->p->matrix;
	const size_t row = (size_t)n[0] * sizeof(float2);

	BS_CUDA(cudaMemcpy2DAsync(e->images + s->rows.first * n[0], n[1] * row, from,
				  s->rows.count * row, s->rows.count * row, n[2],
				  cudaMemcpyDeviceToDevice, bs_link_stream(e->link, 0)),
		why);
	return 0;
}

/* The shares' images to the first GPU. */
static int gather(struct engine *e, struct bs_fail *why)
{
	const uint32_t *n = e->p->matrix;
	const uint64_t voxels = bs_protocol_voxels(e->p);
	const bool slabs = e->how == BS_SHARING_SLABS;
	const void *from[BS_DEVICES_MAX];
	void *to[BS_DEVICES_MAX];
	size_t bytes[BS_DEVICES_MAX];
	int rc;

	for (uint32_t i = 0; i < e->parts; i++) {
		const struct share *s = &e->share[i];

		from[i] = bs_share_images(s->self);
		to[i] = slabs ? e->slabs + s->rows.first * n[0] * n[2]
			      : e->images + s->coils.first * voxels;
		bytes[i] = (size_t)(bs_protocol_voxels(&s->p) * s->coils.count * 8);
	}
	rc = bs_link_gather(e->link, from, to, bytes, why);
	for (uint32_t i = 0; i < e->parts && slabs && rc == 0; i++)
		rc = place(e, &e->share[i], (const float2 *)to[i], why);
	return rc;
}

/* The solve is none of the shares' own: sense, and slabs. */
static bool is_joint(const struct engine *e)
{
	return is_sense(e->p) || e->how == BS_SHARING_SLABS;
}

/* Waits for it. */
static int solve_joint(struct engine *e, uint32_t most, int64_t deadline_ns, struct bs_fail *why)
{
	const float2 *images[BS_DEVICES_MAX];
	int rc;

	for (uint32_t i = 0; i < e->parts; i++)
		images[i] = bs_share_images(e->share[i].self);
	e->solved.deadline_stop = false;
	if (is_sense(e->p))
		return bs_solver_multi_run(e->solver, images, most, deadline_ns, &e->solved, why);
	rc = gather(e, why);
	return rc != 0 ? rc
		       : bs_solver_cuda_run(e->lone, e->images, most, deadline_ns,
					    bs_link_stream(e->link, 0), &e->solved, why);
}

/* One image of them all, and down. */
static int queue_image(struct engine *e, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	cudaStream_t stream = bs_link_stream(e->link, 0);
	int rc = 0;

	BS_CUDA(cudaEventRecord(e->mark[SOLVED], stream), why);
	if (!is_joint(e))
		rc = gather(e, why);
	if (rc == 0)
		rc = bs_combine_cuda(is_sense(p) ? BS_COMBINE_NONE : p->combine, p->output,
				     is_sense(p) ? 1 : p->coils, bs_protocol_voxels(p),
				     is_sense(p) ? bs_solver_multi_image(e->solver) : e->images,
				     e->maps, e->out, stream, why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaEventRecord(e->mark[COMBINED], stream), why);
	BS_CUDA(cudaMemcpyAsync(e->image, e->out, (size_t)bs_protocol_image_bytes(p),
				cudaMemcpyDeviceToHost, stream),
		why);
	BS_CUDA(cudaEventRecord(e->mark[DOWNLOADED], stream), why);
	return 0;
}

static int plan_sense(struct engine *e, const struct bs_tables *tables,
		      const struct bs_arm_env *env, struct bs_fail *why)
{
	const float2 *maps[BS_DEVICES_MAX];

	for (uint32_t i = 0; i < e->parts; i++)
		maps[i] = bs_share_maps(e->share[i].self);
	return bs_solver_multi_open(&e->solver, e->link, e->p, tables, env, maps, why);
}

/* What the first GPU has beside its share. */
static int plan_first(struct engine *e, const struct bs_tables *tables,
		      const struct bs_arm_env *env, struct bs_fail *why)
{
	uint64_t more = 0;
	int rc = bs_link_enter(e->link, 0, why);

	if (rc == 0 && e->how == BS_SHARING_SLABS)
		rc = bs_solver_cuda_open(&e->lone, e->p, tables, &more, why);
	if (rc == 0)
		rc = take_memory(e, tables, env, more, why);
	if (rc == 0 && e->how == BS_SHARING_SLABS)
		rc = bs_solver_cuda_plan(e->lone, tables, env, NULL, &e->mem, why);
	e->mem.sealed = true;
	if (rc == 0 && is_sense(e->p))
		rc = plan_sense(e, tables, env, why);
	return rc != 0 ? rc : bs_cuda_copied(why);
}

/* Once for real: what NCCL and the driver set up at the first use is there. */
static int rehearse(struct engine *e, struct bs_fail *why)
{
	int rc = follow_shares(e, why);

	if (rc == 0 && is_joint(e))
		rc = solve_joint(e, e->p->iterations, INT64_MAX, why);
	if (rc == 0)
		rc = queue_image(e, why);
	return rc == 0 ? bs_link_wait(e->link, why) : bs_link_leave(e->link, rc, why);
}

/* A thread's first words with each GPU cost it time and memory. */
static void meet(void *arg, int task, int member)
{
	struct engine *e = (struct engine *)arg;

	(void)task;
	(void)member;
	for (uint32_t i = e->parts; i-- > 0;)
		(void)bs_link_enter(e->link, i, NULL);
}

static int arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
	       const struct bs_arm_env *env, struct bs_fail *why)
{
	struct engine *e = (struct engine *)calloc(1, sizeof(*e));
	const struct bs_shares all = bs_shares_of(p);
	int rc;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->team = env->team;
	e->how = all.how;
	e->parts = all.parts;
	rc = open_link(e, why);
	for (uint32_t i = 0; i < e->parts && rc == 0; i++)
		rc = arm_share(e, &all, i, tables, env, why);
	if (rc == 0)
		rc = plan_first(e, tables, env, why);
	if (rc == 0)
		rc = rehearse(e, why);
	if (rc != 0) {
		disarm(e);
		return rc;
	}
	bs_team_each(e->team, meet, e);
	bs_log(BS_LOG_INFO, "protocol '%s': %s, %s", p->name, all.words, bs_link_name(e->link));
	*self = e;
	return 0;
}

/* ---- a frame ---------------------------------------------------------------------------------- */

/* The same for every share, its GPU current; the first failure ends it. */
template <class F> static int on_all(struct engine *e, F call)
{
	int rc = 0;

	for (uint32_t i = 0; i < e->parts && rc == 0; i++) {
		rc = bs_link_enter(e->link, i, NULL);
		if (rc == 0)
			rc = call(&e->share[i]);
	}
	return bs_link_leave(e->link, rc, NULL);
}

static int begin(void *self, uint32_t frame)
{
	return on_all((struct engine *)self,
		      [=](struct share *s) { return bs_share_begin(s->self, frame); });
}

static int add(void *self, uint32_t frame, uint32_t readout, const float *data, size_t coil_stride)
{
	return on_all((struct engine *)self, [=](struct share *s) {
		return bs_share_add(s->self, frame, readout,
				    data + 2 * s->coils.first * coil_stride, coil_stride);
	});
}

/* A readout has been read when all have read theirs. */
static void reading(void *self, bool wait, uint64_t *made, uint64_t *read)
{
	struct engine *e = (struct engine *)self;

	bs_share_reading(e->share[0].self, wait, made, read);
	for (uint32_t i = 1; i < e->parts; i++) {
		uint64_t m;
		uint64_t r;

		bs_share_reading(e->share[i].self, wait, &m, &r);
		*made = m > *made ? m : *made;
		*read = r < *read ? r : *read;
	}
}

/* True: the shares' own solves are watched, as engine_cuda.cu's. */
static bool is_watched(const struct engine *e, int64_t deadline_ns, const struct bs_report *report)
{
	return e->p->method == BS_METHOD_LS && e->how == BS_SHARING_COILS &&
	       (deadline_ns != INT64_MAX ||
		(report->allowed > 0 && report->allowed < e->p->iterations));
}

/* When a share must be done that is solved after so many others, by the same thread. */
static int64_t turn_end(const struct engine *e, int task)
{
	const int members = bs_team_members(e->team);
	const int turns = ((int)e->parts + members - 1) / members;
	const int64_t now = bs_now_ns();

	return e->deadline_ns == INT64_MAX
		       ? INT64_MAX
		       : now + (e->deadline_ns - now) / (turns - task / members);
}

static void watch_share(void *arg, int task, int member)
{
	struct engine *e = (struct engine *)arg;
	struct share *s = &e->share[task];

	(void)member;
	s->rc = bs_link_enter(e->link, (uint32_t)task, NULL);
	if (s->rc == 0)
		s->rc = bs_share_solve(s->self, turn_end(e, task), &s->report);
}

/* All shares at once, each under the deadline. */
static int solve_watched(struct engine *e, int64_t deadline_ns, const struct bs_report *report)
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

/* The worst of the shares: fewest iterations, largest residual, longest stage. */
static void add_report(struct bs_report *sum, const struct bs_report *r, bool first)
{
	if (first || r->iterations < sum->iterations)
		sum->iterations = r->iterations;
	if (first || r->residual > sum->residual)
		sum->residual = r->residual;
	sum->deadline_stop = r->deadline_stop || (!first && sum->deadline_stop);
	for (int t = BS_BUDGET_UPLOAD; t <= BS_BUDGET_SOLVE; t++)
		if (first || r->stage_ns[t] > sum->stage_ns[t])
			sum->stage_ns[t] = r->stage_ns[t];
}

static int tell(struct engine *e, uint32_t frame, bool watched, struct bs_report *report)
{
	int rc = on_all(e, [=](struct share *s) {
		bs_share_outcome(s->self, frame, watched, &s->report);
		add_report(report, &s->report, s == e->share);
		return 0;
	});

	if (is_joint(e)) {
		report->iterations = e->solved.iterations;
		report->residual = e->solved.residual;
		report->deadline_stop = e->solved.deadline_stop;
		report->stage_ns[BS_BUDGET_SOLVE] =
			bs_cuda_between_ns(e->mark[SUMMED], e->mark[SOLVED]);
	}
	report->stage_ns[BS_BUDGET_COMBINE] =
		bs_cuda_between_ns(e->mark[SOLVED], e->mark[COMBINED]);
	report->stage_ns[BS_BUDGET_DOWNLOAD] =
		bs_cuda_between_ns(e->mark[COMBINED], e->mark[DOWNLOADED]);
	return rc;
}

/* From the coil images on the first GPU, or the solve's, to the caller's. */
static int fetch(struct engine *e, uint32_t frame, bool watched, float *image,
		 struct bs_report *report)
{
	int64_t down_ns;
	int rc = queue_image(e, NULL);

	rc = rc == 0 ? bs_link_wait(e->link, NULL) : bs_link_leave(e->link, rc, NULL);
	if (rc != 0)
		return rc;
	down_ns = bs_now_ns();
	memcpy(image, e->image, (size_t)bs_protocol_image_bytes(e->p));
	down_ns = bs_now_ns() - down_ns;
	rc = tell(e, frame, watched, report);
	report->stage_ns[BS_BUDGET_DOWNLOAD] += down_ns;
	return rc;
}

/* The solve that is not queued yet, where there is one. */
static int solve(struct engine *e, int64_t deadline_ns, const struct bs_report *report)
{
	const uint32_t most = report->allowed > 0 && report->allowed < e->p->iterations
				      ? report->allowed
				      : e->p->iterations;
	int rc = 0;

	if (deadline_ns != INT64_MAX)
		deadline_ns -= e->tail_ns;
	if (is_watched(e, deadline_ns, report))
		rc = solve_watched(e, deadline_ns, report);
	if (rc == 0)
		rc = follow_shares(e, NULL);
	if (rc == 0 && is_joint(e))
		rc = solve_joint(e, most, deadline_ns, NULL);
	return bs_link_leave(e->link, rc, NULL);
}

/* After F^H d has been queued on all GPUs. */
static int complete(struct engine *e, uint32_t frame, int64_t deadline_ns, float *image,
		    struct bs_report *report)
{
	const bool watched = is_watched(e, deadline_ns, report);
	int64_t solved_ns;
	int rc = solve(e, deadline_ns, report);

	if (rc != 0)
		return rc;
	solved_ns = bs_now_ns();
	rc = fetch(e, frame, watched, image, report);
	if (!watched && !is_joint(e)) /* the solves' time is in it */
		return rc;
	solved_ns = bs_now_ns() - solved_ns;
	e->tail_ns -= e->tail_ns / 16;
	e->tail_ns = solved_ns > e->tail_ns ? solved_ns : e->tail_ns;
	return rc;
}

static int finish(void *self, uint32_t frame, int64_t deadline_ns, float *image,
		  struct bs_report *report)
{
	struct engine *e = (struct engine *)self;
	const bool watched = is_watched(e, deadline_ns, report);
	int rc = on_all(e,
			[=](struct share *s) { return bs_share_finish(s->self, frame, watched); });

	return rc != 0 ? rc : complete(e, frame, deadline_ns, image, report);
}

static int fold(void *self, uint32_t frame, uint32_t group)
{
	return on_all((struct engine *)self,
		      [=](struct share *s) { return bs_share_fold(s->self, frame, group); });
}

static int slide(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns, float *image,
		 struct bs_report *report)
{
	struct engine *e = (struct engine *)self;
	const bool watched = is_watched(e, deadline_ns, report);
	int rc = on_all(
		e, [=](struct share *s) { return bs_share_slide(s->self, frame, held, watched); });

	return rc != 0 ? rc : complete(e, frame, deadline_ns, image, report);
}

static int peek(void *self, uint32_t frame, float *image)
{
	struct engine *e = (struct engine *)self;
	struct bs_report unread;
	int rc = on_all(e, [=](struct share *s) { return bs_share_peek(s->self, frame); });

	if (rc == 0)
		rc = bs_link_leave(e->link, follow_shares(e, NULL), NULL);
	return rc != 0 ? rc : fetch(e, frame, false, image, &unread);
}

/* Fields in core/engine.h's order: ... disarm, reading, fold, slide, peek, preview. */
const struct bs_engine bs_engine_gridding_multi = {
	"gridding/cuda", need, arm, begin, add, finish, disarm, reading, fold, slide, peek, NULL,
};

const struct bs_engine bs_engine_ls_multi = {
	"ls/cuda", ls_need, arm,  begin, add,  finish,
	disarm,    reading, fold, slide, NULL, &bs_engine_gridding_multi,
};

const struct bs_engine bs_engine_sense_multi = {
	"sense/cuda", ls_need, arm,  begin, add,  finish,
	disarm,       reading, fold, slide, NULL, &bs_engine_gridding_multi,
};

/* Slabs: there is one coil, so the preview's gridding is the first GPU's. */
const struct bs_engine bs_engine_slabs_multi = {
	"ls/cuda", ls_need, arm,  begin, add,  finish,
	disarm,    reading, fold, slide, NULL, &bs_engine_gridding_cuda,
};
