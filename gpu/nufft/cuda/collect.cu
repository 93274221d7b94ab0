/*
 * gpu/nufft/cuda/collect.cu - gridding in three dimensions by cells that collect; see dev.cuh
 *
 * Where there are few samples to a cell, padded sectors cost more than samples: each is written and
 * read with a border that makes it three to four times as large. Here each warp owns a sector of up
 * to 8 x 8 x 8 cells of the grid, whose sums stay in registers (a lane has one x, two y, all z). It
 * goes through the samples whose windows reach the sector: those of the sector itself and of the
 * seven before it, in the sorted order. 32 samples at a time are weighed, one in each lane, into
 * shared tables that hold zeros outside the window; then all lanes add sample after sample. Nothing
 * is atomic, and no cell is written twice.
 */
#include "gpu/device/launch.cuh"
#include "gpu/nufft/cuda/sample.cuh"

#define WARPS 4 /* warps of a block, which share nothing */
#define SIDE  8

template <int W, int CB> struct collected {
	static const int PAD = SIDE - 1;
	static const int ROW = (W + 2 * PAD) | 1; /* odd: lanes that write hit different banks */
	/* words for 8 weights along z, in 16-byte pieces */
	static const int DEPTH = 12;

	float along[2][32][ROW]; /* weights along x and y, with zeros on both sides of the window */
	float4 depth[32][DEPTH / 4];
	float4 value[32];
	/* x, y: index into `along` for cell 0; z, w: which halves of y and z are reached */
	int4 base[32];
	uint2 queue[64]; /* number of a sample; its first cell + 16 on each axis */
};

enum { LOW_Y = 1, HIGH_Y = 2, LOW_Z = 4, HIGH_Z = 8 };

/* Adds what one sample gives to a lane's column of 8 cells. */
template <int CB>
static __device__ __forceinline__ void add_column(float2 (&acc)[SIDE][CB], float w, float4 v,
						  float4 z0, float4 z1, int halves)
{
	const float z[SIDE] = { z0.x, z0.y, z0.z, z0.w, z1.x, z1.y, z1.z, z1.w };
	const float2 a = make_float2(w * v.x, w * v.y);
	const float2 b = make_float2(w * v.z, w * v.w);

#pragma unroll
	for (int half = 0; half < 2; half++) {
		if (!(halves & (half == 0 ? LOW_Z : HIGH_Z)))
			continue;
#pragma unroll
		for (int i = 4 * half; i < 4 * half + 4; i++) {
			acc[i][0].x = fmaf(a.x, z[i], acc[i][0].x);
			acc[i][0].y = fmaf(a.y, z[i], acc[i][0].y);
			if (CB > 1) {
				acc[i][CB - 1].x = fmaf(b.x, z[i], acc[i][CB - 1].x);
				acc[i][CB - 1].y = fmaf(b.y, z[i], acc[i][CB - 1].y);
			}
		}
	}
}

/* Writes one queued sample's weights and values in each lane. */
template <int W, int CB>
static __device__ __forceinline__ void weigh(collected<W, CB> &s, const bs_nufft_dev &d,
					     uint32_t channel, const float2 *data, int lane)
{
	using C = collected<W, CB>;
	const uint2 q = s.queue[lane];
	const uint64_t e = q.x;
	const int x = (int)(q.y & 255u) - 16;
	const int y = (int)(q.y >> 8 & 255u) - 16;
	const int z = (int)(q.y >> 16) - 16;
	float *depth = (float *)s.depth[lane];
	float2 v[2] = {};
	float w[W];

	values_of<CB>(v, d, e, channel, data);
	s.value[lane] = make_float4(v[0].x, v[0].y, v[1].x, v[1].y);
	s.base[lane] = make_int4(C::PAD - x, C::PAD - y,
				 (y < 4 ? LOW_Y : 0) | (y + W > 4 ? HIGH_Y : 0) |
					 (z < 4 ? LOW_Z : 0) | (z + W > 4 ? HIGH_Z : 0),
				 0);
#pragma unroll
	for (int a = 0; a < 2; a++) {
		window<W>(w, d.offset[a * d.points + e], d.window, a);
#pragma unroll
		for (int j = 0; j < W; j++)
			s.along[a][lane][C::PAD + j] = w[j];
	}
	window<W>(w, d.offset[2 * d.points + e], d.window, 2);
	s.depth[lane][0] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
	s.depth[lane][1] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
	for (int j = 0; j < W; j++)
		if ((unsigned)(z + j) < SIDE)
			depth[z + j] = w[j];
}

/* Adds the first n samples of the queue; all lanes take part. */
template <int W, int CB>
static __device__ __forceinline__ void add_batch(collected<W, CB> &s, float2 (&acc)[2][SIDE][CB],
						 int n, const bs_nufft_dev &d, uint32_t channel,
						 const float2 *data, int lane)
{
	const int x = lane % SIDE;
	const int y = lane / SIDE;

	if (lane < n)
		weigh<W, CB>(s, d, channel, data, lane);
	__syncwarp();
	for (int i = 0; i < n; i++) {
		const int4 base = s.base[i];
		const float4 v = s.value[i];
		const float4 z0 = s.depth[i][0];
		const float4 z1 = s.depth[i][1];
		const float wx = s.along[0][i][base.x + x];

		if (base.z & LOW_Y)
			add_column<CB>(acc[0], wx * s.along[1][i][base.y + y], v, z0, z1, base.z);
		if (base.z & HIGH_Y)
			add_column<CB>(acc[1], wx * s.along[1][i][base.y + y + 4], v, z0, z1,
				       base.z);
	}
	__syncwarp();
}

/*
 * Returns the sector before s on an axis of n, or s itself. shift: its first cell relative to that
 * of s.
 */
static __device__ __forceinline__ uint32_t neighbor(uint32_t s, uint32_t n, bool before,
						    const uint32_t *start, int *shift)
{
	const uint32_t at = !before ? s : s == 0 ? n - 1 : s - 1;

	*shift = before ? -(int)(start[at + 1] - start[at]) : 0;
	return at;
}

/* Long: it is one loop around sums that stay in registers, from the first sector to the last cell.
 * With two channels five blocks share a multiprocessor, and a few registers go to memory; with one
 * channel, as many blocks as fit. */
template <int W, int CB>
static __global__ void __launch_bounds__(32 * WARPS, CB == 2 ? 5 : 6)
	collect(const __grid_constant__ bs_nufft_dev d, uint32_t sectors, bool add,
		const float2 *data, float2 *__restrict__ grid)
{
	__shared__ collected<W, CB> all[WARPS];
	collected<W, CB> &s = all[threadIdx.x / 32];
	const int lane = (int)threadIdx.x % 32;
	const uint32_t sector = blockIdx.x * WARPS + threadIdx.x / 32;
	const uint32_t channel = blockIdx.y * CB;
	float2 acc[2][SIDE][CB] = {};
	int queued = 0;

	bs_after_previous();
	if (sector >= sectors)
		return; /* the whole warp returns; nothing below waits for it */
	const uint32_t at[3] = { sector % d.axis[0], sector / d.axis[0] % d.axis[1],
				 sector / d.axis[0] / d.axis[1] };

	for (int i = 0; i < collected<W, CB>::ROW; i++) {
		s.along[0][lane][i] = 0.0f;
		s.along[1][lane][i] = 0.0f;
	}
	for (int q = 0; q < 8; q++) {
		int shift[3];
		const uint32_t x = neighbor(at[0], d.axis[0], q & 1, d.start[0], &shift[0]);
		const uint32_t y = neighbor(at[1], d.axis[1], q & 2, d.start[1], &shift[1]);
		const uint32_t z = neighbor(at[2], d.axis[2], q & 4, d.start[2], &shift[2]);
		const uint2 span = __ldg(d.span + (z * d.axis[1] + y) * d.axis[0] + x);

		for (uint32_t from = 0; from < span.y; from += 32) {
			bool here = from + lane < span.y;
			uint32_t packed = 0;

			if (here) {
				const uint32_t cell = __ldg(d.cell + span.x + from + lane);
				const int cx = (int)(cell & 255u) + shift[0];
				const int cy = (int)(cell >> 8 & 255u) + shift[1];
				const int cz = (int)(cell >> 16) + shift[2];

				here = cx > -W && cy > -W && cz > -W;
				packed = (uint32_t)(cx + 16) | (uint32_t)(cy + 16) << 8 |
					 (uint32_t)(cz + 16) << 16;
			}
			const uint32_t who = __ballot_sync(0xffffffffu, here);

			if (here)
				s.queue[queued + __popc(who & ((1u << lane) - 1u))] =
					make_uint2(span.x + from + lane, packed);
			queued += __popc(who);
			__syncwarp();
			if (queued >= 32) {
				add_batch<W, CB>(s, acc, 32, d, channel, data, lane);
				queued -= 32;
				if (lane < queued)
					s.queue[lane] = s.queue[32 + lane];
				__syncwarp();
			}
		}
	}
	if (queued > 0)
		add_batch<W, CB>(s, acc, queued, d, channel, data, lane);

	const uint32_t x = d.start[0][at[0]] + lane % SIDE;
	const uint64_t cells = (uint64_t)d.grid[0] * d.grid[1] * d.grid[2];

	if (x >= d.start[0][at[0] + 1])
		return;
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const uint32_t y = d.start[1][at[1]] + lane / SIDE + 4 * half;

		if (y >= d.start[1][at[1] + 1])
			continue;
#pragma unroll
		for (int i = 0; i < SIDE; i++) {
			const uint32_t z = d.start[2][at[2]] + i;
			const uint64_t cell = ((uint64_t)z * d.grid[1] + y) * d.grid[0] + x;

			if (z >= d.start[2][at[2] + 1])
				continue;
#pragma unroll
			for (int c = 0; c < CB; c++)
				if (channel + c < d.channels) {
					float2 *to = grid + (channel + c) * cells + cell;

					*to = add ? bs_cadd(*to, acc[half][i][c]) : acc[half][i][c];
				}
		}
	}
}

typedef void (*collect_kernel)(const bs_nufft_dev, uint32_t, bool, const float2 *, float2 *);

template <int W> static collect_kernel by_lanes(uint32_t lanes)
{
	return lanes == 1 ? collect<W, 1> : collect<W, 2>;
}

int bs_nufft_collect(const bs_nufft_dev *d, uint32_t taps, uint32_t lanes, bool add,
		     const float2 *data, float2 *grid, bool close, cudaStream_t stream,
		     struct bs_fail *why)
{
	const uint32_t sectors = d->axis[0] * d->axis[1] * d->axis[2];
	const collect_kernel kernel =
		bs_by_taps(taps, [lanes](auto w) { return by_lanes<decltype(w)::value>(lanes); });

	return bs_launch(kernel, dim3((sectors + WARPS - 1) / WARPS, d->groups), 32 * WARPS, 0,
			 close, stream, why, *d, sectors, add, data, grid);
}
