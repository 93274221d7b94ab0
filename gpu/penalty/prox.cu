/* gpu/penalty/prox.cu - least squares with a prior whole on the GPU; see prox_cuda.h */
#include "gpu/penalty/prox_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "gpu/device/check.h"
#include "gpu/device/stream.h"
#include "gpu/penalty/cuda/prox_state.h"
#include "gpu/solve/cuda/sums.cuh"
#include "gpu/solve/watch.h"

#define BLOCKS_MOST  1024u /* blocks of a launch; their number decides the order of sums */
#define ROUND_OFF    1e-9  /* as in core/solve/prox.c */
#define CHANGES_MOST 2.0   /* as in core/solve/prox.c */

/* x: best so far; z: the next one; y: point of the gradient; hx = A x, hz = A z */
struct vectors {
	const float *b;
	float *x, *z, *y, *hx, *hz;
	double *partial; /* sums of blocks, [2][blocks] */
	double *history;
	struct bs_prox_state *state;
	uint64_t floats;
};

struct bs_prox_cuda {
	struct bs_prox_spec s;
	struct bs_prox_cuda_system system;
	struct vectors v;
	float *seed;             /* start of the power iteration */
	struct bs_pinned pinned; /* copies of the state, then of the history */
	cudaStream_t capture;
	cudaGraphExec_t pass;
	struct bs_watch watch;
};

/* ---- kernels --------------------------------------------------------------------------------- */

/*
 * Keeps x. A plain step cannot rise: where it did by more than rounding, the step was too long or
 * the proximal step not exact enough.
 */
static __device__ void reject(struct bs_prox_state *s, double rise, bool refines)
{
	if (s->plain) {
		s->ended = !(rise > ROUND_OFF * fabs(s->objective));
		if (refines && s->passes < BS_PROX_REFINED)
			s->passes *= 2;
		else
			s->step *= 0.5;
	}
	s->t = 1.0;
	s->plain = true;
	s->move = BS_PROX_REJECTS;
}

static __device__ void accept(struct bs_prox_state *s, double rise, double turn, bool changes)
{
	/* a penalty that changes is averaged over its grids only while the momentum is short */
	const bool uphill = s->starts || turn > 0.0 || (changes && s->t > CHANGES_MOST);
	const double next = uphill ? 1.0 : 0.5 * (1.0 + sqrt(1.0 + 4.0 * s->t * s->t));

	s->c = uphill ? 0.0f : (float)((s->t - 1.0) / next);
	s->objective += rise;
	s->penalty = s->value;
	s->still = !s->starts && fabs(rise) <= s->tolerance * fabs(s->objective) ? s->still + 1 : 0;
	s->ended = s->still == 2;
	s->t = next;
	s->plain = !(s->c > 0.0f);
	s->move = BS_PROX_ACCEPTS;
}

static __device__ void decide(const struct vectors &v, double2 sum, bool refines, bool changes)
{
	struct bs_prox_state *s = v.state;
	const double rise = sum.x + (s->value - s->penalty);

	if (s->starts || rise <= 0.0 || (changes && isfinite(rise)))
		accept(s, rise, sum.y, changes);
	else
		reject(s, rise, refines);
	s->iterations += s->starts ? 0 : 1;
	s->starts = false;
	v.history[s->iterations] = s->objective;
	s->stop = s->ended || s->iterations == s->most;
}

/*
 * Sums (z - x).((A z + A x) / 2 - b), by which the objective without the penalty changes from x to
 * z, and (y - z).(z - x), which is above 0 where the momentum points uphill; then decides.
 */
static __global__ void __launch_bounds__(SUM_THREADS)
	judge(const struct vectors v, bool refines, bool changes)
{
	double2 sum = make_double2(0.0, 0.0);

	if (v.state->stop || v.state->pass > 0) {
		if (blockIdx.x == 0 && threadIdx.x == 0)
			v.state->move = BS_PROX_STAYS;
		return;
	}
	for (uint64_t i = (uint64_t)blockIdx.x * SUM_THREADS + threadIdx.x; i < v.floats;
	     i += (uint64_t)gridDim.x * SUM_THREADS) {
		const double z = v.z[i];
		const double d = z - v.x[i];

		sum.x += d * (0.5 * ((double)v.hz[i] + v.hx[i]) - v.b[i]);
		sum.y += (v.y[i] - z) * d;
	}
	if (grid_sum(v.partial, &v.state->tickets, sum, &sum) && threadIdx.x == 0)
		decide(v, sum, refines, changes);
}

/*
 * Accepted, y = z + c (z - x) and x = z; rejected, y = x. Then z is the gradient step from y, which
 * needs no further application: A y is the same combination of A z and A x.
 */
static __global__ void __launch_bounds__(SUM_THREADS) move(const struct vectors v)
{
	const uint8_t how = v.state->move;
	const float step = (float)v.state->step;
	const float c = v.state->c;

	if (how == BS_PROX_STAYS)
		return;
	for (uint64_t i = (uint64_t)blockIdx.x * SUM_THREADS + threadIdx.x; i < v.floats;
	     i += (uint64_t)gridDim.x * SUM_THREADS) {
		const float x = v.x[i];
		const float hx = v.hx[i];

		if (how == BS_PROX_REJECTS) {
			v.y[i] = x;
			v.z[i] = x - step * (hx - v.b[i]);
		} else {
			const float z = v.z[i];
			const float hz = v.hz[i];
			const float y = z + c * (z - x);

			v.y[i] = y;
			v.x[i] = z;
			v.hx[i] = hz;
			v.z[i] = y - step * (hz + c * (hz - hx) - v.b[i]);
		}
	}
}

static __global__ void __launch_bounds__(SUM_THREADS) norm(const struct vectors v)
{
	double2 sum = make_double2(0.0, 0.0);

	for (uint64_t i = (uint64_t)blockIdx.x * SUM_THREADS + threadIdx.x; i < v.floats;
	     i += (uint64_t)gridDim.x * SUM_THREADS)
		sum.x += (double)v.z[i] * v.z[i];
	if (grid_sum(v.partial, &v.state->tickets, sum, &sum) && threadIdx.x == 0)
		v.state->norm = sqrt(sum.x);
}

/* Sets x to z of norm 1, or to 0 where z is 0. */
static __global__ void __launch_bounds__(SUM_THREADS) shrink(const struct vectors v)
{
	const double largest = v.state->norm;
	const float scale = largest > 0.0 ? (float)(1.0 / largest) : 0.0f;

	for (uint64_t i = (uint64_t)blockIdx.x * SUM_THREADS + threadIdx.x; i < v.floats;
	     i += (uint64_t)gridDim.x * SUM_THREADS)
		v.x[i] = scale * v.z[i];
}

/* ---- plan ------------------------------------------------------------------------------------ */

static unsigned blocks_of(const struct bs_prox_cuda *g)
{
	const uint64_t blocks = (g->v.floats + SUM_THREADS - 1) / SUM_THREADS;

	return blocks < BLOCKS_MOST ? (unsigned)blocks : BLOCKS_MOST;
}

static size_t history_bytes(const struct bs_prox_spec *s)
{
	return ((size_t)s->iterations + 1) * sizeof(double);
}

static void take_all(struct bs_prox_cuda *g, struct bs_devroom *r)
{
	const uint64_t vector = g->s.size * 8;

	bs_devroom_take(r, &g->v.x, vector);
	bs_devroom_take(r, &g->v.z, vector);
	bs_devroom_take(r, &g->v.y, vector);
	bs_devroom_take(r, &g->v.hx, vector);
	bs_devroom_take(r, &g->v.hz, vector);
	bs_devroom_take(r, &g->seed, vector);
	bs_devroom_take(r, &g->v.partial, 2 * BLOCKS_MOST * sizeof(double));
	bs_devroom_take(r, &g->v.history, history_bytes(&g->s));
	bs_devroom_take(r, &g->v.state, sizeof(struct bs_prox_state));
}

int bs_prox_cuda_need(const struct bs_prox_spec *s, uint64_t *bytes, struct bs_fail *why)
{
	struct bs_prox_cuda g = {};
	struct bs_devroom room = {};
	struct bs_need host;
	int rc;

	memset(&host, 0, sizeof(host));
	rc = bs_prox_need(s, &host, why); /* the same sizes are legal as on the host */
	g.s = *s;
	take_all(&g, &room);
	*bytes = room.bytes;
	return rc;
}

/* Queues a pass: the proximal step, A, the judgment, the move. */
static int queue_pass(struct bs_prox_cuda *g, cudaStream_t stream, struct bs_fail *why)
{
	const struct bs_penalty_cuda *p = g->system.penalty;
	int rc = p->prox(p->self, g->v.state, g->v.z, stream, why);

	if (rc == 0)
		rc = g->system.apply(g->system.self, g->v.z, g->v.hz, stream, why);
	if (rc != 0)
		return rc;
	judge<<<blocks_of(g), SUM_THREADS, 0, stream>>>(g->v, p->refines, p->changes);
	move<<<blocks_of(g), SUM_THREADS, 0, stream>>>(g->v);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

/* Runs a pass once, so that no kernel is loaded later, then captures it. */
static int record_pass(struct bs_prox_cuda *g, struct bs_fail *why)
{
	cudaGraph_t graph = NULL;
	cudaError_t e;
	int rc;

	BS_CUDA(cudaMemsetAsync(g->v.state, 0, sizeof(*g->v.state), g->capture), why);
	BS_CUDA(cudaMemsetAsync(g->v.z, 0, g->s.size * 8, g->capture), why);
	rc = queue_pass(g, g->capture, why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaStreamSynchronize(g->capture), why);
	BS_CUDA(cudaStreamBeginCapture(g->capture, cudaStreamCaptureModeThreadLocal), why);
	rc = queue_pass(g, g->capture, why);
	e = cudaStreamEndCapture(g->capture, &graph);
	if (rc == 0 && e == cudaSuccess)
		e = cudaGraphInstantiate(&g->pass, graph, 0);
	if (graph != NULL)
		(void)cudaGraphDestroy(graph);
	if (rc != 0)
		return rc;
	BS_CUDA(e, why);
	BS_CUDA(cudaGraphUpload(g->pass, g->capture), why);
	BS_CUDA(cudaStreamSynchronize(g->capture), why);
	return 0;
}

/* Makes the start of the power iteration: the host's. */
static int plant_seed(struct bs_prox_cuda *g, struct bs_fail *why)
{
	float *start = (float *)malloc(g->s.size * 8);
	struct bs_random random;
	cudaError_t e;

	if (start == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "proximal solver: start");
	bs_random_seed(&random, 1);
	for (uint64_t i = 0; i < g->v.floats; i++)
		start[i] = (float)(bs_random_uniform(&random) - 0.5);
	e = cudaMemcpy(g->seed, start, g->s.size * 8, cudaMemcpyHostToDevice);
	free(start);
	BS_CUDA(e, why);
	return bs_cuda_copied(why);
}

int bs_prox_cuda_plan(struct bs_prox_cuda **plan, const struct bs_prox_spec *s,
		      const struct bs_prox_cuda_system *system, struct bs_devmem *mem,
		      struct bs_fail *why)
{
	struct bs_prox_cuda *g = (struct bs_prox_cuda *)calloc(1, sizeof(*g));
	struct bs_devroom room = { mem, 0, false };
	int rc;

	*plan = NULL;
	if (g == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "proximal solver");
	g->s = *s;
	g->system = *system;
	g->v.b = system->b;
	g->v.floats = 2 * s->size;
	take_all(g, &room);
	rc = bs_devroom_check(&room, "proximal solver", why);
	if (rc == 0)
		rc = bs_pinned_open(&g->pinned, sizeof(struct bs_prox_state) + history_bytes(s),
				    why);
	if (rc == 0)
		rc = plant_seed(g, why);
	if (rc == 0)
		rc = bs_stream_open(&g->capture, why);
	if (rc == 0)
		rc = bs_watch_open(&g->watch, why);
	if (rc == 0)
		rc = record_pass(g, why);
	if (rc != 0) {
		bs_prox_cuda_close(g);
		return rc;
	}
	*plan = g;
	return 0;
}

void bs_prox_cuda_close(struct bs_prox_cuda *g)
{
	if (g == NULL)
		return;
	if (g->pass != NULL)
		(void)cudaGraphExecDestroy(g->pass);
	bs_watch_close(&g->watch);
	if (g->capture != NULL)
		(void)cudaStreamDestroy(g->capture);
	bs_pinned_close(&g->pinned);
	free(g);
}

/* ---- run ------------------------------------------------------------------------------------- */

static struct bs_prox_state *told(const struct bs_prox_cuda *g)
{
	return (struct bs_prox_state *)g->pinned.host;
}

/* Waits, and fetches the state. */
static int fetch_state(struct bs_prox_cuda *g, cudaStream_t stream, struct bs_fail *why)
{
	BS_CUDA(cudaMemcpyAsync(g->pinned.host, g->v.state, sizeof(struct bs_prox_state),
				cudaMemcpyDeviceToHost, stream),
		why);
	BS_CUDA(cudaStreamSynchronize(stream), why);
	return 0;
}

int bs_prox_cuda_power(struct bs_prox_cuda *g, uint32_t steps, struct CUstream_st *stream,
		       double *largest, struct bs_fail *why)
{
	int rc = 0;

	BS_CUDA(cudaMemsetAsync(g->v.state, 0, sizeof(*g->v.state), stream), why);
	BS_CUDA(cudaMemcpyAsync(g->v.z, g->seed, g->s.size * 8, cudaMemcpyDeviceToDevice, stream),
		why);
	for (uint32_t i = 0; i <= steps && rc == 0; i++) {
		norm<<<blocks_of(g), SUM_THREADS, 0, stream>>>(g->v);
		shrink<<<blocks_of(g), SUM_THREADS, 0, stream>>>(g->v);
		BS_CUDA(cudaGetLastError(), why);
		if (i < steps)
			rc = g->system.apply(g->system.self, g->v.x, g->v.z, stream, why);
	}
	if (rc == 0)
		rc = fetch_state(g, stream, why);
	*largest = rc == 0 && isfinite(told(g)->norm) ? BS_PROX_POWER_MARGIN * told(g)->norm : 0.0;
	return rc;
}

/* Sets the vectors and the state to where the solve starts. */
static int start(struct bs_prox_cuda *g, const struct bs_prox_state *from, const float *x,
		 cudaStream_t stream, struct bs_fail *why)
{
	const struct bs_penalty_cuda *p = g->system.penalty;
	const size_t bytes = g->s.size * 8;
	int rc;

	*told(g) = *from; /* the last solve has waited, so nothing reads this memory any more */
	BS_CUDA(cudaMemcpyAsync(g->v.state, g->pinned.host, sizeof(*from), cudaMemcpyHostToDevice,
				stream),
		why);
	BS_CUDA(cudaMemsetAsync(g->v.x, 0, bytes, stream), why);
	BS_CUDA(cudaMemsetAsync(g->v.hx, 0, bytes, stream), why);
	BS_CUDA(cudaMemsetAsync(g->v.history, 0, sizeof(double), stream), why);
	if (from->starts) {
		BS_CUDA(cudaMemcpyAsync(g->v.z, x, bytes, cudaMemcpyDeviceToDevice, stream), why);
		BS_CUDA(cudaMemsetAsync(g->v.y, 0, bytes, stream), why);
		rc = p->value(p->self, g->v.state, g->v.z, stream, why);
		if (rc == 0)
			rc = g->system.apply(g->system.self, g->v.z, g->v.hz, stream, why);
		if (rc != 0)
			return rc;
		judge<<<blocks_of(g), SUM_THREADS, 0, stream>>>(g->v, p->refines, p->changes);
	}
	move<<<blocks_of(g), SUM_THREADS, 0, stream>>>(g->v);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

struct queue {
	struct bs_prox_cuda *g;
	cudaStream_t stream;
};

static int queue_one(void *arg, cudaEvent_t done, struct bs_fail *why)
{
	const struct queue *q = (const struct queue *)arg;

	BS_CUDA(cudaGraphLaunch(q->g->pass, q->stream), why);
	BS_CUDA(cudaEventRecord(done, q->stream), why);
	return 0;
}

/* Queues passes, as many as there are iterations to be made; refined steps leave some of them. */
static int run(struct bs_prox_cuda *g, uint32_t passes, int64_t deadline_ns, bool *late,
	       cudaStream_t stream, struct bs_fail *why)
{
	struct queue q = { g, stream };
	int rc;

	if (deadline_ns == INT64_MAX) {
		for (uint32_t i = 0; i < passes; i++)
			BS_CUDA(cudaGraphLaunch(g->pass, stream), why);
	} else {
		BS_CUDA(cudaStreamSynchronize(stream), why);
		rc = bs_watch_run(&g->watch, passes, deadline_ns, queue_one, &q, late, why);
		if (rc != 0)
			return rc;
	}
	return fetch_state(g, stream, why);
}

int bs_prox_cuda_solve(struct bs_prox_cuda *g, const struct bs_prox_cuda_scale *scale, float *x,
		       const struct bs_prox_stop *stop, struct CUstream_st *stream,
		       struct bs_prox_result *result, struct bs_fail *why)
{
	const struct bs_prox_state *s = told(g);
	double *history = (double *)(g->pinned.host + sizeof(*s));
	struct bs_prox_state from = {};
	bool late = false;
	int rc;

	from.lambda = scale->lambda;
	from.t = 1.0;
	from.step = scale->largest > 0.0 ? 1.0 / scale->largest : 1.0;
	from.tolerance = stop->tolerance;
	from.most = stop->iterations < g->s.iterations ? stop->iterations : g->s.iterations;
	from.passes = 1;
	from.starts = stop->warm;
	from.plain = true;
	from.stop = from.most == 0;
	from.move = BS_PROX_REJECTS; /* from x: the first gradient step */
	rc = start(g, &from, x, stream, why);
	for (uint32_t left = from.most; rc == 0 && left > 0 && !late;
	     left = s->stop ? 0 : from.most - s->iterations)
		rc = run(g, left, stop->deadline_ns, &late, stream, why);
	if (rc != 0)
		return rc;
	BS_CUDA(cudaMemcpyAsync(x, g->v.x, g->s.size * 8, cudaMemcpyDeviceToDevice, stream), why);
	BS_CUDA(cudaMemcpyAsync(history, g->v.history, history_bytes(&g->s), cudaMemcpyDeviceToHost,
				stream),
		why);
	BS_CUDA(cudaStreamSynchronize(stream), why);
	memset(result, 0, sizeof(*result));
	result->iterations = s->iterations;
	result->objective = s->objective;
	result->history = history;
	result->reason = s->ended                    ? BS_PROX_TOLERANCE
			 : s->iterations < from.most ? BS_PROX_DEADLINE
						     : BS_PROX_ITERATIONS;
	return 0;
}
