/*
 * gpu/toeplitz/cuda/pass.cuh - the passes of toeplitz.cu: lines in, lines out, and the middle
 *
 * For sizes.cuh alone. Every kernel takes a struct tp_pass by value and TP_THREADS threads.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_PASS_CUH
#define BS_GPU_TOEPLITZ_CUDA_PASS_CUH

#include "gpu/fft/cuda/dft.cuh"
#include "gpu/device/launch.cuh"
#include "gpu/toeplitz/toeplitz_cuda.h"

#define TP_THREADS 256

enum tp_kind {
	TP_X_IN,
	TP_X_OUT,
	TP_X_OUT_SENSE,
	TP_Y_IN,
	TP_Y_OUT,
	TP_MIDDLE,
	TP_PLANE,
	TP_KINDS
};

/* The twiddles, read from global memory, or from the block's shared memory. */
struct twiddles_global {
	const float2 *twiddle;
	__device__ __forceinline__ float2 operator[](int i) const
	{
		return __ldg(twiddle + i);
	}
};

struct twiddles_shared {
	const float2 *twiddle;
	__device__ __forceinline__ float2 operator[](int i) const
	{
		return twiddle[i];
	}
};

/*
 * The arguments of a pass over lines of G = A B points: n = t + B j and k = k1 + A k2. A threads
 * share a line. Going in, thread t transforms its A values for each t it has (t, t + A, ...),
 * multiplies them by the twiddles and exchanges them; thread k1 then transforms B values and ends
 * with X[k1 + A k2]. Going back is the same in reverse; only the lower half of the result is made.
 */
struct tp_pass {
	const float2 *in;
	float2 *out;
	const float *q;              /* middle pass: spectrum, at k * line + column */
	const float2 *maps;          /* x passes of sense: [coil][z][y][x] maps; else NULL */
	twiddles_global twiddles;    /* exp(-i2pi t k1 / G), [k1][t], then [t][k1] */
	int n;                       /* voxels along the axis */
	int columns;                 /* number of strided lines side by side */
	int rows, planes;            /* plane pass: voxels along y and z; a.n is unused */
	long long in_line, out_line; /* complex values from one point of a line to the next */
	/* complex values from one set of columns, or line along x, to the next */
	long long in_outer, out_outer;
	/* complex values from one coil to the next; 0: all coils read the same */
	long long in_coil, out_coil;
	int lines;       /* number of lines, in x passes */
	int coils;       /* coils of sense's last pass, or of the middle passes */
	bool add;        /* sense's last pass adds to what out holds */
	bool transposed; /* x passes: lines are stored as in struct transposed */
	const int *stop; /* nothing is done where *stop is set; NULL: never */
};

static __device__ __forceinline__ bool stopped(const struct tp_pass &a)
{
	return a.stop != NULL && *a.stop != 0;
}

/*
 * The sets of A values, n = s + B j, that thread t of a line has: s = t + A u for u below P. Where
 * A does not divide B some threads have no last set; they do the same work as the others, without
 * effect.
 */
template <int A, int B> struct sets {
	static const int P = (B + A - 1) / A;

	static_assert(B % 2 == 0 && (A & (A - 1)) == 0,
		      "B + 1 is odd: all banks; A divides a warp");

	static __device__ __forceinline__ bool has(int t, int u)
	{
		return A * (u + 1) <= B || t + A * u < B;
	}

	/* The s of set u; where the thread has no set u, another s that it may read. */
	static __device__ __forceinline__ int at(int t, int u)
	{
		return has(t, u) ? t + A * u : B - 1;
	}

	/* Fills the lower half of each set by load(n, u, j), with zeros from index n on. */
	template <class LOAD>
	static __device__ __forceinline__ void fill(float2 (&v)[P][A], int t, int n, LOAD load)
	{
#pragma unroll
		for (int u = 0; u < P; u++)
#pragma unroll
			for (int j = 0; j < A / 2; j++) {
				const int at = t + A * u + B * j;

				v[u][j] = has(t, u) && at < n ? load(at, u, j)
							      : make_float2(0.0f, 0.0f);
			}
	}

	/* Transforms the sets and multiplies them by the twiddles; the result is v[u][k1]. */
	template <class TWIDDLES>
	static __device__ __forceinline__ void start(float2 (&v)[P][A], int t, TWIDDLES twiddles)
	{
#pragma unroll
		for (int u = 0; u < P; u++) {
			bs_fft<A, -1>::template run<true>(v[u]);
#pragma unroll
			for (int k = 1; k < A; k++)
				v[u][k] = bs_cmul(v[u][k], twiddles[k * B + at(t, u)]);
		}
	}

	/* Hands each point of the half of a line that holds voxels to store(n, u, j, value). */
	template <class STORE>
	static __device__ __forceinline__ void drain(const float2 (&v)[P][A], int t, STORE store)
	{
#pragma unroll
		for (int u = 0; u < P; u++)
#pragma unroll
			for (int j = 0; j < A / 2; j++)
				if (has(t, u))
					store(t + A * u + B * j, u, j, v[u][j]);
	}
};

static __device__ __forceinline__ float &part_of(float2 &v, int part)
{
	return part == 0 ? v.x : v.y;
}

/*
 * Transforms one line by A threads of one warp, so that the exchange needs no other warp. Their
 * part of mid is A (B + 1) floats: real parts first, then imaginary ones, which halves it. v: as
 * filled. before: called before the exchange is full. Result: w[k] = X[t + A k].
 */
template <int A, int B, class TWIDDLES, class BEFORE>
static __device__ __forceinline__ void row_in(float2 (&w)[B], float2 (&v)[sets<A, B>::P][A],
					      float *mid, int t, TWIDDLES twiddles, BEFORE before)
{
	using S = sets<A, B>;

	S::start(v, t, twiddles);
#pragma unroll
	for (int part = 0; part < 2; part++) {
		__syncwarp();
#pragma unroll
		for (int u = 0; u < S::P; u++)
#pragma unroll
			for (int k = 0; k < A; k++)
				if (S::has(t, u))
					mid[k * (B + 1) + t + A * u] = part_of(v[u][k], part);
		if (part == 0)
			before();
		__syncwarp();
#pragma unroll
		for (int s = 0; s < B; s++)
			part_of(w[s], part) = mid[t * (B + 1) + s];
	}
	bs_fft<B, -1>::run(w);
}

/* Does the first step back: transforms thread k1's B values, multiplies them by the twiddles. */
template <int A, int B, class TWIDDLES>
static __device__ __forceinline__ void step_back(float2 (&w)[B], int k1, TWIDDLES twiddles)
{
	bs_fft<B, 1>::run(w);
#pragma unroll
	for (int s = 0; s < B; s++)
		w[s] = bs_cmul_conj(w[s], twiddles[A * B + s * A + k1]);
}

/* Makes of w[k] = X[t + A k] the points v[u][j] at n = t + A u + B j. */
template <int A, int B, class TWIDDLES>
static __device__ __forceinline__ void row_out(float2 (&v)[sets<A, B>::P][A], float2 (&w)[B],
					       float *mid, int t, TWIDDLES twiddles)
{
	using S = sets<A, B>;

	step_back<A, B>(w, t, twiddles);
#pragma unroll
	for (int part = 0; part < 2; part++) {
		__syncwarp();
#pragma unroll
		for (int s = 0; s < B; s++)
			mid[t * (B + 1) + s] = part_of(w[s], part);
		__syncwarp();
#pragma unroll
		for (int u = 0; u < S::P; u++)
#pragma unroll
			for (int k = 0; k < A; k++)
				part_of(v[u][k], part) = mid[k * (B + 1) + S::at(t, u)];
	}
#pragma unroll
	for (int u = 0; u < S::P; u++)
		bs_fft<A, 1>::run(v[u]);
}

/*
 * The layout of lines along x outside the image: [line][kx], or transposed, [kx][line]. Transposed
 * lines pass through shared memory, so that a block reads and writes its lines side by side. The
 * functions are block-wide; all threads of a line call them. Values of the block's lines are `step`
 * apart in kx, from `at` on.
 */
template <int A, int B> struct transposed {
	static const int PER = TP_THREADS / A, PITCH = PER + 1;

	static __device__ __forceinline__ void put(float2 *at, long long step, int lines,
						   const float2 (&w)[B], float2 *exchange, int t)
	{
		const int line = (int)threadIdx.x / A;
		const int l = (int)threadIdx.x % PER;

		__syncthreads();
#pragma unroll
		for (int k = 0; k < B; k++)
			exchange[(t + A * k) * PITCH + line] = w[k];
		__syncthreads();
		if (l >= lines)
			return;
#pragma unroll
		for (int k = 0; k < B; k++) {
			const int kx = (int)threadIdx.x / PER + A * k;

			at[kx * step + l] = exchange[kx * PITCH + l];
		}
	}

	static __device__ __forceinline__ void get(float2 (&w)[B], const float2 *at, long long step,
						   int lines, float2 *exchange, int t)
	{
		const int line = (int)threadIdx.x / A;
		const int l = (int)threadIdx.x % PER;

		__syncthreads();
#pragma unroll
		for (int k = 0; k < B; k++) {
			const int kx = (int)threadIdx.x / PER + A * k;

			exchange[kx * PITCH + l] =
				l < lines ? at[kx * step + l] : make_float2(0.0f, 0.0f);
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < B; k++)
			w[k] = exchange[(t + A * k) * PITCH + line];
		__syncthreads();
	}
};

template <int A, int B>
static __global__ __launch_bounds__(TP_THREADS) void x_in(const struct tp_pass a)
{
	extern __shared__ float2 exchange[];
	const int PER = TP_THREADS / A;
	const int t = (int)threadIdx.x % A;
	const int first = (int)blockIdx.x * PER;
	const int line = first + (int)threadIdx.x / A;
	const int n = line < a.lines ? a.n : 0;
	const float2 *in = a.in + blockIdx.y * a.in_coil + line * a.in_outer;
	const float2 *map = a.maps + (long long)blockIdx.y * a.lines * a.n + (long long)line * a.n;
	float2 *out = a.out + blockIdx.y * a.out_coil;
	float *mid = (float *)exchange + threadIdx.x / A * (A * (B + 1));
	float2 v[sets<A, B>::P][A];
	float2 w[B];

	bs_after_previous();
	if (stopped(a))
		return;
	if (a.maps != NULL) {
		sets<A, B>::fill(v, t, n, [&](int at, int, int) {
			return bs_cmul(in[at], __ldg(map + at));
		});
	} else {
		sets<A, B>::fill(v, t, n, [&](int at, int, int) { return in[at]; });
	}
	row_in<A, B>(w, v, mid, t, a.twiddles, []() {});
	if (a.transposed) {
		transposed<A, B>::put(out + first, a.out_line, a.lines - first, w, exchange, t);
	} else if (line < a.lines) {
#pragma unroll
		for (int k = 0; k < B; k++)
			out[line * a.out_outer + t + A * k] = w[k];
	}
}

/* SENSE: the result is summed over coils. */
template <int A, int B, bool SENSE>
static __global__ __launch_bounds__(TP_THREADS) void x_out(const struct tp_pass a)
{
	using S = sets<A, B>;
	extern __shared__ float2 exchange[];
	const int PER = TP_THREADS / A;
	const int t = (int)threadIdx.x % A;
	const int first = (int)blockIdx.x * PER;
	const int line = first + (int)threadIdx.x / A;
	const bool mine = line < a.lines;
	float2 *out = a.out + blockIdx.y * a.out_coil + line * a.out_outer;
	float *mid = (float *)exchange + threadIdx.x / A * (A * (B + 1));
	float2 sum[S::P][A] = {}; /* lower half of the sum */

	bs_after_previous();
	if (stopped(a))
		return;
	if (SENSE && a.add)
		S::drain(sum, t, [&](int at, int u, int j, float2) {
			if (mine && at < a.n)
				sum[u][j] = out[at];
		});
#pragma unroll 1
	for (int c = 0; c < (SENSE ? a.coils : 1); c++) {
		const float2 *in = a.in + (blockIdx.y + c) * a.in_coil;
		const float2 *map = a.maps + ((long long)c * a.lines + line) * a.n;
		float2 v[S::P][A];
		float2 w[B];

		if (a.transposed) {
			transposed<A, B>::get(w, in + first, a.in_line, a.lines - first, exchange,
					      t);
		} else {
#pragma unroll
			for (int k = 0; k < B; k++)
				w[k] = mine ? in[line * a.in_outer + t + A * k]
					    : make_float2(0.0f, 0.0f);
		}
		row_out<A, B>(v, w, mid, t, a.twiddles);
		S::drain(v, t, [&](int at, int u, int j, float2 value) {
			if (!SENSE)
				sum[u][j] = value;
			else if (mine && at < a.n)
				sum[u][j] =
					bs_cadd(sum[u][j], bs_cmul_conj(value, __ldg(map + at)));
		});
	}
	S::drain(sum, t, [&](int at, int, int, float2 value) {
		if (mine && at < a.n)
			out[at] = value;
	});
}

/*
 * Strided lines: neighboring columns share a block, so that accesses are whole memory sectors.
 * blocks: of a multiprocessor, 0: not
 * said. A thread holds P A + B complex values and part of the spectrum.
 */
template <int A, int B, tp_kind KIND> struct tile {
	static const int blocks = KIND != TP_MIDDLE ? 0
				  : A == 32         ? 1
				  : B <= 16         ? 3
				  : B <= 28         ? 2
						    : 1;
};

/* before: called before the exchange is full. */
template <int A, int B, class BEFORE>
static __device__ __forceinline__ void strided_in(float2 (&w)[B], const float2 *in, long long line,
						  int n, float2 *exchange, int t, int c,
						  twiddles_global twiddles, BEFORE before)
{
	using S = sets<A, B>;
	const int C = TP_THREADS / A;
	float2 v[S::P][A];

	S::fill(v, t, n, [&](int at, int, int) { return in[at * line]; });
	S::start(v, t, twiddles);
#pragma unroll
	for (int u = 0; u < S::P; u++)
#pragma unroll
		for (int k = 0; k < A; k++)
			if (S::has(t, u))
				exchange[(k * B + t + A * u) * C + c] = v[u][k];
	before();
	__syncthreads();
#pragma unroll
	for (int s = 0; s < B; s++)
		w[s] = exchange[(t * B + s) * C + c];
	bs_fft<B, -1>::run(w);
}

template <int A, int B>
static __device__ __forceinline__ void strided_out(float2 (&w)[B], float2 *out, long long line,
						   int n, float2 *exchange, int t, int c,
						   twiddles_global twiddles)
{
	using S = sets<A, B>;
	const int C = TP_THREADS / A;

	step_back<A, B>(w, t, twiddles);
#pragma unroll
	for (int s = 0; s < B; s++)
		exchange[(t * B + s) * C + c] = w[s];
	__syncthreads();
#pragma unroll
	for (int u = 0; u < S::P; u++) {
		float2 v[A];

#pragma unroll
		for (int k = 0; k < A; k++)
			v[k] = exchange[(k * B + S::at(t, u)) * C + c];
		bs_fft<A, 1>::run(v);
#pragma unroll
		for (int j = 0; j < A / 2; j++) {
			const int at = t + A * u + B * j;

			if (S::has(t, u) && at < n)
				out[at * line] = v[j];
		}
	}
}

/*
 * A pass along y, in or out, or the middle one: along z and back, in place, with the spectrum in
 * between; coils then run side by side, so that the spectrum stays in the cache.
 */
template <int A, int B, tp_kind KIND>
static __global__ __launch_bounds__(TP_THREADS,
				    tile<A, B, KIND>::blocks) void strided(const struct tp_pass a)
{
	extern __shared__ float2 exchange[];
	constexpr bool MIDDLE = KIND == TP_MIDDLE;
	const int C = TP_THREADS / A;
	const int t = (int)threadIdx.x / C;
	const int c = (int)threadIdx.x % C;
	const int own = (int)(MIDDLE ? blockIdx.x / (unsigned)a.coils : blockIdx.x) * C + c;
	const int column = min(own, a.columns - 1);
	const unsigned coil = MIDDLE ? blockIdx.x % (unsigned)a.coils : blockIdx.z;
	const unsigned outer = MIDDLE ? 0 : blockIdx.y;
	const int n = own < a.columns ? a.n : 0;
	float2 *out = a.out + coil * a.out_coil + outer * a.out_outer + column;
	const float2 *in = MIDDLE ? out : a.in + coil * a.in_coil + outer * a.in_outer + column;
	const float *q = a.q + column;
	float spectrum[B];
	float2 w[B];

	bs_after_previous();
	if (stopped(a))
		return;
	if constexpr (KIND == TP_Y_OUT) {
		const float2 *from = in + t * a.in_line;

#pragma unroll
		for (int k = 0; k < B; k++, from += A * a.in_line)
			w[k] = *from;
	} else {
		strided_in<A, B>(w, in, MIDDLE ? a.out_line : a.in_line, n, exchange, t, c,
				 a.twiddles, [&]() {
#pragma unroll
					 for (int k = 0; MIDDLE && k < B; k++)
						 spectrum[k] = __ldcs(q + (t + A * k) * a.out_line);
				 });
	}
	if constexpr (MIDDLE) {
#pragma unroll
		for (int k = 0; k < B; k++)
			w[k] = make_float2(w[k].x * spectrum[k], w[k].y * spectrum[k]);
		__syncthreads();
	}
	if constexpr (KIND != TP_Y_IN) {
		strided_out<A, B>(w, out, a.out_line, n, exchange, t, c, a.twiddles);
	} else if (own < a.columns) {
#pragma unroll
		for (int k = 0; k < B; k++)
			out[(t + A * k) * a.out_line] = w[k];
	}
}

#endif
