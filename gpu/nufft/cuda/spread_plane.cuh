/*
 * gpu/nufft/cuda/spread_plane.cuh - spreading into padded sectors in two dimensions
 *
 * W cells of window an axis, CB channels at a time. Each block takes one task: a run of samples of
 * one sector, whose padded copy lies in shared memory. With several channels, runs of samples with
 * the same first cell are summed in registers first. No sum is atomic: each cell has one owner,
 * which receives its samples in sorted order. The copies of a sector are added in the order of its
 * tasks, whichever block ends last.
 */
#ifndef BS_GPU_NUFFT_CUDA_SPREAD_PLANE_CUH
#define BS_GPU_NUFFT_CUDA_SPREAD_PLANE_CUH

#include "gpu/device/launch.cuh"
#include "gpu/nufft/cuda/sample.cuh"

/*
 * The layout in 2D. Each warp has its own share of the samples and its own copy of the sector; at
 * the end the copies are added in the order of the warps. Lanes own window cells. Real and
 * imaginary parts are stored apart, so that the cells of a window lie in different banks.
 */
template <int W, int CB, int WARPS> struct plane {
	static const int P = 15 + W - 1, CELLS = P * (16 + W - 1), THREADS = 32 * WARPS;
	static const size_t spread_bytes = sizeof(float2) * CELLS * CB * WARPS;
};

/*
 * The last block of a sector to end adds up the sector's copies into the first, in the order of the
 * tasks. Which block ends last does not change the result.
 */
template <int VALUES, int THREADS>
static __device__ __forceinline__ void fold_copies(const bs_nufft_dev &d, uint32_t sector,
						   float2 *part)
{
	__shared__ bool last;
	const uint2 c = d.copies[sector];
	const uint64_t step = (uint64_t)d.groups * VALUES;
	float2 *first = part + c.x * step + (uint64_t)blockIdx.y * VALUES;

	if (c.y < 2)
		return;
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0) {
		uint32_t *done = d.done + (uint64_t)sector * d.groups + blockIdx.y;

		last = atomicAdd(done, 1u) == c.y - 1;
		if (last)
			*done = 0; /* the count is zero again for the next launch */
	}
	__syncthreads();
	if (!last)
		return;
	__threadfence();
	/*
	 * each thread takes two values and keeps sixteen copies under way, since reading takes the
	 * time
	 */
	for (int i = threadIdx.x; i < VALUES / 2; i += THREADS) {
		float4 sum = __ldcg((const float4 *)first + i);

#pragma unroll 16
		for (uint32_t t = 1; t < c.y; t++) {
			const float4 v = __ldcg((const float4 *)(first + t * step) + i);

			sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
		}
		((float4 *)first)[i] = sum;
	}
}

/*
 * Writes the window weights of one sample in each lane, along x, then y, into its row of the warp's
 * table.
 */
template <int W>
static __device__ __forceinline__ void weigh_plane(float *row, const bs_nufft_dev &d, float x,
						   float y)
{
	float w[W];

#pragma unroll
	for (int a = 0; a < 2; a++) {
		window<W>(w, a == 0 ? x : y, d.window, a);
#pragma unroll
		for (int j = 0; j < W; j++)
			row[a * W + j] = w[j];
	}
}

/* Writes the task's copy of its sector: the warps' copies, added in the order of the warps. */
template <int W, int CB, int WARPS>
static __device__ __forceinline__ void write_copy(const bs_nufft_dev &d, uint32_t sector,
						  const float *tiles, float2 *part)
{
	const int CELLS = plane<W, CB, WARPS>::CELLS;
	float2 *out = part + ((uint64_t)blockIdx.x * d.groups + blockIdx.y) * (CELLS * CB);

	static_assert(CELLS % 2 == 0, "copies are added two cells at a time");
	__syncthreads();
	for (int i = threadIdx.x; i < CELLS * CB; i += 32 * WARPS) {
		const int at = i % CB * 2 * CELLS + i / CB;
		float2 sum = make_float2(tiles[at], tiles[at + CELLS]);

#pragma unroll
		for (int k = 1; k < WARPS; k++) {
			const float *copy = tiles + k * CELLS * CB * 2 + at;

			sum = bs_cadd(sum, make_float2(copy[0], copy[CELLS]));
		}
		out[i] = sum;
	}
	if (d.done != NULL)
		fold_copies<CELLS * CB, 32 * WARPS>(d, sector, part);
}

/*
 * The kernel for one channel. Neighbors in the sorted order seldom share their first cell, so each
 * sample goes straight into the copy. The next 32 samples are read while these are added; the
 * places of their values are read one batch earlier, and a sample's weights while the sample before
 * it is added.
 */
template <int W, int WARPS>
static __global__ void __launch_bounds__(32 * WARPS)
	spread_single(const __grid_constant__ bs_nufft_dev d, const float2 *data, float2 *part)
{
	const int P = plane<W, 1, WARPS>::P, CELLS = plane<W, 1, WARPS>::CELLS;
	const int ROUNDS = (W * W + 31) / 32;
	const int ROW = 2 * W | 1; /* odd: lanes that write their row hit different banks */
	/* copies of the sector, [warp][real, imaginary][cell] */
	extern __shared__ __align__(16) float tiles[];
	__shared__ float tables[WARPS][32][ROW];
	__shared__ float4 taken[WARPS][32]; /* values and first cell of a sample */
	const int lane = threadIdx.x % 32;
	const int warp = threadIdx.x / 32;
	const bs_sector_task task = d.task[blockIdx.x];
	const uint32_t share = (task.count + WARPS - 1) / WARPS;
	const uint32_t begin = min(task.count, share * warp);
	const uint32_t end = min(task.count, begin + share); /* there is at least one sample */
	float *tile = tiles + warp * CELLS * 2;
	int wx[ROUNDS], wy[ROUNDS];
	/* An index past the last sample is the last sample again. */
	auto index = [&](uint32_t i) { return (uint64_t)task.first + min(i + lane, end - 1); };
	uint32_t order = d.order[index(begin)];
	uint32_t next_order = d.order[index(begin + 32)];

	bs_after_previous(); /* the data are there; no kernel reads the copies any more */
	sample_ahead<2, 1> mine;

	read_ahead(mine, d, index(begin), order, blockIdx.y, data);
#pragma unroll
	for (int r = 0; r < ROUNDS; r++) {
		const int pair = min(lane + 32 * r, W * W - 1);

		wx[r] = pair % W;
		wy[r] = pair / W;
	}
	static_assert(CELLS % 2 == 0, "copies are cleared two cells at a time");
	for (int i = lane; i < CELLS / 2; i += 32)
		((float4 *)tile)[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

	auto weigh = [&](float(&w)[ROUNDS], uint32_t s) {
#pragma unroll
		for (int r = 0; r < ROUNDS; r++)
			w[r] = tables[warp][s][wx[r]] * tables[warp][s][W + wy[r]];
		return taken[warp][s];
	};

	for (uint32_t done = begin; done < end; done += 32) {
		const uint32_t n = min(32u, end - done);
		const int base = (int)(mine.cell & 255u) + (int)(mine.cell >> 8 & 255u) * P;

		__syncwarp();
		weigh_plane<W>(tables[warp][lane], d, mine.offset[0], mine.offset[1]);
		taken[warp][lane] =
			make_float4(mine.value[0].x * mine.weight, mine.value[0].y * mine.weight,
				    __int_as_float(base), 0.0f);
		__syncwarp();
		if (done + 32 < end) {
			read_ahead(mine, d, index(done + 32), next_order, blockIdx.y, data);
			next_order = d.order[index(done + 64)];
		}
		float w[ROUNDS];
		float4 v = weigh(w, 0);

#pragma unroll 4
		for (uint32_t s = 0; s < n; s++) {
			float ahead[ROUNDS];
			const float4 next = weigh(ahead, min(s + 1, n - 1));

#pragma unroll
			for (int r = 0; r < ROUNDS; r++) {
				float *to = tile + __float_as_int(v.z) + wy[r] * P + wx[r];

				if (lane + 32 * r < W * W) {
					to[0] = fmaf(w[r], v.x, to[0]);
					to[CELLS] = fmaf(w[r], v.y, to[CELLS]);
				}
				w[r] = ahead[r];
			}
			v = next;
			__syncwarp(); /* The next window may share cells. */
		}
	}
	write_copy<W, 1, WARPS>(d, task.sector, tiles, part);
}

/* Long: its sums stay in registers from the first sample to the last, so all that adds is here. */
template <int W, int CB, int WARPS>
static __global__ void __launch_bounds__(32 * WARPS)
	spread_plane(const __grid_constant__ bs_nufft_dev d, const float2 *data,
		     float2 *__restrict__ part)
{
	const int P = plane<W, CB, WARPS>::P, CELLS = plane<W, CB, WARPS>::CELLS;
	const int ROUNDS = (W * W + 31) / 32;
	const int ROW = 2 * W | 1; /* odd: lanes that write their row hit different banks */
	/* copies of the sector, [warp][channel][real, imaginary][cell] */
	extern __shared__ __align__(16) float tiles[];
	__shared__ float tables[WARPS][32][ROW];
	__shared__ float2 taken[WARPS][32][CB];
	const int lane = threadIdx.x % 32;
	const int warp = threadIdx.x / 32;
	const bs_sector_task task = d.task[blockIdx.x];
	const uint32_t share = (task.count + WARPS - 1) / WARPS;
	const uint32_t begin = min(task.count, share * warp);
	const uint32_t end = min(task.count, begin + share);
	const uint32_t channel = blockIdx.y * CB;
	float *tile = tiles + warp * CELLS * CB * 2;
	float(*table)[ROW] = tables[warp];
	float2(*value)[CB] = taken[warp];
	float2 acc[ROUNDS][CB] = {};
	uint32_t current = NO_CELL;
	int wx[ROUNDS], wy[ROUNDS];

#pragma unroll
	for (int r = 0; r < ROUNDS; r++) {
		int pair = lane + 32 * r;

		wx[r] = pair < W * W ? pair % W : 0;
		wy[r] = pair < W * W ? pair / W : 0;
	}
	for (int i = lane; i < CELLS * CB * 2; i += 32)
		tile[i] = 0.0f;
	bs_after_previous();

	auto flush = [&]() {
		int base = (int)(current & 255u) + (int)(current >> 8 & 255u) * P;

#pragma unroll
		for (int r = 0; r < ROUNDS; r++) {
			if (lane + 32 * r >= W * W)
				continue;
#pragma unroll
			for (int c = 0; c < CB; c++) {
				float *to = &tile[2 * c * CELLS + base + wy[r] * P + wx[r]];

				to[0] += acc[r][c].x;
				to[CELLS] += acc[r][c].y;
				acc[r][c] = make_float2(0.0f, 0.0f);
			}
		}
	};

	for (uint32_t done = begin; done < end; done += 32) {
		const uint32_t n = min(32u, end - done);
		uint32_t cell = 0;

		__syncwarp();
		if (lane < n) {
			const uint64_t e = (uint64_t)task.first + done + lane;

			cell = d.cell[e];
			values_of<CB>(value[lane], d, e, channel, data);
			weigh_plane<W>(table[lane], d, d.offset[e], d.offset[d.points + e]);
		}
		__syncwarp();
		for (uint32_t s = 0; s < n; s++) {
			const uint32_t here = __shfl_sync(0xffffffffu, cell, s);

			if (here != current) {
				if (current != NO_CELL)
					flush();
				__syncwarp();
				current = here;
			}
#pragma unroll
			for (int r = 0; r < ROUNDS; r++) {
				const float w = table[s][wx[r]] * table[s][W + wy[r]];

#pragma unroll
				for (int c = 0; c < CB; c++)
					acc[r][c] = bs_cfma(w, value[s][c], acc[r][c]);
			}
		}
	}
	if (current != NO_CELL)
		flush();
	write_copy<W, CB, WARPS>(d, task.sector, tiles, part);
}

#endif
