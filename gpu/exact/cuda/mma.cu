/*
 * gpu/exact/cuda/mma.cu - the exact sums' matrix product with mma.sync (compute capability 8.0 and
 * later)
 *
 * Eight warps hold the same sums, in the same places, as the warpgroups of wgmma.cu. cp.async
 * brings the tables in, three blocks at a time, or two where a block of threads has less shared
 * memory than 114 KiB (compute capability 8.6, 8.9, 12.x), with the same bits. ldmatrix reads the
 * right factor, whose core matrices have the form that it needs. See tile.h for the arithmetic and
 * the layouts.
 */
#include "gpu/device/check.h"
#include "gpu/device/reach.h"
#include "gpu/exact/cuda/tile.h"

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

template <int PRODUCTS> struct stage_layout {
	static const int right = 0, y = EX_RIGHT_BYTES(PRODUCTS), x = y + EX_Q_BYTES(PRODUCTS),
			 bytes = x + EX_P_BYTES(PRODUCTS);
};

static __device__ __forceinline__ void copy_in(uint32_t to, const unsigned char *from, int bytes)
{
	for (int i = (int)threadIdx.x * 16; i < bytes; i += EX_THREADS * 16)
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i),
			     "l"(from + i)
			     : "memory");
}

/*
 * Queues the copies of block b's tables. It commits once for each block, also for one that does not
 * exist, so that the count of commits stays simple.
 */
template <int PRODUCTS>
static __device__ __forceinline__ void fetch(const struct ex_product &a, const struct ex_where &w,
					     int b, uint32_t to)
{
	typedef stage_layout<PRODUCTS> at;
	const int xs = EX_P_BYTES(PRODUCTS);
	const int ys = EX_Q_BYTES(PRODUCTS);
	const int right = EX_RIGHT_BYTES(PRODUCTS);

	if (b < w.last * EX_BLOCKS) {
		copy_in(to + at::right, a.right + ((size_t)b * a.ctiles + w.ct) * right, right);
		copy_in(to + at::y, a.y + ((size_t)b * a.qtiles + w.qt) * ys, ys);
		copy_in(to + at::x, a.x + ((size_t)b * a.ptiles + w.pt) * xs, xs);
	}
	asm volatile("cp.async.commit_group;" ::: "memory");
}

static __device__ __forceinline__ void multiply(float *d, const uint32_t (&a)[4], uint32_t b0,
						uint32_t b1)
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
		     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/*
 * Loads sixteen columns of sixteen samples: b[0], b[1] hold the first eight columns, b[2], b[3] the
 * next.
 */
static __device__ __forceinline__ void load_right(uint32_t (&b)[4], uint32_t at)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
		     : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
		     : "r"(at));
}

template <int PRODUCTS>
static __device__ __forceinline__ void form(const unsigned char *x, const unsigned char *y,
					    uint32_t (&hi)[EX_MT][4], uint32_t (&lo)[EX_MT][4])
{
	const int entry = PRODUCTS == 3 ? 16 : 8;
	/* [row][value]; rows are y of q, y of q + 8, x; each has {h, l} of samples
	 * 2t, then of 2t + 8 */
	uint32_t v[3][4];

	for (int i = 0; i < EX_MT; i++) {
#pragma unroll
		for (int n = 0; n < 3; n++) {
			const unsigned char *from = n < 2 ? y + n * 32 * entry : x + i * 16 * entry;

			if (PRODUCTS == 3) {
				const uint4 u = *reinterpret_cast<const uint4 *>(from);

				v[n][0] = u.x;
				v[n][1] = u.y;
				v[n][2] = u.z;
				v[n][3] = u.w;
			} else {
				const uint2 u = *reinterpret_cast<const uint2 *>(from);

				v[n][0] = u.x;
				v[n][2] = u.y;
				v[n][1] = v[n][3] = 0;
			}
		}
#pragma unroll
		for (int n = 0; n < 4; n++) {
			const int r = n & 1;
			const int k = n & 2;

			if (PRODUCTS == 3)
				ex_split(v[2][k], v[2][k + 1], v[r][k], v[r][k + 1], hi[i][n],
					 lo[i][n]);
			else
				hi[i][n] = ex_bits(__hmul2(ex_half2(v[2][k]), ex_half2(v[r][k])));
		}
	}
}

/* Adds the products of sixteen samples: this warp's rows by the tile's columns. */
template <int PRODUCTS>
static __device__ __forceinline__ void step(float (&acc)[EX_MT][EX_NR],
					    const uint32_t (&hi)[EX_MT][4],
					    const uint32_t (&lo)[EX_MT][4], uint32_t right)
{
#pragma unroll
	for (int c = 0; c < EX_COLS / 16; c++) {
		uint32_t bh[4];
		uint32_t bl[4];

		load_right(bh, right + c * 256);
		if (PRODUCTS == 3)
			load_right(bl, right + c * 256 + EX_LOW_BYTES);
#pragma unroll
		for (int i = 0; i < EX_MT; i++)
#pragma unroll
			for (int h = 0; h < 2; h++) {
				float *d = &acc[i][c * 8 + h * 4];

				if (PRODUCTS == 3) {
					multiply(d, lo[i], bh[2 * h], bh[2 * h + 1]);
					multiply(d, hi[i], bl[2 * h], bl[2 * h + 1]);
				}
				multiply(d, hi[i], bh[2 * h], bh[2 * h + 1]);
			}
	}
}

template <int PRODUCTS, int STAGES>
static __global__ __launch_bounds__(EX_THREADS,
				    1) void product_mma(const __grid_constant__ struct ex_product a)
{
	typedef stage_layout<PRODUCTS> at;
	extern __shared__ __align__(128) unsigned char stages[];
	const struct ex_where w = ex_find(a);
	const int thread = (int)threadIdx.x;
	const int lane = thread & 31;
	const int entry = PRODUCTS == 3 ? 16 : 8;
	const int p = (thread >> 7) * (EX_P / 2) + ((thread >> 5) & 3);
	/*
	 * The addresses that ldmatrix takes: lanes 0-7 those of samples 0-7 of columns 0-7, lanes
	 * 8-15 those of samples 8-15 of the same columns, lanes 16-31 those of the next eight
	 * columns.
	 */
	const int my_right = (lane & 7) * 16 + ((lane >> 3) & 1) * EX_K8_BYTES + (lane >> 4) * 128;
	const int my_x = at::x + (p * 4 + (lane & 3)) * entry;
	const int my_y = at::y + lane * entry;
	const float *scale = a.scale + (size_t)(w.ct / a.ctiles_coil) * a.groups;
	const int first = w.first * EX_BLOCKS;
	float sum[EX_MT][EX_NR] = {};

	for (int s = 0; s < STAGES - 1; s++)
		fetch<PRODUCTS>(a, w, first + s, shared_address(stages + s * at::bytes));
	for (int g = w.first, n = 0; g < w.last; g++) {
		const float unit = __ldg(scale + g);
		float acc[EX_MT][EX_NR] = {};

		for (int b = 0; b < EX_BLOCKS; b++, n++) {
			const unsigned char *stage = stages + n % STAGES * at::bytes;

			asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
			__syncthreads();
			fetch<PRODUCTS>(
				a, w, first + n + STAGES - 1,
				shared_address(stages + (n + STAGES - 1) % STAGES * at::bytes));
#pragma unroll
			for (int k = 0; k < EX_BLOCK / 16; k++) {
				uint32_t hi[EX_MT][4];
				uint32_t lo[EX_MT][4];

				form<PRODUCTS>(stage + my_x + k * EX_P * 4 * entry,
					       stage + my_y + k * EX_Q * 4 * entry, hi, lo);
				step<PRODUCTS>(acc, hi, lo,
					       shared_address(stage) + my_right +
						       k * 2 * EX_K8_BYTES);
			}
		}
#pragma unroll
		for (int i = 0; i < EX_MT; i++)
#pragma unroll
			for (int r = 0; r < EX_NR; r++)
				sum[i][r] = fmaf(acc[i][r], unit, sum[i][r]);
	}
	ex_store(a, w.sums, thread, sum);
}

typedef void (*mma_kernel)(const struct ex_product);

static mma_kernel kernel_of(int products, int stages)
{
	if (products == 3)
		return stages == 3 ? product_mma<3, 3> : product_mma<3, 2>;
	return stages == 3 ? product_mma<1, 3> : product_mma<1, 2>;
}

static size_t shared_bytes(int products, int stages)
{
	return (size_t)stages *
	       (EX_RIGHT_BYTES(products) + EX_P_BYTES(products) + EX_Q_BYTES(products));
}

int ex_prepare_mma(int *stages, struct bs_fail *why)
{
	struct bs_reach reach;
	int err = bs_reach(&reach, why);

	*stages = err == 0 && shared_bytes(3, 3) > reach.shared_bytes ? 2 : 3;
	for (int products = 1; products <= 3 && err == 0; products += 2)
		err = bs_cuda_shared((const void *)kernel_of(products, *stages),
				     shared_bytes(products, *stages), why);
	return err;
}

int ex_product_mma(const struct ex_product *a, int products, cudaStream_t stream,
		   struct bs_fail *why)
{
	kernel_of(
		products,
		a->stages)<<<ex_tiles(a), EX_THREADS, shared_bytes(products, a->stages), stream>>>(
		*a);
	return BS_CUDA_RC(cudaGetLastError(), why);
}
