/*
 * gpu/fft/cuda/registers.cuh - passes of Fourier transforms of known lengths, in registers
 *
 * A line has N = A B points, n = t + B j and k = k1 + A k2. B threads transform A points each,
 * multiply by twiddle factors and exchange the values through shared memory once; then A threads
 * transform B points each. A block goes through tiles of COLS lines. The next tile is copied into
 * shared memory (cp.async) while this one is transformed, so that memory is never idle. Arguments
 * and their meaning are those of bs_line_pass.
 */
#ifndef BS_GPU_FFT_CUDA_REGISTERS_CUH
#define BS_GPU_FFT_CUDA_REGISTERS_CUH

#include "gpu/fft/cuda/dft.cuh"
#include "gpu/device/launch.cuh"
#include "gpu/fft/lines_cuda.h"

template <int A, int B> struct reg_line {
	static const int N = A * B;
	static const int COLS = N <= 192 ? 16 : 8;
	static const int THREADS = B * COLS; /* threads of a block, with A <= B */
	/* step between rows, odd, so that lanes meet in no bank */
	static const int STEP = B | 1;
	static const int PITCH = A * STEP; /* points of one line as it is exchanged */
	/* 3D has kernels for four channels; beyond this N, 99 KiB hold no more than two tiles */
	static const bool FOURS_TOO = N <= 432;
	/* the lanes of four channels are four steps apart modulo the banks */
	static const int APART = PITCH + (FOURS_TOO ? ((4 - A) * STEP % 16 + 16) % 16 : 0);
	static const int TILE = APART * COLS; /* most points of a tile, for any kind of lines */
	static const size_t bytes = 2 * sizeof(float2) * TILE;
	/* Blocks of a multiprocessor, by the registers that B points need. */
	static_assert(bytes + 2 * N * sizeof(float) <= 101376, "what every GPU has for a block");
	static const int RESIDENT = B > 25 ? 2 : B > 20 ? 3 : THREADS > 200 ? 4 : 3;
};

/* Copies 8 bytes into shared memory, or zeros, without waiting. */
static __device__ __forceinline__ void reg_copy(float2 *to, const float2 *from, bool there)
{
	const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);

	asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at), "l"(from),
		     "r"(there ? 8 : 0)
		     : "memory");
}

static __device__ __forceinline__ void reg_copies_end(void)
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all but the last group of this thread's copies have arrived. */
static __device__ __forceinline__ void reg_copies_wait(void)
{
	asm volatile("cp.async.wait_group 1;" ::: "memory");
}

/*
 * Copies the scale of each point of a line. It is a table of the plan, so it may be read before the
 * kernels ahead end.
 */
template <int N>
static __device__ __forceinline__ void reg_scales(float *to, const float *scale, uint32_t half,
						  uint32_t count)
{
	for (uint32_t i = threadIdx.x; scale != NULL && i < N; i += blockDim.x) {
		const uint32_t n = bs_line_wrap(i + half, N);

		to[i] = n < count ? __ldg(scale + n) : 0.0f;
	}
}

/*
 * The kinds of lines: columns; rows; rows of four channels, which lie beside each other in the
 * output.
 */
enum reg_kind { COLUMNS, ROWS, FOURS };

/*
 * The place of a tile: COLS columns of one outer index, COLS rows, or COLS / 4 rows of four
 * channels. first: the first of them; left: how many there are from there on.
 */
struct reg_tile {
	uint64_t o, first;
	uint32_t lines;
};

template <int C, reg_kind K>
static __device__ __forceinline__ reg_tile reg_tile_of(const bs_line_pass &p, uint64_t tile)
{
	const uint32_t most = K == FOURS ? C / 4 : C;
	const uint64_t all = K == FOURS ? p.fours : K == ROWS ? p.outer : p.inner;
	const uint64_t across = (all + most - 1) / most;
	const uint64_t o = K == ROWS ? 0 : tile / across;
	const uint64_t first = (tile - o * across) * most;
	const uint64_t left = all - first;

	return { o, first, left < most ? (uint32_t)left : most };
}

/*
 * Queues the copies of what this thread will read: point t + B j of line c goes to
 * [j][threadIdx.x].
 */
template <int A, int B, reg_kind K>
static __device__ __forceinline__ void reg_fetch(float2 *to, const bs_line_pass &p, uint64_t tile,
						 const float2 *in)
{
	using L = reg_line<A, B>;
	const int i = (int)threadIdx.x;
	const int c = K != COLUMNS ? i / B : i % L::COLS;
	const int t = K != COLUMNS ? i % B : i / L::COLS;
	const reg_tile at = reg_tile_of<L::COLS, K>(p, tile);
	const bool mine = (uint32_t)(K == FOURS ? c / 4 : c) < at.lines;
	const uint32_t step = K != COLUMNS ? 1 : (uint32_t)p.inner;
	const float2 *from = in;

	if (mine && K == FOURS)
		from += ((4 * at.o + c % 4) * p.fours + at.first + c / 4) * p.in_count;
	else if (mine)
		from += K == ROWS ? (at.first + c) * p.in_count
				  : bs_line_shifted(at.o, p.in_planes) * p.in_count * p.inner +
					    at.first + c;
#pragma unroll
	for (int j = 0; j < A; j++) {
		const uint32_t n = bs_line_wrap((uint32_t)(t + B * j) + p.in_half, L::N);
		const bool there = mine && n < p.in_count;

		/*
		 * A point that does not exist is copied from an address that exists, with zero
		 * bytes read.
		 */
		reg_copy(to + j * L::THREADS + i, from + (uint64_t)(there ? n : 0u) * step, there);
	}
}

/*
 * Does the first step: scales and transforms the points that this thread fetched, multiplies them
 * by twiddle factors, and lays them out for the second step.
 */
template <int A, int B, int S, reg_kind K>
static __device__ __forceinline__ void reg_first(float2 *tile, const bs_line_pass &p,
						 const float *scale)
{
	using L = reg_line<A, B>;
	const int i = (int)threadIdx.x;
	const int c = K != COLUMNS ? i / B : i % L::COLS;
	const int t = K != COLUMNS ? i % B : i / L::COLS;
	float2 v[A];
	float2 w[A];

#pragma unroll
	for (int j = 0; j < A; j++) {
		v[j] = tile[j * L::THREADS + i];
		if (p.scale_in != NULL) {
			const float s = scale[t + B * j];

			v[j] = make_float2(v[j].x * s, v[j].y * s);
		}
	}
	w[1] = bs_root_of<S>(p.line.root, (uint32_t)t);
	bs_fft<A, S>::run(v);
#pragma unroll
	for (int k = 2; k < A; k++)
		w[k] = bs_cmul(w[k / 2], w[k - k / 2]);
	__syncthreads(); /* all threads have read the tile */
#pragma unroll
	for (int k = 0; k < A; k++)
		tile[K != COLUMNS ? c * (K == FOURS ? L::APART : L::PITCH) + k * L::STEP + t
				  : (k * B + t) * L::COLS + c] =
			k == 0 ? v[0] : bs_cmul(v[k], w[k]);
}

/* Does the second step: A threads transform each line. */
template <int A, int B, int S, reg_kind K>
static __device__ __forceinline__ void reg_second(const float2 *tile, const bs_line_pass &p,
						  const float *scale, const reg_tile &at,
						  float2 *out)
{
	using L = reg_line<A, B>;
	const int i = (int)threadIdx.x;
	/* the four channels of a row are neighboring lanes, which write beside each other */
	const int c = K == FOURS ? i / (4 * A) * 4 + i % 4 : K == ROWS ? i / A : i % L::COLS;
	const int k1 = K == FOURS ? i / 4 % A : K == ROWS ? i % A : i / L::COLS;
	const uint32_t step = K == FOURS ? 4 : K == ROWS ? 1 : (uint32_t)p.inner;
	float2 w[B];

	if (i >= A * L::COLS || (uint32_t)(K == FOURS ? c / 4 : c) >= at.lines)
		return;
	float2 *to = out;

	if (K == FOURS)
		to += (at.o * p.fours + at.first + c / 4) * p.out_count * 4 + c % 4;
	else if (K == ROWS)
		to += (at.first + c) * p.out_count;
	else
		to += bs_line_shifted(at.o, p.out_planes) * p.out_count * p.inner + at.first + c;
#pragma unroll
	for (int s = 0; s < B; s++)
		w[s] = tile[K != COLUMNS ? c * (K == FOURS ? L::APART : L::PITCH) + k1 * L::STEP + s
					 : (k1 * B + s) * L::COLS + c];
	bs_fft<B, S>::run(w);
#pragma unroll
	for (int k = 0; k < B; k++) {
		const uint32_t n = bs_line_wrap((uint32_t)(k1 + A * k) + p.out_half, L::N);

		if (n < p.out_count) {
			const float s = p.scale_out != NULL ? scale[k1 + A * k] : 1.0f;

			to[(uint64_t)n * step] = make_float2(w[k].x * s, w[k].y * s);
		}
	}
}

template <int A, int B, int S, reg_kind K>
static __global__ void __launch_bounds__(reg_line<A, B>::THREADS, reg_line<A, B>::RESIDENT)
	reg_pass(const __grid_constant__ bs_line_pass p, uint64_t tiles, const float2 *in,
		 float2 *out)
{
	using L = reg_line<A, B>;
	extern __shared__ float2 both[];
	__shared__ float scale[2][L::N]; /* scales of the input and of the output */
	uint64_t tile = blockIdx.x;
	int half = 0;

	reg_scales<L::N>(scale[0], p.scale_in, p.in_half, p.in_count);
	reg_scales<L::N>(scale[1], p.scale_out, p.out_half, p.out_count);
	__syncthreads();
	bs_after_previous();
	reg_fetch<A, B, K>(both, p, tile, in);
	reg_copies_end();
	for (; tile < tiles; tile += gridDim.x) {
		float2 *here = both + half * L::TILE;

		half ^= 1;
		if (tile + gridDim.x < tiles)
			reg_fetch<A, B, K>(both + half * L::TILE, p, tile + gridDim.x, in);
		reg_copies_end();
		reg_copies_wait(); /* no barrier: each thread reads what it fetched itself */
		reg_first<A, B, S, K>(here, p, scale[0]);
		__syncthreads();
		reg_second<A, B, S, K>(here, p, scale[1], reg_tile_of<L::COLS, K>(p, tile), out);
		__syncthreads(); /* the next copies go where this tile was */
	}
}

/* The kernels of one length: [direction -1, +1][kind]; FOURS has one direction. */
struct bs_line_reg {
	uint32_t n, cols, threads;
	size_t bytes; /* bytes of shared memory */
	void (*kernel[2][3])(const bs_line_pass, uint64_t tiles, const float2 *, float2 *);
};

template <int A, int B> static struct bs_line_reg reg_make(void)
{
	using L = reg_line<A, B>;
	auto fours = (void (*)(const bs_line_pass, uint64_t, const float2 *, float2 *))NULL;

	static_assert(A <= B, "the first step has B threads");
	if constexpr (L::FOURS_TOO)
		fours = reg_pass<A, B, -1, FOURS>;
	return { L::N,
		 L::COLS,
		 L::THREADS,
		 L::bytes,
		 { { reg_pass<A, B, -1, COLUMNS>, reg_pass<A, B, -1, ROWS>, fours },
		   { reg_pass<A, B, 1, COLUMNS>, reg_pass<A, B, 1, ROWS>, NULL } } };
}

const struct bs_line_reg *bs_line_regs_long(uint32_t *count);

#endif
