/* gpu/nufft_passes.cu - the sum over sectors, fused with the transform along x; stacks; see nufft_dev.cuh */
#include "gpu/launch.cuh"
#include "gpu/nufft_dev.cuh"

#define THREADS 256

template <int CB> struct cell_of {
	float2 v[CB];
};

template <int CB>
static __device__ __forceinline__ void add_cell(cell_of<CB> &sum, const float2 *from)
{
	if constexpr (CB == 1) {
		sum.v[0] = bs_cadd(sum.v[0], *from);
	} else {
#pragma unroll
		for (int c = 0; c < CB; c += 2) {
			const float4 q = *(const float4 *)(from + c);

			sum.v[c] = bs_cadd(sum.v[c], make_float2(q.x, q.y));
			sum.v[c + 1] = bs_cadd(sum.v[c + 1], make_float2(q.z, q.w));
		}
	}
}

/* One padded sector's share of a cell. */
template <int CB>
static __device__ __forceinline__ void add_sector(cell_of<CB> &sum, const bs_nufft_dev &d,
						  uint2 range, const float2 *part, uint64_t step,
						  uint64_t local)
{
	const float2 *from = part + range.x * step + local * CB;

#pragma unroll 2
	for (uint32_t t = 0; t < range.y; t++, from += step)
		add_cell<CB>(sum, from);
}

/* Where one grid cell lies in the padded sectors that reach it: up to two an axis, but for grids of a
 * few sectors. What the plan fixed, so it is looked up before the sectors are there. */
struct cell_places {
	uint4 axis[3]; /* count, then sector << 8 | place */
	uint2 range[8];
	uint32_t local[8];
};

/* rz NULL in two dimensions. */
static __device__ __forceinline__ cell_places places_of(const bs_nufft_dev &d, uint32_t x,
							const bs_sector_reach *ry,
							const bs_sector_reach *rz)
{
	cell_places p;

	p.axis[0] = __ldg((const uint4 *)(d.reach[0] + x));
	p.axis[1] = __ldg((const uint4 *)ry);
	p.axis[2] = rz != NULL ? __ldg((const uint4 *)rz) : make_uint4(1, 0, 0, 0);
	const uint4 ax = p.axis[0], ay = p.axis[1], az = p.axis[2];
	const uint32_t at[3][2] = { { ax.y, ax.z }, { ay.y, ay.z }, { az.y, az.z } };

#pragma unroll
	for (int q = 0; q < 8; q++) {
		const int i = q & 1, j = q >> 1 & 1, k = q >> 2;
		const uint32_t sector =
			((at[2][k] >> 8) * d.axis[1] + (at[1][j] >> 8)) * d.axis[0] +
			(at[0][i] >> 8);

		p.local[q] = ((at[2][k] & 255u) * d.padded[1] + (at[1][j] & 255u)) * d.padded[0] +
			     (at[0][i] & 255u);
		p.range[q] = (uint32_t)i < ax.x && (uint32_t)j < ay.x && (uint32_t)k < az.x
				     ? __ldg(d.range + sector)
				     : make_uint2(0, 0);
	}
	return p;
}

/* The lanes of one grid cell: the first copies of all sectors side by side, then the others. */
template <int CB>
static __device__ __forceinline__ cell_of<CB> gathered(const bs_nufft_dev &d, uint32_t group,
						       const cell_places &p, const float2 *part)
{
	const uint4 ax = p.axis[0], ay = p.axis[1], az = p.axis[2];
	const uint32_t cells = d.padded[0] * d.padded[1] * d.padded[2];
	const uint64_t step = (uint64_t)d.groups * cells * CB;
	const float2 *base = part + (uint64_t)group * cells * CB;
	cell_of<CB> sum = {};

#pragma unroll
	for (int q = 0; q < 8; q++)
		if (p.range[q].y > 0)
			add_cell<CB>(sum, base + p.range[q].x * step + (uint64_t)p.local[q] * CB);
#pragma unroll
	for (int q = 0; q < 8; q++)
		if (p.range[q].y > 1)
			add_sector<CB>(sum, d, make_uint2(p.range[q].x + 1, p.range[q].y - 1), base,
				       step, p.local[q]);
	if (ax.x < 3 && ay.x < 3 && az.x < 3)
		return sum;
	for (uint32_t q = 0; q < 27; q++) {
		const uint32_t i = q % 3, j = q / 3 % 3, k = q / 9;

		if (i >= ax.x || j >= ay.x || k >= az.x || (i < 2 && j < 2 && k < 2))
			continue;
		const uint32_t lx = i == 2 ? ax.w : i == 1 ? ax.z : ax.y;
		const uint32_t ly = j == 2 ? ay.w : j == 1 ? ay.z : ay.y;
		const uint32_t lz = k == 2 ? az.w : k == 1 ? az.z : az.y;

		add_sector<CB>(sum, d,
			       __ldg(d.range + ((lz >> 8) * d.axis[1] + (ly >> 8)) * d.axis[0] +
				     (lx >> 8)),
			       base, step,
			       ((lz & 255u) * d.padded[1] + (ly & 255u)) * d.padded[0] +
				       (lx & 255u));
	}
	return sum;
}

/* Thread: a complex value of a crowded sector's copies; all copies lie step apart. */
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

/* Which sectors reach a row's y and z; z: NULL in two dimensions. */
struct row_reach {
	const bs_sector_reach *y, *z;
};

static __device__ __forceinline__ row_reach reach_of(const bs_nufft_dev &d, uint32_t row)
{
	return { d.reach[1] + row % d.grid[1],
		 d.reach[2] != NULL ? d.reach[2] + row / d.grid[1] : NULL };
}

/* Thread: a cell of a group. Block x: rows, which may be many. */
template <int CB>
static __global__ void __launch_bounds__(128) gather(const __grid_constant__ bs_nufft_dev d,
						     const float2 *part, float2 *__restrict__ grid)
{
	const uint32_t x = blockIdx.y * 32 + threadIdx.x;
	const uint32_t rows = d.grid[1] * d.grid[2];
	const uint32_t row = blockIdx.x * 4 + threadIdx.y;

	if (x >= d.grid[0] || row >= rows)
		return;
	const row_reach reach = reach_of(d, row);
	const cell_of<CB> sum =
		gathered<CB>(d, blockIdx.z, places_of(d, x, reach.y, reach.z), part);

#pragma unroll
	for (int c = 0; c < CB; c++)
		if (blockIdx.z * CB + c < d.channels) {
			float2 *to = grid +
				     ((uint64_t)(blockIdx.z * CB + c) * rows + row) * d.grid[0] + x;

			*to = bs_cadd(*to, sum.v[c]);
		}
}

/* Lines of a block: cols / CB rows, each of CB channels. */
template <int CB>
static __global__ void __launch_bounds__(THREADS)
	gather_rows(const __grid_constant__ bs_nufft_dev d, const __grid_constant__ bs_line_pass p,
		    uint32_t cols, const float2 *part, float2 *__restrict__ out)
{
	extern __shared__ float2 shared[];
	const uint32_t n = p.line.n;
	const uint32_t pitch = cols + 1;
	const uint32_t rows = d.grid[1] * d.grid[2];
	const uint32_t first = blockIdx.x * (cols / CB);
	float2 *a = shared;
	float2 *b = shared + n * pitch;

	const uint32_t cells = min(cols / CB, rows - first) * n; /* of this block */
	auto look_up = [&](uint32_t i) {
		const uint32_t r = i / n;
		const row_reach reach = reach_of(d, first + r);

		return places_of(d, i - r * n, reach.y, reach.z);
	};
	const bool AHEAD = CB < 4; /* registers: with 4 channels they would cost a block */
	cell_places places = {};

	/* what the plan fixed is on its way before the sectors are complete */
	if (AHEAD && threadIdx.x < cells)
		places = look_up(threadIdx.x);
	bs_after_previous();
	for (uint32_t i = threadIdx.x; i < cells; i += THREADS) {
		const cell_of<CB> sum =
			gathered<CB>(d, blockIdx.y, AHEAD ? places : look_up(i), part);
		const uint32_t r = i / n;
		const uint32_t x = i - r * n;

		if (AHEAD && i + THREADS < cells)
			places = look_up(i + THREADS);
#pragma unroll
		for (int c = 0; c < CB; c++)
			a[x * pitch + r * CB + c] = sum.v[c];
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

/* Block: 32 samples of 8 coils, turned in shared memory so that both sides are whole sectors. */
static __global__ void __launch_bounds__(THREADS)
	mix(const float2 *data, const float *__restrict__ weight, uint64_t samples, uint64_t first,
	    uint64_t count, uint32_t coils, float2 *__restrict__ mixed)
{
	__shared__ float2 tile[8][33];
	const uint32_t along = threadIdx.x % 32;
	const uint32_t across = threadIdx.x / 32;
	const uint64_t from = first + (uint64_t)blockIdx.x * 32;
	const uint32_t coil = blockIdx.y * 8;

	if (from + along < first + count && coil + across < coils) {
		const float w = weight != NULL ? __ldg(weight + from + along) : 1.0f;
		const float2 v = data[(coil + across) * samples + from + along];

		tile[across][along] = make_float2(v.x * w, v.y * w);
	}
	__syncthreads();
	const uint32_t c = threadIdx.x % 8;
	const uint32_t m = threadIdx.x / 8;

	if (from + m < first + count && coil + c < coils)
		mixed[(from + m) * coils + coil + c] = tile[c][m];
}

/* Block: cols positions of one coil, a line each. */
static __global__ void __launch_bounds__(THREADS)
	stack_in(const __grid_constant__ bs_stack_dev s, uint32_t cols, const float2 *data,
		 float2 *__restrict__ mixed)
{
	extern __shared__ float2 shared[];
	const uint32_t n = s.line.n;
	const uint32_t pitch = cols + 1;
	const uint64_t first = (uint64_t)blockIdx.x * cols;
	const float2 *in = data + blockIdx.y * s.samples;
	float2 *a = shared;

	for (uint32_t i = threadIdx.x; i < n * cols; i += THREADS) {
		const uint32_t c = i & (cols - 1);
		const uint32_t j = i / cols;
		float2 v = make_float2(0.0f, 0.0f);

		if (first + c < s.positions) {
			const uint32_t m = __ldg(s.source + j * s.positions + first + c);

			if (m != UINT32_MAX) {
				const float w = s.weight != NULL ? __ldg(s.weight + m) : 1.0f;

				v = in[m];
				v = make_float2(v.x * w, v.y * w);
			}
		}
		a[j * pitch + c] = v;
	}
	__syncthreads();
	a = bs_lines_run<1>(s.line, a, shared + n * pitch, cols, pitch);
	for (uint32_t i = threadIdx.x; i < n * cols; i += THREADS) {
		const uint32_t c = i / n;
		const uint32_t k = i - c * n;

		if (first + c < s.positions)
			mixed[((first + c) * s.coils + blockIdx.y) * n + k] = a[k * pitch + c];
	}
}

static __global__ void __launch_bounds__(THREADS)
	stack_out(const __grid_constant__ bs_stack_dev s, uint32_t cols, const float2 *mixed,
		  float2 *__restrict__ data)
{
	extern __shared__ float2 shared[];
	const uint32_t n = s.line.n;
	const uint32_t pitch = cols + 1;
	const uint64_t first = (uint64_t)blockIdx.x * cols;
	float2 *out = data + blockIdx.y * s.samples;
	float2 *a = shared;

	bs_after_previous();
	for (uint32_t i = threadIdx.x; i < n * cols; i += THREADS) {
		const uint32_t c = i / n;
		const uint32_t k = i - c * n;

		a[k * pitch + c] = first + c < s.positions
					   ? mixed[((first + c) * s.coils + blockIdx.y) * n + k]
					   : make_float2(0.0f, 0.0f);
	}
	__syncthreads();
	a = bs_lines_run<-1>(s.line, a, shared + n * pitch, cols, pitch);
	for (uint32_t i = threadIdx.x; i < n * cols; i += THREADS) {
		const uint32_t c = i & (cols - 1);
		const uint32_t j = i / cols;

		if (first + c < s.positions) {
			const uint32_t m = __ldg(s.source + j * s.positions + first + c);

			if (m != UINT32_MAX)
				out[m] = a[j * pitch + c];
		}
	}
}

int bs_nufft_passes_init(struct bs_fail *why)
{
	const void *kernel[] = { (const void *)gather_rows<1>, (const void *)gather_rows<2>,
				 (const void *)gather_rows<4>, (const void *)stack_in,
				 (const void *)stack_out };
	int rc = bs_lines_cuda_init(why);

	for (const void *k : kernel)
		if (rc == 0)
			rc = bs_line_allow(k, why);
	return rc;
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

	if (lanes == 1)
		gather<1><<<blocks, threads, 0, stream>>>(*d, part, grid);
	else if (lanes == 2)
		gather<2><<<blocks, threads, 0, stream>>>(*d, part, grid);
	else
		gather<4><<<blocks, threads, 0, stream>>>(*d, part, grid);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

int bs_nufft_gather_rows(const bs_nufft_dev *d, uint32_t lanes, const bs_line_pass *pass,
			 const float2 *part, float2 *out, cudaStream_t stream, struct bs_fail *why)
{
	const uint32_t rows = d->grid[1] * d->grid[2];
	const uint32_t cols =
		bs_line_cols(pass->line.n, (uint64_t)rows * d->groups * lanes, lanes, pass->cols);
	const size_t bytes = bs_line_shared(pass->line.n, cols);
	const dim3 blocks((rows + cols / lanes - 1) / (cols / lanes), d->groups);

	return bs_launch(lanes == 1   ? gather_rows<1>
			 : lanes == 2 ? gather_rows<2>
				      : gather_rows<4>,
			 blocks, THREADS, bytes, pass->close, stream, why, *d, *pass, cols, part,
			 out);
}

int bs_nufft_mix(const float2 *data, const float *weight, uint64_t samples, uint64_t first,
		 uint64_t count, uint32_t coils, float2 *mixed, cudaStream_t stream,
		 struct bs_fail *why)
{
	const dim3 blocks((unsigned)((count + 31) / 32), (coils + 7) / 8);

	mix<<<blocks, THREADS, 0, stream>>>(data, weight, samples, first, count, coils, mixed);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

/* Positions of a block: as many as a line's length leaves shared memory for. */
static uint32_t stack_cols(const bs_stack_dev *s)
{
	uint32_t cols = 16;

	while (cols > 1 && bs_line_shared(s->line.n, cols) > 48u * 1024u)
		cols /= 2;
	return cols;
}

int bs_nufft_stack_in(const bs_stack_dev *s, const float2 *data, float2 *mixed, cudaStream_t stream,
		      struct bs_fail *why)
{
	const uint32_t cols = stack_cols(s);
	const dim3 blocks((unsigned)((s->positions + cols - 1) / cols), s->coils);

	stack_in<<<blocks, THREADS, bs_line_shared(s->line.n, cols), stream>>>(*s, cols, data,
									       mixed);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}

int bs_nufft_stack_out(const bs_stack_dev *s, const float2 *mixed, float2 *data,
		       cudaStream_t stream, struct bs_fail *why)
{
	const uint32_t cols = stack_cols(s);
	const dim3 blocks((unsigned)((s->positions + cols - 1) / cols), s->coils);

	stack_out<<<blocks, THREADS, bs_line_shared(s->line.n, cols), stream>>>(*s, cols, mixed,
										data);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
