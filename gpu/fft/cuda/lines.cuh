/*
 * gpu/fft/cuda/lines.cuh - Fourier transforms of lines inside a thread block, for .cu files alone
 *
 * A block holds `cols` lines (a power of two) of n points in shared memory, [point][pitch] complex.
 * It transforms them by Stockham passes of radix 2, 3, 4, 5, 6, 8; any other factor is summed
 * directly:
 *   out[k] = sum_j in[j] exp(S i2pi j k / n)
 * The caller does what lies before and after (windowing, padding, cropping, the sum over sectors)
 * in the same kernel. This is why cuFFT is not used: its passes would move each grid through
 * memory two to four more times. Twin: lines.h (host). Test: test/twin/nufft/twin_nufft.c
 * Source: Stockham's autosort form, as in Van Loan, Computational Frameworks for the FFT, 1992.
 */
#ifndef BS_GPU_FFT_CUDA_LINES_CUH
#define BS_GPU_FFT_CUDA_LINES_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "gpu/fft/cuda/dft.cuh"

#define BS_LINE_PASSES 10

/*
 * The distance from one point to the next of cols lines in shared memory, in points. It is odd, so
 * that the points of a line spread over the banks.
 */
static __host__ __device__ inline uint32_t bs_line_pitch(uint32_t cols)
{
	return cols > 1 ? cols + 1 : 1;
}

struct bs_line_plan {
	uint32_t n, passes;
	uint32_t radix[BS_LINE_PASSES];
	const float2 *root; /* exp(i2pi j/n), [n] */
};

/* Returns i modulo n, for i < 2n. */
static __device__ __forceinline__ uint32_t bs_line_wrap(uint32_t i, uint32_t n)
{
	return i >= n ? i - n : i;
}

/*
 * The outer index o on the other side of the pass: centered indices become bins of P, or bins
 * centered indices.
 */
static __device__ __forceinline__ uint64_t bs_line_shifted(uint64_t o, uint32_t planes)
{
	if (planes <= 1)
		return o;
	return o / planes * planes + bs_line_wrap((uint32_t)(o % planes) + planes / 2, planes);
}

/* Returns exp(S i2pi at/n). */
template <int S>
static __device__ __forceinline__ float2 bs_root_of(const float2 *root, uint32_t at)
{
	float2 w = __ldg(root + at);

	return make_float2(w.x, (float)S * w.y);
}

/* Constants of one pass. done: the product of the radices of the passes before it. */
struct bs_line_step {
	uint32_t n, done, cols, shift, pitch;
	const float2 *root;
};

template <int R, int S>
static __device__ void bs_radix_pass(const bs_line_step &s, const float2 *__restrict__ a,
				     float2 *__restrict__ b)
{
	const uint32_t m = s.n / R;
	const uint32_t step = m / s.done;
	const float inverse = 1.0f / (float)s.done;

	for (uint32_t i = threadIdx.x; i < m << s.shift; i += blockDim.x) {
		const uint32_t c = i & (s.cols - 1);
		const uint32_t j = i >> s.shift;
		const uint32_t hi = (uint32_t)(((float)j + 0.5f) * inverse);
		const uint32_t lo = j - hi * s.done;
		float2 v[R];

#pragma unroll
		for (int q = 0; q < R; q++)
			v[q] = a[(j + q * m) * s.pitch + c];
		if (s.done >
		    /*
		     * one root is read and its powers are computed, since reads are what costs time
		     */
		    1) {
			float2 w[R];

			w[1] = bs_root_of<S>(s.root, lo * step);
#pragma unroll
			for (int q = 2; q < R; q++)
				w[q] = bs_cmul(w[q / 2], w[q - q / 2]);
#pragma unroll
			for (int q = 1; q < R; q++)
				v[q] = bs_cmul(v[q], w[q]);
		}
		bs_small<S>(v);
#pragma unroll
		for (int q = 0; q < R; q++)
			b[(hi * s.done * R + lo + q * s.done) * s.pitch + c] = v[q];
	}
}

/* The pass of a factor that has no short form: each output is its sum. */
template <int S>
static __device__ void bs_line_sum(const bs_line_step &s, uint32_t radix,
				   const float2 *__restrict__ a, float2 *__restrict__ b)
{
	const uint32_t m = s.n / radix;
	const uint32_t step = m / s.done;

	for (uint32_t i = threadIdx.x; i < s.n << s.shift; i += blockDim.x) {
		const uint32_t c = i & (s.cols - 1);
		const uint32_t j = (i >> s.shift) % m;
		const uint32_t q = (i >> s.shift) / m;
		const uint32_t hi = j / s.done;
		const uint32_t lo = j % s.done;
		/* step of the root from one input to the next, below n */
		const uint32_t each = lo * step + q * m;
		float2 sum = a[j * s.pitch + c];
		uint32_t at = 0;

		for (uint32_t p = 1; p < radix; p++) {
			at += each;
			at -= at >= s.n ? s.n : 0;
			float2 v = bs_cmul(a[(j + p * m) * s.pitch + c], bs_root_of<S>(s.root, at));

			sum = bs_cadd(sum, v);
		}
		b[(hi * s.done * radix + lo + q * s.done) * s.pitch + c] = sum;
	}
}

/*
 * Transforms the lines in a, which must be complete before a barrier by the caller. Returns where
 * the result is (a or b), complete after a barrier.
 */
template <int S>
static __device__ float2 *bs_lines_run(const bs_line_plan &p, float2 *a, float2 *b, uint32_t cols,
				       uint32_t pitch)
{
	bs_line_step s = { p.n, 1, cols, (uint32_t)__ffs((int)cols) - 1, pitch, p.root };

	for (uint32_t i = 0; i < p.passes; i++) {
		switch (p.radix[i]) {
		case 2:
			bs_radix_pass<2, S>(s, a, b);
			break;
		case 3:
			bs_radix_pass<3, S>(s, a, b);
			break;
		case 4:
			bs_radix_pass<4, S>(s, a, b);
			break;
		case 5:
			bs_radix_pass<5, S>(s, a, b);
			break;
		case 6:
			bs_radix_pass<6, S>(s, a, b);
			break;
		case 8:
			bs_radix_pass<8, S>(s, a, b);
			break;
		default:
			bs_line_sum<S>(s, p.radix[i], a, b);
		}
		__syncthreads();
		s.done *= p.radix[i];
		float2 *swap = a;

		a = b;
		b = swap;
	}
	return a;
}

#endif
