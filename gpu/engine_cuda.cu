/*
 * gpu/engine_cuda.cu - direct methods on the device as engines: "gridding/cuda", "cartesian/cuda"
 *
 * A readout is copied into pinned memory and uploaded while the scan goes on; what the operator can do
 * early follows it on the same stream. After the last readout: one graph launch, whose end is the
 * image in pinned memory. One stream, so frames share all buffers but their samples.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "gpu/cuda_operator.h"
#include "gpu/cudacheck.h"
#include "gpu/density.h"
#include "gpu/engines.h"
#include "gpu/nufft_cuda.h"
#include "gpu/nufft_tune.h"
#include "gpu/partial_cuda.h"
#include "gpu/stream.h"

enum mark { UPLOADING, UPLOADED, SUMMED, COMBINED, DOWNLOADED, MARKS };

struct engine {
	const struct bs_protocol *p;
	const struct bs_cuda_operator *method;
	void *op;
	struct bs_devmem mem;
	unsigned char *pinned; /* of the arena, registered */
	float *readouts;       /* pinned: [frame][row][coil][sample] complex */
	float *image;          /* pinned */
	float2 *coil_images;   /* device */
	float *out;            /* device */
	const float2 *maps;    /* device, or NULL */
	struct bs_partial_cuda window;
	uint32_t frames;
	cudaStream_t stream;
	cudaGraphExec_t *finish; /* one a frame */
	cudaEvent_t mark[MARKS]; /* passed by the stream, for the report's stages */
	bool unmarked;           /* a driver that refuses them in a graph */
};

static uint64_t readout_bytes(const struct bs_protocol *p)
{
	return (uint64_t)p->samples * p->coils * 8;
}

static uint64_t maps_bytes(const struct bs_protocol *p)
{
	return p->combine == BS_COMBINE_SENSE ? bs_protocol_voxels(p) * p->coils * 8 : 0;
}

/* Host memory, page-locked when armed. */
static uint64_t pinned_bytes(const struct bs_cuda_operator *m, const struct bs_protocol *p)
{
	const uint64_t image = (bs_protocol_image_bytes(p) + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN;

	return image + readout_bytes(p) * m->rows(p) * p->slices * p->contrasts;
}

static int device_need(const struct bs_cuda_operator *m, const struct bs_protocol *p,
		       struct bs_need *need, struct bs_fail *why)
{
	memset(need, 0, sizeof(*need));
	bs_need_add(need, "device coil images", 1,
		    bs_devmem_round(bs_protocol_voxels(p) * p->coils * 8));
	bs_need_add(need, "device image", 1, bs_devmem_round(bs_protocol_image_bytes(p)));
	bs_need_add(need, "device sensitivities", 1, bs_devmem_round(maps_bytes(p)));
	bs_need_add(need, "device window", 1, bs_partial_cuda_bytes(p));
	return m->need(p, need, why);
}

static int need_of(const struct bs_cuda_operator *m, const struct bs_protocol *p,
		   struct bs_need *need, struct bs_fail *why)
{
	struct bs_need device;
	int rc = bs_partial_cuda_check(p, why);

	if (rc == 0)
		rc = device_need(m, p, &device, why);
	if (rc != 0)
		return rc;
	if (device.overflow)
		return bs_fail(why, BS_ERR_NOMEM,
			       "protocol '%s': its device memory does not fit 64 bits", p->name);
	bs_need_add(need, "pinned readouts and image", 1, pinned_bytes(m, p));
	return 0;
}

static void disarm(void *self)
{
	struct engine *e = (struct engine *)self;

	if (e->stream != NULL)
		(void)cudaStreamSynchronize(e->stream);
	for (uint32_t f = 0; e->finish != NULL && f < e->frames; f++)
		if (e->finish[f] != NULL)
			(void)cudaGraphExecDestroy(e->finish[f]);
	free(e->finish);
	for (int i = 0; i < MARKS; i++)
		if (e->mark[i] != NULL)
			(void)cudaEventDestroy(e->mark[i]);
	if (e->op != NULL)
		e->method->close(e->op);
	if (e->stream != NULL)
		(void)cudaStreamDestroy(e->stream);
	if (e->pinned != NULL)
		(void)cudaHostUnregister(e->pinned);
	bs_partial_cuda_close(&e->window);
	bs_devmem_close(&e->mem);
	free(e);
}

/* flag: cudaEventRecordExternal while a graph is captured, so that each launch of it records anew. */
static int pass(struct engine *e, enum mark m, unsigned flag, struct bs_fail *why)
{
	if (e->unmarked)
		return 0;
	BS_CUDA(cudaEventRecordWithFlags(e->mark[m], e->stream, flag), why);
	return 0;
}

/* From coil images to the image in pinned memory. */
static int queue_image(struct engine *e, unsigned flag, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	int rc = pass(e, SUMMED, flag, why);

	if (rc == 0)
		rc = bs_combine_cuda(p->combine, p->output, p->coils, bs_protocol_voxels(p),
				     e->coil_images, e->maps, e->out, e->stream, why);
	if (rc == 0)
		rc = pass(e, COMBINED, flag, why);
	if (rc == 0)
		BS_CUDA(cudaMemcpyAsync(e->image, e->out, (size_t)bs_protocol_image_bytes(p),
					cudaMemcpyDeviceToHost, e->stream),
			why);
	return rc != 0 ? rc : pass(e, DOWNLOADED, flag, why);
}

static int queue_finish(struct engine *e, uint32_t frame, unsigned flag, struct bs_fail *why)
{
	int rc = e->method->finish(e->op, frame, e->coil_images, e->stream, why);

	return rc != 0 ? rc : queue_image(e, flag, why);
}

/* A window's group, then its image: what fold and slide queue. */
static int queue_window(struct engine *e, uint32_t frame, uint32_t group, const uint8_t *held,
			struct bs_fail *why)
{
	int rc = e->method->part(e->op, frame, group,
				 (float2 *)bs_partial_cuda_write(&e->window, frame, group),
				 e->stream, why);

	if (rc == 0)
		rc = bs_partial_cuda_sum(&e->window, frame, held, (float *)e->coil_images,
					 e->stream, why);
	return rc != 0 ? rc : queue_image(e, cudaEventRecordDefault, why);
}

/* Everything that a window launches, once, so that no kernel is loaded later. */
static int try_window(struct engine *e, uint32_t frame, struct bs_fail *why)
{
	uint8_t *held = (uint8_t *)calloc(e->window.groups, 1);
	int rc = held == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': groups", e->p->name)
			      : e->method->begin(e->op, frame, e->stream, why);

	for (uint32_t g = 0; rc == 0 && g < e->window.groups; g++) {
		held[g] = 1;
		rc = queue_window(e, frame, g, held, why);
	}
	free(held);
	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(e->stream), why);
	return rc;
}

/* What finish queues, as a graph that is ready to be launched. */
static int capture(struct engine *e, uint32_t frame, struct bs_fail *why)
{
	cudaGraph_t graph = NULL;
	int rc;

	BS_CUDA(cudaStreamBeginCapture(e->stream, cudaStreamCaptureModeThreadLocal), why);
	rc = queue_finish(e, frame, cudaEventRecordExternal, why);
	cudaError_t end = cudaStreamEndCapture(e->stream, &graph);

	if (rc == 0)
		BS_CUDA_GO(end, why, rc, out);
	if (rc == 0)
		BS_CUDA_GO(cudaGraphInstantiate(&e->finish[frame], graph, 0), why, rc, out);
	if (rc == 0)
		BS_CUDA_GO(cudaGraphUpload(e->finish[frame], e->stream), why, rc, out);
	if (rc == 0)
		BS_CUDA_GO(cudaStreamSynchronize(e->stream), why, rc, out);
out:
	if (graph != NULL)
		(void)cudaGraphDestroy(graph);
	return rc;
}

/* Everything once for real, so that no kernel is loaded later; then as a graph. */
static int record(struct engine *e, uint32_t frame, struct bs_fail *why)
{
	int rc = e->method->begin(e->op, frame, e->stream, why);

	if (rc == 0)
		rc = e->method->settle(e->op, frame, e->stream, why);
	if (rc == 0)
		rc = queue_finish(e, frame, cudaEventRecordDefault, why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaStreamSynchronize(e->stream), why);
	rc = capture(e, frame, why);
	if (rc == 0 || e->unmarked)
		return rc;
	bs_log(BS_LOG_WARN, "protocol '%s': stages are not timed: %s", e->p->name,
	       why != NULL ? why->text : bs_err_name(rc));
	(void)cudaGetLastError();
	e->unmarked = true;
	return capture(e, frame, why);
}

static int take_memory(struct engine *e, const struct bs_tables *tables,
		       const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const size_t bytes = (size_t)pinned_bytes(e->method, p);
	struct bs_need need;
	int rc = device_need(e->method, p, &need, why);

	if (rc == 0)
		rc = bs_devmem_open(&e->mem, need.total_bytes, p->name, why);
	if (rc != 0)
		return rc;
	e->coil_images = (float2 *)bs_devmem_take(&e->mem, bs_protocol_voxels(p) * p->coils * 8);
	e->out = (float *)bs_devmem_take(&e->mem, bs_protocol_image_bytes(p));
	float2 *maps = (float2 *)bs_devmem_take(&e->mem, maps_bytes(p));
	unsigned char *host = (unsigned char *)bs_arena_take(env->arena, bytes, BS_ALIGN);

	if (e->coil_images == NULL || e->out == NULL || maps == NULL || host == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images and readouts", p->name);
	if (maps_bytes(p) > 0) {
		BS_CUDA(cudaMemcpy(maps, tables->maps, maps_bytes(p), cudaMemcpyHostToDevice), why);
		e->maps = maps;
	}
	BS_CUDA(cudaHostRegister(host, bytes, cudaHostRegisterDefault), why);
	e->pinned = host;
	e->image = (float *)host;
	e->readouts =
		(float *)(host + (bs_protocol_image_bytes(p) + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN);
	return 0;
}

static int arm(const struct bs_cuda_operator *m, void **self, const struct bs_protocol *p,
	       const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	struct engine *e = (struct engine *)calloc(1, sizeof(*e));
	int rc;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->method = m;
	e->frames = p->slices * p->contrasts;
	e->finish = (cudaGraphExec_t *)calloc(e->frames, sizeof(*e->finish));
	rc = e->finish == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': frames", p->name)
			       : take_memory(e, tables, env, why);
	if (rc == 0)
		rc = bs_partial_cuda_open(&e->window, p, &e->mem, why);
	if (rc == 0)
		rc = m->plan(&e->op, p, tables, env->team, &e->mem, why);
	e->mem.sealed = true;
	if (rc == 0)
		rc = bs_stream_open(&e->stream, why);
	for (int i = 0; rc == 0 && i < MARKS; i++)
		BS_CUDA_GO(cudaEventCreate(&e->mark[i]), why, rc, fail);
	for (uint32_t f = 0; rc == 0 && f < e->frames; f++)
		rc = e->window.groups > 0 ? try_window(e, f, why) : record(e, f, why);
	if (rc == 0 && p->preview_every > 0 && m->peek != NULL) {
		rc = m->peek(e->op, 0, e->coil_images, e->stream, why);
		if (rc == 0)
			BS_CUDA_GO(cudaStreamSynchronize(e->stream), why, rc, fail);
	}
	if (rc != 0)
		goto fail;
	*self = e;
	return 0;
fail:
	disarm(e);
	return rc;
}

static int begin(void *self, uint32_t frame)
{
	struct engine *e = (struct engine *)self;

	/* a frame that was given up may still be on its way out of pinned memory */
	BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
	return e->method->begin(e->op, frame, e->stream, NULL);
}

static int add(void *self, uint32_t frame, uint32_t readout, const float *data, size_t coil_stride)
{
	struct engine *e = (struct engine *)self;
	const struct bs_protocol *p = e->p;
	const size_t row = (size_t)p->samples * 8;
	const uint64_t rows = e->method->rows(p);
	float *from = e->readouts + ((uint64_t)frame * rows + readout) * p->samples * p->coils * 2;
	float2 *to = e->method->samples(e->op, frame) + (uint64_t)readout * p->samples;

	for (uint32_t c = 0; c < p->coils; c++)
		memcpy(from + 2ull * c * p->samples, data + 2ull * c * coil_stride, row);
	BS_CUDA(cudaEventRecord(e->mark[UPLOADING], e->stream), NULL);
	BS_CUDA(cudaMemcpy2DAsync(to, e->method->coil_step(p) * 8, from, row, row, p->coils,
				  cudaMemcpyHostToDevice, e->stream),
		NULL);
	BS_CUDA(cudaEventRecord(e->mark[UPLOADED], e->stream), NULL);
	if (e->window.groups > 0) /* a group is gridded as a whole */
		return 0;
	return e->method->arrived(e->op, frame, readout, e->stream, NULL);
}

static int wait_image(struct engine *e, float *image, struct bs_report *report)
{
	int64_t down_ns;

	BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
	down_ns = bs_now_ns();
	memcpy(image, e->image, (size_t)bs_protocol_image_bytes(e->p));
	down_ns = bs_now_ns() - down_ns;
	report->stage_ns[BS_BUDGET_UPLOAD] =
		bs_cuda_between_ns(e->mark[UPLOADING], e->mark[UPLOADED]);
	report->stage_ns[BS_BUDGET_ACCUMULATE] =
		bs_cuda_between_ns(e->mark[UPLOADED], e->mark[SUMMED]);
	report->stage_ns[BS_BUDGET_COMBINE] =
		bs_cuda_between_ns(e->mark[SUMMED], e->mark[COMBINED]);
	report->stage_ns[BS_BUDGET_DOWNLOAD] =
		bs_cuda_between_ns(e->mark[COMBINED], e->mark[DOWNLOADED]) + down_ns;
	return 0;
}

static int finish(void *self, uint32_t frame, int64_t deadline_ns, float *image,
		  struct bs_report *report)
{
	struct engine *e = (struct engine *)self;
	int rc = e->method->settle(e->op, frame, e->stream, NULL);

	(void)deadline_ns; /* a direct method: nothing could be left out */
	if (rc != 0)
		return rc;
	BS_CUDA(cudaGraphLaunch(e->finish[frame], e->stream), NULL);
	return wait_image(e, image, report);
}

/* Queued, not waited for: begin and slide wait. */
static int fold(void *self, uint32_t frame, uint32_t group)
{
	struct engine *e = (struct engine *)self;

	return e->method->part(e->op, frame, group,
			       (float2 *)bs_partial_cuda_write(&e->window, frame, group), e->stream,
			       NULL);
}

static int slide(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns, float *image,
		 struct bs_report *report)
{
	struct engine *e = (struct engine *)self;
	int rc = bs_partial_cuda_sum(&e->window, frame, held, (float *)e->coil_images, e->stream,
				     NULL);

	(void)deadline_ns;
	if (rc == 0)
		rc = queue_image(e, cudaEventRecordDefault, NULL);
	return rc != 0 ? rc : wait_image(e, image, report);
}

static int peek(void *self, uint32_t frame, float *image)
{
	struct engine *e = (struct engine *)self;
	struct bs_report unread;
	int rc = e->method->peek(e->op, frame, e->coil_images, e->stream, NULL);

	if (rc == 0)
		rc = queue_image(e, cudaEventRecordDefault, NULL);
	return rc != 0 ? rc : wait_image(e, image, &unread);
}

/* ---- gridding ----------------------------------------------------------------------------- */

static uint64_t grid_coil_step(const struct bs_protocol *p)
{
	return bs_protocol_samples(p);
}

static uint32_t grid_rows(const struct bs_protocol *p)
{
	return p->readouts;
}

/* As the host's, but a window's group is one chunk: it is small, and needs no grid of its own. */
struct bs_nufft_spec bs_gridding_cuda_spec(const struct bs_protocol *p)
{
	struct bs_nufft_spec s = bs_gridding_spec(p);

	if (p->frame_step > 0)
		s.chunk = s.part;
	return s;
}

#define TUNE_SECONDS 5.0 /* at the first arm; boreside arm gives more */

/* What was measured for the protocol that is being armed; need and plan must see the same. */
static struct bs_tune chosen;
static const struct bs_protocol *chosen_for;

/* Without a cache nothing is measured: every start would cost that time again. */
static void choose(const struct bs_protocol *p, const float *k, const char *cache_dir)
{
	const struct bs_nufft_spec s = bs_gridding_cuda_spec(p);
	struct bs_tuning *t = (struct bs_tuning *)calloc(1, sizeof(*t));
	struct bs_fail why;

	chosen_for = NULL;
	if (t != NULL && cache_dir != NULL && cache_dir[0] != '\0') {
		if (bs_nufft_tuned(t, &s, k, cache_dir, TUNE_SECONDS, &why) == 0) {
			chosen = t->trial[t->best].tune;
			chosen_for = p;
		} else {
			bs_log(BS_LOG_WARN, "protocol '%s': variants not measured: %s", p->name,
			       why.text);
		}
	}
	free(t);
}

static struct bs_nufft_spec grid_spec(const struct bs_protocol *p)
{
	struct bs_nufft_spec s = bs_gridding_cuda_spec(p);

	s.tune = p == chosen_for ? &chosen : NULL;
	return s;
}

static int grid_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	const struct bs_nufft_spec s = grid_spec(p);

	return bs_nufft_cuda_need(&s, need, why);
}

struct gridding {
	struct bs_nufft_cuda *nufft;
	uint32_t samples; /* of a readout */
};

static void grid_close(void *op)
{
	bs_nufft_cuda_close(((struct gridding *)op)->nufft);
	free(op);
}

static int grid_plan(void **op, const struct bs_protocol *p, const struct bs_tables *tables,
		     struct bs_team *team, struct bs_devmem *mem, struct bs_fail *why)
{
	const struct bs_nufft_spec s = grid_spec(p);
	struct gridding *g = (struct gridding *)calloc(1, sizeof(*g));
	float *weight = (float *)malloc((size_t)s.samples * sizeof(*weight));
	int rc;

	if (g == NULL || weight == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': density weights", p->name);
	else
		rc = bs_density(weight, p, tables->traj, tables->weight, team, why);
	if (rc == 0)
		rc = bs_nufft_cuda_plan(&g->nufft, &s, tables->traj->k, weight, mem, why);
	free(weight);
	if (rc != 0) {
		free(g);
		return rc;
	}
	g->samples = p->samples;
	*op = g;
	return 0;
}

static float2 *grid_samples(void *op, uint32_t frame)
{
	return (float2 *)bs_nufft_cuda_samples(((struct gridding *)op)->nufft, frame);
}

static int grid_begin(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	return bs_nufft_cuda_begin(((struct gridding *)op)->nufft, frame, stream, why);
}

static int grid_arrived(void *op, uint32_t frame, uint32_t row, cudaStream_t stream,
			struct bs_fail *why)
{
	const struct gridding *g = (const struct gridding *)op;

	return bs_nufft_cuda_arrived(g->nufft, frame, (uint64_t)row * g->samples, g->samples,
				     stream, why);
}

static int grid_settle(void *op, uint32_t frame, cudaStream_t stream, struct bs_fail *why)
{
	return bs_nufft_cuda_settle(((struct gridding *)op)->nufft, frame, stream, why);
}

static int grid_finish(void *op, uint32_t frame, float2 *image, cudaStream_t stream,
		       struct bs_fail *why)
{
	return bs_nufft_cuda_finish(((struct gridding *)op)->nufft, frame, (float *)image, stream,
				    why);
}

static int grid_part(void *op, uint32_t frame, uint32_t group, float2 *image, cudaStream_t stream,
		     struct bs_fail *why)
{
	return bs_nufft_cuda_part(((struct gridding *)op)->nufft, frame, group, (float *)image,
				  stream, why);
}

static int grid_peek(void *op, uint32_t frame, float2 *image, cudaStream_t stream,
		     struct bs_fail *why)
{
	return bs_nufft_cuda_peek(((struct gridding *)op)->nufft, frame, (float *)image, stream,
				  why);
}

const struct bs_cuda_operator bs_cuda_gridding = {
	grid_coil_step, grid_rows,    grid_need,   grid_plan,   grid_close, grid_samples,
	grid_begin,     grid_arrived, grid_settle, grid_finish, grid_part,  grid_peek,
};

/* ---- the two engines ---------------------------------------------------------------------- */

static int gridding_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	return need_of(&bs_cuda_gridding, p, need, why);
}

static int gridding_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
			const struct bs_arm_env *env, struct bs_fail *why)
{
	int rc;

	choose(p, tables->traj->k, env->cache_dir);
	rc = arm(&bs_cuda_gridding, self, p, tables, env, why);
	if (rc == 0 || chosen_for == NULL)
		return rc;
	/* it may want more memory than is left beside other protocols */
	bs_log(BS_LOG_WARN, "protocol '%s': not with the measured variant: %s", p->name, why->text);
	chosen_for = NULL;
	return arm(&bs_cuda_gridding, self, p, tables, env, why);
}

static int cartesian_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	return need_of(&bs_cuda_cartesian, p, need, why);
}

static int cartesian_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
			 const struct bs_arm_env *env, struct bs_fail *why)
{
	return arm(&bs_cuda_cartesian, self, p, tables, env, why);
}

const struct bs_engine bs_engine_gridding_cuda = {
	"gridding/cuda", gridding_need, gridding_arm, begin, add,  finish,
	disarm,          fold,          slide,        peek,  NULL,
};

const struct bs_engine bs_engine_cartesian_cuda = {
	"cartesian/cuda", cartesian_need, cartesian_arm, begin, add,  finish,
	disarm,           NULL,           NULL,          NULL,  NULL,
};
