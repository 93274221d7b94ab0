/*
 * gpu/exact/cuda/table.cuh - makes the factors of the exact sums' matrix product, and voxels of
 * the product's sums
 *
 * For exact.cu alone. tile.h describes the layouts and the arithmetic.
 */
#ifndef BS_GPU_EXACT_CUDA_TABLE_CUH
#define BS_GPU_EXACT_CUDA_TABLE_CUH

#include "gpu/exact/cuda/tile.h"

#define TABLE_THREADS  128
#define UNPACK_THREADS 128

/* A factor of the exponential along one axis of the image, at positions (j + half) * stride. */
struct ex_axis {
	int axis;     /* axis: 0 x, 1 y, 2 z */
	float stride; /* distance in voxels from one position to the next */
	float half;   /* 0.5: positions are mirrored; 0: position 0 and its mirror coincide */
	int pairs;
};

struct ex_tables {
	struct ex_axis p, q, r;
	const float *k, *weight;
	const float2 *data;
	size_t coil_stride;
	long long first, samples; /* first sample of this chunk, and samples of the frame */
	float half[3]; /* phase put into the data, in voxels on each axis: 0.5 less the offset */
	int dims, ptiles, qtiles, ctiles, ctiles_coil, coils, groups;
	/* number of parts of d: 2, real and imaginary (image); 1, real (q) */
	int parts;
	/* tiles of this launch, in q and in columns; all tiles in p belong to it */
	int first_q, count_q, first_c, count_c;
	unsigned char *x, *y, *right;
	float *scale;
};

/* Returns the fractional part of k s, exact for any s. */
static __device__ __forceinline__ float cycles_of(float k, float s)
{
	const float p = __fmul_rn(k, s);
	const float e = fmaf(k, s, -p);

	return (p - rintf(p)) + e;
}

/* Returns exp(i 2 pi k s). */
static __device__ __forceinline__ float2 unit_phase(float k, float s)
{
	float2 u;

	sincospif(2.0f * cycles_of(k, s), &u.y, &u.x);
	return u;
}

static __device__ __forceinline__ void split(float v, __half &hi, __half &lo)
{
	hi = __float2half_rn(v);
	lo = __float2half_rn(v - __half2float(hi));
}

/* The sample's k along an axis; 0 beyond the last sample, whose data is 0 too. */
static __device__ __forceinline__ float k_of(const struct ex_tables &a, long long m, int axis)
{
	return m < a.samples ? __ldg(a.k + m * a.dims + axis) : 0.0f;
}

static __device__ __forceinline__ float2 data_of(const struct ex_tables &a, int coil, long long m)
{
	float2 d = make_float2(0.0f, 0.0f);

	if (m >= a.samples)
		return d;
	d = a.data != NULL ? __ldg(a.data + coil * a.coil_stride + m) : make_float2(1.0f, 0.0f);
	if (a.weight != NULL) {
		const float w = __ldg(a.weight + m);

		d.x *= w;
		d.y *= w;
	}
	return d;
}

/*
 * Makes the left tables: a thread makes four samples of one pair, a cosine entry and a sine entry.
 */
template <int PRODUCTS>
static __device__ void side_tables(const struct ex_tables &a, const struct ex_axis &axis, int tile,
				   int tiles, int rows, unsigned char *out)
{
	const int bytes = PRODUCTS == 3 ? 16 : 8;
	const int t = (int)threadIdx.x & 3;
	const int j = ((int)threadIdx.x >> 2) & 7;
	const int k16 = (int)threadIdx.x >> 5;
	const int pair = tile * (rows / 2) + j;
	const float s = ((float)pair + axis.half) * axis.stride;
	const float size = pair < axis.pairs ? (float)(1 << EX_SHIFT) : 0.0f;
	const long long m = a.first + (long long)blockIdx.x * EX_BLOCK + k16 * 16 + 2 * t;
	__half c[2][4];
	__half n[2][4]; /* sines [high, low][sample] */
	unsigned char *at = out +
			    (((size_t)blockIdx.x * tiles + tile) * 4 + k16) * rows * 4 * bytes +
			    (j * 4 + t) * bytes;

	if (j >= rows / 2)
		return;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		const float2 u = unit_phase(k_of(a, m + (i & 1) + (i >> 1) * 8, axis.axis), s);

		split(u.x * size, c[0][i], c[1][i]);
		split(u.y * size, n[0][i], n[1][i]);
	}
#define PAIR(v, h, i) ex_bits(__halves2half2(v[h][i], v[h][i + 1]))
	if (PRODUCTS == 3) {
		*(uint4 *)at =
			make_uint4(PAIR(c, 0, 0), PAIR(c, 1, 0), PAIR(c, 0, 2), PAIR(c, 1, 2));
		*(uint4 *)(at + rows * 2 * bytes) =
			make_uint4(PAIR(n, 0, 0), PAIR(n, 1, 0), PAIR(n, 0, 2), PAIR(n, 1, 2));
	} else {
		*(uint2 *)at = make_uint2(PAIR(c, 0, 0), PAIR(c, 0, 2));
		*(uint2 *)(at + rows * 2 * bytes) = make_uint2(PAIR(n, 0, 0), PAIR(n, 0, 2));
	}
#undef PAIR
}

/*
 * Returns a power of two that brings the group's largest value near 2^10; all threads of all blocks
 * get the same.
 */
static __device__ int group_shift(const struct ex_tables &a, int coil)
{
	__shared__ unsigned largest[TABLE_THREADS / 32];
	const long long m = a.first + (long long)(blockIdx.x / EX_BLOCKS) * EX_GROUP + threadIdx.x;
	unsigned top = 0;

	for (int i = 0; i < EX_GROUP; i += TABLE_THREADS) {
		const float2 d = data_of(a, coil, m + i);

		top = max(top, max(__float_as_uint(fabsf(d.x)), __float_as_uint(fabsf(d.y))));
	}
	top = __reduce_max_sync(0xffffffffu, top);
	if ((threadIdx.x & 31) == 0)
		largest[threadIdx.x >> 5] = top;
	__syncthreads();
	for (int i = 0; i < TABLE_THREADS / 32; i++)
		top = max(top, largest[i]);
	return top == 0 ? 0 : max(-100, min(100, 9 - ((int)(top >> 23) - 127)));
}

/* Writes d' = d exp(-i 2 pi k.half) * 2^shift for the block's samples. */
static __device__ void shift_data(const struct ex_tables &a, int coil, int shift, float2 *out)
{
	const long long m = a.first + (long long)blockIdx.x * EX_BLOCK + threadIdx.x;

	if (threadIdx.x < EX_BLOCK) {
		float cycles = 0.0f;
		float2 d = data_of(a, coil, m);

		for (int i = 0; i < a.dims; i++)
			cycles -= cycles_of(k_of(a, m, i), a.half[i]);
		const float2 u = unit_phase(cycles, 1.0f);

		d = make_float2(d.x * u.x - d.y * u.y, d.x * u.y + d.y * u.x);
		out[threadIdx.x] = make_float2(ldexpf(d.x, shift), ldexpf(d.y, shift));
	}
	__syncthreads();
}

static __device__ __forceinline__ void put_column(unsigned char *at, const float (&v)[8],
						  int products)
{
	__half2 h[4];
	__half2 l[4];

#pragma unroll
	for (int i = 0; i < 4; i++) {
		__half a[2];
		__half b[2];

		split(v[2 * i], a[0], b[0]);
		split(v[2 * i + 1], a[1], b[1]);
		h[i] = __halves2half2(a[0], a[1]);
		l[i] = __halves2half2(b[0], b[1]);
	}
	*(uint4 *)at = make_uint4(ex_bits(h[0]), ex_bits(h[1]), ex_bits(h[2]), ex_bits(h[3]));
	if (products == 3)
		*(uint4 *)(at + EX_LOW_BYTES) =
			make_uint4(ex_bits(l[0]), ex_bits(l[1]), ex_bits(l[2]), ex_bits(l[3]));
}

/*
 * Makes the right tables: column ((part * 2 + sine) * pairs of a tile + pair); 8 samples a thread.
 */
template <int PRODUCTS> static __device__ void right_tables(const struct ex_tables &a, int ct)
{
	__shared__ float2 d[EX_BLOCK];
	const int per = EX_COLS / 2 / a.parts; /* number of pairs in a tile */
	const int coil = ct / a.ctiles_coil;
	const int shift = group_shift(a, coil);
	const long long m = a.first + (long long)blockIdx.x * EX_BLOCK;
	unsigned char *out =
		a.right + ((size_t)blockIdx.x * a.ctiles + ct) * EX_RIGHT_BYTES(PRODUCTS);

	shift_data(a, coil, shift, d);
	if (threadIdx.x == 0 && (ct % a.ctiles_coil == 0 || ct == a.first_c) &&
	    blockIdx.x % EX_BLOCKS == 0)
		a.scale[(size_t)coil * a.groups + blockIdx.x / EX_BLOCKS] =
			ldexpf(1.0f, -shift - 2 * EX_SHIFT);
	for (int item = (int)threadIdx.x; item < 8 * per; item += TABLE_THREADS) {
		const int j = item % per;
		const int k8 = item / per;
		const int pair = ct % a.ctiles_coil * per + j;
		const float s = ((float)pair + a.r.half) * a.r.stride;
		float2 u[8];
		float v[8];

#pragma unroll
		for (int i = 0; i < 8; i++)
			u[i] = pair < a.r.pairs ? unit_phase(k_of(a, m + k8 * 8 + i, a.r.axis), s)
						: make_float2(0.0f, 0.0f);
		for (int part = 0; part < a.parts; part++)
			for (int sine = 0; sine < 2; sine++) {
				const int col = (part * 2 + sine) * per + j;

#pragma unroll
				for (int i = 0; i < 8; i++)
					v[i] = (sine ? u[i].y : u[i].x) *
					       (part ? d[k8 * 8 + i].y : d[k8 * 8 + i].x);
				put_column(out + k8 * EX_K8_BYTES + col / 8 * 128 + col % 8 * 16, v,
					   PRODUCTS);
			}
	}
}

template <int PRODUCTS>
static __global__ __launch_bounds__(TABLE_THREADS) void make_tables(const struct ex_tables a)
{
	int part = (int)blockIdx.y;

	if (part < a.ptiles) {
		side_tables<PRODUCTS>(a, a.p, part, a.ptiles, EX_P, a.x);
		return;
	}
	part -= a.ptiles;
	if (part < a.count_q) {
		side_tables<PRODUCTS>(a, a.q, a.first_q + part, a.qtiles, EX_Q, a.y);
		return;
	}
	right_tables<PRODUCTS>(a, a.first_c + part - a.count_q);
}

struct ex_unpack {
	struct ex_axis p, q, r;
	int ptiles, qtiles, ctiles, ctiles_coil, slices, parts;
	int matrix[3];
	const float *sums;
	float2 *out;
};

/* Returns one of the sums: its slices added in order. */
static __device__ __forceinline__ float gather(const struct ex_unpack &a, int p, int q, int ct,
					       int col)
{
	int thread;
	const int n = ex_sum_index(p % EX_P, q % EX_Q, col, &thread);
	const size_t slice = (size_t)a.qtiles * a.ptiles * EX_SUMS * EX_THREADS;
	const float *at = a.sums + (size_t)ct * a.slices * slice +
			  ((size_t)(q / EX_Q) * a.ptiles + p / EX_P) * EX_SUMS * EX_THREADS +
			  ((size_t)(n >> 2) * EX_THREADS + thread) * 4 + (n & 3);
	float sum = __ldg(at);

	for (int s = 1; s < a.slices; s++)
		sum += __ldg(at + s * slice);
	return sum;
}

/* Returns the row (p or q) of pair j, in tiles of `rows` rows: cosines first, then sines. */
static __device__ __forceinline__ int row_of(int j, int sine, int rows)
{
	return j / (rows / 2) * rows + sine * (rows / 2) + j % (rows / 2);
}

/* Returns the index of voxel (sp jp, sq jq, sr jr) in the image, or -1 outside of it. */
static __device__ __forceinline__ long long place(const struct ex_unpack &a, const int (&j)[3],
						  const int (&sign)[3])
{
	const struct ex_axis *axes[3] = { &a.p, &a.q, &a.r };
	float pos[3] = { 0.0f, 0.0f, 0.0f };
	int at[3] = { 0, 0, 0 };

#pragma unroll
	for (int i = 0; i < 3; i++) {
		const float s = ((float)j[i] + axes[i]->half) * axes[i]->stride;

		if (a.parts == 1 && j[i] == 0 && sign[i] < 0)
			return -1; /* the position is its own mirror */
		pos[axes[i]->axis] += sign[i] < 0 ? -s : s;
	}
#pragma unroll
	for (int i = 0; i < 3; i++) {
		if (a.parts == 2) {
			const bool used = i < 2 || a.r.axis == 2;

			at[i] = used ? (int)(pos[i] - 0.5f) + a.matrix[i] / 2 : 0;
			if (at[i] < 0 || at[i] >= a.matrix[i])
				return -1;
		} else {
			at[i] = (int)pos[i];
			if (i == 0 && at[i] < 0)
				/* q keeps half of the array, and this is the other half */
				return -1;
			at[i] = at[i] < 0 ? at[i] + 2 * a.matrix[i] : at[i];
		}
	}
	if (a.parts == 2)
		return ((long long)at[2] * a.matrix[1] + at[1]) * a.matrix[0] + at[0];
	return ((long long)at[2] * (2 * a.matrix[1]) + at[1]) * a.matrix[0] + at[0];
}

/* Makes eight voxels of the eight real (for d complex) sums of a triple of pairs. */
static __global__ __launch_bounds__(UNPACK_THREADS) void unpack(const struct ex_unpack a)
{
	const int jp = (int)(blockIdx.x * UNPACK_THREADS + threadIdx.x) % (a.ptiles * EX_P / 2);
	const int jq = (int)(blockIdx.x * UNPACK_THREADS + threadIdx.x) / (a.ptiles * EX_P / 2);
	const int jr = (int)blockIdx.y;
	const int coil = (int)blockIdx.z;
	const int per = EX_COLS / 2 / a.parts;
	const int ct = coil * a.ctiles_coil + jr / per;
	const size_t voxels = (size_t)a.matrix[0] * a.matrix[1] * a.matrix[2];
	float2 v[8]; /* [p sine][q sine][r sine] first, then [p sign][q sign][r sign] */

	if (jp >= a.p.pairs || jq >= a.q.pairs)
		return;
#pragma unroll
	for (int n = 0; n < 8; n++) {
		const int p = row_of(jp, n >> 2, EX_P);
		const int q = row_of(jq, n >> 1 & 1, EX_Q);
		const int col = (n & 1) * per + jr % per;

		v[n].x = gather(a, p, q, ct, col);
		v[n].y = a.parts == 2 ? gather(a, p, q, ct, col + 2 * per) : 0.0f;
	}
#pragma unroll
	for (int bit = 1; bit < 8; bit <<= 1)
#pragma unroll
		for (int n = 0; n < 8; n++)
			if ((n & bit) == 0) {
				const float2 c = v[n];
				const float2 s = v[n | bit];

				/* this sum is c + i s */
				v[n] = make_float2(c.x - s.y, c.y + s.x);
				/* this difference is c - i s */
				v[n | bit] = make_float2(c.x + s.y, c.y - s.x);
			}
#pragma unroll
	for (int n = 0; n < 8; n++) {
		const int j[3] = { jp, jq, jr };
		const int sign[3] = { n & 4 ? -1 : 1, n & 2 ? -1 : 1, n & 1 ? -1 : 1 };
		const long long at = place(a, j, sign);

		if (at >= 0)
			a.out[coil * voxels + (size_t)at] = v[n];
	}
}

#endif
