/* gpu/engine/cuda/queue.cu - queues the work after the last readout; see armed.h */
#include "gpu/engine/cuda/armed.h"

#include <stdlib.h>

#include "core/log.h"
#include "gpu/device/check.h"
#include "gpu/penalty/penalty.h"
#include "gpu/solve/segments_cuda.h"

/*
 * Most launches that the graphs of all frames may hold together. Where a solve would need more, it
 * has one graph for all frames; where even a frame's own part is too much, there are no graphs.
 */
#define GRAPH_MOST UINT64_C(40000)

int bs_armed_cuda_pass(struct bs_armed_cuda *e, enum bs_cuda_mark m, unsigned flag,
		       struct bs_fail *why)
{
	if (e->unmarked)
		return 0;
	BS_CUDA(cudaEventRecordWithFlags(e->mark[m], e->stream, flag), why);
	e->marked |= 1u << m;
	return 0;
}

/* Queues the steps from the coil images to the image in pinned memory. */
int bs_armed_cuda_queue_image(struct bs_armed_cuda *e, unsigned flag, struct bs_fail *why)
{
	const float *images = (const float *)e->coil_images;
	int rc = bs_armed_cuda_pass(e, BS_CUDA_SOLVED, flag, why);

	if (e->share)
		return rc;
	if (rc == 0 && e->moved != NULL)
		rc = bs_unwarp_cuda(e->p, e->hz, e->falling, images, e->moved, e->stream, why);
	if (rc == 0)
		rc = bs_combiner_cuda_run(e->combiner, e->moved != NULL ? e->moved : images,
					  (const float *)e->maps, &e->flow, e->out, e->stream, why);
	if (rc == 0)
		rc = bs_armed_cuda_pass(e, BS_CUDA_COMBINED, flag, why);
	if (rc == 0 && !e->mapped)
		BS_CUDA(cudaMemcpyAsync(e->image, e->out, (size_t)bs_protocol_image_bytes(e->p),
					cudaMemcpyDeviceToHost, e->stream),
			why);
	return rc != 0 ? rc : bs_armed_cuda_pass(e, BS_CUDA_DOWNLOADED, flag, why);
}

/* Queues the named parts of the work, onto the stream or into the graph being captured. */
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

/* Captures the graph of these parts, not yet instantiated. */
static int draw(struct bs_armed_cuda *e, uint32_t frame, unsigned parts, cudaGraph_t *graph,
		struct bs_fail *why)
{
	BS_CUDA(cudaStreamBeginCapture(e->stream, cudaStreamCaptureModeThreadLocal), why);
	int rc = queue_parts(e, frame, parts, cudaEventRecordExternal, why);
	const cudaError_t end = cudaStreamEndCapture(e->stream, graph);

	if (rc == 0)
		BS_CUDA(end, why);
	return rc;
}

static int capture(struct bs_armed_cuda *e, uint32_t frame, unsigned parts, cudaGraphExec_t *exec,
		   struct bs_fail *why)
{
	cudaGraph_t graph = NULL;
	int rc = draw(e, frame, parts, &graph, why);

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
		(void)cudaGetLastError(); /* clears the error of a capture that failed */
	}
	return rc;
}

/* Counts the nodes that a graph of these parts of a frame has, without its marks. */
static int count_nodes(struct bs_armed_cuda *e, unsigned parts, uint64_t *nodes,
		       struct bs_fail *why)
{
	const bool unmarked = e->unmarked;
	cudaGraph_t graph = NULL;
	size_t n = 0;

	e->unmarked = true;
	int rc = draw(e, 0, parts, &graph, why);

	e->unmarked = unmarked;
	if (rc == 0)
		BS_CUDA_GO(cudaGraphGetNodes(graph, NULL, &n), why, rc, out);
out:
	if (graph != NULL)
		(void)cudaGraphDestroy(graph);
	if (rc != 0)
		(void)cudaGetLastError();
	*nodes = n;
	return rc;
}

/*
 * Makes the graph of these parts. If that fails it tries again without marks, which the driver may
 * refuse; if that fails, too, the first reason is reported.
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

/* Makes one graph for a frame, or two where a deadline may ask for F^H d alone. */
static int record_frame(struct bs_armed_cuda *e, uint32_t f, bool split, struct bs_fail *why)
{
	int rc = e->op->begin(e->plan, f, e->stream, why);

	if (rc == 0)
		rc = e->op->settle(e->plan, f, e->stream, why);
	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(e->stream), why);
	if (rc == 0)
		rc = record(e, f, split ? (unsigned)BS_CUDA_SUM : (unsigned)BS_CUDA_ALL,
			    &e->finish[f], why);
	if (rc == 0 && e->ls != NULL && !split)
		rc = record(e, f, BS_CUDA_SUM, &e->sum[f], why);
	return rc;
}

/*
 * Runs once everything that a frame launches. Where launches do not vary, *own: nodes of a graph of
 * the frame's own part; *all: nodes with the solve, if there is one.
 */
static int try_frame(struct bs_armed_cuda *e, uint64_t *own, uint64_t *all, struct bs_fail *why)
{
	int rc = e->op->begin(e->plan, 0, e->stream, why);

	if (rc == 0)
		rc = e->op->settle(e->plan, 0, e->stream, why);
	if (rc == 0)
		rc = queue_parts(e, 0, BS_CUDA_ALL, cudaEventRecordDefault, why);
	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(e->stream), why);
	if (rc == 0 && !e->varies)
		rc = count_nodes(e, BS_CUDA_SUM, own, why);
	if (rc == 0 && !e->varies && e->ls != NULL)
		rc = count_nodes(e, BS_CUDA_ALL, all, why);
	return rc;
}

/* Runs once everything that a sliding window launches. */
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

/* Runs the solve of Cartesian SENSE both ways, on zeros. */
static int try_unfold(struct bs_armed_cuda *e, struct bs_fail *why)
{
	struct bs_report report = {};
	int rc = bs_armed_cuda_unfold(e, 0, e->p->iterations, INT64_MAX, &report, why);

	return rc != 0 ? rc : bs_armed_cuda_unfold(e, 0, 1, INT64_MAX - 1, &report, why);
}

/* Finds what the solver with a prior must know of the maps, and runs it on zeros. */
static int try_proximal(struct bs_armed_cuda *e, struct bs_fail *why)
{
	/* maps of the scan are not known yet */
	const bool known = e->p->plan.maps <= BS_PLAN_MAPS_FILE;
	struct bs_report report = {};
	uint8_t held[BS_PENALTY_IMAGES_MAX] = {};
	int rc = 0;

	report.allowed = 1;
	for (uint32_t s = 0; rc == 0 && known && s < e->p->slices; s++)
		rc = bs_armed_cuda_measure(e, s, why);
	/* the second may start from the first's image; the third is on the rung without a prior */
	for (int i = 0; rc == 0 && i < (e->p->plan.quadratic ? 3 : 2); i++) {
		report.quadratic = i == 2;
		rc = bs_armed_cuda_proximal(e, 0, held, INT64_MAX, &report, why);
	}
	bs_proximal_cuda_scan(e->prox);
	return rc;
}

/* Runs both steps of a velocity. They differ from image to image, so they are in no graph. */
static int try_flow(struct bs_armed_cuda *e, struct bs_fail *why)
{
	const struct bs_flow ways[] = { { 1, 0, 0.0f }, { 0, 1, 1.0f }, { 0, 0, 0.0f } };
	int rc = 0;

	for (int i = 0; rc == 0 && i < 3; i++) {
		e->flow = ways[i];
		rc = bs_armed_cuda_queue_image(e, cudaEventRecordDefault, why);
	}
	if (rc == 0)
		BS_CUDA(cudaStreamSynchronize(e->stream), why);
	return rc;
}

int bs_armed_cuda_record(struct bs_armed_cuda *e, struct bs_fail *why)
{
	const bool window = e->window.groups > 0;
	uint64_t own = 0;
	uint64_t all = 0;
	int rc = bs_cuda_copied(why);

	if (rc == 0 && !window)
		rc = try_frame(e, &own, &all, why);
	const bool split = bs_armed_cuda_between(e) ||
			   (e->ls != NULL && (window || all * e->frames > GRAPH_MOST));
	const bool graphs = !e->varies && own * e->frames <= GRAPH_MOST;

	for (uint32_t f = 0; rc == 0 && f < e->frames; f++) {
		if (window)
			rc = try_window(e, f, why);
		else if (graphs)
			rc = record_frame(e, f, split, why);
	}
	if (rc == 0 && e->unfold != NULL)
		rc = try_unfold(e, why);
	else if (rc == 0 && e->prox != NULL)
		rc = try_proximal(e, why);
	else if (rc == 0 && !e->varies && (split || (window && !e->share)))
		rc = record(e, 0, BS_CUDA_SOLVE | BS_CUDA_IMAGE, &e->tail, why);
	if (rc == 0 && bs_plan_has(&e->p->plan, BS_PLAN_VELOCITY))
		rc = try_flow(e, why);
	else if (rc == 0 && bs_armed_cuda_solves(e) && !e->share)
		rc = record(e, 0, BS_CUDA_IMAGE, &e->combine, why);
	if (rc == 0 && e->p->preview_every > 0 && e->op->peek != NULL &&
	    e->p->plan.solve == BS_SOLVE_NONE) {
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

/*
 * Launches a frame's own part: the rest of F^H d, or all where the solve has no graph of its own.
 */
static int launch_frame(struct bs_armed_cuda *e, uint32_t frame, bool watched)
{
	cudaGraphExec_t graph = watched && e->sum[frame] != NULL ? e->sum[frame] : e->finish[frame];
	const unsigned parts = bs_armed_cuda_solves(e) || e->varies ? BS_CUDA_SUM : BS_CUDA_ALL;

	if (graph == NULL)
		return queue_parts(e, frame, parts, cudaEventRecordDefault, NULL);
	BS_CUDA(cudaGraphLaunch(graph, e->stream), NULL);
	return 0;
}

/* Launches what follows F^H d, where launch_frame, or a window's sum, has not queued it. */
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
	int rc = bs_armed_cuda_slice(e, bs_protocol_frame_slice(e->p, frame));

	if (rc == 0)
		rc = bs_armed_cuda_flush(e);
	if (rc == 0)
		rc = e->op->settle(e->plan, frame, e->stream, NULL);
	if (rc == 0)
		rc = launch_frame(e, frame, watched);
	return rc != 0 || watched ? rc : launch_tail(e);
}

/* Queues a fold only; begin and slide wait. */
int bs_armed_cuda_fold(void *self, uint32_t frame, uint32_t group)
{
	struct bs_armed_cuda *e = (struct bs_armed_cuda *)self;
	int rc = bs_mapped_fold(e->scan_maps, frame, group);

	e->newest[frame] = group;
	if (rc == 0)
		rc = bs_armed_cuda_flush(e);
	return rc != 0 ? rc
		       : e->op->part(e->plan, frame, group,
				     (float2 *)bs_partial_cuda_write(&e->window, frame, group),
				     e->stream, NULL);
}

int bs_armed_cuda_queue_slide(struct bs_armed_cuda *e, uint32_t frame, const uint8_t *held,
			      bool watched)
{
	int rc = bs_armed_cuda_slice(e, bs_protocol_frame_slice(e->p, frame));

	if (rc == 0)
		rc = bs_armed_cuda_flush(e);
	if (rc == 0)
		rc = bs_partial_cuda_sum(&e->window, frame, held, (float *)e->coil_images,
					 e->stream, NULL);
	if (rc == 0)
		rc = bs_armed_cuda_pass(e, BS_CUDA_SUMMED, cudaEventRecordDefault, NULL);
	return rc != 0 || watched ? rc : launch_tail(e);
}
