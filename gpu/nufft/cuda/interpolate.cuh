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

/* Where PARTS threads share a sample: this one's planes along z (2D: rows) of the window. */
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

/* The padded sector in shared memory. Threads that share a sample read planes beside each other:
 * where a plane's cells are a multiple of the banks, each row is a cell longer. */
template <int DIM, int W, int PARTS> struct sector {
	static const int PX = (DIM == 3 ? 8 : 15) + W - 1, PY = (DIM == 3 ? 8 : 16) + W - 1;
	static const int PZ = DIM == 3 ? PY : 1;
	static const int CELLS = PX * PY * PZ;
	static const bool LONGER = DIM == 3 && PARTS > 1 && PX *PY % 16 == 0;
	static const int PITCH = PX + (LONGER ? 1 : 0);
	static const int ALL = PITCH * PY * PZ;

	static size_t bytes(uint32_t channels)
	{
		return sizeof(float2) * ALL * channels;
	}
};

/* PARTS threads a sample, in neighboring lanes. Long: weights and sums stay in registers all
 * through. */
template <int DIM, int W, int CB, int PARTS>
static __global__ void __launch_bounds__(INTERPOLATE_THREADS)
	interpolate(const __grid_constant__ bs_nufft_dev d, const float2 *grid,
		    float2 *__restrict__ data)
{
	using S = sector<DIM, W, PARTS>;
	const int PX = S::PX, PY = S::PY, PITCH = S::PITCH;
	const int MINE = (W + PARTS - 1) / PARTS;
	extern __shared__ float2 cells_in[]; /* [channel][cell] */
	const bs_sector_task task = d.task[blockIdx.x];
	const uint32_t channel = blockIdx.y * CB;
	const uint32_t x0 = d.start[0][task.sector % d.axis[0]];
	const uint32_t y0 = d.start[1][task.sector / d.axis[0] % d.axis[1]];
	const uint32_t z0 = DIM == 3 ? d.start[2][task.sector / d.axis[0] / d.axis[1]] : 0;
	const uint64_t cells = (uint64_t)d.grid[0] * d.grid[1] * d.grid[2];
	const int part = threadIdx.x % PARTS;

	bs_after_previous();
	for (int i = threadIdx.x; i < S::CELLS; i += INTERPOLATE_THREADS) {
		const int at = S::LONGER ? i + i / PX : i;
		uint32_t x = x0 + i % PX;
		uint32_t y = y0 + i / PX % PY;
		uint32_t z = z0 + i / (PX * PY);

		x -= x >= d.grid[0] ? d.grid[0] : 0;
		y -= y >= d.grid[1] ? d.grid[1] : 0;
		z -= z >= d.grid[2] ? d.grid[2] : 0;
#pragma unroll
		for (int c = 0; c < CB; c++)
			if (channel + c < d.channels)
				cells_in[c * S::ALL + at] =
					grid[(channel + c) * cells +
					     ((uint64_t)z * d.grid[1] + y) * d.grid[0] + x];
	}
	__syncthreads();
	/* lanes stay together: those past the last sample repeat it and write nothing */
	for (uint32_t from = 0; from < task.count; from += INTERPOLATE_THREADS / PARTS) {
		const uint32_t s = from + threadIdx.x / PARTS;
		const uint64_t e = (uint64_t)task.first + min(s, task.count - 1);
		const uint32_t cell = d.cell[e];
		const int base = (int)(cell & 255u) + (int)(cell >> 8 & 255u) * PITCH +
				 (DIM == 3 ? (int)(cell >> 16) * PITCH * PY : 0);
		float wx[W], wy[W], wz[W], own[MINE];
		float2 sum[CB] = {};

		window<W>(wx, d.offset[e], d.window, 0);
		window<W>(wy, d.offset[d.points + e], d.window, 1);
		if (DIM == 3)
			window<W>(wz, d.offset[2 * d.points + e], d.window, 2);
		own_part<PARTS, W>(own, DIM == 3 ? wz : wy, part);
#pragma unroll
		for (int i = 0; i < (DIM == 3 ? W * MINE : MINE); i++) {
			const int line = DIM == 3 ? i % W : 0;
			const int mine = DIM == 3 ? i / W : i;
			/* past the window: its last plane, weighted by zero */
			const int at = PARTS == 1 ? mine : min(mine * PARTS + part, W - 1);
			const int row_at = base + (at * (DIM == 3 ? PY : 1) + line) * PITCH;
			const float w = DIM == 3 ? wy[line] * own[mine] : own[mine];
			float2 row[CB] = {};

#pragma unroll
			for (int x = 0; x < W; x++)
#pragma unroll
				for (int c = 0; c < CB; c++) {
					const float2 v = cells_in[c * S::ALL + row_at + x];

					row[c].x = fmaf(wx[x], v.x, row[c].x);
					row[c].y = fmaf(wx[x], v.y, row[c].y);
				}
#pragma unroll
			for (int c = 0; c < CB; c++) {
				sum[c].x = fmaf(w, row[c].x, sum[c].x);
				sum[c].y = fmaf(w, row[c].y, sum[c].y);
			}
		}
#pragma unroll
		for (int c = 0; c < CB; c++)
#pragma unroll
			for (int p = 1; p < PARTS; p *= 2) {
				sum[c].x += __shfl_xor_sync(0xffffffffu, sum[c].x, p);
				sum[c].y += __shfl_xor_sync(0xffffffffu, sum[c].y, p);
			}
		const uint64_t m = d.order[e];

#pragma unroll
		for (int c = 0; c < CB; c++)
			if (s < task.count && part == 0 && channel + c < d.channels)
				data[m * d.sample_step + (channel + c) * d.channel_step] = sum[c];
	}
}

#endif
