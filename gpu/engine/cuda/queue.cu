/* gpu/engine/cuda/queue.cu - what is left after the last readout, queued; see armed.h */
#include "gpu/engine/cuda/armed.h"

#include <stdlib.h>

#include "core/log.h"
#include "gpu/device/check.h"
#include "gpu/solve/segments_cuda.h"

/*
 * Launches that the graphs of all frames may hold together. Where there would be more, the solve
 * has one graph for all; where even a frame's own part (FRAME_LAUNCHES at most) is too much, it has
 * none.
 */
#define GRAPH_MOST     UINT64_C(40000)
#define FRAME_LAUNCHES UINT64_C(24)

int bs_armed_cuda_pass(struct bs_armed_cuda *e, enum bs_cuda_mark m, unsigned flag,
		       struct bs_fail *why)
{
	if (e->unmarked)
		return 0;
	BS_CUDA(cudaEventRecordWithFlags(e->mark[m], e->stream, flag), why);
	e->marked |= 1u << m;
	return 0;
}

int bs_armed_cuda_slice(struct bs_armed_cuda *e, uint32_t frame)
{
	const uint32_t slice = bs_protocol_frame_slice(e->p, frame);
	const size_t values = (size_t)bs_protocol_voxels(e->p) * e->p->coils;
	int rc = 0;

	if (e->field != NULL)
		rc = bs_segments_cuda_slice(e->field, slice, e->stream, NULL);
	if (rc != 0 || e->all_maps == NULL || slice == e->slice)
		return rc;
	BS_CUDA(cudaMemcpyAsync(e->maps, e->all_maps + slice * values, values * sizeof(float2),
				cudaMemcpyDeviceToDevice, e->stream),
		NULL);
	if (e->ls != NULL)
		rc = bs_ls_cuda_use(e->ls, slice, e->stream, NULL);
	if (rc == 0)
		e->slice = slice;
	return rc;
}

/* From coil images to the image in pinned memory. */
int bs_armed_cuda_queue_image(struct bs_armed_cuda *e, unsigned flag, struct bs_fail *why)
{
	int rc = bs_armed_cuda_pass(e, BS_CUDA_SOLVED, flag, why);

	if (e->share)
		return rc;
	if (rc == 0)
		rc = bs_combiner_cuda_run(e->combiner, (const float *)e->coil_images,
					  (const float *)e->maps, e->out, e->stream, why);
	if (rc == 0)
		rc = bs_armed_cuda_pass(e, BS_CUDA_COMBINED, flag, why);
	if (rc == 0 && !e->mapped)
		BS_CUDA(cudaMemcpyAsync(e->image, e->out, (size_t)bs_protocol_image_bytes(e->p),
					cudaMemcpyDeviceToHost, e->stream),
			why);
	return rc != 0 ? rc : bs_armed_cuda_pass(e, BS_CUDA_DOWNLOADED, flag, why);
}

/* Of a frame's own part; off resonance for each segment what else is for all. */
static uint64_t frame_launches(const struct bs_armed_cuda *e)
{
	return FRAME_LAUNCHES * (e->field != NULL ? bs_segments_cuda_info(e->field).segments : 1);
}

static uint64_t solve_launches(const struct bs_armed_cuda *e)
{
	const uint64_t solves = bs_methods[e->p->method].uses_maps ? 1 : e->p->coils;

	return bs_ls_cuda_launches(e->p) +
	       (e->field != NULL
			? solves * (e->p->iterations + 1) * bs_segments_cuda_launches(e->field)
			: 0);
}

/* The named parts of what is left, onto the stream or into the graph being captured. */
static int queue_parts(struct bs_armed_cuda *e, uint32_t frame, unsigned parts, unsigned flag,
		       struct bs_fail *why)
{
	int rc = 0;

	if (parts & BS_CUDA_SUM) {
		rc = e->op->finish(e->plan, frame, e->coil_images, e->stream, why);
		if (rc == 0)
			rc = bs_armed_cuda_pass(e, BS_CUDA_SUMMED, flag, why);
	}
	if (rc == 0 && (parts & BS_CUDA_SOLVE) && e->ls != NULL)
		rc = bs_ls_cuda_queue(e->ls, e->coil_images, e->stream, why);
	if (rc == 0 && (parts & BS_CUDA_IMAGE))
		rc = bs_armed_cuda_queue_image(e, flag, why);
	return rc;
}

static void destroy(cudaGraphExec_t graph)
{
	if (graph != NULL)
		(void)cudaGraphExecDestroy(graph);
}

static int capture(struct bs_armed_cuda *e, uint32_t frame, unsigned parts, cudaGraphExec_t *exec,
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
		(void)cudaGetLastError(); /* left by a capture that an error ended */
	}
	return rc;
}

/*
 * Again without marks, in case the driver refuses those; if that fails, the first reason is told.
 */
static int record(struct bs_armed_cuda *e, uint32_t frame, unsigned parts, cudaGraphExec_t *exec,
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

/*
 * One graph for a frame, two where a deadline may ask for F^H d alone; with too many frames none.
 */
static int record_frame(struct bs_armed_cuda *e, uint32_t f, bool split, struct bs_fail *why)
{
	const bool graphs = !e->varies && e->frames * frame_launches(e) <= GRAPH_MOST;
	int rc = 0;

	if (f > 0 && !graphs)
		return 0;
	rc = e->op->begin(e->plan, f, e->stream, why);
	if (rc == 0)
		rc = e->op->settle(e->plan, f, e->stream, why);
	if (rc == 0 && f == 0)
		rc = queue_parts(e, f, BS_CUDA_ALL, cudaEventRecordDefault, why);
	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(e->stream), why);
	if (!graphs)
		return rc;
	if (rc == 0)
		rc = record(e, f, split ? (unsigned)BS_CUDA_SUM : (unsigned)BS_CUDA_ALL,
			    &e->finish[f], why);
	if (rc == 0 && e->ls != NULL && !split)
		rc = record(e, f, BS_CUDA_SUM, &e->sum[f], why);
	return rc;
}

/* Runs once everything that a window launches. */
static int try_window(struct bs_armed_cuda *e, uint32_t frame, struct bs_fail *why)
{
	uint8_t *held = (uint8_t *)calloc(e->window.groups, 1);
	int rc = held == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s': groups", e->p->name)
			      : e->op->begin(e->plan, frame, e->stream, why);

	for (uint32_t g = 0; rc == 0 && g < e->window.groups; g++) {
		held[g] = 1;
		rc = e->op->part(e->plan, frame, g,
				 (float2 *)bs_partial_cuda_write(&e->window, frame, g), e->stream,
				 why);
		if (rc == 0)
			rc = bs_partial_cuda_sum(&e->window, frame, held, (float *)e->coil_images,
						 e->stream, why);
	}
	free(held);
	if (rc == 0)
		rc = queue_parts(e, frame, BS_CUDA_SOLVE | BS_CUDA_IMAGE, cudaEventRecordDefault,
				 why);
	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(e->stream), why);
	return rc;
}

/* Both ways of its own solve, of zeros. */
static int try_unfold(struct bs_armed_cuda *e, struct bs_fail *why)
{
	struct bs_report report;
	int rc = bs_armed_cuda_unfold(e, 0, e->p->iterations, INT64_MAX, &report, why);

	return rc != 0 ? rc : bs_armed_cuda_unfold(e, 0, 1, INT64_MAX - 1, &report, why);
}

int bs_armed_cuda_record(struct bs_armed_cuda *e, struct bs_fail *why)
{
	const bool window = e->window.groups > 0;
	const bool split =
		e->unfold != NULL ||
		(e->ls != NULL &&
		 (window || (frame_launches(e) + solve_launches(e)) * e->frames > GRAPH_MOST));
	int rc = bs_cuda_copied(why);

	for (uint32_t f = 0; rc == 0 && f < e->frames; f++)
		rc = window ? try_window(e, f, why) : record_frame(e, f, split, why);
	if (rc == 0 && e->unfold != NULL)
		rc = try_unfold(e, why);
	else if (rc == 0 && !e->varies && (split || (window && !e->share)))
		rc = record(e, 0, BS_CUDA_SOLVE | BS_CUDA_IMAGE, &e->tail, why);
	if (rc == 0 && bs_armed_cuda_solves(e) && !e->share)
		rc = record(e, 0, BS_CUDA_IMAGE, &e->combine, why);
	if (rc == 0 && e->p->preview_every > 0 && e->op->peek != NULL) {
		rc = e->op->peek(e->plan, 0, e->coil_images, e->stream, why);
		if (rc == 0)
			BS_CUDA(cudaStreamSynchronize(e->stream), why);
	}
	return rc;
}

void bs_armed_cuda_unrecord(struct bs_armed_cuda *e)
{
	for (uint32_t f = 0; f < e->frames; f++) {
		destroy(e->finish != NULL ? e->finish[f] : NULL);
		destroy(e->sum != NULL ? e->sum[f] : NULL);
	}
	destroy(e->tail);
	destroy(e->combine);
	free(e->finish);
	free(e->sum);
}

/* A frame's own part: the rest of F^H d, or all where the solve has no graph of its own. */
static int launch_frame(struct bs_armed_cuda *e, uint32_t frame, bool watched)
{
	cudaGraphExec_t graph = watched && e->sum[frame] != NULL ? e->sum[frame] : e->finish[frame];
	const unsigned parts = bs_armed_cuda_solves(e) || e->varies ? BS_CUDA_SUM : BS_CUDA_ALL;

	if (graph == NULL)
		return queue_parts(e, frame, parts, cudaEventRecordDefault, NULL);
	BS_CUDA(cudaGraphLaunch(graph, e->stream), NULL);
	return 0;
}

/* What comes after F^H d where launch_frame, or a window's sum, has not queued it. */
static int launch_tail(struct bs_armed_cuda *e)
{
	if (e->varies)
		return queue_parts(e, 0, BS_CUDA_SOLVE | BS_CUDA_IMAGE, cudaEventRecordDefault,
				   NULL);
	if (e->tail != NULL)
		BS_CUDA(cudaGraphLaunch(e->tail, e->stream), NULL);
	return 0;
}

int bs_armed_cuda_queue_finish(struct bs_armed_cuda *e, uint32_t frame, bool watched)
{
	int rc = bs_armed_cuda_slice(e, frame);

	if (rc == 0)
		rc = e->op->settle(e->plan, frame, e->stream, NULL);
	if (rc == 0)
		rc = launch_frame(e, frame, watched);
	return rc != 0 || watched ? rc : launch_tail(e);
}

/* Only queues: begin and slide wait. */
int bs_armed_cuda_fold(void *self, uint32_t frame, uint32_t group)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;

	return e->op->part(e->plan, frame, group,
			   (float2 *)bs_partial_cuda_write(&e->window, frame, group), e->stream,
			   NULL);
}

int bs_armed_cuda_queue_slide(struct bs_armed_cuda *e, uint32_t frame, const uint8_t *held,
			      bool watched)
{
	int rc = bs_armed_cuda_slice(e, frame);

	if (rc == 0)
		rc = bs_partial_cuda_sum(&e->window, frame, held, (float *)e->coil_images,
					 e->stream, NULL);
	if (rc == 0)
		rc = bs_armed_cuda_pass(e, BS_CUDA_SUMMED, cudaEventRecordDefault, NULL);
	return rc != 0 || watched ? rc : launch_tail(e);
}
