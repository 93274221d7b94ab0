/*
 * gpu/solve/pcg_cuda.h - conjugate gradients whole on the GPU: (F^H F + mu W^H W) x = b
 *
 * The twin of core/solve/pcg.h. It uses the Toeplitz operator (gpu/toeplitz/toeplitz_cuda.h; with
 * maps, its sum over coils), the constraint W (identity or a sparse matrix), and Jacobi's
 * preconditioner, the circulant one or none. An iteration takes eight launches in 3D, six by
 * planes, and six in 2D; a circulant preconditioner takes six to eight more. In 2D it takes two
 * where the constraint is the identity, the preconditioner is not circulant, and there is one GPU
 * (gpu/toeplitz/cuda/step.cuh). A whole solve is one CUDA graph, or part of the caller's (record).
 * Every scalar stays on the device. Under a deadline: gpu/solve/watch.h. Several images with one
 * matrix and no maps are solved side by side, each to its own end.
 * b, x     [image][z][y][x] complex float, device; may not overlap
 * inverse  [z][y][x] float, device: 1 / diagonal of the matrix; or NULL
 * Dot products are in double, in blocks of fixed size added in a fixed order: the same bits every
 * run. With two launches an iteration, p^H A p is in float over a warp, and the squares in the
 * transform are float, too: right-hand sides of 1e14 (512^2) and more end at once, with residual 1.
 * A solve also stops at the tolerance, at BS_PCG_ROUND_OFF and where p^H A p is not positive. What
 * is queued after that does nothing, but for the last application of A to x, for the reported
 * residual.
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
	 * Replaces normal, coils and maps: out = A in without the constraint, launched on stream,
	 * fit for a graph. in and out are device memory and differ.
	 */
	int (*apply)(void *self, const float *in, float *out, struct CUstream_st *stream,
		     struct bs_fail *why);
	void *self;
	/* apply's launches are not the same in every solve, so no graphs are made */
	bool varies;
	uint32_t coils;    /* number of coils of maps; ignored without maps */
	const float *maps; /* [coil][z][y][x] maps in device memory; NULL: one image, no maps */
	double mu;         /* lambda times the number of voxels (gpu/solve/ls.h) */
	/* The constraint is gram (W^H W) alone; or w and its adjoint; or, with all
	 * NULL, the identity. */
	const struct bs_csr_cuda *gram, *w, *adjoint;
	const float *inverse;
	/* circulant preconditioner, used instead of inverse; or NULL */
	struct bs_circulant_cuda *circulant;
	const float *b; /* right-hand side of every solve */
	float *x;       /* solution vector: every solve leaves its result here */
	/*
	 * For several GPUs. coils and maps are this GPU's own, which leaves its addend of A p in
	 * its place in addends [part][z][y][x] complex, device memory. parts 0: one GPU.
	 */
	float *addends;
	uint32_t parts, part;
};

struct bs_pcg_cuda_spec {
	uint64_t voxels;
	uint32_t iterations; /* most iterations of any solve */
	/* relative residual at which a solve stops; 0: it stops by iterations alone */
	double tolerance;
	uint64_t rows;   /* rows of W, where gram is not used */
	bool circulant;  /* the preconditioner is circulant */
	uint32_t images; /* number of images solved side by side; 0: one */
};

/* The outcome of a recorded solve, [image], in memory that the device can write. */
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

/* Queues a whole solve without waiting; wait fetches its outcome. */
int bs_pcg_cuda_queue(struct bs_pcg_cuda *plan, uint32_t iterations, struct CUstream_st *stream,
		      struct bs_fail *why);
/* Launches a whole solve kernel by kernel, fit for a graph. outcome: an address of the device. */
int bs_pcg_cuda_record(struct bs_pcg_cuda *plan, struct bs_pcg_outcome *outcome,
		       struct CUstream_st *stream, struct bs_fail *why);
/*
 * The functions below are for several GPUs, each with a plan of its own. Call begin on all. In each
 * iteration call product on all, bring the addends to every GPU, call step on all. At the end do
 * the same once with last_product and last_step, for the residual that is reported. wait may be
 * called on any. All but wait only queue. GPUs of one kind have the same bits.
 */
int bs_pcg_cuda_begin(struct bs_pcg_cuda *plan, struct CUstream_st *stream, struct bs_fail *why);
int bs_pcg_cuda_product(struct bs_pcg_cuda *plan, struct CUstream_st *stream, struct bs_fail *why);
int bs_pcg_cuda_step(struct bs_pcg_cuda *plan, struct CUstream_st *stream, struct bs_fail *why);
int bs_pcg_cuda_last_product(struct bs_pcg_cuda *plan, struct CUstream_st *stream,
			     struct bs_fail *why);
int bs_pcg_cuda_last_step(struct bs_pcg_cuda *plan, struct CUstream_st *stream,
			  struct bs_fail *why);
/* Sums addends [part][voxel] into out, in the order of the parts; all in device memory. */
int bs_pcg_cuda_sum(float *out, const float *addends, uint32_t parts, uint64_t voxels,
		    struct CUstream_st *stream, struct bs_fail *why);
/* result: [image]; its history stays valid until the next wait. */
int bs_pcg_cuda_wait(struct bs_pcg_cuda *plan, struct CUstream_st *stream,
		     struct bs_pcg_result *result, struct bs_fail *why);
/* Does queue and wait; under a deadline, iteration by iteration. */
int bs_pcg_cuda_solve(struct bs_pcg_cuda *plan, uint32_t iterations, int64_t deadline_ns,
		      struct CUstream_st *stream, struct bs_pcg_result *result,
		      struct bs_fail *why);

BS_C_END
#endif
