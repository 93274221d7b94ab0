/*
 * gpu/penalty/prox_cuda.h - least squares with a prior whole on the GPU; twin of core/solve/prox.h
 *
 * The same iteration; x is accepted or rejected on the device. The host queues passes, each of them
 * an iteration: the proximal step, A, the judgment, the move; a step that the solver has refined
 * takes more than one. A pass is one CUDA graph. Under a deadline: gpu/solve/watch.h.
 * b, x, and all vectors: device memory. Sums are in double, in blocks of fixed size added in a
 * fixed order: the same bytes every run, and for equal numbers of iterations.
 *
 * need -> plan -> { power | solve }* -> close. plan may allocate beside the arena; power and solve
 * allocate nothing and wait for the stream. One caller. Errors: BS_ERR_GPU, BS_ERR_NOMEM,
 * BS_ERR_CONFIG. Sources: as core/solve/prox.h. Test: test/twin/penalty/twin_prox.c
 */
#ifndef BS_GPU_PENALTY_PROX_CUDA_H
#define BS_GPU_PENALTY_PROX_CUDA_H

#include "core/solve/prox.h"
#include "gpu/device/memory.h"

BS_C_BEGIN

struct CUstream_st; /* what a cudaStream_t points to */
struct bs_prox_state;
struct bs_prox_cuda;

/*
 * The functions only queue, always the same launches, fit for a graph. They leave P in
 * state->value, and do nothing where state->stop is set.
 */
struct bs_penalty_cuda {
	void *self;
	int (*value)(void *self, struct bs_prox_state *state, const float *x,
		     struct CUstream_st *stream, struct bs_fail *why);
	/*
	 * One pass of the proximal step at z, in place. The last of a step's passes sets
	 * state->pass to 0 (as a step of one pass leaves it); those before it, to their number.
	 */
	int (*prox)(void *self, struct bs_prox_state *state, float *z, struct CUstream_st *stream,
		    struct bs_fail *why);
	bool refines; /* a step may take more passes, which make it more exact */
	bool changes; /* P changes from one iteration to the next */
};

struct bs_prox_cuda_system {
	void *self;
	/* Queues out = A in, always by the same launches; in and out differ. */
	int (*apply)(void *self, const float *in, float *out, struct CUstream_st *stream,
		     struct bs_fail *why);
	const struct bs_penalty_cuda *penalty;
	const float *b; /* right-hand side of every solve */
};

struct bs_prox_cuda_scale {
	double largest; /* at least A's largest eigenvalue */
	double lambda;  /* weight of the prior */
};

int bs_prox_cuda_need(const struct bs_prox_spec *spec, uint64_t *bytes, struct bs_fail *why);
int bs_prox_cuda_plan(struct bs_prox_cuda **plan, const struct bs_prox_spec *spec,
		      const struct bs_prox_cuda_system *system, struct bs_devmem *mem,
		      struct bs_fail *why);
void bs_prox_cuda_close(struct bs_prox_cuda *plan);

/* As bs_prox_power, from the same start. */
int bs_prox_cuda_power(struct bs_prox_cuda *plan, uint32_t steps, struct CUstream_st *stream,
		       double *largest, struct bs_fail *why);
/* x: device memory. result->history is valid until the next solve. */
int bs_prox_cuda_solve(struct bs_prox_cuda *plan, const struct bs_prox_cuda_scale *scale, float *x,
		       const struct bs_prox_stop *stop, struct CUstream_st *stream,
		       struct bs_prox_result *result, struct bs_fail *why);

BS_C_END
#endif
