/*
 * gpu/dft_small.cuh - discrete Fourier transforms in registers of products of 2, 3 and 5, for .cu files
 * alone
 *
 * bs_fft<N, S>::run(v): v[k] = sum_j v[j] exp(S i2pi j k / N), natural order; N = 2 .. 6, 8 or a
 * product of two of these up to 36. Every index is a constant after unrolling, every root a literal.
 * Source: Cooley & Tukey, Math Comput 1965;19:297-301.
 */
#ifndef BS_GPU_DFT_SMALL_CUH
#define BS_GPU_DFT_SMALL_CUH

#include "gpu/lines.cuh"

/* The sum of x^(first + 2i) / (first + 2i)! with alternating signs; 0 <= x <= pi/4 */
__host__ __device__ constexpr double bs_series(double x, int first)
{
	double term = first == 0 ? 1.0 : x;
	double sum = term;

	for (int i = first + 2; i < 24; i += 2) {
		term *= -x * x / (double)(i * (i - 1));
		sum += term;
	}
	return sum;
}

/* cos(2 pi k / n), exact where it is 0 or 1 */
__host__ __device__ constexpr double bs_cos_of(int k, int n)
{
	k = (k % n + n) % n;
	k = 2 * k > n ? n - k : k;
	const double sign = 4 * k > n ? -1.0 : 1.0;
	const int up = 4 * k > n ? n - 2 * k : 2 * k; /* of 2n: 0 <= up <= n / 2 */
	const double turn = 3.14159265358979323846 / n;

	return sign * (4 * up > n ? bs_series(turn * (0.5 * n - up), 1) : bs_series(turn * up, 0));
}

/* v exp(S i2pi K / N) */
template <int N, int S, int K> static __device__ __forceinline__ float2 bs_root(float2 v)
{
	constexpr float c = (float)bs_cos_of(4 * K, 4 * N);
	constexpr float s = (float)(S * bs_cos_of(4 * K - N, 4 * N));

	if constexpr (K % N == 0)
		return v;
	else
		return make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}

__host__ __device__ constexpr int bs_first_factor(int n)
{
	return n == 10               ? 2
	       : n % 4 == 0 && n > 8 ? 4
	       : n % 3 == 0 && n > 6 ? 3
	       : n % 5 == 0 && n > 5 ? 5
				     : n;
}

template <int N, int S> struct bs_fft {
	static const int R = bs_first_factor(N), M = N / R;

	template <int T, int K> static __device__ __forceinline__ void twiddle(float2 (&v)[N])
	{
		v[T * R + K] = bs_root<N, S, T * K>(v[T * R + K]);
		if constexpr (K + 1 < R)
			twiddle<T, K + 1>(v);
		else if constexpr (T + 1 < M)
			twiddle<T + 1, 1>(v);
	}

	static __device__ __forceinline__ void run(float2 (&v)[N])
	{
		if constexpr (M == 1) {
			bs_small<S>(v);
		} else {
			float2 w[N]; /* [t][k1] */

#pragma unroll
			for (int t = 0; t < M; t++) {
				float2 x[R];

#pragma unroll
				for (int j = 0; j < R; j++)
					x[j] = v[t + M * j];
				bs_small<S>(x);
#pragma unroll
				for (int k = 0; k < R; k++)
					w[t * R + k] = x[k];
			}
			twiddle<1, 1>(w);
#pragma unroll
			for (int k = 0; k < R; k++) {
				float2 x[M];

#pragma unroll
				for (int t = 0; t < M; t++)
					x[t] = w[t * R + k];
				bs_fft<M, S>::run(x);
#pragma unroll
				for (int m = 0; m < M; m++)
					v[k + R * m] = x[m];
			}
		}
	}
};

#endif
