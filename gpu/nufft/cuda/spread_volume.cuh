/*
 * gpu/nufft/cuda/spread_volume.cuh - spreading into padded sectors in three dimensions
 *
 * W cells of window an axis, CB channels at a time. Each block takes one task: a run of samples of
 * one sector, whose padded copy lies in shared memory. Runs of samples with the same first cell are
 * summed in registers first. No sum is atomic: each cell has one owner, which receives its samples
 * in sorted order. borders.cu adds the copies of a sector, in the order of its tasks.
 */
#ifndef BS_GPU_NUFFT_CUDA_SPREAD_VOLUME_CUH
#define BS_GPU_NUFFT_CUDA_SPREAD_VOLUME_CUH

#include "gpu/device/launch.cuh"
#include "gpu/nufft/cuda/sample.cuh"

/*
 * The layout in 3D. All warps go through all samples of the task and share one copy of the sector.
 * A lane owns one x and one y of the window and all of its z, whose sums stay in registers while
 * samples share their first cell. Windows wider than 5 take two warps; there a lane owns the rows
 * of the sector whose y is its own modulo W, so that no cell has two owners and each receives its
 * samples in order.
 *
 * In shared memory the copy is [y][z][x]. From one y to the next it is W cells modulo the number of
 * banks (or -W where W divides it): so neighboring lanes lie in neighboring banks, whatever the
 * first cell. Accesses of 8 bytes are served for 16 lanes at a time, accesses of 16 bytes for 8
 * lanes.
 */
template <int W, int CB> struct volume {
	static const int P = 8 + W - 1, CELLS = P * P * P;
	static const int WARPS = W > 5 ? 2 : 1, THREADS = 32 * WARPS;
	static const int ROWS = (W + WARPS - 1) / WARPS; /* rows of a warp */
	/*
	 * The words of a sample: its weights along z and its values; also the first cell, where
	 * there is ROOM.
	 */
	static const int WORDS = W + 2 * CB, PIECES = (WORDS + 3) / 4;
	static const bool ROOM = WORDS % 4 != 0;

	/* Cells from one y to the next. */
	static constexpr int step()
	{
		int y = P * P;

		while (y % 16 != W && (16 % W != 0 || y % 16 != 16 - W))
			y++;
		return y;
	}
	/* Returns the shared-memory accesses for a plane of a window. */
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
	static const int SHARED = (P - 1) * STEP + P * P; /* cells of the copy in shared memory */
};

/* Type of a cell's CB channels. */
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

/* A block's shared memory. It is one struct, so that all of it is addressed from one register. */
template <int W, int CB> struct volume_work {
	using V = volume<W, CB>;
	static const int ROW = 2 * W + 1; /* odd: lanes that write their row hit different banks */

	typename lanes_of<CB>::type tile[V::SHARED];
	float4 whole[V::THREADS][V::PIECES];
	/* weights along x and y; also the first cell where a sample's words have no room for it */
	float along[V::THREADS][ROW];
};

/* Writes the copy to global memory, [z][y][x]: some rows at a time, one cell a thread. */
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

/*
 * Writes the weights and values of one sample in each lane, and the place in the copy where its
 * window begins, with y modulo W in the bits above.
 */
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

/* Long: its sums stay in registers from the first sample to the last, so all that adds is here. */
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
	/* Lanes past this one do what this one does. */
	const int last = min(V::ROWS, W - first_y) * W - 1;
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

	/*
	 * The asm keeps the value in a register: computed anew at each change of cell it would
	 * stall.
	 */
	asm("" : "+r"(mine));
	/* An index past the last sample is the last sample again. */
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
	/* before the first sample this adds zeros, to cells that this lane owns */
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
			/*
			 * The last two are the second channel's value, where there is a second
			 * channel.
			 */
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

#endif
