/*
 * gpu/nufft_kernels.cuh - the gridding kernels: spread, gather, crop and their forward counterparts
 *
 * DIM dimensions, W window cells an axis, CB coils a warp, T largest sector side. Complex numbers are
 * float2. The oversampled grid is planar: [coil][z][y][x]. Included by nufft.cu alone.
 */
#ifndef BS_GPU_NUFFT_KERNELS_CUH
#define BS_GPU_NUFFT_KERNELS_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "gpu/sectors.h"

#define BS_POLY_MAX 13 /* coefficients: degree 12 */

/* The window's value in its cell j is a polynomial in u = 2 offset - 1. Lies in constant memory. */
struct bs_poly {
	float c[8][BS_POLY_MAX];
	int terms;
};

struct bs_nufft_dev {
	const uint32_t *order;
	const float *offset;
	const uint32_t *cell;
	const float *weight; /* in sorted order */
	const struct bs_sector_task *task;
	const uint32_t *task_of;
	const struct bs_sector_reach *reach[3];
	const uint32_t *start[3];
	const float *deapod[3]; /* [N[a]] */
	uint64_t samples;
	uint32_t grid[3], matrix[3], axis[3];
	uint32_t coils, padded_coils, tasks;
};

template <int W>
__device__ __forceinline__ void window(float (&w)[W], float offset, const bs_poly &p)
{
	float u = 2.0f * offset - 1.0f;

#pragma unroll
	for (int j = 0; j < W; j++)
		w[j] = p.c[j][W + 4];
#pragma unroll
	for (int t = W + 3; t >= 0; t--)
#pragma unroll
		for (int j = 0; j < W; j++)
			w[j] = fmaf(w[j], u, p.c[j][t]);
}

/* data [coil][sample] -> weighted [sample][padded coil], so that a warp reads a sample in one piece. */
template <int CB>
__global__ void interleave(const bs_nufft_dev d, const float *__restrict__ weight_of,
			   const float2 *__restrict__ in, float2 *__restrict__ out)
{
	uint64_t m = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (m >= d.samples)
		return;
	float w = weight_of[m];
	for (uint32_t c = 0; c < d.padded_coils; c += CB) {
		float2 v[CB];

#pragma unroll
		for (int i = 0; i < CB; i++) {
			v[i] = c + i < d.coils ? in[(uint64_t)(c + i) * d.samples + m]
					       : make_float2(0.0f, 0.0f);
			v[i].x *= w;
			v[i].y *= w;
		}
#pragma unroll
		for (int i = 0; i < CB; i++)
			out[m * d.padded_coils + c + i] = v[i];
	}
}

/*
 * One warp, one task, CB coils. Lanes own (x, y) pairs of the window and all of z. Runs of samples
 * with the same first cell are summed in registers and added to the padded sector when it changes.
 */
template <int DIM, int W, int CB, int T>
__global__ void __launch_bounds__(32)
	spread(const bs_nufft_dev d, const __grid_constant__ bs_poly poly,
	       const float2 *__restrict__ data, float2 *__restrict__ part)
{
	constexpr int P = T + W - 1;
	constexpr int CELLS = DIM == 3 ? P * P * P : P * P;
	constexpr int ROUNDS = (W * W + 31) / 32;
	constexpr int WZ = DIM == 3 ? W : 1;
	constexpr int ROW = DIM * W | 1; /* odd: lanes that write their row hit different banks */
	extern __shared__ float2 tile[];
	__shared__ float table[32][ROW];
	__shared__ float2 values[32][CB];
	const int lane = threadIdx.x;
	const bs_sector_task task = d.task[blockIdx.x];
	const uint32_t coil = blockIdx.y * CB;
	float2 acc[ROUNDS][WZ][CB] = {};
	uint32_t current = 0xffffffffu;
	int at[ROUNDS], wx[ROUNDS], wy[ROUNDS];

#pragma unroll
	for (int r = 0; r < ROUNDS; r++) {
		int pair = lane + 32 * r;

		wx[r] = pair < W * W ? pair % W : 0;
		wy[r] = pair < W * W ? pair / W : 0;
		at[r] = wy[r] * P + wx[r];
	}
	for (int i = lane; i < CELLS * CB; i += 32)
		tile[i] = make_float2(0.0f, 0.0f);

	auto flush = [&]() {
		int base = (int)(current & 255u) + (int)(current >> 8 & 255u) * P +
			   (DIM == 3 ? (int)(current >> 16) * P * P : 0);

#pragma unroll
		for (int r = 0; r < ROUNDS; r++) {
			if (lane + 32 * r >= W * W)
				continue;
#pragma unroll
			for (int z = 0; z < WZ; z++)
#pragma unroll
				for (int c = 0; c < CB; c++) {
					float2 *to = &tile[c * CELLS + base + at[r] + z * P * P];
					float2 v = *to;

					v.x += acc[r][z][c].x;
					v.y += acc[r][z][c].y;
					*to = v;
					acc[r][z][c] = make_float2(0.0f, 0.0f);
				}
		}
	};

	for (uint32_t done = 0; done < task.count; done += 32) {
		const uint32_t n = min(32u, task.count - done);
		const uint64_t e = (uint64_t)task.first + done + lane;
		uint32_t cell = 0;

		__syncwarp();
		if (lane < n) {
			const uint64_t m = d.order[e];
			float w[W];

			cell = d.cell[e];
#pragma unroll
			for (int a = 0; a < DIM; a++) {
				window<W>(w, d.offset[a * d.samples + e], poly);
#pragma unroll
				for (int j = 0; j < W; j++)
					table[lane][a * W + j] = w[j];
			}
			if (CB == 1) {
				float2 v = data[m];
				float scale = d.weight[e];

				values[lane][0] = make_float2(v.x * scale, v.y * scale);
			} else {
				const float4 *from =
					(const float4 *)(data + m * d.padded_coils + coil);

#pragma unroll
				for (int c = 0; c < CB / 2; c++) {
					float4 v = from[c];

					values[lane][2 * c] = make_float2(v.x, v.y);
					values[lane][2 * c + 1] = make_float2(v.z, v.w);
				}
			}
		}
		__syncwarp();
		for (uint32_t s = 0; s < n; s++) {
			uint32_t here = __shfl_sync(0xffffffffu, cell, s);

			if (here != current) {
				if (current != 0xffffffffu)
					flush();
				__syncwarp();
				current = here;
			}
			float2 v[CB];

#pragma unroll
			for (int c = 0; c < CB; c++)
				v[c] = values[s][c];
#pragma unroll
			for (int r = 0; r < ROUNDS; r++) {
				float xy = table[s][wx[r]] * table[s][W + wy[r]];

#pragma unroll
				for (int z = 0; z < WZ; z++) {
					float w = DIM == 3 ? xy * table[s][2 * W + z] : xy;

#pragma unroll
					for (int c = 0; c < CB; c++) {
						acc[r][z][c].x = fmaf(w, v[c].x, acc[r][z][c].x);
						acc[r][z][c].y = fmaf(w, v[c].y, acc[r][z][c].y);
					}
				}
			}
		}
	}
	if (current != 0xffffffffu)
		flush();
	__syncwarp();
	float2 *out = part + ((uint64_t)blockIdx.x * d.padded_coils + coil) * CELLS;

	for (int i = lane; i < CELLS * CB; i += 32)
		out[i] = tile[i];
}

/* grid cell = sum of the padded sectors that reach it, in a fixed order. Thread: a cell of a coil. */
template <int DIM, int W, int T>
__global__ void gather(const bs_nufft_dev d, const float2 *__restrict__ part,
		       float2 *__restrict__ grid)
{
	constexpr int P = T + W - 1;
	constexpr int CELLS = DIM == 3 ? P * P * P : P * P;
	const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
	const uint32_t y = (blockIdx.y * blockDim.y + threadIdx.y) % d.grid[1];
	const uint32_t z = (blockIdx.y * blockDim.y + threadIdx.y) / d.grid[1];
	const uint32_t coil = blockIdx.z;
	float2 sum = make_float2(0.0f, 0.0f);

	if (x >= d.grid[0] || z >= d.grid[2])
		return;
	const bs_sector_reach rx = d.reach[0][x];
	const bs_sector_reach ry = d.reach[1][y];
	bs_sector_reach rz = { 1, { 0, 0, 0 } };

	if (DIM == 3)
		rz = d.reach[2][z];
	for (uint32_t k = 0; k < rz.count; k++)
		for (uint32_t j = 0; j < ry.count; j++)
			for (uint32_t i = 0; i < rx.count; i++) {
				uint32_t sector =
					((rz.at[k] >> 8) * d.axis[1] + (ry.at[j] >> 8)) * d.axis[0] +
					(rx.at[i] >> 8);
				uint32_t local = ((rz.at[k] & 255u) * P + (ry.at[j] & 255u)) * P +
						 (rx.at[i] & 255u);

				for (uint32_t t = d.task_of[sector]; t < d.task_of[sector + 1]; t++) {
					float2 v = part[((uint64_t)t * d.padded_coils + coil) * CELLS +
							local];

					sum.x += v.x;
					sum.y += v.y;
				}
			}
	grid[(((uint64_t)coil * d.grid[2] + z) * d.grid[1] + y) * d.grid[0] + x] = sum;
}

/* The matrix's index i is voxel n = i - N/2, which lies at grid index n mod G. */
__device__ __forceinline__ uint32_t centered(uint32_t i, uint32_t n, uint32_t g)
{
	int v = (int)i - (int)(n / 2);

	return (uint32_t)(v < 0 ? v + (int)g : v);
}

__global__ void crop(const bs_nufft_dev d, const float2 *__restrict__ grid, float2 *__restrict__ image)
{
	const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
	const uint32_t y = (blockIdx.y * blockDim.y + threadIdx.y) % d.matrix[1];
	const uint32_t z = (blockIdx.y * blockDim.y + threadIdx.y) / d.matrix[1];
	const uint64_t coil = blockIdx.z;

	if (x >= d.matrix[0] || z >= d.matrix[2])
		return;
	float2 v = grid[((coil * d.grid[2] + centered(z, d.matrix[2], d.grid[2])) * d.grid[1] +
			 centered(y, d.matrix[1], d.grid[1])) *
				d.grid[0] +
			centered(x, d.matrix[0], d.grid[0])];
	float s = d.deapod[0][x] * d.deapod[1][y] * d.deapod[2][z];

	image[((coil * d.matrix[2] + z) * d.matrix[1] + y) * d.matrix[0] + x] =
		make_float2(v.x * s, v.y * s);
}

/* The matrix's index of grid index g, or n when the cell is outside the image. */
__device__ __forceinline__ uint32_t uncentered(uint32_t g, uint32_t n, uint32_t size)
{
	uint32_t i = g + n / 2;

	if (i >= size)
		i -= size;
	return i < n ? i : n;
}

__global__ void pad(const bs_nufft_dev d, const float2 *__restrict__ image, float2 *__restrict__ grid)
{
	const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
	const uint32_t y = (blockIdx.y * blockDim.y + threadIdx.y) % d.grid[1];
	const uint32_t z = (blockIdx.y * blockDim.y + threadIdx.y) / d.grid[1];
	const uint64_t coil = blockIdx.z;

	if (x >= d.grid[0] || z >= d.grid[2])
		return;
	uint32_t i = uncentered(x, d.matrix[0], d.grid[0]);
	uint32_t j = uncentered(y, d.matrix[1], d.grid[1]);
	uint32_t k = uncentered(z, d.matrix[2], d.grid[2]);
	float2 v = make_float2(0.0f, 0.0f);

	if (i < d.matrix[0] && j < d.matrix[1] && k < d.matrix[2]) {
		float s = d.deapod[0][i] * d.deapod[1][j] * d.deapod[2][k];

		v = image[((coil * d.matrix[2] + k) * d.matrix[1] + j) * d.matrix[0] + i];
		v.x *= s;
		v.y *= s;
	}
	grid[((coil * d.grid[2] + z) * d.grid[1] + y) * d.grid[0] + x] = v;
}

/* One block, one task, CB coils: the padded sector in shared memory, a sample a thread. */
template <int DIM, int W, int CB, int T>
__global__ void __launch_bounds__(64)
	interpolate(const bs_nufft_dev d, const __grid_constant__ bs_poly poly,
		    const float2 *__restrict__ grid, float2 *__restrict__ data)
{
	constexpr int P = T + W - 1;
	constexpr int CELLS = DIM == 3 ? P * P * P : P * P;
	extern __shared__ float2 tile[];
	const bs_sector_task task = d.task[blockIdx.x];
	const uint32_t coil = blockIdx.y * CB;
	const uint32_t sx = task.sector % d.axis[0];
	const uint32_t sy = task.sector / d.axis[0] % d.axis[1];
	const uint32_t sz = task.sector / d.axis[0] / d.axis[1];

	for (int i = threadIdx.x; i < CELLS; i += 64) {
		uint32_t x = (d.start[0][sx] + i % P) % d.grid[0];
		uint32_t y = (d.start[1][sy] + i / P % P) % d.grid[1];
		uint32_t z = DIM == 3 ? (d.start[2][sz] + i / (P * P)) % d.grid[2] : 0;
		uint64_t from = ((uint64_t)z * d.grid[1] + y) * d.grid[0] + x;

#pragma unroll
		for (int c = 0; c < CB; c++)
			if (coil + c < d.coils)
				tile[c * CELLS + i] = grid[(uint64_t)(coil + c) * d.grid[2] * d.grid[1] *
								   d.grid[0] +
							   from];
	}
	__syncthreads();
	for (uint32_t s = threadIdx.x; s < task.count; s += 64) {
		const uint64_t e = (uint64_t)task.first + s;
		const uint32_t cell = d.cell[e];
		const uint64_t m = d.order[e];
		const int base = (int)(cell & 255u) + (int)(cell >> 8 & 255u) * P +
				 (DIM == 3 ? (int)(cell >> 16) * P * P : 0);
		float wx[W], wy[W], wz[W];
		float2 sum[CB] = {};

		window<W>(wx, d.offset[e], poly);
		window<W>(wy, d.offset[d.samples + e], poly);
		if (DIM == 3)
			window<W>(wz, d.offset[2 * d.samples + e], poly);
#pragma unroll
		for (int z = 0; z < (DIM == 3 ? W : 1); z++)
#pragma unroll
			for (int y = 0; y < W; y++) {
				float2 row[CB] = {};

#pragma unroll
				for (int x = 0; x < W; x++)
#pragma unroll
					for (int c = 0; c < CB; c++) {
						float2 v = tile[c * CELLS + base + (z * P + y) * P + x];

						row[c].x = fmaf(wx[x], v.x, row[c].x);
						row[c].y = fmaf(wx[x], v.y, row[c].y);
					}
				float w = DIM == 3 ? wy[y] * wz[z] : wy[y];

#pragma unroll
				for (int c = 0; c < CB; c++) {
					sum[c].x = fmaf(w, row[c].x, sum[c].x);
					sum[c].y = fmaf(w, row[c].y, sum[c].y);
				}
			}
#pragma unroll
		for (int c = 0; c < CB; c++)
			if (coil + c < d.coils)
				data[(uint64_t)(coil + c) * d.samples + m] = sum[c];
	}
}

#endif
