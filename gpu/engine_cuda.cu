/*
 * gpu/engine_cuda.cu - all methods on the device as engines: an operator (gpu/cuda_operator.h), for ls and
 * sense a solver behind it (gpu/solver_cuda.h), combination, and the way of the data there and back
 *
 * Readouts go up on a stream of their own, straight from the shared pool where they lie in it (the
 * caller leaves them there until `reading` says that they are up), else through pinned memory; the
 * operator's work follows each on the other stream, while the scan goes on. With gpu memory
 * "mapped" nothing goes up: a readout is copied into page-locked memory that the kernels read in place,
 * and the image is written there. After the last readout: one graph launch, whose end is the image in
 * pinned memory; a solver under a deadline is watched from the host between its iterations, and one
 * whose graph would be too large is launched in two. One stream computes, so frames share all
 * buffers but their samples.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "gpu/cuda_operator.h"
#include "gpu/cudacheck.h"
#include "gpu/engines.h"
#include "gpu/partial_cuda.h"
#include "gpu/share_cuda.h"
#include "gpu/solver_cuda.h"
#include "gpu/stream.h"

#define DEPTH 64u /* uploads under way at most */

/* Launches that all frames' graphs of a protocol may hold together: above, the solve is one of its own,
 * and a frame's own part, FRAME_LAUNCHES at most, is queued as it is. */
#define GRAPH_MOST     UINT64_C(40000)
#define FRAME_LAUNCHES UINT64_C(16)

/* What is queued after the last readout: F^H d's rest; the solves; combination and download. */
enum { PART_SUM = 1, PART_SOLVE = 2, PART_IMAGE = 4, PART_ALL = 7 };

/* Passed by the streams, for the report's stages, which lie in this order. */
enum mark { UPLOADING, UPLOADED, SUMMED, SOLVED, COMBINED, DOWNLOADED, MARKS };

struct engine {
	const struct bs_protocol *p;
	const struct bs_cuda_operator *method;
	bool share; /* of a scan on several GPUs: it ends with the coil images (gpu/share_cuda.h) */
	void *op;
	struct bs_solver_cuda *solver; /* NULL: a direct method */
	struct bs_devmem mem;
	unsigned char *pinned; /* of the arena, registered: image, then staging or samples */
	unsigned char *pinned_dev;
	const unsigned char *pool; /* registered, or NULL */
	size_t pool_bytes;
	float *image;   /* pinned */
	float *staging; /* pinned, [DEPTH] readouts; NULL: mapped */
	bool mapped;
	float2 *coil_images; /* device */
	float *out;          /* as the device addresses it */
	const float2 *maps;  /* device, or NULL */
	struct bs_partial_cuda window;
	uint32_t frames;
	cudaStream_t stream, up;
	cudaEvent_t sent[DEPTH], cleared, mark[MARKS];
	bool unmarked; /* a driver that refuses them in a graph */
	int64_t tail_ns; /* from solved to image: the longest of late, fading; kept free before the deadline */
	uint64_t made, read; /* adds; those whose upload is known to have ended */
	bool *added;         /* [frame]: since it was begun */
	cudaGraphExec_t
		*finish;      /* [frame]: all that is left, or its first part; NULL: not recorded */
	cudaGraphExec_t *sum; /* [frame], under a deadline: F^H d's rest */
	cudaGraphExec_t tail; /* solves and image, where finish does not hold them */
	cudaGraphExec_t combine; /* image alone, under a deadline */
};

static uint64_t up_to_line(uint64_t bytes)
{
	return (bytes + BS_DEV_ALIGN - 1) / BS_DEV_ALIGN * BS_DEV_ALIGN;
}

static uint64_t readout_bytes(const struct bs_protocol *p)
{
	return (uint64_t)p->samples * p->coils * 8;
}

static uint64_t maps_bytes(const struct bs_protocol *p)
{
	return p->combine == BS_COMBINE_SENSE || p->method == BS_METHOD_SENSE
		       ? bs_protocol_voxels(p) * p->coils * 8
		       : 0;
}

static bool is_mapped(const struct bs_protocol *p)
{
	return p->gpu_memory == BS_GPU_MEMORY_MAPPED ||
	       (p->gpu_memory == BS_GPU_MEMORY_AUTO && bs_gpu_integrated());
}

/* Readouts of all frames, as the operators take them. */
static uint64_t samples_bytes(const struct bs_cuda_operator *m, const struct bs_protocol *p)
{
	return bs_devmem_round(m->coil_step(p) * p->coils * 8) * p->slices * p->contrasts;
}

static uint64_t image_bytes(const struct bs_protocol *p, bool share)
{
	return share ? 0 : bs_protocol_image_bytes(p);
}

/* Host memory, page-locked when armed. */
static uint64_t pinned_bytes(const struct bs_cuda_operator *m, const struct bs_protocol *p,
			     bool share)
{
	return BS_DEV_ALIGN + up_to_line(image_bytes(p, share)) +
	       (is_mapped(p) ? samples_bytes(m, p) : DEPTH * readout_bytes(p));
}

/* Device memory without the solver's, whose W the protocol alone does not tell. */
static int device_need(const struct bs_cuda_operator *m, const struct bs_protocol *p, bool share,
		       struct bs_need *need, struct bs_fail *why)
{
	memset(need, 0, sizeof(*need));
	bs_need_add(need, "device coil images", 1,
		    bs_devmem_round(bs_protocol_voxels(p) * p->coils * 8));
	bs_need_add(need, "device image", 1, bs_devmem_round(image_bytes(p, share)));
	bs_need_add(need, "device sensitivities", 1, bs_devmem_round(maps_bytes(p)));
	bs_need_add(need, "device window", 1, bs_partial_cuda_bytes(p));
	return m->need(p, need, why);
}

static int need_of(const struct bs_cuda_operator *m, const struct bs_protocol *p, bool share,
		   struct bs_need *need, struct bs_fail *why)
{
	struct bs_need device;
	int rc = bs_partial_cuda_check(p, why);

	if (rc == 0)
		rc = device_need(m, p, share, &device, why);
	if (rc != 0)
		return rc;
	if (device.overflow)
		return bs_fail(why, BS_ERR_NOMEM,
			       "protocol '%s': its device memory does not fit 64 bits", p->name);
	bs_need_add(need, "pinned readouts and image", 1, pinned_bytes(m, p, share));
	return 0;
}

/* ---- arming ----------------------------------------------------------------------------------- */

static void destroy(cudaGraphExec_t graph)
{
	if (graph != NULL)
		(void)cudaGraphExecDestroy(graph);
}

static void disarm(void *self)
{
	struct engine *e = (struct engine *)self;

	if (e->up != NULL)
		(void)cudaStreamSynchronize(e->up);
	if (e->stream != NULL)
		(void)cudaStreamSynchronize(e->stream);
	for (uint32_t f = 0; f < e->frames; f++) {
		destroy(e->finish != NULL ? e->finish[f] : NULL);
		destroy(e->sum != NULL ? e->sum[f] : NULL);
	}
	destroy(e->tail);
	destroy(e->combine);
	free(e->finish);
	free(e->sum);
	free(e->added);
	bs_solver_cuda_close(e->solver);
	if (e->op != NULL)
		e->method->close(e->op);
	for (uint32_t i = 0; i < DEPTH; i++)
		if (e->sent[i] != NULL)
			(void)cudaEventDestroy(e->sent[i]);
	for (int i = 0; i < MARKS; i++)
		if (e->mark[i] != NULL)
			(void)cudaEventDestroy(e->mark[i]);
	if (e->cleared != NULL)
		(void)cudaEventDestroy(e->cleared);
	if (e->up != NULL)
		(void)cudaStreamDestroy(e->up);
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
	const bool one = p->method == BS_METHOD_SENSE;
	int rc = pass(e, SOLVED, flag, why);

	if (e->share)
		return rc;
	if (rc == 0)
		rc = bs_combine_cuda(one ? BS_COMBINE_NONE : p->combine, p->output,
				     one ? 1 : p->coils, bs_protocol_voxels(p), e->coil_images,
				     e->maps, e->out, e->stream, why);
	if (rc == 0)
		rc = pass(e, COMBINED, flag, why);
	if (rc == 0 && !e->mapped)
		BS_CUDA(cudaMemcpyAsync(e->image, e->out, (size_t)bs_protocol_image_bytes(p),
					cudaMemcpyDeviceToHost, e->stream),
			why);
	return rc != 0 ? rc : pass(e, DOWNLOADED, flag, why);
}

/* What is left, whole or in part, for real or into a graph. */
static int queue_parts(struct engine *e, uint32_t frame, unsigned parts, unsigned flag,
		       struct bs_fail *why)
{
	int rc = 0;

	if (parts & PART_SUM) {
		rc = e->method->finish(e->op, frame, e->coil_images, e->stream, why);
		if (rc == 0)
			rc = pass(e, SUMMED, flag, why);
	}
	if (rc == 0 && (parts & PART_SOLVE) && e->solver != NULL)
		rc = bs_solver_cuda_queue(e->solver, e->coil_images, e->stream, why);
	if (rc == 0 && (parts & PART_IMAGE))
		rc = queue_image(e, flag, why);
	return rc;
}

static int capture(struct engine *e, uint32_t frame, unsigned parts, cudaGraphExec_t *exec,
		   struct bs_fail *why)
{
	cudaGraph_t graph = NULL;
	int rc;

	BS_CUDA(cudaStreamBeginCapture(e->stream, cudaStreamCaptureModeThreadLocal), why);
	rc = queue_parts(e, frame, parts, cudaEventRecordExternal, why);
	cudaError_t end = cudaStreamEndCapture(e->stream, &graph);

	if (rc == 0)
		BS_CUDA_GO(end, why, rc, out);
	if (rc == 0)
		BS_CUDA_GO(cudaGraphInstantiate(exec, graph, 0), why, rc, out);
	if (rc == 0)
		BS_CUDA_GO(cudaGraphUpload(*exec, e->stream), why, rc, out);
	if (rc == 0)
		BS_CUDA_GO(cudaStreamSynchronize(e->stream), why, rc, out);
out:
	if (graph != NULL)
		(void)cudaGraphDestroy(graph);
	if (rc != 0) {
		destroy(*exec);
		*exec = NULL;
		(void)cudaGetLastError(); /* of a capture that its own first error ended */
	}
	return rc;
}

/* Without marks where the driver refuses them; what fails that way, too, fails for its first reason. */
static int record(struct engine *e, uint32_t frame, unsigned parts, cudaGraphExec_t *exec,
		  struct bs_fail *why)
{
	struct bs_fail again;
	int rc = capture(e, frame, parts, exec, why);

	if (rc == 0 || e->unmarked)
		return rc;
	e->unmarked = true;
	if (capture(e, frame, parts, exec, &again) != 0)
		return rc;
	bs_log(BS_LOG_WARN, "protocol '%s': stages are not timed: %s", e->p->name, why->text);
	return 0;
}

/* A graph a frame (two, where a solver may be watched); with too many frames none. */
static int record_frame(struct engine *e, uint32_t f, bool split, struct bs_fail *why)
{
	const bool graphs = e->frames * FRAME_LAUNCHES <= GRAPH_MOST;
	int rc = 0;

	if (f > 0 && !graphs)
		return 0;
	rc = e->method->begin(e->op, f, e->stream, why);
	if (rc == 0)
		rc = e->method->settle(e->op, f, e->stream, why);
	if (rc == 0 && f == 0)
		rc = queue_parts(e, f, PART_ALL, cudaEventRecordDefault, why);
	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(e->stream), why);
	if (!graphs)
		return rc;
	if (rc == 0)
		rc = record(e, f, split ? (unsigned)PART_SUM : (unsigned)PART_ALL, &e->finish[f],
			    why);
	if (rc == 0 && e->solver != NULL && !split)
		rc = record(e, f, PART_SUM, &e->sum[f], why);
	return rc;
}

/* Everything that a window launches, once. */
static int try_window(struct engine *e, uint32_t frame, struct bs_fail *why)
{
	uint8_t *held = (uint8_t *)calloc(e->window.groups, 1);
	int rc = held == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': groups", e->p->name)
			      : e->method->begin(e->op, frame, e->stream, why);

	for (uint32_t g = 0; rc == 0 && g < e->window.groups; g++) {
		held[g] = 1;
		rc = e->method->part(e->op, frame, g,
				     (float2 *)bs_partial_cuda_write(&e->window, frame, g),
				     e->stream, why);
		if (rc == 0)
			rc = bs_partial_cuda_sum(&e->window, frame, held, (float *)e->coil_images,
						 e->stream, why);
	}
	free(held);
	if (rc == 0)
		rc = queue_parts(e, frame, PART_SOLVE | PART_IMAGE, cudaEventRecordDefault, why);
	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(e->stream), why);
	return rc;
}

/* Everything once for real, so that no kernel is loaded later; then as graphs. */
static int record_all(struct engine *e, struct bs_fail *why)
{
	const bool window = e->window.groups > 0;
	const bool split = e->solver != NULL &&
			   (window || (FRAME_LAUNCHES + bs_solver_cuda_launches(e->p)) * e->frames >
					      GRAPH_MOST);
	int rc = bs_cuda_copied(why);

	for (uint32_t f = 0; rc == 0 && f < e->frames; f++)
		rc = window ? try_window(e, f, why) : record_frame(e, f, split, why);
	if (rc == 0 && (split || (window && !e->share)))
		rc = record(e, 0, PART_SOLVE | PART_IMAGE, &e->tail, why);
	if (rc == 0 && e->solver != NULL && !e->share)
		rc = record(e, 0, PART_IMAGE, &e->combine, why);
	if (rc == 0 && e->p->preview_every > 0 && e->method->peek != NULL) {
		rc = e->method->peek(e->op, 0, e->coil_images, e->stream, why);
		if (rc == 0)
			BS_CUDA(cudaStreamSynchronize(e->stream), why);
	}
	return rc;
}

static int take_pinned(struct engine *e, const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	const size_t bytes = (size_t)pinned_bytes(e->method, p, e->share);
	const size_t image = (size_t)up_to_line(image_bytes(p, e->share));
	unsigned char *host = (unsigned char *)bs_arena_take(env->arena, bytes, BS_ALIGN);
	void *dev = NULL;

	if (host == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': readouts and image", p->name);
	BS_CUDA(cudaHostRegister(host, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable),
		why);
	e->pinned = host;
	BS_CUDA(cudaHostGetDevicePointer(&dev, host, 0), why);
	e->pinned_dev = (unsigned char *)dev;
	const size_t skip = (size_t)(up_to_line((uintptr_t)host) - (uintptr_t)host);

	e->image = (float *)(host + skip);
	if (e->mapped) {
		e->mem.mapped = e->pinned_dev + skip + image;
		e->mem.mapped_size = (size_t)samples_bytes(e->method, p);
		e->out = (float *)(e->pinned_dev + skip);
	} else {
		e->staging = (float *)(host + skip + image);
		if (env->pool != NULL && bs_gpu_share(env->pool, env->pool_bytes)) {
			e->pool = (const unsigned char *)env->pool;
			e->pool_bytes = env->pool_bytes;
		}
	}
	return 0;
}

static int take_memory(struct engine *e, const struct bs_tables *tables,
		       const struct bs_arm_env *env, uint64_t more, struct bs_fail *why)
{
	const struct bs_protocol *p = e->p;
	struct bs_need need;
	int rc = device_need(e->method, p, e->share, &need, why);

	if (rc == 0)
		rc = bs_devmem_open(&e->mem,
				    need.total_bytes + more -
					    (e->mapped ? samples_bytes(e->method, p) : 0),
				    p->name, why);
	if (rc == 0)
		rc = take_pinned(e, env, why);
	if (rc != 0)
		return rc;
	e->coil_images = (float2 *)bs_devmem_take(&e->mem, bs_protocol_voxels(p) * p->coils * 8);
	float *out = (float *)bs_devmem_take(&e->mem, image_bytes(p, e->share));
	float2 *maps = (float2 *)bs_devmem_take(&e->mem, maps_bytes(p));

	if (e->coil_images == NULL || out == NULL || maps == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': images", p->name);
	if (!e->mapped)
		e->out = out;
	if (maps_bytes(p) == 0)
		return 0;
	if (tables->maps == NULL)
		return bs_fail(why, BS_ERR_CONFIG, "protocol '%s': no sensitivity maps", p->name);
	BS_CUDA(cudaMemcpy(maps, tables->maps, maps_bytes(p), cudaMemcpyHostToDevice), why);
	e->maps = maps;
	return 0;
}

static int open_streams(struct engine *e, struct bs_fail *why)
{
	int rc = bs_stream_open(&e->stream, why);

	if (rc == 0)
		rc = bs_stream_open(&e->up, why);
	for (uint32_t i = 0; rc == 0 && i < DEPTH; i++)
		rc = bs_stream_event(&e->sent[i], why);
	if (rc == 0)
		rc = bs_stream_event(&e->cleared, why);
	for (int i = 0; rc == 0 && i < MARKS; i++)
		BS_CUDA(cudaEventCreate(&e->mark[i]), why);
	return rc;
}

static int arm(const struct bs_cuda_operator *m, bool solve, bool share, void **self,
	       const struct bs_protocol *p, const struct bs_tables *tables,
	       const struct bs_arm_env *env, struct bs_fail *why)
{
	struct engine *e = (struct engine *)calloc(1, sizeof(*e));
	uint64_t more = 0;
	int rc = 0;

	if (e == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", p->name);
	e->p = p;
	e->method = m;
	e->share = share;
	e->mapped = is_mapped(p);
	e->frames = p->slices * p->contrasts;
	e->finish = (cudaGraphExec_t *)calloc(e->frames, sizeof(*e->finish));
	e->sum = (cudaGraphExec_t *)calloc(e->frames, sizeof(*e->sum));
	e->added = (bool *)calloc(e->frames, sizeof(*e->added));
	if (e->finish == NULL || e->sum == NULL || e->added == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "protocol '%s': frames", p->name);
	if (rc == 0 && solve)
		rc = bs_solver_cuda_open(&e->solver, p, tables, &more, why);
	if (rc == 0)
		rc = take_memory(e, tables, env, more, why);
	if (rc == 0)
		rc = bs_partial_cuda_open(&e->window, p, &e->mem, why);
	if (rc == 0)
		rc = m->plan(&e->op, p, tables, env->team, &e->mem, why);
	if (rc == 0 && solve)
		rc = bs_solver_cuda_plan(e->solver, tables, env, e->maps, &e->mem, why);
	e->mem.sealed = true;
	if (rc == 0)
		rc = open_streams(e, why);
	if (rc == 0)
		rc = record_all(e, why);
	if (rc != 0) {
		disarm(e);
		return rc;
	}
	*self = e;
	return 0;
}

/* ---- a frame ---------------------------------------------------------------------------------- */

static int begin(void *self, uint32_t frame)
{
	struct engine *e = (struct engine *)self;
	int rc;

	/* a frame that was given up may still be on its way */
	BS_CUDA(cudaStreamSynchronize(e->up), NULL);
	BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
	e->read = e->made;
	e->added[frame] = false;
	rc = e->method->begin(e->op, frame, e->stream, NULL);
	if (rc != 0)
		return rc;
	if (e->mapped) { /* the host writes there next */
		BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
		return 0;
	}
	BS_CUDA(cudaEventRecord(e->cleared, e->stream), NULL);
	BS_CUDA(cudaStreamWaitEvent(e->up, e->cleared, 0), NULL);
	return 0;
}

static void reading(void *self, bool wait, uint64_t *made, uint64_t *read)
{
	struct engine *e = (struct engine *)self;

	while (e->read < e->made) {
		cudaEvent_t next = e->sent[e->read % DEPTH];

		/* in error nothing is read any more, and the next call says so */
		if ((wait ? cudaEventSynchronize(next) : cudaEventQuery(next)) ==
		    cudaErrorNotReady) {
			(void)cudaGetLastError(); /* no error: not to be blamed on a launch */
			break;
		}
		e->read++;
	}
	*made = e->made;
	*read = e->read;
}

/* All coils' samples, coil_stride complex values apart. */
static void copy_readout(const struct bs_protocol *p, float *to, size_t to_step, const float *data,
			 size_t coil_stride)
{
	for (uint32_t c = 0; c < p->coils; c++)
		memcpy(to + 2 * c * to_step, data + 2 * c * coil_stride, (size_t)p->samples * 8);
}

static int send(struct engine *e, float2 *to, const float *data, size_t coil_stride)
{
	const struct bs_protocol *p = e->p;
	const size_t row = (size_t)p->samples * 8;
	const size_t step = (size_t)e->method->coil_step(p) * 8;
	const unsigned char *at = (const unsigned char *)data;
	const size_t span = ((p->coils - 1) * coil_stride + p->samples) * 8;
	cudaEvent_t sent = e->sent[e->made % DEPTH];

	if (e->made >= DEPTH && e->read + DEPTH <= e->made) {
		BS_CUDA(cudaEventSynchronize(sent), NULL);
		e->read = e->made - DEPTH + 1;
	}
	if (e->pool == NULL || at < e->pool || span > e->pool_bytes ||
	    (size_t)(at - e->pool) > e->pool_bytes - span) {
		float *staging = e->staging + 2 * (e->made % DEPTH) * p->samples * p->coils;

		copy_readout(p, staging, p->samples, data, coil_stride);
		data = staging;
		coil_stride = p->samples;
	}
	BS_CUDA(cudaEventRecord(e->mark[UPLOADING], e->up), NULL);
	BS_CUDA(cudaMemcpy2DAsync(to, step, data, coil_stride * 8, row, p->coils,
				  cudaMemcpyHostToDevice, e->up),
		NULL);
	/* before sent: who waits for that finds the mark passed */
	BS_CUDA(cudaEventRecord(e->mark[UPLOADED], e->up), NULL);
	BS_CUDA(cudaEventRecord(sent, e->up), NULL);
	e->made++;
	BS_CUDA(cudaStreamWaitEvent(e->stream, sent, 0), NULL);
	return 0;
}

static int add(void *self, uint32_t frame, uint32_t readout, const float *data, size_t coil_stride)
{
	struct engine *e = (struct engine *)self;
	const struct bs_protocol *p = e->p;
	float2 *to = e->method->samples(e->op, frame) + (uint64_t)readout * p->samples;
	int rc = 0;

	e->added[frame] = true;
	if (e->mapped) {
		BS_CUDA(cudaEventRecord(e->mark[UPLOADING], e->stream), NULL);
		BS_CUDA(cudaEventRecord(e->mark[UPLOADED], e->stream), NULL);
		copy_readout(p, (float *)(e->pinned + ((unsigned char *)to - e->pinned_dev)),
			     (size_t)e->method->coil_step(p), data, coil_stride);
	} else {
		rc = send(e, to, data, coil_stride);
	}
	if (rc != 0 || e->window.groups > 0) /* a group is summed as a whole */
		return rc;
	return e->method->arrived(e->op, frame, readout, e->stream, NULL);
}

/* upload .. download, once the stream is idle; 0 for what this engine does not do. */
static void tell_times(const struct engine *e, uint32_t frame, struct bs_report *report)
{
	for (int i = 0; i < 5; i++)
		report->stage_ns[BS_BUDGET_UPLOAD + i] =
			bs_cuda_between_ns(e->mark[UPLOADING + i], e->mark[UPLOADING + i + 1]);
	for (int i = 1; i < 5 && e->unmarked; i++) /* what arming left in those marks */
		report->stage_ns[BS_BUDGET_UPLOAD + i] = 0;
	if (!e->added[frame]) /* nothing went up: those marks are another frame's */
		report->stage_ns[BS_BUDGET_UPLOAD] = report->stage_ns[BS_BUDGET_ACCUMULATE] = 0;
	if (e->solver == NULL)
		report->stage_ns[BS_BUDGET_SOLVE] = 0;
}

/* Waits for what is queued; the image lies in pinned memory. */
static int fetch(struct engine *e, uint32_t frame, float *image, struct bs_report *report)
{
	int64_t down_ns;

	BS_CUDA(cudaStreamSynchronize(e->stream), NULL);
	e->read = e->made;
	down_ns = bs_now_ns();
	memcpy(image, e->image, (size_t)bs_protocol_image_bytes(e->p));
	down_ns = bs_now_ns() - down_ns;
	tell_times(e, frame, report);
	report->stage_ns[BS_BUDGET_DOWNLOAD] += down_ns;
	return 0;
}

/* True: the host has to watch the solver's iterations, or there are fewer of them than in the graph. */
static bool is_watched(const struct engine *e, int64_t deadline_ns, const struct bs_report *report)
{
	return e->solver != NULL && (deadline_ns != INT64_MAX ||
				     (report->allowed > 0 && report->allowed < e->p->iterations));
}

/* From F^H d in the coil images, waiting for each iteration. */
static int run_solver(struct engine *e, int64_t deadline_ns, struct bs_report *report)
{
	const uint32_t most = report->allowed > 0 && report->allowed < e->p->iterations
				      ? report->allowed
				      : e->p->iterations;

	report->deadline_stop = false;
	return bs_solver_cuda_run(e->solver, e->coil_images, most, deadline_ns, e->stream, report,
				  NULL);
}

static int solve_watched(struct engine *e, uint32_t frame, int64_t deadline_ns, float *image,
			 struct bs_report *report)
{
	int64_t solved_ns;
	int rc;

	if (deadline_ns != INT64_MAX)
		deadline_ns -= e->tail_ns;
	rc = run_solver(e, deadline_ns, report);
	if (rc != 0)
		return rc;
	solved_ns = bs_now_ns();
	BS_CUDA(cudaGraphLaunch(e->combine, e->stream), NULL);
	rc = fetch(e, frame, image, report);
	solved_ns = bs_now_ns() - solved_ns;
	e->tail_ns -= e->tail_ns / 16;
	e->tail_ns = solved_ns > e->tail_ns ? solved_ns : e->tail_ns;
	return rc;
}

/* The image of a whole solve, or of a direct method, whose graphs have been launched. */
static int fetch_whole(struct engine *e, uint32_t frame, float *image, struct bs_report *report)
{
	int rc = fetch(e, frame, image, report);

	if (rc == 0 && e->solver != NULL) {
		report->deadline_stop = false;
		bs_solver_cuda_outcome(e->solver, report);
	}
	return rc;
}

/* A frame's own part: F^H d's rest, or all where the solve is not apart. */
static int launch_frame(struct engine *e, uint32_t frame, bool watched)
{
	cudaGraphExec_t graph = watched && e->sum[frame] != NULL ? e->sum[frame] : e->finish[frame];
	const unsigned parts = e->solver != NULL ? PART_SUM : PART_ALL;

	if (graph == NULL)
		return queue_parts(e, frame, parts, cudaEventRecordDefault, NULL);
	BS_CUDA(cudaGraphLaunch(graph, e->stream), NULL);
	return 0;
}

/* Watched: up to F^H d alone. */
static int queue_finish(struct engine *e, uint32_t frame, bool watched)
{
	int rc = e->method->settle(e->op, frame, e->stream, NULL);

	if (rc == 0)
		rc = launch_frame(e, frame, watched);
	if (rc != 0)
		return rc;
	if (!watched && e->tail != NULL)
		BS_CUDA(cudaGraphLaunch(e->tail, e->stream), NULL);
	return 0;
}

static int finish(void *self, uint32_t frame, int64_t deadline_ns, float *image,
		  struct bs_report *report)
{
	struct engine *e = (struct engine *)self;
	const bool watched = is_watched(e, deadline_ns, report);
	int rc = queue_finish(e, frame, watched);

	if (rc != 0)
		return rc;
	return watched ? solve_watched(e, frame, deadline_ns, image, report)
		       : fetch_whole(e, frame, image, report);
}

/* Queued, not waited for: begin and slide wait. */
static int fold(void *self, uint32_t frame, uint32_t group)
{
	struct engine *e = (struct engine *)self;

	return e->method->part(e->op, frame, group,
			       (float2 *)bs_partial_cuda_write(&e->window, frame, group), e->stream,
			       NULL);
}

static int queue_slide(struct engine *e, uint32_t frame, const uint8_t *held, bool watched)
{
	int rc = bs_partial_cuda_sum(&e->window, frame, held, (float *)e->coil_images, e->stream,
				     NULL);

	if (rc == 0)
		rc = pass(e, SUMMED, cudaEventRecordDefault, NULL);
	if (rc == 0 && !watched && e->tail != NULL)
		BS_CUDA(cudaGraphLaunch(e->tail, e->stream), NULL);
	return rc;
}

static int slide(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns, float *image,
		 struct bs_report *report)
{
	struct engine *e = (struct engine *)self;
	const bool watched = is_watched(e, deadline_ns, report);
	int rc = queue_slide(e, frame, held, watched);

	if (rc != 0)
		return rc;
	return watched ? solve_watched(e, frame, deadline_ns, image, report)
		       : fetch_whole(e, frame, image, report);
}

static int peek(void *self, uint32_t frame, float *image)
{
	struct engine *e = (struct engine *)self;
	struct bs_report unread;
	int rc = e->method->peek(e->op, frame, e->coil_images, e->stream, NULL);

	if (rc == 0)
		rc = queue_image(e, cudaEventRecordDefault, NULL);
	return rc != 0 ? rc : fetch(e, frame, image, &unread);
}

/* ---- the four engines ------------------------------------------------------------------------- */

static const struct bs_cuda_operator *sum_of(const struct bs_protocol *p)
{
	return p->fhd == BS_SUM_EXACT ? &bs_cuda_sum_exact : &bs_cuda_sum_nufft;
}

static int gridding_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	return need_of(&bs_cuda_gridding, p, false, need, why);
}

/* An operator that grids, with the variant measured for it; a choice outlives no arming. */
static int arm_tuned(const struct bs_cuda_operator *m, bool solve, bool share, void **self,
		     const struct bs_protocol *p, const struct bs_tables *tables,
		     const struct bs_arm_env *env, struct bs_fail *why)
{
	const size_t used = env->arena->used;

	bs_gridding_cuda_choose(p, tables->traj->k, env->cache_dir);
	int rc = arm(m, solve, share, self, p, tables, env, why);
	const bool chosen = bs_gridding_cuda_forget();

	if (rc == 0 || !chosen)
		return rc;
	/* it may want more memory than is left beside other protocols */
	bs_log(BS_LOG_WARN, "protocol '%s': not with the measured variant: %s", p->name, why->text);
	env->arena->used = used;
	return arm(m, solve, share, self, p, tables, env, why);
}

static int gridding_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
			const struct bs_arm_env *env, struct bs_fail *why)
{
	return arm_tuned(&bs_cuda_gridding, false, false, self, p, tables, env, why);
}

static int cartesian_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	return need_of(&bs_cuda_cartesian, p, false, need, why);
}

static int cartesian_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
			 const struct bs_arm_env *env, struct bs_fail *why)
{
	return arm(&bs_cuda_cartesian, false, false, self, p, tables, env, why);
}

static int ls_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	int rc = bs_solver_cuda_check(p, why);

	return rc != 0 ? rc : need_of(sum_of(p), p, false, need, why);
}

static int ls_arm(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		  const struct bs_arm_env *env, struct bs_fail *why)
{
	return (p->fhd == BS_SUM_NUFFT ? arm_tuned : arm)(sum_of(p), true, false, self, p, tables,
							  env, why);
}

/* Fields in core/engine.h's order: ... disarm, reading, fold, slide, peek, preview. */
const struct bs_engine bs_engine_gridding_cuda = {
	"gridding/cuda", gridding_need, gridding_arm, begin, add,  finish,
	disarm,          reading,       fold,         slide, peek, NULL,
};

const struct bs_engine bs_engine_cartesian_cuda = {
	"cartesian/cuda", cartesian_need, cartesian_arm, begin, add,  finish,
	disarm,           reading,        NULL,          NULL,  NULL, NULL,
};

const struct bs_engine bs_engine_ls_cuda = {
	"ls/cuda", ls_need, ls_arm, begin, add,  finish,
	disarm,    reading, fold,   slide, NULL, &bs_engine_gridding_cuda,
};

const struct bs_engine bs_engine_sense_cuda = {
	"sense/cuda", ls_need, ls_arm, begin, add,  finish,
	disarm,       reading, fold,   slide, NULL, &bs_engine_gridding_cuda,
};

/* ---- a share of a scan on several GPUs -------------------------------------------------------- */

int bs_share_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why)
{
	return need_of(p->method == BS_METHOD_GRIDDING ? &bs_cuda_gridding : sum_of(p), p, true,
		       need, why);
}

int bs_share_arm(bool solves, void **self, const struct bs_protocol *p,
		 const struct bs_tables *tables, const struct bs_arm_env *env, struct bs_fail *why)
{
	if (p->method == BS_METHOD_GRIDDING)
		return arm_tuned(&bs_cuda_gridding, false, true, self, p, tables, env, why);
	return (p->fhd == BS_SUM_NUFFT ? arm_tuned : arm)(sum_of(p), solves, true, self, p, tables,
							  env, why);
}

void bs_share_disarm(void *self)
{
	disarm(self);
}

int bs_share_begin(void *self, uint32_t frame)
{
	return begin(self, frame);
}

int bs_share_add(void *self, uint32_t frame, uint32_t readout, const float *data,
		 size_t coil_stride)
{
	return add(self, frame, readout, data, coil_stride);
}

void bs_share_reading(void *self, bool wait, uint64_t *made, uint64_t *read)
{
	reading(self, wait, made, read);
}

int bs_share_fold(void *self, uint32_t frame, uint32_t group)
{
	return fold(self, frame, group);
}

int bs_share_finish(void *self, uint32_t frame, bool watched)
{
	return queue_finish((struct engine *)self, frame, watched);
}

int bs_share_slide(void *self, uint32_t frame, const uint8_t *held, bool watched)
{
	return queue_slide((struct engine *)self, frame, held, watched);
}

int bs_share_peek(void *self, uint32_t frame)
{
	struct engine *e = (struct engine *)self;

	return e->method->peek(e->op, frame, e->coil_images, e->stream, NULL);
}

int bs_share_solve(void *self, int64_t deadline_ns, struct bs_report *report)
{
	struct engine *e = (struct engine *)self;
	int rc = run_solver(e, deadline_ns, report);

	return rc != 0 ? rc : pass(e, SOLVED, cudaEventRecordDefault, NULL);
}

void bs_share_outcome(void *self, uint32_t frame, bool watched, struct bs_report *report)
{
	struct engine *e = (struct engine *)self;

	e->read = e->made;
	tell_times(e, frame, report);
	if (e->solver != NULL && !watched) {
		report->deadline_stop = false;
		bs_solver_cuda_outcome(e->solver, report);
	}
}

float2 *bs_share_images(void *self)
{
	return ((struct engine *)self)->coil_images;
}

const float2 *bs_share_maps(void *self)
{
	return ((struct engine *)self)->maps;
}

cudaStream_t bs_share_stream(void *self)
{
	return ((struct engine *)self)->stream;
}
