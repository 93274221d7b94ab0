/*
 * gpu/fft/cuda/dft.cuh - discrete Fourier transforms in registers, and their parts
 *
 * bs_fft<N, S>::run(v): v[k] = sum_j v[j] exp(S i2pi j k / N), natural order; S = -1 forward, +1
 * inverse; N = 2 .. 8 or a product of two of these up to 36. run<true>: the upper half of the input
 * counts as zero and is not read; N must be a power of two. After unrolling every index is a
 * constant and every root a literal. Source: Cooley & Tukey, Math Comput 1965;19:297-301.
 */
#ifndef BS_GPU_FFT_CUDA_DFT_CUH
#define BS_GPU_FFT_CUDA_DFT_CUH

#include <cuda_runtime.h>

static __device__ __forceinline__ float2 bs_cmul(float2 a, float2 b)
{
	return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

static __device__ __forceinline__ float2 bs_cadd(float2 a, float2 b)
{
	return make_float2(a.x + b.x, a.y + b.y);
}

static __device__ __forceinline__ float2 bs_csub(float2 a, float2 b)
{
	return make_float2(a.x - b.x, a.y - b.y);
}

/* Returns w v + sum. */
static __device__ __forceinline__ float2 bs_cfma(float w, float2 v, float2 sum)
{
	return make_float2(fmaf(w, v.x, sum.x), fmaf(w, v.y, sum.y));
}

/* Returns a conj(b). */
static __device__ __forceinline__ float2 bs_cmul_conj(float2 a, float2 b)
{
	return make_float2(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y);
}

/* sum of (-1)^i x^(first + 2i) / (first + 2i)!, for 0 <= x <= pi/4 */
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
	/* angle as a part of 2n: 0 <= up <= n / 2 */
	const int up = 4 * k > n ? n - 2 * k : 2 * k;
	const double angle = 3.14159265358979323846 / n;

	return sign *
	       (4 * up > n ? bs_series(angle * (0.5 * n - up), 1) : bs_series(angle * up, 0));
}

/* Returns v exp(S i pi/2). */
template <int S> static __device__ __forceinline__ float2 bs_quarter(float2 v)
{
	return S > 0 ? make_float2(-v.y, v.x) : make_float2(v.y, -v.x);
}

/* Returns v exp(S i2pi K / N). */
template <int N, int S, int K> static __device__ __forceinline__ float2 bs_rotate(float2 v)
{
	constexpr int k = K % N;
	constexpr float c = (float)bs_cos_of(4 * k, 4 * N);
	constexpr float s = (float)(S * bs_cos_of(4 * k - N, 4 * N));

	if constexpr (k == 0)
		return v;
	else if constexpr (4 * k == N)
		return bs_quarter<S>(v);
	else if constexpr (2 * k == N)
		return make_float2(-v.x, -v.y);
	else if constexpr (4 * k == 3 * N)
		return bs_quarter<-S>(v);
	else
		return make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}

template <int S> static __device__ __forceinline__ void bs_small(float2 (&v)[2])
{
	float2 a = v[0];

	v[0] = bs_cadd(a, v[1]);
	v[1] = bs_csub(a, v[1]);
}

template <int S> static __device__ __forceinline__ void bs_small(float2 (&v)[3])
{
	const float h = (float)S * 0.86602540378443864676f;
	float2 s = bs_cadd(v[1], v[2]);
	float2 d = bs_csub(v[1], v[2]);
	float2 m = make_float2(fmaf(-0.5f, s.x, v[0].x), fmaf(-0.5f, s.y, v[0].y));

	v[0] = bs_cadd(v[0], s);
	v[1] = make_float2(fmaf(-h, d.y, m.x), fmaf(h, d.x, m.y));
	v[2] = make_float2(fmaf(h, d.y, m.x), fmaf(-h, d.x, m.y));
}

template <int S> static __device__ __forceinline__ void bs_small(float2 (&v)[4])
{
	float2 a = bs_cadd(v[0], v[2]);
	float2 b = bs_csub(v[0], v[2]);
	float2 c = bs_cadd(v[1], v[3]);
	float2 d = bs_quarter<S>(bs_csub(v[1], v[3]));

	v[0] = bs_cadd(a, c);
	v[1] = bs_cadd(b, d);
	v[2] = bs_csub(a, c);
	v[3] = bs_csub(b, d);
}

template <int S> static __device__ __forceinline__ void bs_small(float2 (&v)[5])
{
	const float c1 = 0.30901699437494742410f, c2 = -0.80901699437494742410f;
	const float s1 = (float)S * 0.95105651629515357212f,
		    s2 = (float)S * 0.58778525229247312917f;
	float2 a = bs_cadd(v[1], v[4]), b = bs_cadd(v[2], v[3]);
	float2 c = bs_csub(v[1], v[4]), d = bs_csub(v[2], v[3]);
	float2 p = make_float2(v[0].x + c1 * a.x + c2 * b.x, v[0].y + c1 * a.y + c2 * b.y);
	float2 q = make_float2(v[0].x + c2 * a.x + c1 * b.x, v[0].y + c2 * a.y + c1 * b.y);
	float2 e = make_float2(-(s1 * c.y + s2 * d.y), s1 * c.x + s2 * d.x);
	float2 f = make_float2(-(s2 * c.y - s1 * d.y), s2 * c.x - s1 * d.x);

	v[0] = bs_cadd(v[0], bs_cadd(a, b));
	v[1] = bs_cadd(p, e);
	v[2] = bs_cadd(q, f);
	v[3] = bs_csub(q, f);
	v[4] = bs_csub(p, e);
}

/*
 * Transforms 6 = 3 x 2 points without twiddles (Good and Thomas): input 3a + 2b, output 3a + 4b,
 * mod 6.
 */
template <int S> static __device__ __forceinline__ void bs_small(float2 (&v)[6])
{
	float2 a[3] = { v[0], v[2], v[4] };
	float2 b[3] = { v[3], v[5], v[1] };

	bs_small<S>(a);
	bs_small<S>(b);
	v[0] = bs_cadd(a[0], b[0]);
	v[3] = bs_csub(a[0], b[0]);
	v[4] = bs_cadd(a[1], b[1]);
	v[1] = bs_csub(a[1], b[1]);
	v[2] = bs_cadd(a[2], b[2]);
	v[5] = bs_csub(a[2], b[2]);
}

/*
 * Adds to p and q the terms of pair J and the pairs after it, from the pairs' sums a and
 * differences d. The outputs are v[K] = p + i S q and v[7 - K] = p - i S q.
 */
template <int S, int K, int J>
static __device__ __forceinline__ void bs_terms_of_seven(float2 &p, float2 &q, const float2 (&a)[3],
							 const float2 (&d)[3])
{
	constexpr float c = (float)bs_cos_of(K * J, 7);
	constexpr float s = (float)(S * bs_cos_of(4 * K * J - 7, 28));

	p = make_float2(fmaf(c, a[J - 1].x, p.x), fmaf(c, a[J - 1].y, p.y));
	q = make_float2(fmaf(-s, d[J - 1].y, q.x), fmaf(s, d[J - 1].x, q.y));
	if constexpr (J < 3)
		bs_terms_of_seven<S, K, J + 1>(p, q, a, d);
}

template <int S, int K>
static __device__ __forceinline__ void bs_pair_of_seven(float2 (&v)[7], float2 first,
							const float2 (&a)[3], const float2 (&d)[3])
{
	float2 p = first;
	float2 q = make_float2(0.0f, 0.0f);

	bs_terms_of_seven<S, K, 1>(p, q, a, d);
	v[K] = bs_cadd(p, q);
	v[7 - K] = bs_csub(p, q);
}

template <int S> static __device__ __forceinline__ void bs_small(float2 (&v)[7])
{
	const float2 first = v[0];
	const float2 a[3] = { bs_cadd(v[1], v[6]), bs_cadd(v[2], v[5]), bs_cadd(v[3], v[4]) };
	const float2 d[3] = { bs_csub(v[1], v[6]), bs_csub(v[2], v[5]), bs_csub(v[3], v[4]) };

	v[0] = bs_cadd(bs_cadd(first, a[0]), bs_cadd(a[1], a[2]));
	bs_pair_of_seven<S, 1>(v, first, a, d);
	bs_pair_of_seven<S, 2>(v, first, a, d);
	bs_pair_of_seven<S, 3>(v, first, a, d);
}

/* Joins the transforms of the even and the odd points into one of eight points. */
template <int S>
static __device__ __forceinline__ void bs_join(float2 (&v)[8], const float2 (&a)[4], float2 (&b)[4])
{
	const float h = 0.70710678118654752440f;

	b[1] = S > 0 ? make_float2(h * (b[1].x - b[1].y), h * (b[1].x + b[1].y))
		     : make_float2(h * (b[1].x + b[1].y), h * (b[1].y - b[1].x));
	b[2] = bs_quarter<S>(b[2]);
	b[3] = S > 0 ? make_float2(-h * (b[3].x + b[3].y), h * (b[3].x - b[3].y))
		     : make_float2(h * (b[3].y - b[3].x), -h * (b[3].x + b[3].y));
#pragma unroll
	for (int i = 0; i < 4; i++) {
		v[i] = bs_cadd(a[i], b[i]);
		v[i + 4] = bs_csub(a[i], b[i]);
	}
}

template <int S> static __device__ __forceinline__ void bs_small(float2 (&v)[8])
{
	float2 a[4] = { v[0], v[2], v[4], v[6] };
	float2 b[4] = { v[1], v[3], v[5], v[7] };

	bs_small<S>(a);
	bs_small<S>(b);
	bs_join<S>(v, a, b);
}

/* bs_small for an input whose upper half is zero. */
template <int S> static __device__ __forceinline__ void bs_small_half(float2 (&v)[2])
{
	v[1] = v[0];
}

template <int S> static __device__ __forceinline__ void bs_small_half(float2 (&v)[4])
{
	const float2 a = v[0];
	const float2 c = v[1];
	const float2 d = bs_quarter<S>(c);

	v[0] = bs_cadd(a, c);
	v[1] = bs_cadd(a, d);
	v[2] = bs_csub(a, c);
	v[3] = bs_csub(a, d);
}

template <int S> static __device__ __forceinline__ void bs_small_half(float2 (&v)[8])
{
	const float2 zero = make_float2(0.0f, 0.0f);
	float2 a[4] = { v[0], v[2], zero, zero };
	float2 b[4] = { v[1], v[3], zero, zero };

	bs_small_half<S>(a);
	bs_small_half<S>(b);
	bs_join<S>(v, a, b);
}

__host__ __device__ constexpr int bs_first_factor(int n)
{
	return n == 10 || n == 14    ? 2
	       : n % 4 == 0 && n > 8 ? 4
	       : n % 3 == 0 && n > 6 ? 3
	       : n % 5 == 0 && n > 5 ? 5
				     : n;
}

/* Transforms N = R M points: M transforms of R, twiddle factors, R transforms of M. */
template <int N, int S> struct bs_fft {
	static const int R = bs_first_factor(N), M = N / R;

	template <int T, int K> static __device__ __forceinline__ void twiddle(float2 (&v)[N])
	{
		v[T * R + K] = bs_rotate<N, S, T * K>(v[T * R + K]);
		if constexpr (K + 1 < R)
			twiddle<T, K + 1>(v);
		else if constexpr (T + 1 < M)
			twiddle<T + 1, 1>(v);
	}

	template <bool HALF, int L> static __device__ __forceinline__ void one(float2 (&v)[L])
	{
		if constexpr (HALF)
			bs_small_half<S>(v);
		else
			bs_small<S>(v);
	}

	template <bool HALF = false> static __device__ __forceinline__ void run(float2 (&v)[N])
	{
		if constexpr (M == 1) {
			one<HALF>(v);
		} else {
			float2 w[N]; /* values between the two steps, [t][k1] */

#pragma unroll
			for (int t = 0; t < M; t++) {
				float2 x[R];

#pragma unroll
				for (int j = 0; j < R; j++)
					x[j] = HALF && j >= R / 2 ? make_float2(0.0f, 0.0f)
								  : v[t + M * j];
				one<HALF>(x);
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
