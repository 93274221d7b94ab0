/*
 * gpu/lines_reg.cuh - passes of Fourier transforms of known lengths, in registers; for lines_reg*.cu
 *
 * A line of N = A B points, n = t + B j and k = k1 + A k2: B threads transform A points each, turn
 * and exchange them through shared memory once, then A threads transform B points each. Against the
 * general kernels (lines_cuda.cu): two barriers less, no index arithmetic on run-time sizes, and A
 * independent reads under way in each thread. Same arguments and meaning as bs_line_pass.
 */
#ifndef BS_GPU_LINES_REG_CUH
#define BS_GPU_LINES_REG_CUH

#include "gpu/dft.cuh"
#include "gpu/launch.cuh"
#include "gpu/lines_cuda.h"

template <int A, int B> struct reg_line {
	static const int N = A * B;
	static const int COLS = N <= 192 ? 16 : 8;
	static const int THREADS = B * COLS;  /* A <= B */
	static const int PITCH = A * (B + 1); /* rows: of one line */
	static const size_t strided_bytes = sizeof(float2) * N * COLS;
	static const size_t row_bytes = sizeof(float2) * PITCH * COLS;
};

static __device__ __forceinline__ uint32_t reg_wrap(uint32_t i, uint32_t n)
{
	return i >= n ? i - n : i;
}

/* The outer index on the other side (lines_cuda.h: planes). */
static __device__ __forceinline__ uint64_t reg_shifted(uint64_t o, uint32_t planes)
{
	if (planes <= 1)
		return o;
	const uint32_t z = (uint32_t)(o % planes) + planes / 2;

	return o / planes * planes + (z >= planes ? z - planes : z);
}

/* ROWS: the lines lie along memory (inner = 1), COLS of them in a block; else COLS columns. */
template <int A, int B, int S, bool ROWS>
static __global__ void __launch_bounds__(reg_line<A, B>::THREADS)
	reg_pass(const __grid_constant__ bs_line_pass p, const float2 *in, float2 *__restrict__ out)
{
	using L = reg_line<A, B>;
	const int N = L::N, C = L::COLS;
	extern __shared__ float2 exchange[];
	const int i = (int)threadIdx.x;
	const uint64_t first = (uint64_t)blockIdx.x * C;
	const uint64_t o = blockIdx.y + (uint64_t)blockIdx.z * 65535u;
	const uint64_t step = ROWS ? 1 : p.inner;

	if (!ROWS && o >= p.outer)
		return; /* the whole block; it has written nothing */
	bs_after_previous();
	{
		const int c = ROWS ? i / B : i % C;
		const int t = ROWS ? i % B : i / C;
		const bool mine = first + c < (ROWS ? p.outer : p.inner);
		const float2 *from =
			ROWS ? in + (first + c) * p.in_count
			     : in + reg_shifted(o, p.in_planes) * p.in_count * p.inner + first + c;
		float2 v[A];
		float2 w[A];

#pragma unroll
		for (int j = 0; j < A; j++) {
			const uint32_t at = reg_wrap((uint32_t)(t + B * j) + p.in_half, N);

			v[j] = make_float2(0.0f, 0.0f);
			if (mine && at < p.in_count) {
				v[j] = from[at * step];
				if (p.scale_in != NULL) {
					const float s = __ldg(p.scale_in + at);

					v[j] = make_float2(v[j].x * s, v[j].y * s);
				}
			}
		}
		w[1] = bs_turn_of<S>(p.line.turn, (uint32_t)t);
		bs_fft<A, S>::run(v);
#pragma unroll
		for (int k = 2; k < A; k++)
			w[k] = bs_cmul(w[k / 2], w[k - k / 2]);
#pragma unroll
		for (int k = 0; k < A; k++)
			exchange[ROWS ? c * L::PITCH + k * (B + 1) + t : (k * B + t) * C + c] =
				k == 0 ? v[0] : bs_cmul(v[k], w[k]);
	}
	__syncthreads();
	{
		const int c = ROWS ? i / A : i % C;
		const int k1 = ROWS ? i % A : i / C;
		const bool mine = i < A * C && first + c < (ROWS ? p.outer : p.inner);
		float2 *to = ROWS ? out + (first + c) * p.out_count
				  : out + reg_shifted(o, p.out_planes) * p.out_count * p.inner +
					     first + c;
		float2 w[B];

		if (!mine)
			return;
#pragma unroll
		for (int s = 0; s < B; s++)
			w[s] = exchange[ROWS ? c * L::PITCH + k1 * (B + 1) + s
					     : (k1 * B + s) * C + c];
		bs_fft<B, S>::run(w);
#pragma unroll
		for (int k = 0; k < B; k++) {
			const uint32_t at = reg_wrap((uint32_t)(k1 + A * k) + p.out_half, N);

			if (at < p.out_count) {
				const float s =
					p.scale_out != NULL ? __ldg(p.scale_out + at) : 1.0f;

				to[at * step] = make_float2(w[k].x * s, w[k].y * s);
			}
		}
	}
}

/* One length's kernels: [direction -1, +1][strided, rows]. */
struct bs_line_reg {
	uint32_t n, cols, threads;
	size_t strided_bytes, row_bytes;
	void (*kernel[2][2])(const bs_line_pass, const float2 *, float2 *);
};

template <int A, int B> static struct bs_line_reg reg_make(void)
{
	using L = reg_line<A, B>;

	static_assert(A <= B, "the first step has B threads");
	return { L::N,
		 L::COLS,
		 L::THREADS,
		 L::strided_bytes,
		 L::row_bytes,
		 { { reg_pass<A, B, -1, false>, reg_pass<A, B, -1, true> },
		   { reg_pass<A, B, 1, false>, reg_pass<A, B, 1, true> } } };
}

#endif
