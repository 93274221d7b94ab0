/*
 * gpu/nufft/cuda/borders.cu - adds up the padded sectors, with the transform along x; see dev.cuh
 *
 * A cell lies in up to two sectors on each axis. Which rows of sectors reach a row of cells is
 * looked up once for each row, so that a cell adds only the sectors that are there: most rows of a
 * volume lie in one or two of the four.
 */
#include "gpu/device/launch.cuh"
#include "gpu/nufft/cuda/dev.cuh"

#define THREADS 256

template <int CB> struct cell_of {
	float2 v[CB];
};

template <int CB>
static __device__ __forceinline__ void load_cell(cell_of<CB> &to, const float2 *from)
{
	if constexpr (CB == 1) {
		to.v[0] = *from;
	} else {
#pragma unroll
		for (int c = 0; c < CB; c += 2) {
			const float4 q = *(const float4 *)(from + c);

			to.v[c] = make_float2(q.x, q.y);
			to.v[c + 1] = make_float2(q.z, q.w);
		}
	}
}

template <int CB>
static __device__ __forceinline__ void add_cell(cell_of<CB> &sum, const cell_of<CB> &v)
{
#pragma unroll
	for (int c = 0; c < CB; c++)
		sum.v[c] = bs_cadd(sum.v[c], v.v[c]);
}

/* The padded sectors of one group: cell i of copy t lies at base + t step + i CB values. */
struct copies {
	const char *base;
	uint32_t step; /* bytes from one copy to the next; the choice keeps it below 2^32 */
};

template <int CB>
static __device__ __forceinline__ copies copies_of(const bs_nufft_dev &d, uint32_t group,
						   const float2 *part)
{
	const uint32_t cells = d.padded[0] * d.padded[1] * d.padded[2];

	return { (const char *)(part + (uint64_t)group * cells * CB),
		 d.groups * cells * (uint32_t)(CB * sizeof(float2)) };
}

/* Returns the address of cell `local` of copy t. */
template <int CB>
static __device__ __forceinline__ const float2 *cell_at(const copies &c, uint32_t t, uint32_t local)
{
	return (const float2 *)(c.base + (uint64_t)t * c.step + local * (CB * sizeof(float2)));
}

/* Adds one sector's copies of a cell, in order. */
template <int CB>
static __device__ __forceinline__ void add_copies(cell_of<CB> &sum, const copies &c, uint2 range,
						  uint32_t local)
{
#pragma unroll 2
	for (uint32_t t = 0; t < range.y; t++) {
		cell_of<CB> v;

		load_cell<CB>(v, cell_at<CB>(c, range.x + t, local));
		add_cell<CB>(sum, v);
	}
}

/*
 * The rows of sectors that reach a row of cells: their first sector, and the row's place in it.
 * many: there are more than two an axis (grids of a few sectors), so the reach is looked up for
 * each cell.
 */
struct row_places {
	uint32_t count;
	bool many;
	uint32_t sector[4], local[4];
};

static __device__ __forceinline__ uint4 reach_of(const bs_nufft_dev &d, int axis, uint32_t at)
{
	return d.reach[axis] != NULL ? __ldg((const uint4 *)(d.reach[axis] + at))
				     : make_uint4(1, 0, 0, 0);
}

static __device__ void find_row(row_places &r, const bs_nufft_dev &d, uint32_t row)
{
	const uint4 y = reach_of(d, 1, row % d.grid[1]);
	const uint4 z = reach_of(d, 2, row / d.grid[1]);
	const uint32_t at[2][2] = { { y.y, y.z }, { z.y, z.z } };
	uint32_t n = 0;

#pragma unroll
	for (uint32_t q = 0; q < 4; q++) {
		const uint32_t j = at[0][q & 1], k = at[1][q >> 1];

		if ((q & 1) >= y.x || (q >> 1) >= z.x)
			continue;
		r.sector[n] = ((k >> 8) * d.axis[1] + (j >> 8)) * d.axis[0];
		r.local[n] = ((k & 255u) * d.padded[1] + (j & 255u)) * d.padded[0];
		n++;
	}
	r.count = n;
	r.many = y.x > 2 || z.x > 2;
}

/* The sectors that reach one cell; found before their data are there. */
struct cell_places {
	uint4 x; /* x: count; y, z, w: sector << 8 | place */
	/* [row of sectors][along x] first task and number of copies; 0 copies: no sector */
	uint2 range[8];
};

static __device__ __forceinline__ cell_places look_up(const bs_nufft_dev &d, const row_places &r,
						      uint32_t x)
{
	cell_places p;

	p.x = __ldg((const uint4 *)(d.reach[0] + x));
#pragma unroll
	for (uint32_t q = 0; q < 8; q++)
		p.range[q] = make_uint2(0, 0);
#pragma unroll
	for (uint32_t q = 0; q < 4; q++) {
		if (q >= r.count)
			break;
		p.range[2 * q] = __ldg(d.range + (r.sector[q] + (p.x.y >> 8)));
		if (p.x.x > 1)
			p.range[2 * q + 1] = __ldg(d.range + (r.sector[q] + (p.x.z >> 8)));
	}
	return p;
}

/* Sums a cell of a grid of a few sectors, up to three on an axis. */
template <int CB>
static __device__ __noinline__ cell_of<CB> gather_many(const bs_nufft_dev &d, const copies &c,
						       uint32_t row, uint4 ax)
{
	const uint4 ay = reach_of(d, 1, row % d.grid[1]);
	const uint4 az = reach_of(d, 2, row / d.grid[1]);
	cell_of<CB> sum = {};

	for (uint32_t q = 0; q < 27; q++) {
		const uint32_t i = q % 3, j = q / 3 % 3, k = q / 9;

		if (i >= ax.x || j >= ay.x || k >= az.x)
			continue;
		const uint32_t lx = i == 2 ? ax.w : i == 1 ? ax.z : ax.y;
		const uint32_t ly = j == 2 ? ay.w : j == 1 ? ay.z : ay.y;
		const uint32_t lz = k == 2 ? az.w : k == 1 ? az.z : az.y;

		add_copies<CB>(sum, c,
			       __ldg(d.range + ((lz >> 8) * d.axis[1] + (ly >> 8)) * d.axis[0] +
				     (lx >> 8)),
			       ((lz & 255u) * d.padded[1] + (ly & 255u)) * d.padded[0] +
				       (lx & 255u));
	}
	return sum;
}

/*
 * Sums one cell's channels. The first copies of AHEAD sectors are read together, then the others.
 */
template <int CB>
static __device__ __forceinline__ cell_of<CB> gathered(const bs_nufft_dev &d, const copies &c,
						       const row_places &r, uint32_t row,
						       const cell_places &p)
{
	const int AHEAD = CB < 4 ? 4 : 2;
	const uint32_t at[2] = { p.x.y & 255u, p.x.z & 255u };
	cell_of<CB> sum = {};
	uint32_t most = 0; /* above 1 where any sector has two copies or more */

	if (r.many || p.x.x > 2)
		return gather_many<CB>(d, c, row, p.x);
#pragma unroll
	for (int first = 0; first < 8; first += AHEAD) {
		cell_of<CB> v[AHEAD] = {};

		if ((uint32_t)first / 2 >= r.count)
			break;
#pragma unroll
		for (int i = 0; i < AHEAD; i++) {
			const int q = first + i;
			const uint2 range = p.range[q];

			if (range.y > 0)
				load_cell<CB>(v[i],
					      cell_at<CB>(c, range.x, r.local[q / 2] + at[q % 2]));
			most |= range.y;
		}
#pragma unroll
		for (int i = 0; i < AHEAD; i++)
			add_cell<CB>(sum, v[i]);
	}
	if (most > 1)
#pragma unroll
		for (int q = 0; q < 8; q++)
			if (p.range[q].y > 1)
				add_copies<CB>(sum, c,
					       make_uint2(p.range[q].x + 1, p.range[q].y - 1),
					       r.local[q / 2] + at[q % 2]);
	return sum;
}

/* Sums one complex value of a crowded sector's copies in each thread; the
 * copies lie `step` apart. */
static __global__ void __launch_bounds__(THREADS)
	merge(const uint2 *crowd, uint64_t step, float2 *part)
{
	const uint2 c = __ldg(crowd + blockIdx.x);
	const uint64_t i = (uint64_t)blockIdx.y * THREADS + threadIdx.x;
	float2 *at = part + c.x * step + i;

	bs_after_previous();
	if (i >= step)
		return;
	float2 sum = *at;

#pragma unroll 8
	for (uint32_t t = 1; t < c.y; t++)
		sum = bs_cadd(sum, at[t * step]);
	*at = sum;
}

/* Sums one cell of a group in each thread. blockIdx.x: rows, of which there may be many. */
template <int CB>
static __global__ void __launch_bounds__(128) gather(const __grid_constant__ bs_nufft_dev d,
						     const float2 *part, float2 *__restrict__ grid)
{
	__shared__ row_places places[4];
	const uint32_t x = blockIdx.y * 32 + threadIdx.x;
	const uint32_t rows = d.grid[1] * d.grid[2];
	const uint32_t row = blockIdx.x * 4 + threadIdx.y;
	const row_places &r = places[threadIdx.y];

	if (threadIdx.x == 0 && row < rows)
		find_row(places[threadIdx.y], d, row);
	__syncthreads();
	if (x >= d.grid[0] || row >= rows)
		return;
	const cell_of<CB> sum =
		gathered<CB>(d, copies_of<CB>(d, blockIdx.z, part), r, row, look_up(d, r, x));

#pragma unroll
	for (int c = 0; c < CB; c++)
		if (blockIdx.z * CB + c < d.channels) {
			float2 *to = grid +
				     ((uint64_t)(blockIdx.z * CB + c) * rows + row) * d.grid[0] + x;

			*to = bs_cadd(*to, sum.v[c]);
		}
}

/*
 * The rows of a block: its cols lines are cols / CB rows of CB channels. A table is made first of
 * where each sector that reaches a row holds its part: [row][row of sectors][sector along x], the
 * cell in the first copy and the number of copies. near: cells can be counted in 32 bits.
 */
struct row_table {
	const uint2 *at;  /* table of one row */
	uint32_t sectors; /* number of sectors along x */
	uint32_t rows;    /* rows of sectors, at most 4 */
};

/* Fills the tables: each warp takes a row of sectors of one of the block's rows. */
static __device__ void fill_tables(uint2 *table, const bs_nufft_dev &d, const row_places *places,
				   uint32_t rows)
{
	const uint32_t cells = d.padded[0] * d.padded[1] * d.padded[2];

	for (uint32_t i = threadIdx.x / 32; i < 4 * rows; i += THREADS / 32) {
		const row_places &r = places[i / 4];

		if (r.many || i % 4 >= r.count)
			continue;
		const uint32_t local = r.local[i % 4];
		const uint32_t first = r.sector[i % 4];

		for (uint32_t s = threadIdx.x % 32; s < d.axis[0]; s += 32) {
			const uint2 its = __ldg(d.range + (first + s));

			table[i * d.axis[0] + s] =
				make_uint2(its.x * d.groups * cells + local, its.y);
		}
	}
}

/* Sums the cell at x of a row from the table. reach: that of x, at most two sectors. */
template <int CB>
static __device__ __forceinline__ cell_of<CB> tabulated(const copies &c, const row_table &t,
							const uint4 &reach)
{
	const int AHEAD = CB < 4 ? 4 : 2;
	const uint32_t at[2] = { reach.y & 255u, reach.z & 255u };
	const uint2 *from[2] = { t.at + (reach.y >> 8), t.at + (reach.z >> 8) };
	cell_of<CB> sum = {};
	uint32_t most = 0; /* above 1 where any sector has two copies or more */

#pragma unroll
	for (int first = 0; first < 8; first += AHEAD) {
		cell_of<CB> v[AHEAD] = {};

		if ((uint32_t)first / 2 >= t.rows)
			break;
#pragma unroll
		for (int i = 0; i < AHEAD; i++) {
			const int q = (first + i) / 2, k = i % 2;
			uint2 e = make_uint2(0, 0);

			if ((uint32_t)q < t.rows && (uint32_t)k < reach.x)
				e = from[k][q * t.sectors];
			if (e.y > 0)
				load_cell<CB>(v[i], cell_at<CB>(c, 0, e.x + at[k]));
			most |= e.y;
		}
#pragma unroll
		for (int i = 0; i < AHEAD; i++)
			add_cell<CB>(sum, v[i]);
	}
	if (most > 1)
#pragma unroll
		for (int i = 0; i < 8; i++) {
			const int q = i / 2, k = i % 2;

			if ((uint32_t)q >= t.rows || (uint32_t)k >= reach.x)
				continue;
			const uint2 e = from[k][q * t.sectors];

			if (e.y > 1)
				add_copies<CB>(sum, c, make_uint2(1, e.y - 1), e.x + at[k]);
		}
	return sum;
}

template <int CB>
static __global__ void __launch_bounds__(THREADS)
	gather_rows(const __grid_constant__ bs_nufft_dev d, const __grid_constant__ bs_line_pass p,
		    uint32_t cols, bool near, const float2 *part, float2 *__restrict__ out)
{
	extern __shared__ float2 shared[];
	__shared__ row_places places[32 / CB]; /* cols is at most 32 */
	const uint32_t n = p.line.n;
	const uint32_t pitch = bs_line_pitch(cols);
	const uint32_t rows = d.grid[1] * d.grid[2];
	const uint32_t first = blockIdx.x * (cols / CB);
	const uint32_t count = min(cols / CB, rows - first);
	const uint32_t entries =
		/*
		 * entries of a row's table; the tables lie in b, which is free until the transform
		 */
		4 * d.axis[0];
	const copies c = copies_of<CB>(d, blockIdx.y, part);
	float2 *a = shared;
	float2 *b = shared + n * pitch;
	uint2 *table = (uint2 *)b;
	uint32_t r = threadIdx.x / n;
	uint32_t x = threadIdx.x - r * n;
	uint4 next = make_uint4(0, 0, 0, 0);

	/* These are tables of the plan, so they are read before the sectors are complete. */
	if (threadIdx.x < count)
		find_row(places[threadIdx.x], d, first + threadIdx.x);
	__syncthreads();
	if (near)
		fill_tables(table, d, places, count);
	if (r < count)
		next = reach_of(d, 0, x);
	__syncthreads();
	bs_after_previous();
	while (r < count) {
		const uint4 reach = next;
		const row_table t = { table + r * entries, d.axis[0], places[r].count };
		const cell_of<CB> sum = near && !places[r].many && reach.x <= 2
						? tabulated<CB>(c, t, reach)
						: gather_many<CB>(d, c, first + r, reach);
		float2 *to = a + x * pitch + r * CB;

		for (x += THREADS; x >= n; x -= n)
			r++;
		if (r < count)
			next = reach_of(d, 0, x);
#pragma unroll
		for (int i = 0; i < CB; i++)
			to[i] = sum.v[i];
	}
	__syncthreads();
	a = bs_lines_run<1>(p.line, a, b, cols, pitch);
	for (uint32_t l = 0; l < cols; l++) {
		const uint32_t row = first + l / CB;
		const uint32_t channel = blockIdx.y * CB + l % CB;

		if (row >= rows || channel >= d.channels)
			continue;
		for (uint32_t k = threadIdx.x; k < p.out_count; k += THREADS) {
			uint32_t bin = k + n - p.out_half;
			float2 v = a[(bin >= n ? bin - n : bin) * pitch + l];
			float s = __ldg(p.scale_out + k);

			out[((uint64_t)channel * rows + row) * p.out_count + k] =
				make_float2(v.x * s, v.y * s);
		}
	}
}

int bs_nufft_gather_init(struct bs_fail *why)
{
	return bs_cuda_shared_all(why, gather_rows<1>, gather_rows<2>, gather_rows<4>);
}

int bs_nufft_merge(const bs_nufft_dev *d, uint32_t lanes, float2 *part, bool close,
		   cudaStream_t stream, struct bs_fail *why)
{
	const uint64_t step =
		(uint64_t)d->groups * d->padded[0] * d->padded[1] * d->padded[2] * lanes;

	if (d->crowds == 0)
		return 0;
	return bs_launch(merge, dim3(d->crowds, (unsigned)((step + THREADS - 1) / THREADS)),
			 THREADS, 0, close, stream, why, d->crowd, step, part);
}

int bs_nufft_gather(const bs_nufft_dev *d, uint32_t lanes, const float2 *part, float2 *grid,
		    cudaStream_t stream, struct bs_fail *why)
{
	const dim3 threads(32, 4);
	const dim3 blocks((d->grid[1] * d->grid[2] + 3) / 4, (d->grid[0] + 31) / 32, d->groups);

	const auto kernel = lanes == 1 ? gather<1> : lanes == 2 ? gather<2> : gather<4>;

	kernel<<<blocks, threads, 0, stream>>>(*d, part, grid);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

int bs_nufft_gather_rows(const bs_nufft_dev *d, uint32_t lanes, const bs_line_pass *pass,
			 const float2 *part, float2 *out, cudaStream_t stream, struct bs_fail *why)
{
	const uint32_t rows = d->grid[1] * d->grid[2];
	uint32_t cols =
		bs_line_cols(pass->line.n, (uint64_t)rows * d->groups * lanes, lanes, pass->cols);

	/* with few rows each gets a block */
	if (pass->cols == 0 && lanes == 1 && cols == 2)
		cols = 1;
	const size_t bytes = bs_line_shared(pass->line.n, cols);
	const dim3 blocks((rows + cols / lanes - 1) / (cols / lanes), d->groups);

	const bool near =
		(uint64_t)d->tasks * d->groups * d->padded[0] * d->padded[1] * d->padded[2] <=
		UINT32_MAX;

	return bs_launch(lanes == 1   ? gather_rows<1>
			 : lanes == 2 ? gather_rows<2>
				      : gather_rows<4>,
			 blocks, THREADS, bytes, pass->close, stream, why, *d, *pass, cols, near,
			 part, out);
}
