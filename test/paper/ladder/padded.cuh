/* test/paper/ladder/padded.cuh - sectors with padded borders: for sectors.cu and blocks.cu */
#ifndef BS_TEST_PAPER_LADDER_PADDED_CUH
#define BS_TEST_PAPER_LADDER_PADDED_CUH

#include "test/paper/ladder/spread.cuh"

static __constant__ float window_table[SPREAD_TABLE];

template <int SIDE, int THREADS> struct padded {
	static const int P = SIDE + 2 * SPREAD_HALF, CELLS = P * P;
	static const int OWN = (CELLS + THREADS - 1) / THREADS;
};

/* A block a sector: its own samples alone, into a copy padded by the window's reach. A thread has
 * the cells threadIdx.x, + THREADS, ... */
template <int SIDE, int THREADS, int RESIDENT>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
	spread_padded(const ladder_spread a, const ladder_sorted sorted)
{
	using P = padded<SIDE, THREADS>;
	__shared__ float4 cache[THREADS];
	const int sector = (int)(blockIdx.y * gridDim.x + blockIdx.x);
	const int last = sorted.start[sector + 1];
	float2 sum[P::OWN];

#pragma unroll
	for (int o = 0; o < P::OWN; o++)
		sum[o] = make_float2(0.0f, 0.0f);
	for (int m = sorted.start[sector]; m < last; m += THREADS) {
		const int n = min(THREADS, last - m);

		__syncthreads();
		if ((int)threadIdx.x < n)
			cache[threadIdx.x] = sorted.word[m + (int)threadIdx.x];
		__syncthreads();
		for (int i = 0; i < n; i++) {
			const float4 s = cache[i];

#pragma unroll
			for (int o = 0; o < P::OWN; o++) {
				const int cell = (int)threadIdx.x + o * THREADS;
				const int x = (int)blockIdx.x * SIDE + cell % P::P - SPREAD_HALF -
					      a.cells / 2;
				const int y = (int)blockIdx.y * SIDE + cell / P::P - SPREAD_HALF -
					      a.cells / 2;
				const float dx = (float)x - s.x;
				const float dy = (float)y - s.y;

				if (spread_covers(dx) && spread_covers(dy)) {
					const float w = spread_look(window_table, dx) *
							spread_look(window_table, dy);

					sum[o].x += w * s.z;
					sum[o].y += w * s.w;
				}
			}
		}
	}
#pragma unroll
	for (int o = 0; o < P::OWN; o++) {
		const int cell = (int)threadIdx.x + o * THREADS;

		if (cell < P::CELLS)
			a.part[(size_t)sector * P::CELLS + cell] = sum[o];
	}
}

/* A cell's sectors on one axis: its own, and the neighbor whose border reaches it. */
template <int SIDE> struct reach {
	int count, sector[2], at[2];

	__device__ reach(int u, int cells)
	{
		const int sectors = cells / SIDE;
		const int own = u / SIDE;
		const int local = u % SIDE;

		count = 1;
		sector[0] = own;
		at[0] = local + SPREAD_HALF;
		sector[1] = own;
		at[1] = 0;
		if (local < SPREAD_HALF) {
			count = 2;
			sector[1] = own == 0 ? sectors - 1 : own - 1;
			at[1] = local + SIDE + SPREAD_HALF;
		} else if (local >= SIDE - SPREAD_HALF) {
			count = 2;
			sector[1] = own + 1 == sectors ? 0 : own + 1;
			at[1] = local - SIDE + SPREAD_HALF;
		}
	}
};

/* Thread: a cell of the grid; the copies in a fixed order. */
template <int SIDE> static __global__ void add_padded(const ladder_spread a)
{
	const int P = SIDE + 2 * SPREAD_HALF;
	const int u = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	const int v = (int)blockIdx.y;

	if (u >= a.cells)
		return;
	const reach<SIDE> rx(u, a.cells);
	const reach<SIDE> ry(v, a.cells);
	float2 sum = make_float2(0.0f, 0.0f);

	for (int j = 0; j < ry.count; j++)
		for (int i = 0; i < rx.count; i++) {
			const size_t sector =
				(size_t)ry.sector[j] * (a.cells / SIDE) + rx.sector[i];
			const float2 p = a.part[sector * P * P + ry.at[j] * P + rx.at[i]];

			sum.x += p.x;
			sum.y += p.y;
		}
	a.grid[(size_t)spread_wrap(v - a.cells / 2, a.cells) * a.cells +
	       spread_wrap(u - a.cells / 2, a.cells)] = sum;
}

template <int SIDE, int THREADS, int RESIDENT>
static int run_padded(const struct ladder_spread *a, const struct ladder_sorted *sorted,
		      cudaStream_t s, struct bs_fail *why)
{
	const dim3 sectors((unsigned)(a->cells / SIDE), (unsigned)(a->cells / SIDE));

	spread_padded<SIDE, THREADS, RESIDENT><<<sectors, THREADS, 0, s>>>(*a, *sorted);
	BS_CUDA(cudaGetLastError(), why);
	add_padded<SIDE>
		<<<dim3((unsigned)(a->cells + 127) / 128, (unsigned)a->cells), 128, 0, s>>>(*a);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

static int fill_table(const float *table, struct bs_fail *why)
{
	BS_CUDA(cudaMemcpyToSymbol(window_table, table, SPREAD_TABLE * sizeof(float)), why);
	return 0;
}

#endif
