/*
 * gpu/nufft/cuda/plan.cuh - the insides of a CUDA gridding plan; for nufft.cu and run.cu
 *
 * scratch holds the padded sectors between spreading and gathering, and the grid between the passes
 * along y and z. half holds the half transformed grid, after the pass along x, which crops it. A
 * plan whose cells collect their samples (collect.cu) fills grid instead of padded sectors. Many
 * coils take turns (choice.turn): then these arrays hold the channels of one turn.
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
	float2 *data; /* samples [coil][samples] */
	/* sum of several chunks: a grid, or with choice.sums images of all coils */
	float2 *sum;
	uint64_t *arrived; /* samples that have come, of each chunk; host memory */
	uint64_t next;     /* number of the next chunk to be gridded */
};

struct bs_nufft_cuda {
	struct bs_nufft_spec spec;
	struct bs_nufft_choice choice;
	struct bs_nufft_kernels kernels;
	bool stacked;
	bs_stack_dev stack;
	struct bs_nufft_chunk *chunk;
	struct bs_nufft_cuda_state *state;
	/* adjoint: launches may overlap, where the device can do that */
	bool close;
	/* each cell is written once: there are few samples and the plan is untuned */
	bool direct;
	const float *weight; /* [sample]; used where samples are mixed */
	float2 *mixed;       /* samples laid out as [point][channel] */
	float2 *scratch;     /* padded sectors; where there are none, what the passes need */
	float2 *half;        /* images after the pass along x, [channel][gz][gy][nx] */
	/* [channel][gz][gy][gx]; lies in scratch where no grid is kept */
	float2 *grid;
	float2 *spare;              /* peek: a grid to go on with; NULL where none is needed */
	bs_line_pass in[3], out[3]; /* passes of the adjoint and of the forward, by axis */
};

/* Cells of the grids of one turn. */
static inline uint64_t bs_nufft_cells(const struct bs_nufft_cuda *p)
{
	const uint32_t *g = p->choice.sectors.grid;

	return (uint64_t)g[0] * g[1] * g[2] * p->choice.channels;
}

/*
 * run.cu: adds a chunk's samples, convolved with the window, to grid [channel][z][y][x]. For coils
 * that do not take turns.
 */
int bs_nufft_add_chunk(struct bs_nufft_cuda *p, uint64_t chunk, const float2 *data, float2 *grid,
		       cudaStream_t stream, struct bs_fail *why);

#endif
