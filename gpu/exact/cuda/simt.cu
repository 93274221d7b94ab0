/*
 * gpu/exact/cuda/simt.cu - the exact sums' matrix product on the CUDA cores, in fp32
 *
 * Tables, sums and their places are those of the tensor cores (tile.h), so it is their twin: for a
 * device without tensor cores, and to check them. A thread has 4 rows by 16 columns.
 */
#include "gpu/device/check.h"
#include "gpu/exact/cuda/tile.h"

template <int PRODUCTS>
static __device__ __forceinline__ float2 pair_of(const unsigned char *at, int low)
{
	float2 v = __half22float2(*reinterpret_cast<const __half2 *>(at));

	if (PRODUCTS == 3) {
		const float2 l = __half22float2(*reinterpret_cast<const __half2 *>(at + low));

		v.x += l.x;
		v.y += l.y;
	}
	return v;
}

/*
 * Adds two samples' products to the sums. x, y point at the pair's entries, right at its place in
 * column 0.
 */
template <int PRODUCTS>
static __device__ __forceinline__ void two_samples(float (&sum)[EX_MT][EX_NR],
						   const unsigned char *x, const unsigned char *y,
						   const unsigned char *right, float unit)
{
	const int row = PRODUCTS == 3 ? 64 : 32; /* bytes between rows of a side table */
	float2 left[EX_MT][2];

#pragma unroll
	for (int h = 0; h < 2; h++) {
		const float2 v = pair_of<PRODUCTS>(y + h * 8 * row, 4);

#pragma unroll
		for (int i = 0; i < EX_MT; i++) {
			const float2 u = pair_of<PRODUCTS>(x + i * 4 * row, 4);

			left[i][h] = make_float2(u.x * v.x * unit, u.y * v.y * unit);
		}
	}
#pragma unroll
	for (int c = 0; c < EX_COLS / 8; c++)
#pragma unroll
		for (int odd = 0; odd < 2; odd++) {
			const float2 r =
				pair_of<PRODUCTS>(right + c * 128 + odd * 16, EX_LOW_BYTES);

#pragma unroll
			for (int i = 0; i < EX_MT; i++)
#pragma unroll
				for (int h = 0; h < 2; h++) {
					float *s = &sum[i][c * 4 + h * 2 + odd];

					*s = fmaf(left[i][h].x, r.x, *s);
					*s = fmaf(left[i][h].y, r.y, *s);
				}
		}
}

template <int PRODUCTS>
static __global__
__launch_bounds__(EX_THREADS) void product_simt(const __grid_constant__ struct ex_product a)
{
	__shared__ __align__(16) unsigned char right[EX_RIGHT_BYTES(PRODUCTS)];
	__shared__ __align__(16) unsigned char x[EX_P_BYTES(PRODUCTS)];
	__shared__ __align__(16) unsigned char y[EX_Q_BYTES(PRODUCTS)];
	const struct ex_where w = ex_find(a);
	const int thread = (int)threadIdx.x;
	const int lane = thread & 31;
	const int row = PRODUCTS == 3 ? 64 : 32;
	const int p = (thread >> 7) * (EX_P / 2) + ((thread >> 5) & 3);
	const float *scale = a.scale + (size_t)(w.ct / a.ctiles_coil) * a.groups;
	float sum[EX_MT][EX_NR] = {};

	for (int b = w.first * EX_BLOCKS; b < w.last * EX_BLOCKS; b++) {
		const uint4 *from[3] = {
			(const uint4 *)(a.right + ((size_t)b * a.ctiles + w.ct) * sizeof(right)),
			(const uint4 *)(a.x + ((size_t)b * a.ptiles + w.pt) * sizeof(x)),
			(const uint4 *)(a.y + ((size_t)b * a.qtiles + w.qt) * sizeof(y)),
		};
		const float unit = __ldg(scale + b / EX_BLOCKS);

		__syncthreads();
		for (int i = thread; i < (int)sizeof(right) / 16; i += EX_THREADS)
			((uint4 *)right)[i] = from[0][i];
		for (int i = thread; i < (int)sizeof(x) / 16; i += EX_THREADS)
			((uint4 *)x)[i] = from[1][i];
		for (int i = thread; i < (int)sizeof(y) / 16; i += EX_THREADS)
			((uint4 *)y)[i] = from[2][i];
		__syncthreads();
		for (int m = 0; m < EX_BLOCK; m += 2) {
			/*
			 * offset of samples m, m + 1 within their sixteen (k16): by t = (m % 8) /
			 * 2, then by the half
			 */
			const int at = (m & 7) / 2 * (row / 4) + (m >> 3 & 1) * (row / 8);

			two_samples<PRODUCTS>(
				sum, x + at + (m / 16 * EX_P + p) * row,
				y + at + (m / 16 * EX_Q + (lane >> 2)) * row,
				right + m / 8 * EX_K8_BYTES + (m & 7) * 2 + (lane & 3) * 32, unit);
		}
	}
	ex_store(a, w.sums, thread, sum);
}

int ex_product_simt(const struct ex_product *a, int products, cudaStream_t stream,
		    struct bs_fail *why)
{
	const unsigned tiles = ex_tiles(a);

	if (products == 3)
		product_simt<3><<<tiles, EX_THREADS, 0, stream>>>(*a);
	else
		product_simt<1><<<tiles, EX_THREADS, 0, stream>>>(*a);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
