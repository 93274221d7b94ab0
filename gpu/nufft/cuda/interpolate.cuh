/*
 * gpu/nufft/cuda/interpolate.cuh - samples read off the grid, in two and three dimensions
 *
 * W cells of window an axis, CB channels at a time. One block, one task: a run of samples of one
 * sector, which is read with its border into shared memory. Each sample is summed in a fixed order
 * and written once.
 */
#ifndef BS_GPU_NUFFT_CUDA_INTERPOLATE_CUH
#define BS_GPU_NUFFT_CUDA_INTERPOLATE_CUH

#include "gpu/device/launch.cuh"
#include "gpu/nufft/cuda/sample.cuh"

#define INTERPOLATE_THREADS 128

/*
 * Weights along z (2D: along y) of this thread's own planes (2D: rows) of the window, where PARTS
 * threads share a sample.
 */
template <int PARTS, int W>
static __device__ __forceinline__ void own_part(float (&own)[(W + PARTS - 1) / PARTS],
						const float (&w)[W], int part)
{
#pragma unroll
	for (int i = 0; i < (W + PARTS - 1) / PARTS; i++) {
		own[i] = 0.0f;
#pragma unroll
		for (int p = 0; p < PARTS; p++)
			if (i * PARTS + p < W)
				own[i] = part == p ? w[i * PARTS + p] : own[i];
	}
}

/* Layout of a padded sector in shared memory. */
template <int DIM, int W> struct sector {
	static const int PX = (DIM == 3 ? 8 : 15) + W - 1, PY = (DIM == 3 ? 8 : 16) + W - 1;
	static const int PZ = DIM == 3 ? PY : 1;
	static const int CELLS = PX * PY * PZ;

	static size_t bytes(uint32_t channels)
	{
		return sizeof(float2) * CELLS * channels;
	}
};

/*
 * Copies a cell to shared memory without passing through a register, so that the copies of a whole
 * sector are under way at once. cells_arrived waits for them.
 */
static __device__ __forceinline__ void bring_cell(float2 *to, const float2 *from)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(
			     (uint32_t)__cvta_generic_to_shared(to)),
		     "l"(from)
		     : "memory");
}

static __device__ __forceinline__ void cells_arrived(void)
{
	asm volatile("cp.async.wait_all;" ::: "memory");
	__syncthreads();
}

/*
 * The first cell of a sector. It is a table of the plan, so it may be read before the kernels ahead
 * end.
 */
template <int DIM>
static __device__ __forceinline__ uint3 sector_start(const bs_nufft_dev &d, uint32_t number)
{
	return make_uint3(d.start[0][number % d.axis[0]],
			  d.start[1][number / d.axis[0] % d.axis[1]],
			  DIM == 3 ? d.start[2][number / d.axis[0] / d.axis[1]] : 0);
}

/* Copies CB channels of a task's padded sector to shared memory. */
template <int DIM, int W, int CB>
static __device__ __forceinline__ void bring_sector(float2 *to, const bs_nufft_dev &d, uint3 start,
						    uint32_t channel, const float2 *grid)
{
	using S = sector<DIM, W>;
	const int PX = S::PX, PY = S::PY;
	const uint64_t cells = (uint64_t)d.grid[0] * d.grid[1] * d.grid[2];

	for (int i = threadIdx.x; i < S::CELLS; i += INTERPOLATE_THREADS) {
		uint32_t x = start.x + i % PX;
		uint32_t y = start.y + i / PX % PY;
		uint32_t z = start.z + i / (PX * PY);

		x -= x >= d.grid[0] ? d.grid[0] : 0;
		y -= y >= d.grid[1] ? d.grid[1] : 0;
		z -= z >= d.grid[2] ? d.grid[2] : 0;
#pragma unroll
		for (int c = 0; c < CB; c++)
			if (channel + c < d.channels)
				bring_cell(to + c * S::CELLS + i,
					   grid + (channel + c) * cells +
						   ((uint64_t)z * d.grid[1] + y) * d.grid[0] + x);
	}
}

/* Adds w times the weighted cells of a row to sum. */
template <int W, int CB>
static __device__ __forceinline__ void add_row(float2 (&sum)[CB], float w, const float (&wx)[W],
					       const float2 *row_at, int channel_step)
{
	float2 row[CB] = {};

#pragma unroll
	for (int x = 0; x < W; x++)
#pragma unroll
		for (int c = 0; c < CB; c++)
			row[c] = bs_cfma(wx[x], row_at[c * channel_step + x], row[c]);
#pragma unroll
	for (int c = 0; c < CB; c++)
		sum[c] = bs_cfma(w, row[c], sum[c]);
}

static __device__ __forceinline__ void add_lane(float2 &v, int lane)
{
	v.x += __shfl_xor_sync(0xffffffffu, v.x, lane);
	v.y += __shfl_xor_sync(0xffffffffu, v.y, lane);
}

/* Place of a sample in its sector. */
template <int DIM> struct sample_spot {
	uint64_t e;
	uint32_t cell;
	float offset[DIM];
};

template <int DIM>
static __device__ __forceinline__ void read_spot(sample_spot<DIM> &s, const bs_nufft_dev &d,
						 const bs_sector_task &task, uint32_t number)
{
	s.e = (uint64_t)task.first + min(number, task.count - 1);
	s.cell = d.cell[s.e];
#pragma unroll
	for (int a = 0; a < DIM; a++)
		s.offset[a] = d.offset[a * d.points + s.e];
}

/*
 * PARTS threads share a sample; they are neighboring lanes. Each plane's rows are summed before the
 * planes are: one sum over 64 rows would have three times the roundoff.
 */
template <int DIM, int W, int CB, int PARTS>
static __global__ void __launch_bounds__(INTERPOLATE_THREADS)
	interpolate(const __grid_constant__ bs_nufft_dev d, const float2 *grid,
		    float2 *__restrict__ data)
{
	using S = sector<DIM, W>;
	const int MINE = (W + PARTS - 1) / PARTS;
	extern __shared__ float2 cells_in[]; /* cells of the sector, [channel][cell] */
	const bs_sector_task task = d.task[blockIdx.x];
	const uint32_t channel = blockIdx.y * CB;
	const int part = threadIdx.x % PARTS;
	sample_spot<DIM> spot;

	const uint3 start = sector_start<DIM>(d, task.sector);

	read_spot<DIM>(spot, d, task, threadIdx.x / PARTS);
	bs_after_previous();
	bring_sector<DIM, W, CB>(cells_in, d, start, channel, grid);
	cells_arrived();
	/* Lanes stay together: those past the last sample repeat it and write nothing. */
	for (uint32_t from = 0; from < task.count; from += INTERPOLATE_THREADS / PARTS) {
		const uint32_t s = from + threadIdx.x / PARTS;
		const int base = (int)(spot.cell & 255u) + (int)(spot.cell >> 8 & 255u) * S::PX +
				 (DIM == 3 ? (int)(spot.cell >> 16) * S::PX * S::PY : 0);
		const uint64_t m = d.order[spot.e];
		float wx[W], wy[W], own[MINE];
		float2 sum[CB] = {};

		window<W>(wx, spot.offset[0], d.window, 0);
		window<W>(wy, spot.offset[1], d.window, 1);
		if (DIM == 3) {
			float wz[W];

			window<W>(wz, spot.offset[DIM - 1], d.window, 2);
			own_part<PARTS, W>(own, wz, part);
		} else {
			own_part<PARTS, W>(own, wy, part);
		}
		read_spot<DIM>(spot, d, task, s + INTERPOLATE_THREADS / PARTS);
#pragma unroll
		for (int mine = 0; mine < MINE; mine++) {
			/* A plane past the window is its last plane, weighted by zero. */
			const int at = PARTS == 1 ? mine : min(mine * PARTS + part, W - 1);
			const float2 *const row_at =
				cells_in + base + at * (DIM == 3 ? S::PY : 1) * S::PX;

			if (DIM == 2) {
				add_row<W, CB>(sum, own[mine], wx, row_at, S::CELLS);
				continue;
			}
			float2 plane[CB] = {};

#pragma unroll
			for (int line = 0; line < W; line++)
				add_row<W, CB>(plane, wy[line], wx, row_at + line * S::PX,
					       S::CELLS);
#pragma unroll
			for (int c = 0; c < CB; c++)
				sum[c] = bs_cfma(own[mine], plane[c], sum[c]);
		}
#pragma unroll
		for (int c = 0; c < CB; c++)
#pragma unroll
			for (int p = 1; p < PARTS; p *= 2)
				add_lane(sum[c], p);

#pragma unroll
		for (int c = 0; c < CB; c++)
			if (s < task.count && part == 0 && channel + c < d.channels)
				data[m * d.sample_step + (channel + c) * d.channel_step] = sum[c];
	}
}

#endif
