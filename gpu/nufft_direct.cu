/*
 * gpu/nufft_direct.cu - spreading few samples in two dimensions: one kernel, no copies of sectors
 *
 * A block owns the cells of one sector and a thread one cell. It reads the samples whose windows
 * can reach the sector: its own and those of the three sectors before it, in that order; each cell
 * is written once. A sample is thus read four times, which pays while sectors hold about a dozen
 * samples or fewer; more go through padded sectors (nufft_kernels.cuh).
 */
#include "gpu/cudacheck.h"
#include "gpu/nufft_dev.cuh"

#define DIRECT_THREADS 256 /* a sector has at most 16 x 16 cells */
#define DIRECT_ROUND   32  /* samples at a time */

struct direct_source {
	uint32_t first, count; /* samples, in sorted order */
	int back[2];           /* cells from that sector's origin to this one's */
};

/* The sector q of four: itself is the last. */
static __device__ direct_source source_of(const bs_nufft_dev &d, int q)
{
	const uint32_t here[2] = { blockIdx.x, blockIdx.y };
	uint32_t at[2];
	direct_source s = { 0, 0, { 0, 0 } };

#pragma unroll
	for (int a = 0; a < 2; a++) {
		at[a] = here[a];
		if ((q >> a & 1) != 0)
			continue;
		at[a] = here[a] == 0 ? d.axis[a] - 1 : here[a] - 1;
		s.back[a] = (int)(__ldg(d.start[a] + at[a] + 1) - __ldg(d.start[a] + at[a]));
	}
	/* folded copies count as one in range, not here: all their samples are wanted */
	const uint2 range = (d.copies != NULL ? d.copies : d.range)[at[1] * d.axis[0] + at[0]];

	if (range.y > 0) {
		const bs_sector_task last = d.task[range.x + range.y - 1];

		s.first = d.task[range.x].first;
		s.count = last.first + last.count - s.first;
	}
	return s;
}

template <int W>
static __global__ void __launch_bounds__(DIRECT_THREADS)
	direct(const __grid_constant__ bs_nufft_dev d, const float2 *data,
	       float2 *__restrict__ grid)
{
	__shared__ direct_source source[4];
	__shared__ float weight[2][DIRECT_ROUND][W];
	__shared__ float2 value[DIRECT_ROUND];
	__shared__ int2 cell[DIRECT_ROUND]; /* first of the window, from this sector's origin */
	const int tx = (int)threadIdx.x % 16;
	const int ty = (int)threadIdx.x / 16;
	const uint32_t x = __ldg(d.start[0] + blockIdx.x) + tx;
	const uint32_t y = __ldg(d.start[1] + blockIdx.y) + ty;
	float2 sum = make_float2(0.0f, 0.0f);

	if (threadIdx.x < 4)
		source[threadIdx.x] = source_of(d, (int)threadIdx.x);
	__syncthreads();
	const uint32_t total =
		source[0].count + source[1].count + source[2].count + source[3].count;

	for (uint32_t base = 0; base < total; base += DIRECT_ROUND) {
		const uint32_t n = min((uint32_t)DIRECT_ROUND, total - base);

		for (uint32_t i = threadIdx.x; i < n * 2 * W; i += DIRECT_THREADS) {
			const uint32_t s = i / (2 * W);
			const uint32_t axis = i % (2 * W) / W;
			const uint32_t tap = i % W;
			uint32_t e = base + s;
			int q = 0;

			while (e >= source[q].count)
				e -= source[q++].count;
			e += source[q].first;
			const float u = 2.0f * __ldg(d.offset + axis * d.points + e) - 1.0f;
			float w = d.window.c[axis][0][tap];

#pragma unroll
			for (int t = 1; t < BS_KERNEL_TERMS_OF(W); t++)
				w = fmaf(w, u, d.window.c[axis][t][tap]);
			weight[axis][s][tap] = u > d.window.cut && tap == d.window.last ? 0.0f : w;
			if (axis == 0 && tap == 0) {
				const uint32_t c = __ldg(d.cell + e);

				cell[s] = make_int2((int)(c & 255u) - source[q].back[0],
						    (int)(c >> 8 & 255u) - source[q].back[1]);
			}
			if (axis == 1 && tap == 0) {
				const float2 v = data[__ldg(d.order + e)];
				const float f = d.weight != NULL ? __ldg(d.weight + e) : 1.0f;

				value[s] = make_float2(v.x * f, v.y * f);
			}
		}
		__syncthreads();
		for (uint32_t s = 0; s < n; s++) {
			const int jx = tx - cell[s].x;
			const int jy = ty - cell[s].y;

			if ((unsigned)jx < (unsigned)W && (unsigned)jy < (unsigned)W) {
				const float w = weight[0][s][jx] * weight[1][s][jy];

				sum.x = fmaf(w, value[s].x, sum.x);
				sum.y = fmaf(w, value[s].y, sum.y);
			}
		}
		__syncthreads();
	}
	if (x < __ldg(d.start[0] + blockIdx.x + 1) && y < __ldg(d.start[1] + blockIdx.y + 1))
		grid[(uint64_t)y * d.grid[0] + x] = sum;
}

int bs_nufft_direct(const bs_nufft_dev *d, uint32_t taps, const float2 *data, float2 *grid,
		    cudaStream_t stream, struct bs_fail *why)
{
	const dim3 blocks(d->axis[0], d->axis[1]);

	switch (taps) {
	case 4:
		direct<4><<<blocks, DIRECT_THREADS, 0, stream>>>(*d, data, grid);
		break;
	case 5:
		direct<5><<<blocks, DIRECT_THREADS, 0, stream>>>(*d, data, grid);
		break;
	case 6:
		direct<6><<<blocks, DIRECT_THREADS, 0, stream>>>(*d, data, grid);
		break;
	case 7:
		direct<7><<<blocks, DIRECT_THREADS, 0, stream>>>(*d, data, grid);
		break;
	default:
		direct<8><<<blocks, DIRECT_THREADS, 0, stream>>>(*d, data, grid);
		break;
	}
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
