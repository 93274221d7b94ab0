/*
 * gpu/nufft/cuda/plan.cuh - a CUDA gridding plan from inside; for nufft.cu and run.cu
 *
 * scratch holds the padded sectors between spreading and gathering, and the grid between the
 * passes along y and z; half the grid half transformed: after the pass along x, which crops it.
 * A plan whose cells collect their samples (collect.cu) fills grid instead of padded sectors. Many
 * coils take turns (choice.turn): all of these hold the channels of one turn.
 *
 * A file calls only what stands after it here:
 *   measure.cu > nufft.cu, run.cu > plane.cu, volume.cu, direct.cu, collect.cu, passes.cu
 *     > borders.cu > gpu/fft
 *   nufft.cu > choice.c > sectors.c, ../trajectory.c, ../window.c
 */
#ifndef BS_GPU_NUFFT_CUDA_PLAN_CUH
#define BS_GPU_NUFFT_CUDA_PLAN_CUH

#include "gpu/nufft/nufft_cuda.h"
#include "gpu/nufft/cuda/dev.cuh"

struct bs_nufft_chunk {
	bs_nufft_dev dev;
	uint64_t first, count;
};

struct bs_nufft_cuda_state {
	float2 *data;      /* [coil][samples] */
	float2 *sum;       /* chunks > 1: a grid, or with choice.sums images of all coils */
	uint64_t *arrived; /* samples of each chunk, host */
	uint64_t next;     /* the next chunk to be gridded */
};

struct bs_nufft_cuda {
	struct bs_nufft_spec spec;
	struct bs_nufft_choice choice;
	struct bs_nufft_kernels kernels;
	bool stacked;
	bs_stack_dev stack;
	struct bs_nufft_chunk *chunk;
	struct bs_nufft_cuda_state *state;
	bool close;                 /* adjoint: launches may overlap, where the device can */
	bool direct;                /* untuned and few samples: each cell is written once */
	const float *weight;        /* [sample], where samples are mixed */
	float2 *mixed;              /* [point][channel] */
	float2 *scratch;            /* padded sectors; what the passes need in their absence */
	float2 *half;               /* [channel][gz][gy][nx] */
	float2 *grid;               /* [channel][gz][gy][gx]; in scratch where none is kept */
	float2 *spare;              /* peek: a grid to go on with, NULL where none is needed */
	bs_line_pass in[3], out[3]; /* adjoint and forward, by axis */
};

/* Of the grids of a turn. */
static inline uint64_t bs_nufft_cells(const struct bs_nufft_cuda *p)
{
	const uint32_t *g = p->choice.sectors.grid;

	return (uint64_t)g[0] * g[1] * g[2] * p->choice.channels;
}

/* run.cu: grid [channel][z][y][x] += a chunk's samples convolved with the window; coils that do not
 * take turns. */
int bs_nufft_add_chunk(struct bs_nufft_cuda *p, uint64_t chunk, const float2 *data, float2 *grid,
		       cudaStream_t stream, struct bs_fail *why);

#endif
