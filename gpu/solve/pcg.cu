/* gpu/solve/pcg.cu - conjugate gradients whole on the GPU; see pcg_cuda.h */
#include "gpu/solve/pcg_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"
#include "gpu/device/reach.h"
#include "gpu/device/launch.cuh"
#include "gpu/solve/cuda/pcg_kernels.cuh"
#include "gpu/device/stream.h"
#include "gpu/solve/watch.h"

struct bs_pcg_cuda {
	struct bs_pcg_cuda_spec spec;
	struct bs_pcg_cuda_system system;
	struct cg_vectors v;
	/* the vectors with x in p's place, and a state that is never stopped */
	struct cg_vectors check;
	float2 *rows;            /* W p; NULL where gram is used */
	struct bs_pinned pinned; /* copies of the states, then of the histories */
	cudaStream_t capture;
	/*
	 * Graphs of a whole solve; its beginning; one iteration; its end. NULL: launched kernel by
	 * kernel.
	 */
	cudaGraphExec_t whole, first, one, last;
	struct bs_watch watch;
	bool close;
	bool whole_steps; /* 2D, identity as constraint: iterations are bs_toeplitz_cuda_iterate */
};

/* The voxels of a thread. With few voxels each gets a thread of its own, which is faster. */
static unsigned rows_of(const struct bs_pcg_cuda_spec *s)
{
	return s->voxels <= UINT64_C(1) << 18 ? 1 : CG_ROWS;
}

static unsigned blocks_of(const struct bs_pcg_cuda_spec *s)
{
	const unsigned block = CG_THREADS * rows_of(s);

	return (unsigned)((s->voxels + block - 1) / block);
}

static uint32_t images_of(const struct bs_pcg_cuda_spec *s)
{
	return s->images > 1 ? s->images : 1;
}

static dim3 grid_of(const struct bs_pcg_cuda *c)
{
	return dim3(blocks_of(&c->spec), images_of(&c->spec));
}

static size_t history_bytes(const struct bs_pcg_cuda_spec *s)
{
	return ((size_t)s->iterations + 1) * images_of(s) * sizeof(double);
}

static size_t state_bytes(const struct bs_pcg_cuda_spec *s)
{
	return images_of(s) * sizeof(struct bs_cg_state);
}

static void take_all(struct bs_pcg_cuda *c, struct bs_devroom *r)
{
	const struct bs_pcg_cuda_spec *s = &c->spec;
	const uint64_t images = images_of(s);
	const uint64_t vector = images * s->voxels * sizeof(float2);

	bs_devroom_take(r, &c->v.r, vector);
	bs_devroom_take(r, &c->v.p, vector);
	bs_devroom_take(r, &c->v.q, vector);
	if (s->circulant)
		bs_devroom_take(r, &c->v.z, vector);
	bs_devroom_take(r, &c->rows, images * s->rows * sizeof(float2));
	bs_devroom_take(r, &c->v.partial, images * 2 * blocks_of(s) * sizeof(double));
	bs_devroom_take(r, &c->v.history, history_bytes(s));
	bs_devroom_take(r, &c->v.state, state_bytes(s));
	bs_devroom_take(r, &c->check.state, state_bytes(s));
}

int bs_pcg_cuda_need(const struct bs_pcg_cuda_spec *spec, uint64_t *bytes, struct bs_fail *why)
{
	if (spec->voxels < 1 || spec->voxels > UINT64_C(1) << 32 || spec->iterations < 1 ||
	    spec->iterations > 100000 || spec->rows > UINT64_C(1) << 32 ||
	    spec->images > BS_COILS_MAX || (spec->images > 1 && spec->circulant))
		return bs_fail(why, BS_ERR_SIZE,
			       "conjugate gradients: %llu voxels, %u iterations, %u images",
			       (unsigned long long)spec->voxels, spec->iterations, spec->images);
	struct bs_pcg_cuda c = {};
	struct bs_devroom room = {};

	c.spec = *spec;
	take_all(&c, &room);
	*bytes = room.bytes;
	return 0;
}

/*
 * Applies A to these images without the constraint, or makes the addends of it, by coil or of this
 * GPU.
 */
static int product(struct bs_pcg_cuda *c, const float2 *images, const int *stop,
		   cudaStream_t stream, struct bs_fail *why)
{
	const struct bs_pcg_cuda_system *s = &c->system;
	const float *in = (const float *)images;
	float *q = s->parts > 0 ? c->system.addends + 2 * c->system.part * c->v.voxels
				: (float *)c->v.q;

	if (s->apply != NULL)
		return s->apply(s->self, in, q, stream, why);
	if (c->v.parts > 0)
		return bs_toeplitz_cuda_each(s->normal, s->coils, s->maps, in, stream, why);
	if (s->maps != NULL || !bs_toeplitz_cuda_flat(s->normal))
		return bs_toeplitz_cuda_sense(s->normal,
					      s->maps != NULL ? s->coils : images_of(&c->spec),
					      s->maps, in, stop, q, stream, why);
	return bs_toeplitz_cuda_apply(s->normal, images_of(&c->spec), in, q, stream, why);
}

/* Makes the direction and the product of A with it. */
int bs_pcg_cuda_product(struct bs_pcg_cuda *c, struct CUstream_st *stream, struct bs_fail *why)
{
	int err = bs_launch(direction, grid_of(c), CG_THREADS, 0, c->close, stream, why, c->v);

	return err != 0 ? err : product(c, c->v.p, &c->v.state->stop, stream, why);
}

/* Adds mu times the constraint applied to v.p to q. v: c->v or c->check. */
static int constraint(struct bs_pcg_cuda *c, const struct cg_vectors &v, cudaStream_t stream,
		      struct bs_fail *why)
{
	const struct bs_pcg_cuda_system *s = &c->system;
	struct bs_csr_cuda none;
	const struct bs_csr_cuda *m = s->gram != NULL ? s->gram : s->adjoint;
	const float2 *rows = NULL;

	memset(&none, 0, sizeof(none));
	if (s->gram == NULL && s->w != NULL && s->mu != 0.0) {
		const dim3 blocks((unsigned)((s->w->rows + CG_THREADS - 1) / CG_THREADS),
				  images_of(&c->spec));
		int err =
			bs_launch(s->w->is_complex ? constraint_rows<true> : constraint_rows<false>,
				  blocks, CG_THREADS, 0, c->close, stream, why, v, *s->w, c->rows);

		if (err != 0)
			return err;
		rows = c->rows;
	}
	if (m == NULL)
		return bs_launch(finish_apply<CG_IDENTITY>, grid_of(c), CG_THREADS, 0, c->close,
				 stream, why, v, none, rows);
	return bs_launch(m->is_complex ? finish_apply<CG_COMPLEX> : finish_apply<CG_REAL>,
			 grid_of(c), CG_THREADS, 0, c->close, stream, why, v, *m, rows);
}

/* Queues z = M^-1 r, for a circulant M. */
static int precondition(struct bs_pcg_cuda *c, cudaStream_t stream, struct bs_fail *why)
{
	int err = 0;

	if (c->v.z == NULL)
		return 0;
	err = bs_circulant_cuda_apply(c->system.circulant, (const float *)c->v.r, (float *)c->v.z,
				      stream, why);
	return err != 0 ? err
			: bs_launch(preconditioned, grid_of(c), CG_THREADS, 0, false, stream, why,
				    c->v);
}

static struct bs_toeplitz_cg cg_of(const struct bs_pcg_cuda *c)
{
	struct bs_toeplitz_cg cg;

	memset(&cg, 0, sizeof(cg));
	cg.images = images_of(&c->spec);
	cg.coils = c->system.coils;
	cg.b = (const float *)c->v.b;
	cg.maps = c->system.maps;
	cg.inverse = c->v.inverse;
	cg.x = (float *)c->v.x;
	cg.r = (float *)c->v.r;
	cg.p = (float *)c->v.p;
	cg.s = (float *)c->v.q;
	cg.state = c->v.state;
	cg.history = c->v.history;
	cg.made = c->v.made;
	cg.mu = c->v.mu;
	cg.tolerance = c->v.tolerance;
	return cg;
}

int bs_pcg_cuda_begin(struct bs_pcg_cuda *c, struct CUstream_st *stream, struct bs_fail *why)
{
	if (c->whole_steps) {
		const struct bs_toeplitz_cg cg = cg_of(c);

		return bs_toeplitz_cuda_iterate(c->system.normal, &cg, true, stream, why);
	}
	int err = bs_launch(begin, grid_of(c), CG_THREADS, 0, false, stream, why, c->v);

	return err != 0 ? err : precondition(c, stream, why);
}

/* Adds the constraint to A p, then makes the next residual. */
static int advance(struct bs_pcg_cuda *c, cudaStream_t stream, struct bs_fail *why)
{
	int err = constraint(c, c->v, stream, why);

	if (err == 0)
		err = bs_launch(update, grid_of(c), CG_THREADS, 0, c->close, stream, why, c->v);
	return err != 0 ? err : precondition(c, stream, why);
}

static int iterate(struct bs_pcg_cuda *c, cudaStream_t stream, struct bs_fail *why)
{
	if (c->whole_steps) {
		const struct bs_toeplitz_cg cg = cg_of(c);

		return bs_toeplitz_cuda_iterate(c->system.normal, &cg, false, stream, why);
	}
	int err = bs_pcg_cuda_product(c, stream, why);

	return err != 0 ? err : advance(c, stream, why);
}

/* Adds the constraint to A x, then measures the residual that is reported. */
static int measure(struct bs_pcg_cuda *c, cudaStream_t stream, struct bs_fail *why)
{
	const bool adds = c->system.mu != 0.0 || c->v.parts > 0;
	int err = adds && !c->whole_steps ? constraint(c, c->check, stream, why) : 0;

	return err != 0 ? err
			: bs_launch(distance, grid_of(c), CG_THREADS, 0, c->whole_steps && c->close,
				    stream, why, c->v, c->check.state, c->whole_steps);
}

int bs_pcg_cuda_last_product(struct bs_pcg_cuda *c, struct CUstream_st *stream, struct bs_fail *why)
{
	return product(c, c->v.x, NULL, stream, why);
}

static int finish(struct bs_pcg_cuda *c, cudaStream_t stream, struct bs_fail *why)
{
	int err = bs_pcg_cuda_last_product(c, stream, why);

	return err != 0 ? err : measure(c, stream, why);
}

/* Launches this many iterations kernel by kernel, with or without the beginning and the end. */
static int launch_all(struct bs_pcg_cuda *c, bool from_start, uint32_t iterations, bool to_end,
		      cudaStream_t stream, struct bs_fail *why)
{
	int err = from_start ? bs_pcg_cuda_begin(c, stream, why) : 0;

	for (uint32_t i = 0; i < iterations && err == 0; i++)
		err = iterate(c, stream, why);
	return err == 0 && to_end ? finish(c, stream, why) : err;
}

/* Captures what launch_all launches as a graph. */
static int make_graph(struct bs_pcg_cuda *c, bool from_start, uint32_t iterations, bool to_end,
		      cudaGraphExec_t *exec, struct bs_fail *why)
{
	cudaGraph_t graph = NULL;
	cudaError_t e;
	int err;

	BS_CUDA(cudaStreamBeginCapture(c->capture, cudaStreamCaptureModeThreadLocal), why);
	err = launch_all(c, from_start, iterations, to_end, c->capture, why);
	e = cudaStreamEndCapture(c->capture, &graph);
	if (err == 0 && e == cudaSuccess)
		e = cudaGraphInstantiate(exec, graph, 0);
	if (graph != NULL)
		(void)cudaGraphDestroy(graph);
	if (err == 0)
		BS_CUDA(e, why);
	(void)cudaGetLastError(); /* clears the error of a capture that failed */
	return err;
}

/* Uploads the graphs now, so that the first solve under a deadline does not wait for it. */
static int upload_graphs(struct bs_pcg_cuda *c, struct bs_fail *why)
{
	BS_CUDA(cudaGraphUpload(c->first, c->capture), why);
	BS_CUDA(cudaGraphUpload(c->one, c->capture), why);
	BS_CUDA(cudaGraphUpload(c->last, c->capture), why);
	BS_CUDA(cudaStreamSynchronize(c->capture), why);
	return 0;
}

/* The end of the states in pinned memory; the histories follow. */
static size_t states_end(const struct bs_pcg_cuda_spec *s)
{
	return bs_devmem_round(state_bytes(s));
}

static int prepare(struct bs_pcg_cuda *c, struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_devroom room = { mem, 0, false };

	take_all(c, &room);
	struct bs_cg_state *const checked = c->check.state;
	int err = bs_devroom_check(&room, "conjugate gradients", why);

	if (err != 0)
		return err;
	c->check = c->v;
	c->check.p = c->v.x;
	c->check.state = checked;
	err = bs_pinned_open(&c->pinned, states_end(&c->spec) + history_bytes(&c->spec), why);
	if (err != 0)
		return err;
	BS_CUDA(cudaMemset(c->v.state, 0, state_bytes(&c->spec)), why);
	BS_CUDA(cudaMemset(c->check.state, 0, state_bytes(&c->spec)), why);
	err = bs_stream_open(&c->capture, why);
	if (err == 0)
		err = bs_watch_open(&c->watch, why);
	if (err != 0)
		return err;
	/* without graphs: other GPUs' addends come in between, or launches are
	 * not always the same */
	if (c->system.parts > 0 || c->system.varies)
		return bs_cuda_copied(why);
	err = make_graph(c, true, c->spec.iterations, true, &c->whole, why);
	if (err == 0)
		err = make_graph(c, true, 0, false, &c->first, why);
	if (err == 0)
		err = make_graph(c, false, 1, false, &c->one, why);
	if (err == 0)
		err = make_graph(c, false, 0, true, &c->last, why);
	if (err == 0)
		err = upload_graphs(c, why);
	return err != 0 ? err : bs_cuda_copied(why);
}

int bs_pcg_cuda_plan(struct bs_pcg_cuda **plan, const struct bs_pcg_cuda_spec *spec,
		     const struct bs_pcg_cuda_system *system, struct bs_devmem *mem,
		     struct bs_fail *why)
{
	struct bs_pcg_cuda *c = (struct bs_pcg_cuda *)calloc(1, sizeof(*c));
	uint64_t bytes;
	struct bs_reach reach;
	int err;

	*plan = NULL;
	if (c == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "conjugate gradients: no memory for the plan");
	err = bs_pcg_cuda_need(spec, &bytes, why);
	if (err == 0 && spec->circulant != (system->circulant != NULL))
		err = bs_fail(
			why, BS_ERR_SIZE,
			"conjugate gradients: a circulant preconditioner that was not planned");
	if (err == 0) {
		c->spec = *spec;
		c->system = *system;
		c->v.b = (const float2 *)system->b;
		c->v.x = (float2 *)system->x;
		c->v.inverse = system->inverse;
		c->v.voxels = spec->voxels;
		c->v.rows = rows_of(spec);
		c->v.made = spec->iterations + 1;
		c->v.mu = (float)system->mu;
		c->v.tolerance = spec->tolerance;
		const bool own = system->apply == NULL && system->parts == 0;
		const bool flat = own && bs_toeplitz_cuda_flat(system->normal);

		c->whole_steps = flat && system->gram == NULL && system->w == NULL &&
				 system->circulant == NULL;
		if (flat && system->maps != NULL) {
			c->v.parts = system->coils;
			c->v.addends = (const float2 *)bs_toeplitz_cuda_addends(system->normal);
		}
		err = bs_reach(&reach, why);
		c->close = err == 0 && reach.overlaps;
	}
	if (err == 0)
		err = prepare(c, mem, why);
	if (err != 0) {
		bs_pcg_cuda_close(c);
		return err;
	}
	*plan = c;
	return 0;
}

void bs_pcg_cuda_close(struct bs_pcg_cuda *c)
{
	cudaGraphExec_t graphs[4];

	if (c == NULL)
		return;
	graphs[0] = c->whole;
	graphs[1] = c->first;
	graphs[2] = c->one;
	graphs[3] = c->last;
	for (int i = 0; i < 4; i++)
		if (graphs[i] != NULL)
			(void)cudaGraphExecDestroy(graphs[i]);
	bs_watch_close(&c->watch);
	if (c->capture != NULL)
		(void)cudaStreamDestroy(c->capture);
	bs_pinned_close(&c->pinned);
	free(c);
}

/* Launches a graph, or where it is NULL the kernels that it would hold. */
static int queue_part(struct bs_pcg_cuda *c, cudaGraphExec_t graph,
		      int (*part)(struct bs_pcg_cuda *c, cudaStream_t stream, struct bs_fail *why),
		      cudaStream_t stream, struct bs_fail *why)
{
	if (graph == NULL)
		return part(c, stream, why);
	BS_CUDA(cudaGraphLaunch(graph, stream), why);
	return 0;
}

int bs_pcg_cuda_queue(struct bs_pcg_cuda *c, uint32_t iterations, struct CUstream_st *stream,
		      struct bs_fail *why)
{
	if (iterations > c->spec.iterations)
		return bs_fail(why, BS_ERR_SIZE,
			       "conjugate gradients: %u iterations, planned for %u", iterations,
			       c->spec.iterations);
	if (iterations == c->spec.iterations && c->whole != NULL) {
		BS_CUDA(cudaGraphLaunch(c->whole, stream), why);
		return 0;
	}
	int err = queue_part(c, c->first, bs_pcg_cuda_begin, stream, why);

	for (uint32_t i = 0; i < iterations && err == 0; i++)
		err = queue_part(c, c->one, iterate, stream, why);
	return err != 0 ? err : queue_part(c, c->last, finish, stream, why);
}

int bs_pcg_cuda_record(struct bs_pcg_cuda *c, struct bs_pcg_outcome *outcome,
		       struct CUstream_st *stream, struct bs_fail *why)
{
	int err = launch_all(c, true, c->spec.iterations, true, stream, why);

	if (err != 0)
		return err;
	tell_outcome<<<1, images_of(&c->spec), 0, stream>>>(c->v, outcome);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

int bs_pcg_cuda_sum(float *out, const float *addends, uint32_t parts, uint64_t voxels,
		    struct CUstream_st *stream, struct bs_fail *why)
{
	/* this kernel is not launched early, since its input comes from other GPUs */
	return bs_launch(add_addends,
			 dim3((unsigned)((voxels + ADDENDS_THREADS - 1) / ADDENDS_THREADS)),
			 ADDENDS_THREADS, 0, false, stream, why, (float2 *)out,
			 (const float2 *)addends, parts, voxels, (const int *)NULL);
}

static int sum_own(struct bs_pcg_cuda *c, cudaStream_t stream, struct bs_fail *why)
{
	return bs_pcg_cuda_sum((float *)c->v.q, c->system.addends, c->system.parts, c->v.voxels,
			       stream, why);
}

int bs_pcg_cuda_step(struct bs_pcg_cuda *c, struct CUstream_st *stream, struct bs_fail *why)
{
	int err = sum_own(c, stream, why);

	return err != 0 ? err : advance(c, stream, why);
}

int bs_pcg_cuda_last_step(struct bs_pcg_cuda *c, struct CUstream_st *stream, struct bs_fail *why)
{
	int err = sum_own(c, stream, why);

	return err != 0 ? err : measure(c, stream, why);
}

int bs_pcg_cuda_wait(struct bs_pcg_cuda *c, struct CUstream_st *stream,
		     struct bs_pcg_result *result, struct bs_fail *why)
{
	const uint32_t images = images_of(&c->spec);
	const struct bs_cg_state *state = (const struct bs_cg_state *)c->pinned.host;
	const double *history = (const double *)(c->pinned.host + states_end(&c->spec));

	BS_CUDA(cudaMemcpyAsync(c->pinned.host, c->v.state, state_bytes(&c->spec),
				cudaMemcpyDeviceToHost, stream),
		why);
	BS_CUDA(cudaMemcpyAsync(c->pinned.host + states_end(&c->spec), c->v.history,
				history_bytes(&c->spec), cudaMemcpyDeviceToHost, stream),
		why);
	BS_CUDA(cudaStreamSynchronize(stream), why);
	for (uint32_t i = 0; i < images; i++, history += c->v.made) {
		result[i].iterations = state[i].iterations;
		result[i].history = history;
		result[i].residual = history[state[i].iterations];
		result[i].deadline_stop = false;
	}
	return 0;
}

struct queue {
	struct bs_pcg_cuda *c;
	cudaStream_t stream;
};

static int queue_one(void *arg, cudaEvent_t done, struct bs_fail *why)
{
	const struct queue *q = (const struct queue *)arg;
	int err = queue_part(q->c, q->c->one, iterate, q->stream, why);

	if (err == 0)
		BS_CUDA(cudaEventRecord(done, q->stream), why);
	return err;
}

static int watch(struct bs_pcg_cuda *c, uint32_t iterations, int64_t deadline_ns,
		 cudaStream_t stream, bool *late, struct bs_fail *why)
{
	struct queue q = { c, stream };
	int err = queue_part(c, c->first, bs_pcg_cuda_begin, stream, why);

	if (err != 0)
		return err;
	BS_CUDA(cudaStreamSynchronize(stream), why);
	err = bs_watch_run(&c->watch, iterations, deadline_ns, queue_one, &q, late, why);
	return err != 0 ? err : queue_part(c, c->last, finish, stream, why);
}

int bs_pcg_cuda_solve(struct bs_pcg_cuda *c, uint32_t iterations, int64_t deadline_ns,
		      struct CUstream_st *stream, struct bs_pcg_result *result, struct bs_fail *why)
{
	bool late = false;
	int err;

	if (deadline_ns == INT64_MAX || iterations > c->spec.iterations)
		err = bs_pcg_cuda_queue(c, iterations, stream, why);
	else
		err = watch(c, iterations, deadline_ns, stream, &late, why);
	if (err == 0)
		err = bs_pcg_cuda_wait(c, stream, result, why);
	for (uint32_t i = 0; err == 0 && i < images_of(&c->spec); i++)
		result[i].deadline_stop = late && result[i].iterations < iterations;
	return err;
}
