/*
 * gpu/penalty/cuda/rows.cuh - a prior's row of functions on the GPU, and what the rows share
 *
 * Inside gpu/penalty; for .cu files alone.
 */
#ifndef BS_GPU_PENALTY_CUDA_ROWS_CUH
#define BS_GPU_PENALTY_CUDA_ROWS_CUH

#include "gpu/device/check.h"
#include "gpu/penalty/penalty_cuda.h"
#include "gpu/solve/csr_cuda.h"
#include "gpu/penalty/cuda/prox_state.h"
#include "gpu/solve/cuda/sums.cuh"

#define PENALTY_BLOCKS_MOST 1024u /* blocks of a launch; their number decides the order of sums */
#define PENALTY_LEVELS      12    /* most halvings of an axis of 4,096 voxels */

struct bs_penalty_cuda_row {
	/* Refuses what only the host does; NULL: nothing. */
	int (*check)(const struct bs_penalty_cuda_plan *plan, struct bs_fail *why);
	void (*take)(struct bs_penalty_cuda_plan *plan, struct bs_devroom *room);
	/* Prepares what take took. NULL: there is nothing to prepare. */
	int (*ready)(struct bs_penalty_cuda_plan *plan, struct bs_devmem *mem, struct bs_fail *why);
	int (*value)(void *self, struct bs_prox_state *state, const float *x, cudaStream_t stream,
		     struct bs_fail *why);
	int (*prox)(void *self, struct bs_prox_state *state, float *z, cudaStream_t stream,
		    struct bs_fail *why);
	bool refines;
};

extern const struct bs_penalty_cuda_row bs_penalty_cuda_wavelet, bs_penalty_cuda_dual,
	bs_penalty_cuda_lowrank;

/* Differences along an axis, as of gpu/penalty/rows.h; or W. */
struct penalty_axes {
	struct {
		uint64_t length, stride;
		bool open;
	} axis[3];
	uint32_t many; /* axes; 0: W */
};

/* The coefficients of a level of wavelets: [grid][image][band][z][y][x]. */
struct penalty_level {
	float2 *to;
	uint32_t n[3], low[3]; /* the box that is halved; its lower half on each axis that is */
	uint32_t bands;
	uint64_t plane; /* coefficients of a band */
};

struct bs_penalty_cuda_plan {
	struct bs_penalty_spec s;
	const struct bs_penalty_cuda_row *row;
	struct bs_penalty_cuda penalty;
	uint64_t voxels, size; /* voxels of an image; of all images */
	double *partial;       /* sums of blocks, [2][blocks] */
	uint32_t levels[3];    /* wavelet: halvings of each axis */
	struct penalty_level level[PENALTY_LEVELS];
	/* dual: p, q and r [component][row]; spare: where the step started */
	struct penalty_axes axes;
	const struct bs_csr *w; /* host memory, for plan alone */
	struct bs_csr_cuda plain, adjoint;
	uint64_t rows;
	float2 *p, *q, *r, *spare;
	float tau;
	uint32_t blocks[3]; /* low_rank: blocks along each axis */
	double *sums;       /* low_rank: [block] what is left of its singular values */
};

static inline unsigned penalty_blocks(uint64_t threads)
{
	const uint64_t blocks = (threads + SUM_THREADS - 1) / SUM_THREADS;

	return blocks < PENALTY_BLOCKS_MOST ? (unsigned)blocks : PENALTY_BLOCKS_MOST;
}

static inline int penalty_launched(struct bs_fail *why)
{
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

/* The first element of a thread of a launch whose threads take more than one, and their step. */
static __device__ __forceinline__ uint64_t penalty_first(void)
{
	return (uint64_t)blockIdx.x * SUM_THREADS + threadIdx.x;
}

static __device__ __forceinline__ uint64_t penalty_step(void)
{
	return (uint64_t)gridDim.x * SUM_THREADS;
}

#endif
