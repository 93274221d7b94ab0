/*
 * gpu/toeplitz/cuda/halves.cuh - the passes of the 2D operator: a line as two transforms of half
 * its points
 *
 * A line of N voxels is padded to 2H points, H >= N. Its even frequencies are the transform of the
 * H points; its odd ones that of x(n) exp(-i pi n / H): nothing is ever zero, and the two are
 * independent. H = A B, n = s + B j, k = k1 + A k2; A threads a half: thread t has the sets s = t,
 * t + A, ..., transforms their A values, turns them, exchanges, and transforms B values: it ends
 * with X[t + A k2]. Going back is the same in reverse, and the halves' sum is made by shuffles. Of
 * exp(-i pi n / H) the part of j is a literal, that of s is in the turns, which are copied to
 * shared memory while the kernel before still runs. For flat.cu alone.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_HALVES_CUH
#define BS_GPU_TOEPLITZ_CUDA_HALVES_CUH

#include "gpu/device/launch.cuh"
#include "gpu/fft/cuda/dft.cuh"
#include "gpu/toeplitz/toeplitz_cuda.h"

#define TP_ROW_THREADS 256
#define TP_COLUMNS     8 /* of a block, side by side: two sectors */

/* One axis. turns: exp(-i pi (2 k1 + half) s / H), [half][k1][B + 1: s], device. */
struct tp_axis {
	const float2 *turns;
	int n; /* voxels */
};

struct tp_flat {
	struct tp_axis x, y;
	const float2 *in;             /* [image][y][x] */
	float2 *out;                  /* [image][y][x], with maps [coil][y][x] */
	float2 *rows;                 /* [image or coil][y][half of kx][kx] */
	const float2 *maps;           /* [coil][y][x]; NULL: none */
	const float *q;               /* [half of ky][ky][half of kx][kx] */
	int count;                    /* images or coils */
	struct bs_toeplitz_step step; /* residual NULL: in is what is multiplied */
	const int *stop;              /* of the first image, step.state_bytes apart; NULL: none */
};

static __device__ __forceinline__ bool flat_stopped(const struct tp_flat &a, int image)
{
	return a.stop != NULL &&
	       *(const int *)((const char *)a.stop + image * a.step.state_bytes) != 0;
}

/* What the rows of an image are made of: its voxels, or the last direction and the residual. */
struct flat_source {
	const float2 *from, *residual; /* residual NULL: from as it is */
	float2 *to;                    /* where the new direction goes */
	float beta;

	__device__ __forceinline__ flat_source(const struct tp_flat &a, int image)
	{
		const struct bs_toeplitz_step &s = a.step;
		const long long first = (long long)image * a.x.n * a.y.n;
		const size_t state = image * s.state_bytes;

		from = a.in + first;
		residual = NULL;
		to = NULL;
		beta = 0.0f;
		if (s.residual == NULL)
			return;
		const bool odd = *(const unsigned *)((const char *)s.made + state) % 2 != 0;

		from = (const float2 *)(odd ? s.direction : s.other) + first;
		to = (float2 *)(odd ? s.other : s.direction) + first;
		residual = (const float2 *)s.residual + first;
		beta = *(const float *)((const char *)s.beta + state);
	}
};

/* EXCHANGE: at(k1, s) is a place in the half's own shared memory; sync: of all who share it. */
template <int A, int B> struct halves {
	static const int H = A * B;
	static const int P = (B + A - 1) / A;
	static const int TABLE =
		2 * A * (B + 1); /* odd rows: a row's or a column's are in all banks */

	static_assert(B % 2 == 0 && (A & (A - 1)) == 0, "A divides a warp");

	/* The turns in shared memory, for the whole block. */
	static __device__ __forceinline__ void table(float2 *to, const struct tp_axis &axis)
	{
		for (int i = (int)threadIdx.x; i < TABLE / 2; i += (int)blockDim.x)
			((float4 *)to)[i] = __ldg((const float4 *)axis.turns + i);
		__syncthreads();
	}

	/* v exp(S i pi J / A) in the odd half. */
	template <int S, int J> static __device__ __forceinline__ float2 turned(float2 v, int half)
	{
		const float c = half != 0 ? (float)bs_cos_of(2 * J, 4 * A) : 1.0f;
		const float s = half != 0 ? (float)(S * bs_cos_of(2 * J - A, 4 * A)) : 0.0f;

		return make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
	}

	template <int S, int J>
	static __device__ __forceinline__ void turn_all(float2 (&v)[A], int half)
	{
		if constexpr (J < A) {
			v[J] = turned<S, J>(v[J], half);
			turn_all<S, J + 1>(v, half);
		}
	}

	static __device__ __forceinline__ bool has(int t, int u)
	{
		return A * (u + 1) <= B || t + A * u < B;
	}

	/* Its s, or another's, which it may read. */
	static __device__ __forceinline__ int set(int t, int u)
	{
		return has(t, u) ? t + A * u : B - 1;
	}

	/* load(n), n below the axis's voxels. */
	template <class LOAD>
	static __device__ __forceinline__ void fill(float2 (&v)[P][A], int n, int t, LOAD load)
	{
#pragma unroll
		for (int u = 0; u < P; u++)
#pragma unroll
			for (int j = 0; j < A; j++) {
				const int at = t + A * u + B * j;

				v[u][j] = make_float2(0.0f, 0.0f);
				if (has(t, u) && at < n)
					v[u][j] = load(at);
			}
	}

	/* do(n, u, j) for each that fill has loaded. */
	template <class DO> static __device__ __forceinline__ void each(int n, int t, DO act)
	{
#pragma unroll
		for (int u = 0; u < P; u++)
#pragma unroll
			for (int j = 0; j < A; j++)
				if (has(t, u) && t + A * u + B * j < n)
					act(t + A * u + B * j, u, j);
	}

	/* turns: of the half */
	template <class EXCHANGE>
	static __device__ __forceinline__ void in(float2 (&w)[B], float2 (&v)[P][A],
						  const float2 *turns, int half, int t,
						  EXCHANGE exchange)
	{
#pragma unroll
		for (int u = 0; u < P; u++) {
			turn_all<-1, 1>(v[u], half);
			bs_fft<A, -1>::run(v[u]);
#pragma unroll
			for (int k = 0; k < A; k++)
				if (has(t, u))
					exchange.at(k, t + A * u) =
						bs_cmul(v[u][k], turns[k * (B + 1) + t + A * u]);
		}
		exchange.sync();
#pragma unroll
		for (int s = 0; s < B; s++)
			w[s] = exchange.at(t, s);
		bs_fft<B, -1>::run(w);
	}

	template <class EXCHANGE>
	static __device__ __forceinline__ void out(float2 (&v)[P][A], float2 (&w)[B],
						   const float2 *turns, int half, int t,
						   EXCHANGE exchange)
	{
		bs_fft<B, 1>::run(w);
#pragma unroll
		for (int s = 0; s < B; s++)
			exchange.at(t, s) = bs_cmul_conj(w[s], turns[t * (B + 1) + s]);
		exchange.sync();
#pragma unroll
		for (int u = 0; u < P; u++) {
#pragma unroll
			for (int k = 0; k < A; k++)
				v[u][k] = exchange.at(k, set(t, u));
			bs_fft<A, 1>::run(v[u]);
			turn_all<1, 1>(v[u], half);
		}
	}

	/*
	 * The sum of both halves, which lie `apart` lanes from each other; each hands every other
	 * point below n to store(n, value).
	 */
	template <class STORE>
	static __device__ __forceinline__ void drain(const float2 (&v)[P][A], int n, int half,
						     int apart, int t, STORE store)
	{
#pragma unroll
		for (int u = 0; u < P; u++)
#pragma unroll
			for (int j = 0; j < A; j += 2) {
				const int at = t + A * u + B * (j + half);
				const float2 give = half == 0 ? v[u][j + 1] : v[u][j];
				const float2 keep = half == 0 ? v[u][j] : v[u][j + 1];
				float2 other;

				other.x = __shfl_xor_sync(0xffffffffu, give.x, apart);
				other.y = __shfl_xor_sync(0xffffffffu, give.y, apart);
				if (has(t, u) && at < n)
					store(at, half == 0 ? bs_cadd(keep, other)
							    : bs_cadd(other, keep));
			}
	}
};

/* A half line of rows: A lanes of one warp. */
template <int B> struct row_exchange {
	float2 *own;

	static __device__ __forceinline__ void sync(void)
	{
		__syncwarp();
	}
	__device__ __forceinline__ float2 &at(int k, int s) const
	{
		return own[k * (B + 1) + s];
	}
};

template <int A, int B> struct rows_of {
	static const int LINES = TP_ROW_THREADS / (2 * A);
	static const int blocks =
		A * B <= 256 ? 2 : 1; /* of a multiprocessor: registers for them */
	static const int bytes =
		(halves<A, B>::TABLE + LINES * 2 * A * (B + 1)) * (int)sizeof(float2);
};

/* Thread: lane t of a half of a line; blockIdx.y the image or the coil. */
template <int A, int B>
static __global__ __launch_bounds__(TP_ROW_THREADS,
				    rows_of<A, B>::blocks) void rows_in(const struct tp_flat a)
{
	using L = halves<A, B>;
	extern __shared__ __align__(16) float2 mid[];
	const int t = (int)threadIdx.x % A;
	const int half = (int)threadIdx.x / A % 2;
	const int y = (int)blockIdx.x * rows_of<A, B>::LINES + (int)threadIdx.x / (2 * A);
	const int count = (int)blockIdx.y;
	const int n = y < a.y.n ? a.x.n : 0;
	const long long line = (long long)y * a.x.n;
	const row_exchange<B> exchange = { mid + L::TABLE + threadIdx.x / A * (A * (B + 1)) };
	float2 v[L::P][A];
	float2 w[B];

	L::table(mid, a.x);
	bs_after_previous();
	if (flat_stopped(a, a.maps != NULL ? 0 : count))
		return;
	const flat_source source(a, a.maps != NULL ? 0 : count);
	const float2 *maps = a.maps + (long long)count * a.x.n * a.y.n + line;
	const bool AHEAD = L::P == 1; /* else its registers are not there */
	float2 map[L::P][A];

	/* asked for before any other is waited for */
	L::fill(v, n, t, [&](int at) { return source.from[line + at]; });
	if (AHEAD && a.maps != NULL)
		L::fill(map, n, t, [&](int at) { return __ldg(maps + at); });
	if (source.residual != NULL) {
		const float *inverse = a.step.inverse;
		/* of the threads that have a voxel, one keeps it */
		const bool keeps = half == 0 && (a.maps == NULL || count == 0);
		float2 next[L::P][A];

		L::fill(next, n, t, [&](int at) { return source.residual[line + at]; });
		L::each(n, t, [&](int at, int u, int j) {
			const float w = inverse != NULL ? __ldg(inverse + line + at) : 1.0f;

			v[u][j] = make_float2(fmaf(source.beta, v[u][j].x, w * next[u][j].x),
					      fmaf(source.beta, v[u][j].y, w * next[u][j].y));
			if (keeps)
				source.to[line + at] = v[u][j];
		});
	}
	if (!AHEAD && a.maps != NULL)
		L::fill(map, n, t, [&](int at) { return __ldg(maps + at); });
	if (a.maps != NULL)
		L::each(n, t, [&](int, int u, int j) { v[u][j] = bs_cmul(v[u][j], map[u][j]); });
	L::in(w, v, mid + half * (L::TABLE / 2), half, t, exchange);
	if (y >= a.y.n)
		return;
	float2 *out = a.rows + (((long long)count * a.y.n + y) * 2 + half) * L::H;

#pragma unroll
	for (int k = 0; k < B; k++)
		out[t + A * k] = w[k];
}

template <int A, int B>
static __global__ __launch_bounds__(TP_ROW_THREADS) void rows_out(const struct tp_flat a)
{
	using L = halves<A, B>;
	extern __shared__ __align__(16) float2 mid[];
	const int t = (int)threadIdx.x % A;
	const int half = (int)threadIdx.x / A % 2;
	const int y = (int)blockIdx.x * rows_of<A, B>::LINES + (int)threadIdx.x / (2 * A);
	const int count = (int)blockIdx.y;
	const bool mine = y < a.y.n;
	const long long line = ((long long)count * a.y.n + y) * a.x.n;
	const float2 *in = a.rows + (((long long)count * a.y.n + y) * 2 + half) * L::H;
	const row_exchange<B> exchange = { mid + L::TABLE + threadIdx.x / A * (A * (B + 1)) };
	float2 v[L::P][A];
	float2 w[B];

	L::table(mid, a.x);
	bs_after_previous();
	if (flat_stopped(a, a.maps != NULL ? 0 : count))
		return;
#pragma unroll
	for (int k = 0; k < B; k++)
		w[k] = mine ? in[t + A * k] : make_float2(0.0f, 0.0f);
	L::out(v, w, mid + half * (L::TABLE / 2), half, t, exchange);
	L::drain(v, a.x.n, half, A, t, [&](int at, float2 value) {
		if (!mine)
			return;
		if (a.maps != NULL)
			value = bs_cmul_conj(value, __ldg(a.maps + line + at));
		a.out[line + at] = value;
	});
}

/* Halves of TP_COLUMNS columns side by side: the whole block. */
template <int B> struct column_exchange {
	float2 *own; /* of its half and column */

	static __device__ __forceinline__ void sync(void)
	{
		__syncthreads();
	}
	__device__ __forceinline__ float2 &at(int k, int s) const
	{
		return own[(k * B + s) * TP_COLUMNS];
	}
};

template <int A, int B> struct columns_of {
	static const int THREADS = 2 * A * TP_COLUMNS;
	/* eight values more: the halves of a column, read together, are in other banks */
	static const int HALF = A * B * TP_COLUMNS + 8;
	static const int bytes = (halves<A, B>::TABLE + 2 * HALF) * (int)sizeof(float2);
	/* of a multiprocessor: registers for them */
	static const int blocks = A * B <= 256 ? 512 / THREADS : 256 / THREADS;
};

/*
 * In place. width: of the rows, both halves. A block goes through `each` images or coils, from
 * blockIdx.y on, and may ask for the next one's values before it transforms the last one's.
 */
template <int A, int B>
static __global__ __launch_bounds__(columns_of<A, B>::THREADS,
				    columns_of<A, B>::blocks) void columns(const struct tp_flat a,
									   int width, int each)
{
	using L = halves<A, B>;
	extern __shared__ __align__(16) float2 mid[];
	const int c = (int)threadIdx.x % TP_COLUMNS;
	const int half = (int)threadIdx.x / TP_COLUMNS % 2;
	const int t = (int)threadIdx.x / (2 * TP_COLUMNS);
	const int column = (int)blockIdx.x * TP_COLUMNS + c;
	const int first = (int)blockIdx.y * each;
	const int last = min(first + each, a.count);
	const bool AHEAD = L::P == 1; /* else its registers are not there */
	const float2 *turns = mid + half * (L::TABLE / 2);
	const long long size = (long long)a.y.n * width;
	const float *spectra = a.q + (long long)half * L::H * width + column;
	const column_exchange<B> exchange = { mid + L::TABLE + half * columns_of<A, B>::HALF + c };
	float2 *data = a.rows + first * size + column;
	float2 v[L::P][A];
	float2 next[L::P][A];
	float2 w[B];
	float spectrum[B];

#pragma unroll
	for (int k = 0; k < B; k++)
		spectrum[k] = __ldg(spectra + (long long)(t + A * k) * width);
	L::table(mid, a.y);
	bs_after_previous();
	if (AHEAD)
		L::fill(next, a.y.n, t, [&](int at) { return data[(long long)at * width]; });
#pragma unroll 1
	for (int i = first; i < last; i++, data += size) {
		if (AHEAD) {
#pragma unroll
			for (int j = 0; j < A; j++)
				v[0][j] = next[0][j];
			if (i + 1 < last)
				L::fill(next, a.y.n, t,
					[&](int at) { return data[size + (long long)at * width]; });
		} else {
			L::fill(v, a.y.n, t, [&](int at) { return data[(long long)at * width]; });
		}
		if (flat_stopped(a, a.maps != NULL ? 0 : i))
			continue;
		L::in(w, v, turns, half, t, exchange);
#pragma unroll
		for (int k = 0; k < B; k++)
			w[k] = make_float2(w[k].x * spectrum[k], w[k].y * spectrum[k]);
		exchange.sync();
		L::out(v, w, turns, half, t, exchange);
		L::drain(v, a.y.n, half, TP_COLUMNS, t,
			 [&](int at, float2 value) { data[(long long)at * width] = value; });
		exchange.sync();
	}
}

/* The points of a half that the passes are compiled for. */
struct tp_half {
	int a, b;
	int row_lines, row_bytes, column_threads, column_bytes;
	void (*rows_in)(const struct tp_flat);
	void (*columns)(const struct tp_flat, int width, int each);
	void (*rows_out)(const struct tp_flat);
};

#define TP_HALF(A, B)                                                                              \
	{                                                                                          \
		A, B, rows_of<A, B>::LINES, rows_of<A, B>::bytes, columns_of<A, B>::THREADS,       \
			columns_of<A, B>::bytes, rows_in<A, B>, columns<A, B>, rows_out<A, B>      \
	}

extern const struct tp_half tp_halves_8[], tp_halves_16[];
extern const int tp_halves_8_count, tp_halves_16_count;

#endif
