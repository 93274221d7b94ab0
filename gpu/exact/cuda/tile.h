/*
 * gpu/exact/cuda/tile.h - how the exact sums lie in device memory: shared by gpu/exact alone
 *
 * The sum, with positions centered (s = n + 1/2, so every s has its mirror -s):
 *   rho(x,y,z) = sum_m d'_m (cx + i sx)(cy + i sy)(cz + i sz),   cx = cos 2pi kx x, ...
 * and for the mirrored voxels the signs of the sines change. So the eight real sums
 *   S_abc = sum_m Re|Im d'_m  a_m(|x|) b_m(|y|) c_m(|z|),   a, b, c in {cos, sin}
 * give eight voxels by additions alone: two real products a voxel and sample, where the complex
 * form takes four. They are one real matrix product:
 *   left  [row = (p, q)][sample]  = X_p Y_q         p, q: cosines and sines of one axis each
 *   right [sample][col = (r, c)]  = Z_r d'_c        c: real and imaginary part
 * X, Y and the right factor are tabulated as pairs of fp16 (high and low part, 22 bits together);
 * the left factor is formed in registers, again as such a pair: hi = rn(Xh Yh), and lo = the exact
 * error of that product plus Xh Yl + Xl Yh. Accuracy `single` sums three products, lo*hi + hi*lo +
 * hi*hi, `fast` hi*hi alone. Tensor cores round their running sum towards zero, so it is added
 * to fp32 sums every EX_GROUP samples, scaled by a power of two that each group has of its own.
 *
 * A tile is EX_ROWS rows (EX_P p x 16 q) by EX_COLS columns; a block is 64 samples.
 */
#ifndef BS_GPU_EXACT_CUDA_TILE_H
#define BS_GPU_EXACT_CUDA_TILE_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "core/err.h"

#define EX_BLOCK   64  /* samples in a block */
#define EX_GROUP   256 /* samples between two flushes to fp32 */
#define EX_BLOCKS  (EX_GROUP / EX_BLOCK)
#define EX_COLS    128               /* columns of a tile */
#define EX_ROWS    (16384 / EX_COLS) /* rows of a tile */
#define EX_Q       16                /* rows q of a tile: 8 pairs, cosines first */
#define EX_P       (EX_ROWS / EX_Q)  /* rows p of a tile: pairs, cosines first */
#define EX_MT      (EX_P / 8)        /* fragments of 64 rows that a warpgroup has */
#define EX_NR      (EX_COLS / 2)     /* sums that a thread has in one fragment */
#define EX_THREADS 256               /* threads that hold the sums of a tile, 64 sums each */
#define EX_SUMS    64
#define EX_SHIFT   6 /* tables are cos * 2^6, sin * 2^6: the low parts stay normal */

/* Bytes of one block's tables. products: 3 (high and low parts) or 1 (high parts). */
#define EX_P_BYTES(products) (EX_P * EX_BLOCK * ((products) == 3 ? 4 : 2))
#define EX_Q_BYTES(products) (EX_Q * EX_BLOCK * ((products) == 3 ? 4 : 2))
/* bytes from the high to the low part of the right factor */
#define EX_LOW_BYTES (EX_COLS * EX_BLOCK * 2)
/* bytes of eight samples of the right factor */
#define EX_K8_BYTES              (EX_COLS * 16)
#define EX_RIGHT_BYTES(products) (EX_COLS * EX_BLOCK * ((products) == 3 ? 4 : 2))

/*
 * x     [block][ptile][k16][row 16][t 4] {h(2t,2t+1), l(2t,2t+1), h(2t+8,2t+9), l(2t+8,2t+9)}: what
 *       one lane of a matrix fragment needs, in one 16-byte load (8 bytes with products = 1)
 * y     [block][qtile], otherwise as x
 * right [block][ctile]{high, low}[k8][col8]: core matrices of 8 columns x 8 samples, 128 bytes
 * scale [coil][group]
 * sums  [ctile][slice][qtile][ptile][quarter of the 64 sums][thread][4]
 */
struct ex_product {
	const unsigned char *x, *y, *right;
	const float *scale;
	float *sums;
	/* numbers of tiles; ctiles = coils * ctiles_coil */
	int ptiles, qtiles, ctiles, ctiles_coil;
	/*
	 * the chunk's groups are cut into this many slices, summed apart and added in order at the
	 * end
	 */
	int slices;
	int groups; /* groups of this chunk */
	int add;    /* products are added to sums; 0: they replace the sums */
	/* the sums leave the cache first, since they are too many, so that the tables stay */
	int stream;
	int first_q, count_q, first_c, count_c; /* tiles of this launch, in q and in columns */
	int stages;                             /* mma: blocks held in shared memory, 2 or 3 */
};

static inline unsigned ex_tiles(const struct ex_product *a)
{
	return (unsigned)(a->ptiles * a->count_q * a->count_c * a->slices);
}

/*
 * Returns the index of row (p, q), column col among the 64 sums of its thread: i*EX_NR + r, with
 * thread = 128 w + 32 v + lane.
 */
static __host__ __device__ inline int ex_sum_index(int p, int q, int col, int *thread)
{
	int lane = (q & 7) * 4 + ((col & 7) >> 1);

	*thread = p / (EX_P / 2) * 128 + (p & 3) * 32 + lane;
	return (p >> 2) % EX_MT * EX_NR + (col >> 3) * 4 + (q >> 3) * 2 + (col & 1);
}

int ex_product_wgmma(const struct ex_product *a, int products, cudaStream_t stream,
		     struct bs_fail *why);
int ex_product_mma(const struct ex_product *a, int products, cudaStream_t stream,
		   struct bs_fail *why);
/* Raises the shared-memory limits of the kernels; called at plan, not in the warm path. */
int ex_prepare_wgmma(struct bs_fail *why);
int ex_prepare_mma(int *stages, struct bs_fail *why);

#ifdef __CUDACC__
#include <cuda_fp16.h>

/* The tile of this thread block. p runs fastest, so that neighbors share the right factor and y. */
struct ex_where {
	int pt, qt, ct, slice, first, last; /* the block's groups are first .. last-1 */
	size_t sums;                        /* offset of this tile's sums, in float4 */
};

static __device__ __forceinline__ struct ex_where ex_find(const struct ex_product &a)
{
	struct ex_where w;
	int b = (int)blockIdx.x;

	w.pt = b % a.ptiles;
	b /= a.ptiles;
	w.qt = a.first_q + b % a.count_q;
	b /= a.count_q;
	w.slice = b % a.slices;
	w.ct = a.first_c + b / a.slices;
	w.first = (int)((long long)a.groups * w.slice / a.slices);
	w.last = (int)((long long)a.groups * (w.slice + 1) / a.slices);
	w.sums = (((size_t)w.ct * a.slices + w.slice) * a.qtiles + w.qt) * a.ptiles + w.pt;
	w.sums *= (EX_SUMS / 4) * EX_THREADS;
	return w;
}

static __device__ __forceinline__ uint32_t ex_bits(__half2 h)
{
	return *reinterpret_cast<uint32_t *>(&h);
}

static __device__ __forceinline__ __half2 ex_half2(uint32_t u)
{
	return *reinterpret_cast<__half2 *>(&u);
}

/*
 * Splits (xh + xl)(yh + yl), less the product of the low parts, into hi + lo: four operations for
 * two values.
 */
static __device__ __forceinline__ void ex_split(uint32_t xh, uint32_t xl, uint32_t yh, uint32_t yl,
						uint32_t &hi, uint32_t &lo)
{
	__half2 p = __hmul2_rn(ex_half2(xh), ex_half2(yh));
	__half2 e = __hfma2(ex_half2(xh), ex_half2(yh), __hneg2(p));

	e = __hfma2(ex_half2(xl), ex_half2(yh), e);
	e = __hfma2(ex_half2(xh), ex_half2(yl), e);
	hi = ex_bits(p);
	lo = ex_bits(e);
}

/*
 * Writes the sums of one thread to memory, or adds them to it. STREAM: they leave the cache first.
 */
template <bool STREAM>
static __device__ __forceinline__ void ex_put(float4 *out, bool add,
					      const float (&sum)[EX_MT][EX_NR])
{
#pragma unroll
	for (int n = 0; n < EX_SUMS / 4; n++) {
		const float *s = &sum[n * 4 / EX_NR][n * 4 % EX_NR];
		float4 *to = out + (size_t)n * EX_THREADS;
		float4 v = make_float4(s[0], s[1], s[2], s[3]);

		if (add) {
			const float4 old = STREAM ? __ldcs(to) : *to;

			v.x += old.x;
			v.y += old.y;
			v.z += old.z;
			v.w += old.w;
		}
		if (STREAM)
			__stcs(to, v);
		else
			*to = v;
	}
}

static __device__ __forceinline__ void ex_store(const struct ex_product &a, size_t at, int thread,
						const float (&sum)[EX_MT][EX_NR])
{
	float4 *out = reinterpret_cast<float4 *>(a.sums) + at + thread;

	if (a.stream)
		ex_put<true>(out, a.add != 0, sum);
	else
		ex_put<false>(out, a.add != 0, sum);
}
#endif
#endif
