/*
 * gpu/nufft/cuda/direct.cu - spreading few samples in 2D: one kernel, no copies of sectors
 *
 * A block owns the cells of one sector, a thread four of them along y. The block reads the samples
 * whose windows can reach the sector: those of the sector itself and of the three before it, in
 * that order. Samples that do reach it are weighed into tables over the sector's cells, zero
 * outside the window, and added by all threads one after the other. Each cell is written once. So
 * each sample is read four times, which pays while sectors hold about a dozen samples or fewer;
 * more go through padded sectors (spread_plane.cuh).
 */
#include "gpu/device/launch.cuh"
#include "gpu/nufft/cuda/sample.cuh"

#define SIDE    16 /* most cells of a sector on an axis */
#define OWN     4  /* cells of a thread, along y */
#define THREADS (SIDE * SIDE / OWN)
#define BATCH   32u /* samples at a time: warp 0 weighs them along x, warp 1 along y */

/* The samples of one sector, and where its origin lies relative to the block's own sector. */
struct direct_source {
	uint2 span;
	int shift[2];
};

/* Returns source q of four; the last is this block's own sector. */
static __device__ __forceinline__ direct_source source_of(const bs_nufft_dev &d, uint32_t q)
{
	const uint32_t here[2] = { blockIdx.x, blockIdx.y };
	direct_source s = { make_uint2(0, 0), { 0, 0 } };
	uint32_t at[2];

#pragma unroll
	for (int a = 0; a < 2; a++) {
		at[a] = here[a];
		if ((q >> a & 1u) != 0)
			continue;
		at[a] = here[a] == 0 ? d.axis[a] - 1 : here[a] - 1;
		s.shift[a] = (int)__ldg(d.start[a] + at[a]) - (int)__ldg(d.start[a] + at[a] + 1);
	}
	s.span = __ldg(d.span + at[1] * d.axis[0] + at[0]);
	return s;
}

/*
 * Writes a sample's window on one axis as a table over the sector's cells, zero beyond its reach.
 */
template <int W>
static __device__ __forceinline__ void lay(float (&table)[SIDE + 4], const float (&w)[W], int first)
{
#pragma unroll
	for (int i = 0; i < SIDE; i++)
		table[i] = 0.0f;
#pragma unroll
	for (int j = 0; j < W; j++)
		if ((unsigned)(first + j) < SIDE)
			table[first + j] = w[j];
}

/* Grids one sector. Long: the turns of both warps share the samples' places. */
template <int W>
static __global__ void __launch_bounds__(THREADS)
	direct(const __grid_constant__ bs_nufft_dev d, const float2 *data, float2 *grid)
{
	/*
	 * Rows of 20 floats are whole 16-byte pieces, and lanes that write theirs meet in few
	 * banks.
	 */
	__shared__ __align__(16) float along[2][BATCH][SIDE + 4];
	__shared__ float2 value[BATCH];
	const uint32_t lane = threadIdx.x % 32;
	const uint32_t axis = threadIdx.x / 32;
	const uint32_t tx = threadIdx.x % SIDE;
	const uint32_t ty = threadIdx.x / SIDE * OWN;
	const direct_source source[4] = { source_of(d, 0), source_of(d, 1), source_of(d, 2),
					  source_of(d, 3) };
	const uint32_t end[4] = { source[0].span.y, source[0].span.y + source[1].span.y,
				  source[0].span.y + source[1].span.y + source[2].span.y,
				  source[0].span.y + source[1].span.y + source[2].span.y +
					  source[3].span.y };
	float2 sum[OWN] = {};

	for (uint32_t base = 0; base < end[3]; base += BATCH) {
		const uint32_t i = base + lane;
		uint32_t e = source[0].span.x + i;
		int shift[2] = { source[0].shift[0], source[0].shift[1] };
		int first[2] = { -W, -W };

#pragma unroll
		for (int q = 1; q < 4; q++)
			if (i >= end[q - 1]) {
				e = source[q].span.x + i - end[q - 1];
				shift[0] = source[q].shift[0];
				shift[1] = source[q].shift[1];
			}
		if (i < end[3]) {
			const uint32_t c = __ldg(d.cell + e);

			first[0] = (int)(c & 255u) + shift[0];
			first[1] = (int)(c >> 8 & 255u) + shift[1];
		}
		const bool reaches = first[0] > -W && first[1] > -W;
		const uint32_t who = __ballot_sync(0xffffffffu, reaches);
		const uint32_t slot = (uint32_t)__popc(who & ((1u << lane) - 1u));
		const uint32_t n = (uint32_t)__popc(who);
		float w[W];

		if (base > 0)
			__syncthreads(); /* all threads have read the last tables */
		if (reaches && axis == 0) {
			window<W>(w, __ldg(d.offset + e), d.window, 0);
			lay<W>(along[0][slot], w, first[0]);
		} else if (reaches) {
			const uint32_t m = __ldg(d.order + e);
			const float f = d.weight != NULL ? __ldg(d.weight + e) : 1.0f;

			window<W>(w, __ldg(d.offset + d.points + e), d.window, 1);
			lay<W>(along[1][slot], w, first[1]);
			bs_after_previous(); /* from here on the samples' values can be read */
			const float2 v = data[m];

			value[slot] = make_float2(v.x * f, v.y * f);
		}
		__syncthreads();
		for (uint32_t s = 0; s < n; s++) {
			const float wx = along[0][s][tx];
			const float4 wy = *(const float4 *)&along[1][s][ty];
			const float2 v = make_float2(wx * value[s].x, wx * value[s].y);
			const float by[OWN] = { wy.x, wy.y, wy.z, wy.w };

#pragma unroll
			for (int o = 0; o < OWN; o++)
				sum[o] = bs_cfma(by[o], v, sum[o]);
		}
	}
	const uint32_t x = __ldg(d.start[0] + blockIdx.x) + tx;
	const uint32_t y = __ldg(d.start[1] + blockIdx.y) + ty;
	const bool mine = x < __ldg(d.start[0] + blockIdx.x + 1);
	const uint32_t rows = __ldg(d.start[1] + blockIdx.y + 1);

	bs_after_previous(); /* from here on no earlier kernel reads the grid */
#pragma unroll
	for (uint32_t o = 0; o < OWN; o++)
		if (mine && y + o < rows)
			grid[(uint64_t)(y + o) * d.grid[0] + x] = sum[o];
}

int bs_nufft_direct(const bs_nufft_dev *d, uint32_t taps, const float2 *data, float2 *grid,
		    bool close, cudaStream_t stream, struct bs_fail *why)
{
	const bs_grid_kernel kernel = bs_by_taps(
		taps, [](auto w) -> bs_grid_kernel { return direct<decltype(w)::value>; });

	return bs_launch(kernel, dim3(d->axis[0], d->axis[1]), THREADS, 0, close, stream, why, *d,
			 data, grid);
}
