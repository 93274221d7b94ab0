/*
 * gpu/dft.cuh - small discrete Fourier transforms in registers, for .cu files alone
 *
 * bs_dft<N, S>::run(v): v[k] = sum_j v[j] exp(S i2pi j k / N), natural order, N = 2 .. 32, a power
 * of two; S = -1 forward, +1 inverse. half: the upper half of the input is taken as zero, unread.
 * Every index is a constant after unrolling, every twiddle a literal.
 * Source: Cooley & Tukey, Math Comput 1965;19:297-301.
 */
#ifndef BS_GPU_DFT_CUH
#define BS_GPU_DFT_CUH

/* cos(2 pi k / 32) */
__host__ __device__ constexpr double bs_cos32(int k)
{
	k = (k % 32 + 32) % 32;
	k = k > 16 ? 32 - k : k;
	const double sign = k > 8 ? -1.0 : 1.0;

	k = k > 8 ? 16 - k : k;
	return sign * (k == 0   ? 1.0
		       : k == 1 ? 0.98078528040323044913
		       : k == 2 ? 0.92387953251128675613
		       : k == 3 ? 0.83146961230254523708
		       : k == 4 ? 0.70710678118654752440
		       : k == 5 ? 0.55557023301960222474
		       : k == 6 ? 0.38268343236508977173
		       : k == 7 ? 0.19509032201612826785
				: 0.0);
}

/* v exp(S i2pi k / N) */
template <int N, int S, int K> static __device__ __forceinline__ float2 bs_turn(float2 v)
{
	constexpr int k = (K % N) * (32 / N);
	constexpr float c = (float)bs_cos32(k);
	constexpr float s = (float)(S * bs_cos32(k - 8));

	if constexpr (k == 0)
		return v;
	else if constexpr (k == 8)
		return S > 0 ? make_float2(-v.y, v.x) : make_float2(v.y, -v.x);
	else if constexpr (k == 16)
		return make_float2(-v.x, -v.y);
	else if constexpr (k == 24)
		return S > 0 ? make_float2(v.y, -v.x) : make_float2(-v.y, v.x);
	else
		return make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}

static __device__ __forceinline__ float2 bs_add(float2 a, float2 b)
{
	return make_float2(a.x + b.x, a.y + b.y);
}

static __device__ __forceinline__ float2 bs_sub(float2 a, float2 b)
{
	return make_float2(a.x - b.x, a.y - b.y);
}

static __device__ __forceinline__ float2 bs_mul(float2 a, float2 b)
{
	return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* a conj(b) */
static __device__ __forceinline__ float2 bs_mul_conj(float2 a, float2 b)
{
	return make_float2(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y);
}

template <int N, int S> struct bs_dft;

template <int S> struct bs_dft<2, S> {
	template <bool HALF = false> static __device__ __forceinline__ void run(float2 (&v)[2])
	{
		const float2 a = v[0];

		v[0] = HALF ? a : bs_add(a, v[1]);
		v[1] = HALF ? a : bs_sub(a, v[1]);
	}
};

template <int S> struct bs_dft<4, S> {
	template <bool HALF = false> static __device__ __forceinline__ void run(float2 (&v)[4])
	{
		const float2 a = HALF ? v[0] : bs_add(v[0], v[2]);
		const float2 b = HALF ? v[0] : bs_sub(v[0], v[2]);
		const float2 c = HALF ? v[1] : bs_add(v[1], v[3]);
		const float2 d = bs_turn<4, S, 1>(HALF ? v[1] : bs_sub(v[1], v[3]));

		v[0] = bs_add(a, c);
		v[1] = bs_add(b, d);
		v[2] = bs_sub(a, c);
		v[3] = bs_sub(b, d);
	}
};

/* N = R M: M transforms of R, twiddles, R transforms of M. */
template <int N, int S> struct bs_dft {
	static const int R = N == 8 ? 2 : 4, M = N / R;

	template <int T, int K> static __device__ __forceinline__ void twiddle(float2 (&v)[N])
	{
		v[T * R + K] = bs_turn<N, S, T * K>(v[T * R + K]);
		if constexpr (K + 1 < R)
			twiddle<T, K + 1>(v);
		else if constexpr (T + 1 < M)
			twiddle<T + 1, 1>(v);
	}

	template <bool HALF = false> static __device__ __forceinline__ void run(float2 (&v)[N])
	{
		float2 w[N]; /* [t][k1] */

#pragma unroll
		for (int t = 0; t < M; t++) {
			float2 x[R];

#pragma unroll
			for (int j = 0; j < R; j++)
				x[j] = HALF && j >= R / 2 ? make_float2(0.0f, 0.0f) : v[t + M * j];
			bs_dft<R, S>::template run<HALF>(x);
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
			bs_dft<M, S>::run(x);
#pragma unroll
			for (int m = 0; m < M; m++)
				v[k + R * m] = x[m];
		}
	}
};

#endif
