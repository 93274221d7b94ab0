/* test/paper/ladder/spread.cuh - what the gridding ladder's rungs share; for this folder alone */
#ifndef BS_TEST_PAPER_LADDER_SPREAD_CUH
#define BS_TEST_PAPER_LADDER_SPREAD_CUH

#include "gpu/device/check.h"
#include "test/paper/ladder/ladder.h"

#define SPREAD_HALF  (BS_LADDER_WINDOW / 2) /* cells */
#define SPREAD_STEPS 128                    /* of the window's table, a cell */
#define SPREAD_TABLE (SPREAD_HALF * SPREAD_STEPS + 2)
#define SPREAD_WIDE  16 /* cells of a sector, an axis */
#define SPREAD_SMALL 8

/* Twenty bytes: neighboring threads read words that are not neighbors. */
struct ladder_packed {
	float x, y, re, im, density;
};

/* Samples sorted by sector, row by row; start [sectors + 1]. */
struct ladder_sorted {
	const float4 *word; /* x, y, density * d */
	const int *start;
};

/* Cell (x, y), of any sign, lies at its remainder by cells. A window covers the cells c with
 * -4 <= c - x < 4. */
struct ladder_spread {
	int cells, samples;
	float falloff;                       /* 1 / (2 sigma^2) */
	const struct ladder_packed *arrived; /* in the order of the scan */
	const struct ladder_packed *packed;  /* sorted by wide sector */
	struct ladder_sorted wide, small;
	float2 *grid;
	float2 *part; /* [sector][padded cell] */
};

int ladder_naive(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why);
int ladder_cache(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why);
int ladder_aligned(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why);
int ladder_table(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why);
int ladder_sectors(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why);
int ladder_blocks_more(const struct ladder_spread *a, cudaStream_t s, struct bs_fail *why);

/* The window's table, host memory, SPREAD_TABLE values: entry i at i / SPREAD_STEPS cells. */
int ladder_table_fill(const float *table, struct bs_fail *why);
int ladder_sectors_fill(const float *table, struct bs_fail *why);
int ladder_blocks_fill(const float *table, struct bs_fail *why);

static __device__ __forceinline__ bool spread_covers(float d)
{
	return d >= -(float)SPREAD_HALF && d < (float)SPREAD_HALF;
}

static __device__ __forceinline__ int spread_wrap(int c, int cells)
{
	return c < 0 ? c + cells : c;
}

/* Between the entries of a table in constant memory. */
static __device__ __forceinline__ float spread_look(const float *table, float d)
{
	const float t = fabsf(d) * (float)SPREAD_STEPS;
	const int i = (int)t;

	return table[i] + (t - (float)i) * (table[i + 1] - table[i]);
}

/*
 * A block a wide sector, a thread a cell; all samples of the sector and of its eight neighbors pass
 * through shared memory. Window: value(dx, dy); Samples: word(i), the sorted sample i.
 */
template <class WINDOW, class SAMPLES>
static __device__ __forceinline__ void
spread_from_neighbors(const ladder_spread &a, const WINDOW &window, const SAMPLES &samples)
{
	const int threads = SPREAD_WIDE * SPREAD_WIDE;
	__shared__ float4 cache[threads];
	const int sectors = a.cells / SPREAD_WIDE;
	const int x = (int)(blockIdx.x * SPREAD_WIDE + threadIdx.x % SPREAD_WIDE) - a.cells / 2;
	const int y = (int)(blockIdx.y * SPREAD_WIDE + threadIdx.x / SPREAD_WIDE) - a.cells / 2;
	float2 sum = make_float2(0.0f, 0.0f);

	for (int j = 0; j < 9; j++) {
		int sx = (int)blockIdx.x + j % 3 - 1;
		int sy = (int)blockIdx.y + j / 3 - 1;
		float cx = (float)x; /* as seen from the neighbor, across the edge too */
		float cy = (float)y;

		if (sx < 0 || sx >= sectors) {
			cx += (float)(sx < 0 ? a.cells : -a.cells);
			sx += sx < 0 ? sectors : -sectors;
		}
		if (sy < 0 || sy >= sectors) {
			cy += (float)(sy < 0 ? a.cells : -a.cells);
			sy += sy < 0 ? sectors : -sectors;
		}
		const int last = a.wide.start[sy * sectors + sx + 1];

		for (int m = a.wide.start[sy * sectors + sx]; m < last; m += threads) {
			const int n = min(threads, last - m);

			__syncthreads();
			if ((int)threadIdx.x < n)
				cache[threadIdx.x] = samples(m + (int)threadIdx.x);
			__syncthreads();
			for (int i = 0; i < n; i++) {
				const float4 s = cache[i];
				const float dx = cx - s.x;
				const float dy = cy - s.y;

				if (spread_covers(dx) && spread_covers(dy)) {
					const float w = window(dx, dy);

					sum.x += w * s.z;
					sum.y += w * s.w;
				}
			}
		}
	}
	a.grid[(size_t)spread_wrap(y, a.cells) * a.cells + spread_wrap(x, a.cells)] = sum;
}

static inline dim3 spread_wide_blocks(const struct ladder_spread *a)
{
	return dim3((unsigned)(a->cells / SPREAD_WIDE), (unsigned)(a->cells / SPREAD_WIDE));
}

#endif
