/*
 * gpu/nufft_kernels.cuh - spreading into padded sectors and interpolating out of them
 *
 * W cells of window an axis, CB channels at a time. One block, one task: a run of samples of one
 * sector, whose padded copy lies in shared memory. Runs of samples with the same first cell are
 * summed in registers first. No sum is atomic: each cell has one owner, and receives its samples in
 * sorted order; copies of a sector are added in the order of its tasks, whoever ends last.
 */
#ifndef BS_GPU_NUFFT_KERNELS_CUH
#define BS_GPU_NUFFT_KERNELS_CUH

#include "gpu/launch.cuh"
#include "gpu/nufft_dev.cuh"

#define NO_CELL 0xffffffffu

template <int W>
static __device__ __forceinline__ void window(float (&w)[W], float offset,
					      const bs_kernel_window &p, int axis)
{
	const int terms = BS_KERNEL_TERMS_OF(W);
	const float u = 2.0f * offset - 1.0f;

#pragma unroll
	for (int j = 0; j < W; j++)
		w[j] = p.c[axis][0][j];
#pragma unroll
	for (int t = 1; t < terms; t++)
#pragma unroll
		for (int j = 0; j < W; j++)
			w[j] = fmaf(w[j], u, p.c[axis][t][j]);
	if (u > p.cut)
#pragma unroll
		for (int j = 0; j < W; j++)
			w[j] = j == (int)p.last ? 0.0f : w[j];
}

/* CB channels of sample m; zeros beyond the last channel. */
template <int CB>
static __device__ __forceinline__ void read_values(float2 *v, const bs_nufft_dev &d, uint64_t m,
						   uint32_t channel, const float2 *data)
{
	const float2 *from = data + m * d.sample_step + channel * d.channel_step;

#pragma unroll
	for (int c = 0; c < CB; c++) {
		v[c] = make_float2(0.0f, 0.0f);
		if (channel + c < d.channels)
			v[c] = from[c * d.channel_step];
	}
}

/* The same, weighted, of the sample that is e in the sorted order. Each value is weighted as it comes:
 * weighted after all have come, spread_plane keeps fewer loads under way (8 coils 5 to 8 % slower). */
template <int CB>
static __device__ __forceinline__ void values_of(float2 *v, const bs_nufft_dev &d, uint64_t e,
						 uint32_t channel, const float2 *data)
{
	const uint64_t m = d.order[e];
	const float w = d.weight != NULL ? d.weight[e] : 1.0f;
	const float2 *from = data + m * d.sample_step + channel * d.channel_step;

#pragma unroll
	for (int c = 0; c < CB; c++) {
		float2 x = make_float2(0.0f, 0.0f);

		if (channel + c < d.channels)
			x = from[c * d.channel_step];
		v[c] = make_float2(x.x * w, x.y * w);
	}
}

/* What a lane reads of its next sample while those before it are added. */
template <int DIM, int CB> struct sample_ahead {
	uint32_t cell;
	float offset[DIM], weight;
	float2 value[CB];
};

template <int DIM, int CB>
static __device__ __forceinline__ void read_ahead(sample_ahead<DIM, CB> &s, const bs_nufft_dev &d,
						  uint64_t e, uint64_t m, uint32_t channel,
						  const float2 *data)
{
	s.cell = d.cell[e];
#pragma unroll
	for (int a = 0; a < DIM; a++)
		s.offset[a] = d.offset[a * d.points + e];
	s.weight = d.weight != NULL ? d.weight[e] : 1.0f;
	read_values<CB>(s.value, d, m, channel, data);
}

/* 2D: each warp has its own share of the samples and its own copy of the sector; at the end the
 * copies are added in the order of the warps. Lanes own window cells. Real and imaginary parts lie
 * apart, so that a window's cells lie in different banks. */
template <int W, int CB, int WARPS> struct plane {
	static const int P = 15 + W - 1, CELLS = P * (16 + W - 1), THREADS = 32 * WARPS;
	static const size_t spread_bytes = sizeof(float2) * CELLS * CB * WARPS;
};

/* The block that ends last of a sector's adds up its copies, in the order of the tasks, into the
 * first. Which block that is changes nothing but who does it. */
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
			*done = 0; /* for the next launch */
	}
	__syncthreads();
	if (!last)
		return;
	__threadfence();
	/* two values a thread, sixteen copies under way: the reads are what takes time */
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

/* Lane: one sample's window along x, then y, into its row of the warp's table. */
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

/* The block's copies of its sector, added in the order of the warps, as the task's copy. */
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

/* One channel: neighbors in the sorted order seldom share their first cell, so each sample goes
 * straight into the copy. The next 32 samples are read while these are added, and where their values
 * lie one batch before that; a sample's weights while the one before it is added. */
template <int W, int WARPS>
static __global__ void __launch_bounds__(32 * WARPS)
	spread_single(const __grid_constant__ bs_nufft_dev d, const float2 *data, float2 *part)
{
	const int P = plane<W, 1, WARPS>::P, CELLS = plane<W, 1, WARPS>::CELLS;
	const int ROUNDS = (W * W + 31) / 32;
	const int ROW = 2 * W | 1; /* odd: lanes that write their row hit different banks */
	extern __shared__ __align__(16) float tiles[]; /* [warp][real, imaginary][cell] */
	__shared__ float tables[WARPS][32][ROW];
	__shared__ float4 taken[WARPS][32]; /* value, first cell */
	const int lane = threadIdx.x % 32;
	const int warp = threadIdx.x / 32;
	const bs_sector_task task = d.task[blockIdx.x];
	const uint32_t share = (task.count + WARPS - 1) / WARPS;
	const uint32_t begin = min(task.count, share * warp);
	const uint32_t end = min(task.count, begin + share); /* 1 at least: no task is empty */
	float *tile = tiles + warp * CELLS * 2;
	int wx[ROUNDS], wy[ROUNDS];
	/* past the last sample: that one again */
	auto index = [&](uint32_t i) { return (uint64_t)task.first + min(i + lane, end - 1); };
	uint32_t order = d.order[index(begin)];
	uint32_t next_order = d.order[index(begin + 32)];

	bs_after_previous(); /* the data are there, and nobody reads the copies any more */
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
			__syncwarp(); /* the next window may meet this one in other lanes */
		}
	}
	write_copy<W, 1, WARPS>(d, task.sector, tiles, part);
}

template <int W, int CB, int WARPS>
static __global__ void __launch_bounds__(32 * WARPS)
	spread_plane(const __grid_constant__ bs_nufft_dev d, const float2 *data,
		     float2 *__restrict__ part)
{
	const int P = plane<W, CB, WARPS>::P, CELLS = plane<W, CB, WARPS>::CELLS;
	const int ROUNDS = (W * W + 31) / 32;
	const int ROW = 2 * W | 1; /* odd: lanes that write their row hit different banks */
	extern __shared__ __align__(16) float tiles[]; /* [warp][channel][real, imaginary][cell] */
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
				for (int c = 0; c < CB; c++) {
					const float2 v = value[s][c];

					acc[r][c].x = fmaf(w, v.x, acc[r][c].x);
					acc[r][c].y = fmaf(w, v.y, acc[r][c].y);
				}
			}
		}
	}
	if (current != NO_CELL)
		flush();
	write_copy<W, CB, WARPS>(d, task.sector, tiles, part);
}

/*
 * 3D: all warps go through all samples of the task and share one copy of the sector. A lane owns an x
 * and a y of the window and all of its z, whose sums stay in registers while samples share their first
 * cell. Windows wider than 5 take two warps; then a lane's y is that of the sector's rows which is
 * its own modulo W, so that no cell has two owners and each receives its samples in order.
 *
 * In shared memory the copy is [y][z][x], and from one y to the next it is W cells modulo the banks
 * (or -W where W divides them): then lanes that follow each other lie in banks that follow each
 * other, whatever the first cell. Accesses of 8 bytes go by 16 lanes and 16 banks, of 16 bytes by 8.
 */
template <int W, int CB> struct volume {
	static const int P = 8 + W - 1, CELLS = P * P * P;
	static const int WARPS = W > 5 ? 2 : 1, THREADS = 32 * WARPS;
	static const int ROWS = (W + WARPS - 1) / WARPS; /* of a warp */
	/* of a sample: weights along z and values; the first cell, too, where there is room */
	static const int WORDS = W + 2 * CB, PIECES = (WORDS + 3) / 4;
	static const bool ROOM = WORDS % 4 != 0;

	/* cells from one y to the next */
	static constexpr int step()
	{
		int y = P * P;

		while (y % 16 != W && (16 % W != 0 || y % 16 != 16 - W))
			y++;
		return y;
	}
	/* times that shared memory is asked for a plane of a window */
	static constexpr int accesses()
	{
		const int banks = 16 / CB;
		int sum = 0;

		for (int first = 0; first < W * W; first += banks) {
			int hits[16] = {};
			int most = 0;

			for (int lane = first; lane < first + banks && lane < W * W; lane++) {
				int &h = hits[(lane / W * step() + lane % W) % banks];

				most = ++h > most ? h : most;
			}
			sum += most;
		}
		return sum;
	}
	static_assert(WARPS > 1 || accesses() == (W * W * CB + 15) / 16, "a bank is hit twice");

	static const int STEP = step();
	static const int SHARED = (P - 1) * STEP + P * P; /* cells */
};

/* One cell's CB channels. */
template <int CB> struct lanes_of;
template <> struct lanes_of<1> {
	typedef float2 type;
	static __device__ __forceinline__ void add(float2 &to, float w, float4 v)
	{
		to = make_float2(fmaf(w, v.x, to.x), fmaf(w, v.y, to.y));
	}
	static __device__ __forceinline__ float2 sum(float2 a, float2 b)
	{
		return bs_cadd(a, b);
	}
};
template <> struct lanes_of<2> {
	typedef float4 type;
	static __device__ __forceinline__ void add(float4 &to, float w, float4 v)
	{
		to = make_float4(fmaf(w, v.x, to.x), fmaf(w, v.y, to.y), fmaf(w, v.z, to.z),
				 fmaf(w, v.w, to.w));
	}
	static __device__ __forceinline__ float4 sum(float4 a, float4 b)
	{
		return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
	}
};

/* A block's shared memory: one piece, so that all of it is reached from one register. */
template <int W, int CB> struct volume_work {
	using V = volume<W, CB>;
	static const int ROW = 2 * W + 1; /* odd: lanes that write their row hit different banks */

	typename lanes_of<CB>::type tile[V::SHARED];
	float4 whole[V::THREADS][V::PIECES];
	float along[V::THREADS][ROW]; /* weights along x and y; the first cell, else without room */
};

/* The copy as it lies in global memory, [z][y][x]: some rows at a time, a thread a cell. */
template <int W, int CB>
static __device__ __forceinline__ void write_volume(typename lanes_of<CB>::type *out,
						    const typename lanes_of<CB>::type *tile)
{
	using V = volume<W, CB>;
	const int AT_ONCE = V::THREADS / V::P;
	const int row = (int)threadIdx.x / V::P;

	out += threadIdx.x;
	tile += row * V::STEP + (int)threadIdx.x % V::P;
#pragma unroll 1
	for (int z = 0; z < V::P && row < AT_ONCE; z++) {
#pragma unroll
		for (int y = 0; y < V::P; y += AT_ONCE)
			if (y + AT_ONCE <= V::P || y + row < V::P)
				out[y * V::P] = tile[y * V::STEP];
		out += V::P * V::P;
		tile += V::P;
	}
}

/* Lane: one sample's weights and values, and where in the copy it begins; above that y modulo W. */
template <int W, int CB>
static __device__ __forceinline__ void
weigh_volume(float *along, float4 (&whole)[volume<W, CB>::PIECES], const bs_kernel_window &p,
	     const sample_ahead<3, CB> &s)
{
	using V = volume<W, CB>;
	const uint32_t y = s.cell >> 8 & 255u;
	const uint32_t at = y * V::STEP + (s.cell >> 16) * V::P + (s.cell & 255u) |
			    (V::WARPS > 1 ? y % W << 16 : 0u);
	float all[4 * V::PIECES] = {};
	float w[W];

#pragma unroll
	for (int a = 0; a < 2; a++) {
		window<W>(w, s.offset[a], p, a);
#pragma unroll
		for (int j = 0; j < W; j++)
			along[a * W + j] = w[j];
	}
	window<W>(w, s.offset[2], p, 2);
#pragma unroll
	for (int j = 0; j < W; j++)
		all[j] = w[j];
#pragma unroll
	for (int c = 0; c < CB; c++) {
		all[W + 2 * c] = s.value[c].x * s.weight;
		all[W + 2 * c + 1] = s.value[c].y * s.weight;
	}
	(V::ROOM ? all[4 * V::PIECES - 1] : along[2 * W]) = __uint_as_float(at);
#pragma unroll
	for (int i = 0; i < V::PIECES; i++)
		whole[i] = make_float4(all[4 * i], all[4 * i + 1], all[4 * i + 2], all[4 * i + 3]);
}

template <int W, int CB>
static __global__ void __launch_bounds__(W > 5 ? 64 : 32)
	spread_volume(const __grid_constant__ bs_nufft_dev d, const float2 *data,
		      float2 *__restrict__ part)
{
	using V = volume<W, CB>;
	using L = lanes_of<CB>;
	using C = typename L::type;
	const int BATCH = V::THREADS, ROW = volume_work<W, CB>::ROW;
	extern __shared__ float4 shared[];
	volume_work<W, CB> &work = *(volume_work<W, CB> *)shared;
	const int lane = V::WARPS > 1 ? threadIdx.x % 32 : threadIdx.x;
	const int first_y = V::WARPS > 1 ? threadIdx.x / 32 * V::ROWS : 0;
	const int last = min(V::ROWS, W - first_y) * W - 1; /* lanes past it do as it does */
	const int own_y = first_y + min(lane, last) / W;
	const int dx = min(lane, last) % W;
	const bs_sector_task task = d.task[blockIdx.x];
	const uint32_t channel = blockIdx.y * CB;
	C acc[W] = {};
	uint32_t current = NO_CELL;
	int iy = own_y;
	C *to = work.tile + iy * V::STEP + dx;
	int mine = lane <= last;
	const float *along_x = work.along[0] + dx;
	const float *along_y = work.along[0] + W + (V::WARPS > 1 ? 0 : iy);

	asm(""
	    : "+r"(mine)); /* stays in a register: found again at each change of cell, it is waited for */
	/* past the last sample: that one again */
	auto index = [&](uint32_t i) {
		return (uint64_t)task.first + min(i + threadIdx.x, task.count - 1);
	};
	uint32_t order = d.order[index(0)];
	uint32_t next_order = d.order[index(BATCH)];
	sample_ahead<3, CB> ahead;

	bs_after_previous();
	read_ahead(ahead, d, index(0), order, channel, data);
	for (int i = threadIdx.x; i < (int)((sizeof(work.tile) + 15) / 16); i += V::THREADS)
		shared[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
	/* before the first sample: nothing, to cells of this lane's own */
	auto flush = [&]() {
#pragma unroll
		for (int z = 0; z < W; z++)
			acc[z] = L::sum(to[z * V::P], acc[z]);
		if (mine)
#pragma unroll
			for (int z = 0; z < W; z++)
				to[z * V::P] = acc[z];
#pragma unroll
		for (int z = 0; z < W; z++)
			acc[z] = C();
	};

	for (uint32_t done = 0; done < task.count; done += BATCH) {
		const uint32_t n = min((uint32_t)BATCH, task.count - done);

		__syncthreads();
		weigh_volume<W, CB>(work.along[threadIdx.x], work.whole[threadIdx.x], d.window,
				    ahead);
		__syncthreads();
		if (done + BATCH < task.count) {
			read_ahead(ahead, d, index(done + BATCH), next_order, channel, data);
			next_order = d.order[index(done + 2 * BATCH)];
		}
		for (uint32_t s = 0; s < n; s++) {
			float all[4 * V::PIECES];

#pragma unroll
			for (int i = 0; i < V::PIECES; i++) {
				const float4 f = work.whole[s][i];

				all[4 * i] = f.x;
				all[4 * i + 1] = f.y;
				all[4 * i + 2] = f.z;
				all[4 * i + 3] = f.w;
			}
			const uint32_t here = __float_as_uint(V::ROOM ? all[4 * V::PIECES - 1]
								      : work.along[s][2 * W]);

			if (here != current) {
				flush();
				__syncwarp();
				current = here;
				if (V::WARPS > 1) {
					iy = own_y - (int)(here >> 16);
					iy += iy < 0 ? W : 0;
				}
				to = work.tile + (here & 0xffffu) + iy * V::STEP + dx;
			}
			const float w =
				along_x[s * ROW] * along_y[s * ROW + (V::WARPS > 1 ? iy : 0)];
			/* the last two are the second channel's, where there is one */
			const float4 v = make_float4(all[W], all[W + 1], all[W + 2 * CB - 2],
						     all[W + 2 * CB - 1]);

#pragma unroll
			for (int i = 0; i < W; i++)
				L::add(acc[i], w * all[i], v);
		}
	}
	flush();
	__syncthreads();
	write_volume<W, CB>((C *)part + ((uint64_t)blockIdx.x * d.groups + blockIdx.y) * V::CELLS,
			    work.tile);
}

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

/* The padded sector in shared memory. Threads that share a sample read planes beside each other: where a
 * plane's cells are a multiple of the banks, each row is a cell longer. */
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

/* PARTS threads a sample, in neighboring lanes. */
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
