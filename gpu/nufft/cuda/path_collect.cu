/* gpu/nufft/cuda/path_collect.cu - see path.cuh */
#include "gpu/nufft/cuda/path.cuh"

#include "gpu/device/check.h"
#include "gpu/nufft/cuda/sample.cuh"

#define THREADS 256
#define LIST    1024 /* boxes that a tile checks at a time */
#define TILE    ((int)BS_PATH_TILE)
#define PARTS   (THREADS / (TILE * TILE))

/* Returns true where windows with first cells in from .. to reach a tile's cells;
 * the grid is periodic. */
static __device__ bool reaches(int from, int to, int taps, int tile, int grid)
{
	return (from < tile + TILE && to + taps > tile) ||
	       (from < tile + TILE - grid && to + taps > tile - grid);
}

/*
 * A first cell relative to the tile's first: 1 - taps .. TILE - 1 where its window reaches the
 * tile.
 */
static __device__ int from_tile(int cell, int tile, int taps, int grid)
{
	const int at = cell - tile;

	return at + taps <= 0 ? at + grid : at;
}

/*
 * The sum of `mine` over the threads before this one, and over all threads in *all. It begins and
 * ends with a barrier.
 */
static __device__ uint32_t before(uint32_t mine, uint32_t *all)
{
	__shared__ uint32_t warps[THREADS / 32];
	const uint32_t warp = threadIdx.x / 32;
	uint32_t sum = mine;
	uint32_t at = 0;

	for (int n = 1; n < 32; n <<= 1) {
		const uint32_t left = __shfl_up_sync(~0u, sum, n);

		sum += (int)(threadIdx.x % 32) >= n ? left : 0;
	}
	__syncthreads();
	if (threadIdx.x % 32 == 31)
		warps[warp] = sum;
	__syncthreads();
	*all = 0;
	for (uint32_t w = 0; w < THREADS / 32; w++) {
		at += w < warp ? warps[w] : 0;
		*all += warps[w];
	}
	return at + sum - mine;
}

/* Tile of a block. */
struct tile {
	int from[2], size[2]; /* first cell, and number of cells, of the grid */
};

static __device__ bool near_tile(const short low[2], const short high[2], int taps,
				 const struct tile &t)
{
	return reaches(low[0], high[0], taps, t.from[0], t.size[0]) &&
	       reaches(low[1], high[1], taps, t.from[1], t.size[1]);
}

/* Lists the boxes that reach the tile, of at most LIST boxes from b0 on. Returns their number. */
static __device__ uint32_t list_boxes(uint32_t *list, const struct bs_path_box *box, uint32_t b0,
				      uint32_t boxes, int taps, const struct tile &t)
{
	const uint32_t own = b0 + threadIdx.x * (LIST / THREADS);
	uint32_t hits = 0;
	uint32_t all;

	for (uint32_t i = 0; i < LIST / THREADS && own + i < boxes; i++)
		if (near_tile(box[own + i].from, box[own + i].to, taps, t))
			hits |= 1u << i;
	uint32_t put = before(__popc(hits), &all);

	for (uint32_t i = 0; i < LIST / THREADS; i++)
		if (hits >> i & 1)
			list[put++] = own + i;
	__syncthreads();
	return all;
}

/* The weights and values of samples that reach the tile, for all of its cells. */
template <int W, int C> struct entries {
	float along[2][THREADS][W];
	short2 first[THREADS];
	__align__(16) float2 value[THREADS][C];
};

/* Writes the entry of the frame's sample number `sample`, for the coils from `coil` on. */
template <int W, int C>
static __device__ void put_entry(struct entries<W, C> &to, uint32_t e,
				 const struct bs_path_place &p, uint64_t sample, uint64_t samples,
				 uint32_t coil, const struct bs_path_work &work,
				 const bs_kernel_window &window, const struct tile &t)
{
	for (int a = 0; a < 2; a++) {
		float w[W];

		::window<W>(w, p.offset[a], window, a);
		for (int j = 0; j < W; j++)
			to.along[a][e][j] = w[j];
	}
	to.first[e] = make_short2((short)from_tile(p.cell[0], t.from[0], W, t.size[0]),
				  (short)from_tile(p.cell[1], t.from[1], W, t.size[1]));
	for (uint32_t i = 0; i < C; i++) {
		float2 v = make_float2(work.data == NULL ? 1.0f : 0.0f, 0.0f);

		if (work.data != NULL && coil + i < work.coils)
			v = work.data[(coil + i) * samples + sample];
		to.value[e][i] = make_float2(v.x * p.weight, v.y * p.weight);
	}
}

/* Adds the entries of this thread's part to its cell. */
template <int W, int C>
static __device__ __forceinline__ void add_entries(float2 (&sum)[C], const struct entries<W, C> &in,
						   uint32_t count, int x, int y)
{
	for (uint32_t i = threadIdx.x / (TILE * TILE); i < count; i += PARTS) {
		const short2 from = in.first[i];
		const int jx = x - from.x;
		const int jy = y - from.y;

		if ((unsigned)jx >= W || (unsigned)jy >= W)
			continue;
		const float w = in.along[0][i][jx] * in.along[1][i][jy];

#pragma unroll
		for (int n = 0; n < C; n++)
			sum[n] = bs_cfma(w, in.value[i][n], sum[n]);
	}
}

/* Adds the parts' sums to the cells, part after part; value: room for them. */
template <int C>
static __device__ void store(float2 *grid, float2 (&sum)[C], float2 (*value)[C], uint32_t coil,
			     const struct bs_path_work &work, float scale, const struct tile &t)
{
	const int x = t.from[0] + (int)threadIdx.x % TILE;
	const int y = t.from[1] + (int)threadIdx.x / TILE % TILE;
	const size_t cells = (size_t)t.size[0] * t.size[1];

	__syncthreads();
	for (int n = 0; n < C && threadIdx.x >= TILE * TILE; n++)
		value[threadIdx.x][n] = sum[n];
	__syncthreads();
	if (threadIdx.x >= TILE * TILE || x >= t.size[0] || y >= t.size[1])
		return;
	for (uint32_t n = 0; n < C && coil + n < work.coils; n++) {
		float2 *to = grid + (coil + n) * cells + (size_t)y * t.size[0] + x;

		for (int i = 1; i < PARTS; i++)
			sum[n] = bs_cadd(sum[n], value[threadIdx.x + i * TILE * TILE][n]);
		if (work.adds)
			sum[n] = make_float2(to->x + sum[n].x, to->y + sum[n].y);
		*to = make_float2(sum[n].x * scale, sum[n].y * scale);
	}
}

/*
 * Fills a tile of cells of C coils from the samples that reach it, in their order. Threads beyond
 * the number of cells form further parts: the parts take turns with the samples, and are added up
 * in order.
 */
template <int W, int C>
static __global__ void __launch_bounds__(THREADS)
	collect(float2 *grid, const struct bs_path_grid on, const struct bs_path_work work,
		const double *seen, double *total, const bs_kernel_window window,
		const struct bs_path_shape s)
{
	__shared__ uint32_t list[LIST];
	__shared__ struct entries<W, C> entries;
	const struct tile t = { { (int)blockIdx.x * TILE, (int)blockIdx.y * TILE },
				{ (int)on.size[0], (int)on.size[1] } };
	const uint32_t coil = blockIdx.z * C;
	const uint64_t samples = (uint64_t)s.samples * s.readouts;
	const uint32_t boxes = s.chunks * work.to;
	const struct bs_path_place *place = on.place + work.state * samples;
	const struct bs_path_box *box = on.box + (uint64_t)work.state * s.chunks * s.readouts;
	const bool scales = work.last && s.normalizes;
	float2 sum[C] = {};
	double seen_by_all = 0.0;
	bool met = false;

	for (uint32_t r = threadIdx.x; scales && r < s.readouts; r += THREADS)
		seen_by_all += seen[(uint64_t)work.state * s.readouts + r];
	for (uint32_t b0 = s.chunks * work.from; b0 < boxes; b0 += LIST) {
		const uint32_t chunks = list_boxes(list, box, b0, boxes, W, t);

		met = met || chunks > 0;
		for (uint32_t c0 = 0; c0 < chunks; c0 += THREADS / BS_PATH_CHUNK) {
			const uint32_t c = c0 + threadIdx.x / BS_PATH_CHUNK;
			const uint32_t chunk = c < chunks ? list[c] : 0;
			const uint32_t m =
				chunk % s.chunks * BS_PATH_CHUNK + threadIdx.x % BS_PATH_CHUNK;
			const uint64_t sample = (uint64_t)(chunk / s.chunks) * s.samples + m;
			struct bs_path_place p;
			uint32_t count;
			bool near = c < chunks && m < s.samples;

			if (near)
				p = place[sample];
			near = near && near_tile(p.cell, p.cell, W, t);
			const uint32_t e = before(near, &count);

			if (near)
				put_entry(entries, e, p, sample, samples, coil, work, window, t);
			__syncthreads();
			add_entries(sum, entries, count, (int)threadIdx.x % TILE,
				    (int)threadIdx.x / TILE % TILE);
		}
	}
	if (!met && work.adds && !work.last)
		return;
	if (scales)
		seen_by_all = bs_path_sum(seen_by_all);
	if (work.last && blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x == 0)
		*total = seen_by_all;
	store(grid, sum, entries.value, coil, work, scales ? (float)(1.0 / seen_by_all) : 1.0f, t);
}

template <int C>
static int launch(float2 *cells, const struct bs_path_grid *on, const struct bs_path_work *work,
		  const double *seen, double *total, const struct bs_kernel_window *window,
		  uint32_t taps, const struct bs_path_shape *s, cudaStream_t stream,
		  struct bs_fail *why)
{
	const dim3 blocks((on->size[0] + TILE - 1) / TILE, (on->size[1] + TILE - 1) / TILE,
			  (work->coils + C - 1) / C);

	bs_by_taps(taps, [&](auto w) {
		collect<decltype(w)::value, C><<<blocks, THREADS, 0, stream>>>(
			cells, *on, *work, seen, total, *window, *s);
	});
	return BS_CUDA_RC(cudaGetLastError(), why);
}

int bs_path_collect(float2 *cells, const struct bs_path_grid *on, const struct bs_path_work *work,
		    const double *seen, double *total, const struct bs_kernel_window *window,
		    uint32_t taps, const struct bs_path_shape *s, cudaStream_t stream,
		    struct bs_fail *why)
{
	return work->coils > 1
		       ? launch<8>(cells, on, work, seen, total, window, taps, s, stream, why)
		       : launch<1>(cells, on, work, seen, total, window, taps, s, stream, why);
}
