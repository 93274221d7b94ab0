/*
 * gpu/solve/pcg_cuda.h - conjugate gradients whole on the GPU: (F^H F + mu W^H W) x = b
 *
 * The twin of core/solve/pcg.h over the Toeplitz operator (gpu/toeplitz/toeplitz_cuda.h; with maps,
 * its sum over coils) and the constraint W (identity or a sparse matrix), with Jacobi's
 * preconditioner, the circulant one or none. An iteration is seven launches, five by planes
 * (circulant: six to eight more), six in 2D; there two where the constraint is the identity and the
 * preconditioner not circulant, on one GPU (gpu/toeplitz/cuda/step.cuh). A whole solve is one CUDA
 * graph, or part of the caller's (record). Every scalar stays on the device. Under a deadline:
 * gpu/solve/watch.h. Several images with one matrix and no maps are solved side by side, each to
 * its own end.
 * b, x     [image][z][y][x] complex float, device; may not overlap
 * inverse  [z][y][x] float, device: 1 / diagonal of the matrix; or NULL
 * Dot products in double (p^H A p of those two launches in float over a warp), in blocks of fixed
 * size added in a fixed order: the same bits every run. Of those two launches the transform's
 * squares are float, too: right-hand sides of 1e14 (512^2) and more end at once, residual 1.
 * It also stops at the tolerance, at BS_PCG_ROUND_OFF and where p^H A p is not positive: what is
 * queued then does nothing but the application of A to x at the end, for the residual reported.
 *
 * need -> plan -> solve* -> close. plan may allocate beside the arena, solve allocates nothing and
 * waits for the stream. One caller. Errors: BS_ERR_GPU, BS_ERR_NOMEM.
 * Sources: as core/solve/pcg.h. Tests: test/twin/twin_pcg.c, twin_cg_flat.c
 */
#ifndef BS_GPU_SOLVE_PCG_CUDA_H
#define BS_GPU_SOLVE_PCG_CUDA_H

#include "core/solve/pcg.h"
#include "gpu/toeplitz/circulant_cuda.h"
#include "gpu/solve/csr_cuda.h"
#include "gpu/toeplitz/toeplitz_cuda.h"

BS_C_BEGIN

struct bs_pcg_cuda_system {
	struct bs_toeplitz_cuda *normal;
	/*
	 * Instead of normal, coils and maps: out = A in without the constraint, launched on stream,
	 * fit for a graph; device memory, in and out differ.
	 */
	int (*apply)(void *self, const float *in, float *out, struct CUstream_st *stream,
		     struct bs_fail *why);
	void *self;
	bool varies;       /* apply's launches are not the same in every solve: no graphs */
	uint32_t coils;    /* of maps; without, not used */
	const float *maps; /* device, [coil][z][y][x]; NULL: one image, no maps */
	double mu;         /* lambda times the voxels (gpu/solve/ls.h) */
	/* constraint: gram (W^H W) alone; or W and its adjoint; all NULL: the identity */
	const struct bs_csr_cuda *gram, *w, *adjoint;
	const float *inverse;
	struct bs_circulant_cuda *circulant; /* instead of inverse; or NULL */
	const float *b;                      /* the right-hand side of every solve */
	float *x;                            /* where every solve leaves its result */
	/*
	 * Several GPUs: coils and maps are this GPU's own, and its addend of A p is left in its
	 * place in addends, [part][z][y][x] complex, device; parts 0: one GPU.
	 */
	float *addends;
	uint32_t parts, part;
};

struct bs_pcg_cuda_spec {
	uint64_t voxels;
	uint32_t iterations; /* at most, of any solve */
	double tolerance;    /* relative residual; 0: by iterations alone */
	uint64_t rows;       /* of W, where there is no gram */
	bool circulant;      /* the preconditioner */
	uint32_t images;     /* solved side by side; 0: one */
};

/* What a recorded solve leaves behind, [image], in memory that the device can write. */
struct bs_pcg_outcome {
	double residual;
	uint32_t iterations;
};

struct bs_pcg_cuda;

int bs_pcg_cuda_need(const struct bs_pcg_cuda_spec *spec, uint64_t *bytes, struct bs_fail *why);
int bs_pcg_cuda_plan(struct bs_pcg_cuda **plan, const struct bs_pcg_cuda_spec *spec,
		     const struct bs_pcg_cuda_system *system, struct bs_devmem *mem,
		     struct bs_fail *why);
void bs_pcg_cuda_close(struct bs_pcg_cuda *plan);

/* Queues a whole solve without waiting; wait fetches what came of it. */
int bs_pcg_cuda_queue(struct bs_pcg_cuda *plan, uint32_t iterations, struct CUstream_st *stream,
		      struct bs_fail *why);
/*
 * Launches a whole solve, kernel by kernel, fit for a graph; outcome: as the device addresses it.
 */
int bs_pcg_cuda_record(struct bs_pcg_cuda *plan, struct bs_pcg_outcome *outcome,
		       struct CUstream_st *stream, struct bs_fail *why);
/*
 * Several GPUs, each with a plan of its own: begin on all; then for each iteration product on all,
 * the addends brought to every GPU, step on all; likewise last_product and last_step, once, for the
 * residual reported; wait on any. They only queue. GPUs of one kind
 * have the same bits.
 */
int bs_pcg_cuda_begin(struct bs_pcg_cuda *plan, struct CUstream_st *stream, struct bs_fail *why);
int bs_pcg_cuda_product(struct bs_pcg_cuda *plan, struct CUstream_st *stream, struct bs_fail *why);
int bs_pcg_cuda_step(struct bs_pcg_cuda *plan, struct CUstream_st *stream, struct bs_fail *why);
int bs_pcg_cuda_last_product(struct bs_pcg_cuda *plan, struct CUstream_st *stream,
			     struct bs_fail *why);
int bs_pcg_cuda_last_step(struct bs_pcg_cuda *plan, struct CUstream_st *stream,
			  struct bs_fail *why);
/* out = the sum of addends [part][voxel], in the order of the parts; all in device memory. */
int bs_pcg_cuda_sum(float *out, const float *addends, uint32_t parts, uint64_t voxels,
		    struct CUstream_st *stream, struct bs_fail *why);
/* result: [image]; history stays until the next wait. */
int bs_pcg_cuda_wait(struct bs_pcg_cuda *plan, struct CUstream_st *stream,
		     struct bs_pcg_result *result, struct bs_fail *why);
/* queue and wait; under a deadline iteration by iteration. */
int bs_pcg_cuda_solve(struct bs_pcg_cuda *plan, uint32_t iterations, int64_t deadline_ns,
		      struct CUstream_st *stream, struct bs_pcg_result *result,
		      struct bs_fail *why);

BS_C_END
#endif
