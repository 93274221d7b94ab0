/*
 * gpu/nufft/cuda/dev.cuh - the arguments of the CUDA gridding kernels; only gpu/nufft includes this
 *
 * They are the samples of one chunk, sorted into sectors, and the layout of the arrays.
 * data: channel c of sample m at m * sample_step + c * channel_step. part: padded sectors
 * [task][group][cell of the padded sector][lane]. grid: [channel][z][y][x]. All are complex.
 */
#ifndef BS_GPU_NUFFT_CUDA_DEV_CUH
#define BS_GPU_NUFFT_CUDA_DEV_CUH

#include <cuda_runtime.h>
#include <type_traits>

#include "gpu/fft/lines_cuda.h"
#include "gpu/nufft/cuda/choice.h"

struct bs_nufft_dev {
	const uint32_t *order;
	const uint32_t *cell;
	const float *offset; /* [axis][points] place of each point relative to its first cell */
	const float *weight; /* weights in sorted order; NULL: the data are weighted already */
	const struct bs_sector_task *task;
	const uint2 *range; /* [sector] first task and number of tasks; 1 after merging */
	/* crowded sectors, whose tasks are merged: first task, number of tasks */
	const uint2 *crowd;
	const uint2
		/*
		 * [sector]: first task, number of tasks; used where a sector's last block adds them
		 * up
		 */
		*copies;
	uint32_t
		/*
		 * [sector][group]: number of blocks that have ended; NULL where no block adds
		 * copies
		 */
		*done;
	/* [sector]: first sample, number of samples; where cells collect, or may collect */
	const uint2 *span;
	const struct bs_sector_reach *reach[3];
	const uint32_t *start[3];
	uint64_t points;
	uint64_t sample_step, channel_step;
	uint32_t grid[3], axis[3], padded[3];
	uint32_t channels, groups, tasks, crowds;
	bool fours; /* interpolate_volume reads the grid as [channel / 4][z][y][x][channel % 4] */
	struct bs_kernel_window window;
};

typedef void (*bs_grid_kernel)(const bs_nufft_dev, const float2 *, float2 *);

/*
 * The kernels of a choice. Each block takes one task (x) and one group of channels (y).
 * interpolate_shared: several threads share a sample, and a block takes shared_lanes channels.
 */
struct bs_nufft_kernels {
	bs_grid_kernel spread, interpolate, interpolate_shared;
	unsigned spread_threads, interpolate_threads, shared_threads, shared_lanes;
	/* bytes of dynamic shared memory */
	size_t spread_bytes, interpolate_bytes, interpolate_shared_bytes;
};

/* Calls f with the width of the window in cells as a compile-time constant. */
template <class F> static auto bs_by_taps(uint32_t taps, F f)
{
	switch (taps) {
	case 4:
		return f(std::integral_constant<int, 4>());
	case 5:
		return f(std::integral_constant<int, 5>());
	case 6:
		return f(std::integral_constant<int, 6>());
	case 7:
		return f(std::integral_constant<int, 7>());
	default:
		return f(std::integral_constant<int, 8>());
	}
}

struct bs_nufft_kernels bs_nufft_kernels_2d(uint32_t taps, uint32_t lanes);
struct bs_nufft_kernels bs_nufft_kernels_3d(uint32_t taps, uint32_t lanes, uint32_t channels);

/*
 * direct.cu: sets grid to the gridded samples. 2D, one channel, no crowded sectors; no sector may
 * be narrower than the window less a cell.
 */
int bs_nufft_direct(const bs_nufft_dev *d, uint32_t taps, const float2 *data, float2 *grid,
		    bool close, cudaStream_t stream, struct bs_fail *why);

/*
 * Sets grid to the gridded samples, or adds them (add). Each cell sums in a fixed order. In
 * collect.cu, 3D.
 */
int bs_nufft_collect(const bs_nufft_dev *d, uint32_t taps, uint32_t lanes, bool add,
		     const float2 *data, float2 *grid, bool close, cudaStream_t stream,
		     struct bs_fail *why);

/* The next functions are in borders.cu. */
int bs_nufft_gather_init(struct bs_fail *why);
/*
 * Adds the copies of each crowded sector into its first copy, in order. Does nothing where no
 * sector is crowded.
 */
int bs_nufft_merge(const bs_nufft_dev *d, uint32_t lanes, float2 *part, bool close,
		   cudaStream_t stream, struct bs_fail *why);
/* Adds the padded sectors to grid; each cell sums in a fixed order. */
int bs_nufft_gather(const bs_nufft_dev *d, uint32_t lanes, const float2 *part, float2 *grid,
		    cudaStream_t stream, struct bs_fail *why);
/*
 * Queues the sum of bs_nufft_gather, transformed along x and cropped in the same kernel. pass: the
 * pass along x.
 */
int bs_nufft_gather_rows(const bs_nufft_dev *d, uint32_t lanes, const bs_line_pass *pass,
			 const float2 *part, float2 *out, cudaStream_t stream, struct bs_fail *why);

/* The next functions are in passes.cu. */
int bs_nufft_passes_init(struct bs_fail *why);
/*
 * data [coil][samples] -> mixed [sample][channel], weighted; for the samples first .. first + count
 * - 1.
 */
int bs_nufft_mix(const float2 *data, const float *weight, uint64_t samples, uint64_t first,
		 uint64_t count, uint32_t coils, float2 *mixed, cudaStream_t stream,
		 struct bs_fail *why);

/* Adds `count` values of the array `from` to those of the array `to`. */
int bs_nufft_sum(float2 *to, const float2 *from, uint64_t count, cudaStream_t stream,
		 struct bs_fail *why);

struct bs_stack_dev {
	bs_line_plan line;      /* lines of one point for each partition */
	const uint32_t *source; /* number of each sample, [partition][position] */
	const float *weight;    /* [sample] weights; NULL: ones */
	uint64_t positions, samples;
	uint32_t coils;
};
/*
 * stack_in transforms data along kz into mixed [position][coil][bin of z]; stack_out does the
 * reverse.
 */
int bs_nufft_stack_in(const bs_stack_dev *s, const float2 *data, float2 *mixed, cudaStream_t stream,
		      struct bs_fail *why);
int bs_nufft_stack_out(const bs_stack_dev *s, const float2 *mixed, float2 *data,
		       cudaStream_t stream, struct bs_fail *why);

#endif
