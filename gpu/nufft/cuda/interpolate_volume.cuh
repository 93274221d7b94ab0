/*
 * gpu/nufft/cuda/interpolate_volume.cuh - interpolation in 3D, several lanes a sample
 *
 * As interpolate.cuh, for sectors with few samples. With one lane a sample, the lanes of a warp
 * would read cells all over the sector, and conflicts in the banks of shared memory would bound
 * the kernel. Here the rows of a sample's window are dealt out in turn to lanes beside each other.
 * The sector is laid out so that rows that are read at once lie in different banks, wherever the
 * sample is. The window weights are computed once for a batch of samples. The rows are added up as
 * 16 sums, every 16th row to one sum, and the 16 sums by halves: the same bytes for any number of
 * channels.
 */
#ifndef BS_GPU_NUFFT_CUDA_INTERPOLATE_VOLUME_CUH
#define BS_GPU_NUFFT_CUDA_INTERPOLATE_VOLUME_CUH

#include "gpu/nufft/cuda/interpolate.cuh"

/*
 * The layout for CB channels of W cells a window. The channels of a cell lie beside each other and
 * are read in pieces of 16 bytes (one channel: 8 bytes). Of PARTS neighboring rows r = y + z W,
 * each starts an odd number of cells after the one before, modulo PARTS.
 */
template <int W, int CB> struct parted {
	static const int PARTS = 16 / CB;
	static const int PIECES = CB == 4 ? 2 : 1;
	static const int LANES = PARTS * PIECES; /* lanes of a sample */
	static const int THREADS = CB == 4 ? 256 : 128;
	static const int OF_WARP = 32 / LANES, AT_ONCE = THREADS / LANES;
	static const int SIDE = 8 + W - 1;
	static const int PITCH = SIDE | 1;
	static const int PLANE =
		/* congruent to W PITCH modulo PARTS */
		SIDE * PITCH + ((W - SIDE) * PITCH % PARTS + PARTS) % PARTS;
	static const int MINE = (W * W + PARTS - 1) / PARTS;
	static const int SUMS = 16 / PARTS; /* partial sums of a lane */
	/*
	 * BATCH samples are weighed together. A sample's entry holds the weights along x, the first
	 * cell, the sample's number, and from OTHERS on the weights along y and z.
	 */
	static const int BATCH = 64;
	static const int OTHERS = (W + 2 + 3) / 4 * 4;
	static const int ENTRY = (OTHERS + 2 * W + 3) / 4 * 4;
	/* cells of the sector; the entries lie behind them */
	static const size_t CELLS = ((size_t)SIDE * PLANE * CB + 1) / 2 * 2;

	using piece = typename std::conditional<CB == 1, float2, float4>::type;

	static size_t bytes(void)
	{
		return CELLS * sizeof(float2) + sizeof(float) * BATCH * ENTRY;
	}
};

/* Writes the entries of the samples e .. e + count - 1 of the sorted order. */
template <int W, int CB>
static __device__ __forceinline__ void weigh_batch(float *entry, const bs_nufft_dev &d, uint64_t e,
						   uint32_t count)
{
	using S = parted<W, CB>;

	for (uint32_t i = threadIdx.x; i < 3 * S::BATCH; i += S::THREADS) {
		const uint32_t axis = i / S::BATCH;
		const uint32_t s = i % S::BATCH;
		float *to = entry + s * S::ENTRY;
		float w[W];

		if (s >= count)
			continue;
		const float offset = d.offset[axis * d.points + e + s];

		if (axis == 0) {
			const uint32_t cell = d.cell[e + s];

			window<W>(w, offset, d.window, 0);
			to[W] = __int_as_float((int)((cell & 255u) + (cell >> 8 & 255u) * S::PITCH +
						     (cell >> 16) * S::PLANE));
		} else if (axis == 1) {
			window<W>(w, offset, d.window, 1);
		} else {
			window<W>(w, offset, d.window, 2);
			to[W + 1] = __uint_as_float(d.order[e + s]);
		}
#pragma unroll
		for (int j = 0; j < W; j++)
			to[axis == 0 ? j : S::OTHERS + (axis - 1) * W + j] = w[j];
	}
}

/* Copies two channels of a cell to shared memory, past the first-level cache. */
static __device__ __forceinline__ void bring_piece(float2 *to, const float2 *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
			     (uint32_t)__cvta_generic_to_shared(to)),
		     "l"(from)
		     : "memory");
}

/* Cell start + i of an axis of n cells, which is periodic. */
static __device__ __forceinline__ uint32_t around(uint32_t start, uint32_t i, uint32_t n)
{
	return start + i - (start + i >= n ? n : 0);
}

/*
 * Copies a padded sector to shared memory. Neighboring lanes take the channels of a cell, then
 * cells along x. A thread's place along x and y is the same in each plane.
 */
template <int W, int CB>
static __device__ __forceinline__ void bring_volume(float2 *to, const bs_nufft_dev &d, uint3 start,
						    uint32_t channel, const float2 *grid)
{
	using S = parted<W, CB>;
	const int X = CB == 4 ? 8 : 16; /* cells of a row at a time, and rows at a time */
	const int Y = S::THREADS / (CB * X);
	const int STEPS = (S::SIDE + X - 1) / X, ROWS = (S::SIDE + Y - 1) / Y;
	const int c = threadIdx.x % CB;
	const int x = threadIdx.x / CB % X;
	const int y = threadIdx.x / (CB * X);
	const uint32_t plane = d.grid[1] * d.grid[0];
	uint32_t along[STEPS], row[ROWS];

	if (channel + c >= d.channels)
		return;
	grid += (uint64_t)(channel + c) * plane * d.grid[2];
	to += (y * S::PITCH + x) * CB + c;
#pragma unroll
	for (int i = 0; i < STEPS; i++)
		along[i] = around(start.x, x + i * X, d.grid[0]);
#pragma unroll
	for (int j = 0; j < ROWS; j++)
		row[j] = around(start.y, y + j * Y, d.grid[1]) * d.grid[0];
	for (int z = 0; z < S::SIDE; z++, to += S::PLANE * CB) {
		const float2 *from = grid + around(start.z, z, d.grid[2]) * plane;

#pragma unroll
		for (int j = 0; j < ROWS; j++)
#pragma unroll
			for (int i = 0; i < STEPS; i++)
				if (x + i * X < S::SIDE && y + j * Y < S::SIDE)
					bring_cell(to + (j * Y * S::PITCH + i * X) * CB,
						   from + (row[j] + along[i]));
	}
}

/*
 * Copies a sector as bring_volume does, for a grid where the four channels of a cell lie beside
 * each other: in pieces.
 */
template <int W>
static __device__ __forceinline__ void bring_fours(float2 *to, const bs_nufft_dev &d, uint3 start,
						   uint32_t group, const float2 *grid)
{
	using S = parted<W, 4>;
	const int Y = S::THREADS / 32;
	const int ROWS = (S::SIDE + Y - 1) / Y;
	const int c = threadIdx.x % 2 * 2;
	const int x = threadIdx.x / 2 % 16;
	const int y = threadIdx.x / 32;
	const uint32_t plane = d.grid[1] * d.grid[0];
	const uint32_t along = around(start.x, x, d.grid[0]);
	uint32_t row[ROWS];

	if (x >= S::SIDE)
		return;
	grid += (uint64_t)group * plane * d.grid[2] * 4 + c;
	to += (y * S::PITCH + x) * 4 + c;
#pragma unroll
	for (int j = 0; j < ROWS; j++)
		row[j] = (around(start.y, y + j * Y, d.grid[1]) * d.grid[0] + along) * 4;
	for (int z = 0; z < S::SIDE; z++, to += S::PLANE * 4) {
		const float2 *from = grid + (uint64_t)around(start.z, z, d.grid[2]) * plane * 4;

#pragma unroll
		for (int j = 0; j < ROWS; j++)
			if (y + j * Y < S::SIDE)
				bring_piece(to + j * Y * S::PITCH * 4, from + row[j]);
	}
}

static __device__ __forceinline__ void add_piece(float2 &to, float w, float2 v)
{
	to.x = fmaf(w, v.x, to.x);
	to.y = fmaf(w, v.y, to.y);
}

static __device__ __forceinline__ void add_piece(float4 &to, float w, float4 v)
{
	to.x = fmaf(w, v.x, to.x);
	to.y = fmaf(w, v.y, to.y);
	to.z = fmaf(w, v.z, to.z);
	to.w = fmaf(w, v.w, to.w);
}

static __device__ __forceinline__ void add_lane(float4 &v, int lane)
{
	v.x += __shfl_xor_sync(0xffffffffu, v.x, lane);
	v.y += __shfl_xor_sync(0xffffffffu, v.y, lane);
	v.z += __shfl_xor_sync(0xffffffffu, v.z, lane);
	v.w += __shfl_xor_sync(0xffffffffu, v.w, lane);
}

static __device__ __forceinline__ float2 channel_of(float2 v, int)
{
	return v;
}

static __device__ __forceinline__ float2 channel_of(float4 v, int c)
{
	return c == 0 ? make_float2(v.x, v.y) : make_float2(v.z, v.w);
}

/*
 * Rows of the window that a lane owns: their places relative to a sample's first cell, and their
 * weights in an entry.
 */
template <int W, int CB> struct own_rows {
	const typename parted<W, CB>::piece *at[parted<W, CB>::MINE];
	int y[parted<W, CB>::MINE], z[parted<W, CB>::MINE];
};

/* Returns a sample's sum in the first lane of each of its pieces. All lanes of a warp take part. */
template <int W, int CB>
static __device__ __forceinline__ typename parted<W, CB>::piece sum_rows(const own_rows<W, CB> &own,
									 const float *w, int part)
{
	using S = parted<W, CB>;
	using piece = typename S::piece;
	piece sum[S::SUMS] = {};
	float wx[S::OTHERS];

#pragma unroll
	for (int i = 0; i < S::OTHERS; i += 4) {
		const float4 v = *(const float4 *)(w + i);

		wx[i] = v.x;
		wx[i + 1] = v.y;
		wx[i + 2] = v.z;
		wx[i + 3] = v.w;
	}
	const int first = __float_as_int(wx[W]) * S::PIECES;

#pragma unroll
	for (int i = 0; i < S::MINE; i++) {
		const bool past = (i + 1) * S::PARTS > W * W && i * S::PARTS + part >= W * W;
		piece row = {};

#pragma unroll
		for (int x = 0; x < W; x++)
			add_piece(row, wx[x], own.at[i][first + x * S::PIECES]);
		add_piece(sum[i % S::SUMS], past ? 0.0f : w[own.y[i]] * w[own.z[i]], row);
	}
#pragma unroll
	for (int half = S::SUMS / 2; half > 0; half /= 2)
#pragma unroll
		for (int k = 0; k < half; k++)
			add_piece(sum[k], 1.0f, sum[k + half]);
#pragma unroll
	for (int other = S::LANES / 2; other >= S::PIECES; other /= 2)
		add_lane(sum[0], other);
	return sum[0];
}

template <int W, int CB>
static __global__ void __launch_bounds__(parted<W, CB>::THREADS)
	interpolate_volume(const __grid_constant__ bs_nufft_dev d, const float2 *grid,
			   float2 *__restrict__ data)
{
	using S = parted<W, CB>;
	using piece = typename S::piece;
	extern __shared__ float4 parted_in[];
	float2 *const cells = (float2 *)parted_in;
	float *const entry = (float *)(cells + S::CELLS);
	const bs_sector_task task = d.task[blockIdx.x];
	const int lane = threadIdx.x % S::LANES;
	const int part = lane / S::PIECES;
	const uint32_t channel = blockIdx.y * CB + lane % S::PIECES * 2;
	/* the warp's first sample of the AT_ONCE samples that the block does at once */
	const uint32_t ours = threadIdx.x / 32 * S::OF_WARP;
	own_rows<W, CB> own;

#pragma unroll
	/* A row past the window is its last row, weighted by zero. */
	for (int i = 0; i < S::MINE; i++) {
		const int row = min(i * S::PARTS + part, W * W - 1);

		own.y[i] = S::OTHERS + row % W;
		own.z[i] = S::OTHERS + W + row / W;
		own.at[i] = (const piece *)cells +
			    (row / W * S::PLANE + row % W * S::PITCH) * S::PIECES +
			    lane % S::PIECES;
	}
	const uint3 start = sector_start<3>(d, task.sector);

	weigh_batch<W, CB>(entry, d, task.first, min(task.count, (uint32_t)S::BATCH));
	bs_after_previous();
	if (CB == 4 && d.fours)
		bring_fours<W>(cells, d, start, blockIdx.y, grid);
	else
		bring_volume<W, CB>(cells, d, start, blockIdx.y * CB, grid);
	cells_arrived();
	for (uint32_t from = 0; from < task.count; from += S::BATCH) {
		const uint32_t count = min(task.count - from, (uint32_t)S::BATCH);

		if (from > 0) {
			__syncthreads();
			weigh_batch<W, CB>(entry, d, (uint64_t)task.first + from, count);
			__syncthreads();
		}
		/*
		 * The lanes of a warp stay together: those past the last sample repeat it and write
		 * nothing.
		 */
		for (uint32_t first = ours; first < count; first += S::AT_ONCE) {
			const uint32_t s = first + threadIdx.x % 32 / S::LANES;
			const float *w = entry + min(s, count - 1) * S::ENTRY;
			const piece sum = sum_rows<W, CB>(own, w, part);

			if (part != 0 || s >= count)
				continue;
			const uint64_t m = __float_as_uint(w[W + 1]);

#pragma unroll
			for (int c = 0; c < (CB > 1 ? 2 : 1); c++)
				if (channel + c < d.channels)
					data[m * d.sample_step + (channel + c) * d.channel_step] =
						channel_of(sum, c);
		}
	}
}

#endif
