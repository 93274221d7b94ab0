/*
 * gpu/nufft/cuda/path.cuh - the kernels of gpu/nufft/path.cu: where a readout's samples lie, and
 * the cells that collect them
 *
 * find: one readout, in one block; k lies in the host's memory. collect: one group of readouts, in
 * their order. With `last` the cells are then scaled by what an image of ones is seen as, and that
 * value is written to *total in the host's memory. Both only queue.
 */
#ifndef BS_GPU_NUFFT_CUDA_PATH_CUH
#define BS_GPU_NUFFT_CUDA_PATH_CUH

#include "gpu/nufft/cuda/dev.cuh"

#define BS_PATH_TILE  8u  /* edge of a tile in cells */
#define BS_PATH_CHUNK 32u /* samples of a box */
/* a first cell outside every box of cells, with two equal bytes, so that memset can write it */
#define BS_PATH_NEVER 0x7f7f

/*
 * A sample: the first cells of its window, not yet taken modulo the grid; its offsets; its weight.
 */
struct __align__(16) bs_path_place
{
	short cell[2];
	float offset[2], weight;
};

/* Range of the first cells of a chunk's samples: from, to, in x and y. */
struct __align__(8) bs_path_box
{
	short from[2], to[2];
};

struct bs_path_shape {
	uint32_t samples, readouts, chunks; /* chunks: number of chunks of a readout */
	uint32_t matrix[2], coils;
	bool ramp, normalizes;
};

/* A grid and the places of samples on it. */
struct bs_path_grid {
	uint32_t size[2];
	double window;
	struct bs_path_place *place; /* places of samples, [state][readout][sample] */
	struct bs_path_box *box;     /* boxes of chunks, [state][readout][chunk] */
};

/* Folds v over the block's threads by a fixed tree; all threads get the result. */
template <class F> static __device__ double bs_path_fold(double v, double none, F f)
{
	__shared__ double part[32];

	for (int n = 16; n > 0; n >>= 1)
		v = f(v, __shfl_xor_sync(~0u, v, n));
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : none;
	for (int n = 16; n > 0; n >>= 1)
		v = f(v, __shfl_xor_sync(~0u, v, n));
	return v;
}

static __device__ __forceinline__ double bs_path_sum(double v)
{
	return bs_path_fold(v, 0.0, [](double a, double b) { return a + b; });
}

/*
 * q NULL: places on the image's grid alone. at: the readout's number, counted through all frames.
 */
int bs_path_find(const struct bs_path_grid *image, const struct bs_path_grid *q, double *seen,
		 const float2 *k, uint64_t at, const struct bs_path_shape *s, cudaStream_t stream,
		 struct bs_fail *why);

/*
 * Work of a launch that collects. data: [coil][sample] of the frame; NULL: ones. The readouts are
 * from .. to.
 */
struct bs_path_work {
	const float2 *data;
	uint32_t coils, state, from, to;
	/*
	 * adds: the sums are added to what the cells hold; last: this launch also scales the cells
	 */
	bool adds, last;
};

int bs_path_collect(float2 *cells, const struct bs_path_grid *on, const struct bs_path_work *work,
		    const double *seen, double *total, const struct bs_kernel_window *window,
		    uint32_t taps, const struct bs_path_shape *s, cudaStream_t stream,
		    struct bs_fail *why);

#endif
