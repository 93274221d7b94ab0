/*
 * gpu/toeplitz/cuda/halves.cuh - the passes of the 2D operator: a line as two transforms of half
 * its points
 *
 * A line of N voxels is padded to 2H points, H >= N. Its even frequencies are the transform of the
 * H points; its odd ones are that of x(n) exp(-i pi n / H). So no transform has a zero half, and
 * the two are independent. H = A B, n = s + B j, k = k1 + A k2, with A threads a half. Thread t
 * has the sets s = t, t + A, ...; it transforms the A values of each, multiplies them by the
 * twiddles, exchanges them, and transforms B values: it ends with X[t + A k2]. The way back is the
 * same in reverse, and shuffles add the halves. Of exp(-i pi n / H) the factor of j is a
 * literal, that of s is part of the twiddles, which are copied to shared memory while the kernel
 * before still runs. For flat.cu alone.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_HALVES_CUH
#define BS_GPU_TOEPLITZ_CUDA_HALVES_CUH

#include "gpu/device/launch.cuh"
#include "gpu/fft/cuda/dft.cuh"
#include "gpu/toeplitz/cuda/cg_state.h"
#include "gpu/toeplitz/toeplitz_cuda.h"

#define TP_ROW_THREADS 256
#define TP_COLUMNS     8 /* columns of a block, side by side: two memory sectors */

/* One axis. twiddles: exp(-i pi (2 k1 + half) s / H), [half][k1][B + 1: s], in device memory. */
struct tp_axis {
	const float2 *twiddles;
	int n; /* voxels of the axis */
};

struct tp_flat {
	struct tp_axis x, y;
	const float2 *in;           /* input images [image][y][x] */
	float2 *out;                /* [image][y][x], with maps [coil][y][x] */
	float2 *rows;               /* lines along kx, [image or coil][y][half of kx][kx] */
	const float2 *maps;         /* [coil][y][x] maps; NULL: none */
	const float *q;             /* spectra [half of ky][ky][half of kx][kx] */
	int count;                  /* number of images or coils */
	const int *stop;            /* nothing is done where *stop is set; NULL: never */
	struct bs_cg_state *solves; /* [image]: used in place of stop; columns then write energy */
	double *energy;             /* [image or coil][block of columns], in^H out */
};

static __device__ __forceinline__ bool flat_stopped(const struct tp_flat &a, int image)
{
	return (a.stop != NULL && *a.stop != 0) ||
	       (a.solves != NULL && a.solves[a.maps != NULL ? 0 : image].stop != 0);
}

/*
 * EXCHANGE: at(k1, s) is a place in the half's own shared memory; sync() waits for all threads that
 * share it.
 */
template <int A, int B> struct halves {
	static const int H = A * B;
	static const int P = (B + A - 1) / A;
	static const int TABLE =
		/* floats; rows are odd, so that a row's and a column's places lie in all banks */
		2 * A * (B + 1);

	static_assert(B % 2 == 0 && (A & (A - 1)) == 0, "A divides a warp");

	/* Copies the twiddles to shared memory, for the whole block. */
	static __device__ __forceinline__ void table(float2 *to, const struct tp_axis &axis)
	{
		for (int i = (int)threadIdx.x; i < TABLE / 2; i += (int)blockDim.x)
			((float4 *)to)[i] = __ldg((const float4 *)axis.twiddles + i);
		__syncthreads();
	}

	/* Multiplies v by exp(S i pi J / A) in the odd half. */
	template <int S, int J> static __device__ __forceinline__ float2 rotated(float2 v, int half)
	{
		const float c = half != 0 ? (float)bs_cos_of(2 * J, 4 * A) : 1.0f;
		const float s = half != 0 ? (float)(S * bs_cos_of(2 * J - A, 4 * A)) : 0.0f;

		return make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
	}

	template <int S, int J>
	static __device__ __forceinline__ void rotate_all(float2 (&v)[A], int half)
	{
		if constexpr (J < A) {
			v[J] = rotated<S, J>(v[J], half);
			rotate_all<S, J + 1>(v, half);
		}
	}

	static __device__ __forceinline__ bool has(int t, int u)
	{
		return A * (u + 1) <= B || t + A * u < B;
	}

	/* Fills set u by load(n), for n below the axis's voxels; the rest is zero. */
	template <class LOAD>
	static __device__ __forceinline__ void fill_set(float2 (&v)[A], int n, int t, int u,
							LOAD load)
	{
#pragma unroll
		for (int j = 0; j < A; j++) {
			const int at = t + A * u + B * j;

			v[j] = make_float2(0.0f, 0.0f);
			if (has(t, u) && at < n)
				v[j] = load(at);
		}
	}

	/* Calls act(n, j) for each value that fill_set has loaded. */
	template <class DO> static __device__ __forceinline__ void each(int n, int t, int u, DO act)
	{
#pragma unroll
		for (int j = 0; j < A; j++)
			if (has(t, u) && t + A * u + B * j < n)
				act(t + A * u + B * j, j);
	}

	/* twiddles: the roots of this half; set(u, v) gives the values of set u. */
	template <class EXCHANGE, class SET>
	static __device__ __forceinline__ void in(float2 (&w)[B], const float2 *twiddles, int half,
						  int t, EXCHANGE exchange, SET set)
	{
		/* The asm keeps the compiler from holding roots in registers for later. */
		asm volatile("" : "+r"(half));
#pragma unroll
		for (int u = 0; u < P; u++) {
			float2 v[A];

			if (u > 0 && !has(t, u)) /* threads without set u often fill a whole warp */
				continue;
			set(u, v);
			rotate_all<-1, 1>(v, half);
			bs_fft<A, -1>::run(v);
#pragma unroll
			for (int k = 0; k < A; k++)
				if (has(t, u))
					exchange.at(k, t + A * u) =
						bs_cmul(v[k], twiddles[k * (B + 1) + t + A * u]);
		}
		exchange.sync();
#pragma unroll
		for (int s = 0; s < B; s++)
			w[s] = exchange.at(t, s);
		bs_fft<B, -1>::run(w);
	}

	/*
	 * The way back, and the sum of both halves, whose lanes lie `apart` from each other. Each
	 * half hands every other point below n to store(n, value, u, j).
	 */
	template <class EXCHANGE, class STORE>
	static __device__ __forceinline__ void out(float2 (&w)[B], const float2 *twiddles, int n,
						   int half, int apart, int t, EXCHANGE exchange,
						   STORE store)
	{
		asm volatile("" : "+r"(half));
		bs_fft<B, 1>::run(w);
#pragma unroll
		for (int s = 0; s < B; s++)
			exchange.at(t, s) = bs_cmul_conj(w[s], twiddles[t * (B + 1) + s]);
		exchange.sync();
#pragma unroll
		for (int u = 0; u < P; u++) {
			float2 v[A];

			if (u == 0 || has(t, u)) {
#pragma unroll
				for (int k = 0; k < A; k++)
					v[k] = exchange.at(k, has(t, u) ? t + A * u : B - 1);
				bs_fft<A, 1>::run(v);
				rotate_all<1, 1>(v, half);
			}
			sum_halves(v, n, half, apart, t, u, store);
		}
	}

	template <class STORE>
	static __device__ __forceinline__ void sum_halves(const float2 (&v)[A], int n, int half,
							  int apart, int t, int u, STORE store)
	{
#pragma unroll
		for (int j = 0; j < A; j += 2) {
			const int at = t + A * u + B * (j + half);
			const float2 give = half == 0 ? v[j + 1] : v[j];
			const float2 keep = half == 0 ? v[j] : v[j + 1];
			float2 other;

			other.x = __shfl_xor_sync(0xffffffffu, give.x, apart);
			other.y = __shfl_xor_sync(0xffffffffu, give.y, apart);
			if (has(t, u) && at < n)
				store(at, half == 0 ? bs_cadd(keep, other) : bs_cadd(other, keep),
				      u, j);
		}
	}

	/* Calls act(n, u, j) for each value that out has stored. */
	template <class DO>
	static __device__ __forceinline__ void each_kept(int n, int half, int t, DO act)
	{
#pragma unroll
		for (int u = 0; u < P; u++)
#pragma unroll
			for (int j = 0; j < A; j += 2)
				if (has(t, u) && t + A * u + B * (j + half) < n)
					act(t + A * u + B * (j + half), u, j);
	}
};

/* Exchange of a half line of rows between A lanes of one warp. */
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
	/* blocks of a multiprocessor, which the registers must allow */
	static const int blocks = 2;
	static const int bytes =
		(halves<A, B>::TABLE + LINES * 2 * A * (B + 1)) * (int)sizeof(float2);
};

/*
 * Place of a thread among the rows of a block: lane t of one half of a line. mid: the block's
 * shared memory.
 */
template <int A, int B> struct row_lane {
	int t, half, line;
	const float2 *twiddles; /* twiddles of the thread's half */
	row_exchange<B> exchange;

	__device__ __forceinline__ row_lane(float2 *mid)
	{
		t = (int)threadIdx.x % A;
		half = (int)threadIdx.x / A % 2;
		line = (int)threadIdx.x / (2 * A);
		twiddles = mid + half * (halves<A, B>::TABLE / 2);
		exchange.own = mid + halves<A, B>::TABLE + threadIdx.x / A * (A * (B + 1));
	}

	/* Returns the frequencies of its half of line y, of an image or a coil. */
	__device__ __forceinline__ float2 *row(const struct tp_flat &a, int image, int y) const
	{
		return a.rows + (((long long)image * a.y.n + y) * 2 + half) * (A * B) + t;
	}
};

/* Transforms rows of the input. blockIdx.y: number of the image or the coil. */
template <int A, int B>
static __global__ __launch_bounds__(TP_ROW_THREADS, 2) void rows_in(const struct tp_flat a)
{
	using L = halves<A, B>;
	extern __shared__ __align__(16) float2 mid[];
	const row_lane<A, B> lane(mid);
	const int y = (int)blockIdx.x * rows_of<A, B>::LINES + lane.line;
	const int image = (int)blockIdx.y;
	const int n = y < a.y.n ? a.x.n : 0;
	const long long line = (long long)y * a.x.n;
	const long long first = (long long)image * a.x.n * a.y.n + line;
	const float2 *in = a.in + (a.maps != NULL ? line : first);
	float2 all[L::P][A];
	float2 w[B];

	L::table(mid, a.x);
	bs_after_previous();
	if (flat_stopped(a, image))
		return;
#pragma unroll
	for (int u = 0; u < L::P; u++)
		L::fill_set(all[u], n, lane.t, u, [&](int at) { return in[at]; });
	L::in(w, lane.twiddles, lane.half, lane.t, lane.exchange, [&](int u, float2(&v)[A]) {
		float2 map[A];

		if (a.maps != NULL)
			L::fill_set(map, n, lane.t, u,
				    [&](int at) { return __ldg(a.maps + first + at); });
#pragma unroll
		for (int j = 0; j < A; j++)
			v[j] = a.maps != NULL ? bs_cmul(all[u][j], map[j]) : all[u][j];
	});
	if (y >= a.y.n)
		return;
	float2 *out = lane.row(a, image, y);

#pragma unroll
	for (int k = 0; k < B; k++)
		out[A * k] = w[k];
}

template <int A, int B>
static __global__ __launch_bounds__(TP_ROW_THREADS) void rows_out(const struct tp_flat a)
{
	using L = halves<A, B>;
	extern __shared__ __align__(16) float2 mid[];
	const row_lane<A, B> lane(mid);
	const int y = (int)blockIdx.x * rows_of<A, B>::LINES + lane.line;
	const int image = (int)blockIdx.y;
	const int n = y < a.y.n ? a.x.n : 0;
	const long long line = ((long long)image * a.y.n + y) * a.x.n;
	const float2 *in = lane.row(a, image, y);
	float2 w[B];

	L::table(mid, a.x);
	bs_after_previous();
	if (flat_stopped(a, image))
		return;
#pragma unroll
	for (int k = 0; k < B; k++)
		w[k] = n > 0 ? in[A * k] : make_float2(0.0f, 0.0f);
	L::out(w, lane.twiddles, n, lane.half, A, lane.t, lane.exchange,
	       [&](int at, float2 value, int, int) {
		       if (a.maps != NULL)
			       value = bs_cmul_conj(value, __ldg(a.maps + line + at));
		       a.out[line + at] = value;
	       });
}

/*
 * The exchange of the halves of TP_COLUMNS columns, which lie side by side: the whole block takes
 * part.
 */
template <int B> struct column_exchange {
	float2 *own; /* place of the thread's half and column */

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
	/*
	 * Eight values of padding: the two halves of a column, read together, lie in different
	 * banks.
	 */
	static const int HALF = A * B * TP_COLUMNS + 8;
	/* The spectrum is copied to shared memory where that has room, to save registers. */
	static const bool AHEAD = A * B <= 448;
	static const int bytes = (halves<A, B>::TABLE + 2 * HALF) * (int)sizeof(float2) +
				 (AHEAD ? B * THREADS : 0) * (int)sizeof(float);
	/* Blocks of a multiprocessor, which the registers must allow. */
	static const int blocks = (AHEAD ? 3 : 2) * 256 / THREADS;
};

/* Part of the spectrum that a thread owns: in registers, or on its way to shared memory. */
template <int A, int B, bool AHEAD> struct column_spectrum {
	float own[B];

	__device__ __forceinline__ column_spectrum(const float *spectra, int step, float *)
	{
#pragma unroll
		for (int k = 0; k < B; k++)
			own[k] = __ldg(spectra + k * step);
	}
	__device__ __forceinline__ void wait(void) const
	{
	}
	__device__ __forceinline__ float at(int k) const
	{
		return own[k];
	}
};

template <int A, int B> struct column_spectrum<A, B, true> {
	const float *own;

	__device__ __forceinline__ column_spectrum(const float *spectra, int step, float *to)
	{
		own = to + threadIdx.x;
#pragma unroll
		for (int k = 0; k < B; k++)
			asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
					     (unsigned)__cvta_generic_to_shared(
						     own + k * columns_of<A, B>::THREADS)),
				     "l"(spectra + k * step)
				     : "memory");
	}
	__device__ __forceinline__ void wait(void) const
	{
		asm volatile("cp.async.wait_all;" ::: "memory");
	}
	__device__ __forceinline__ float at(int k) const
	{
		return own[k * columns_of<A, B>::THREADS];
	}
};

/* Multiplies w by the spectrum. Returns the sum of spectrum |w|^2. */
template <int B, class SPECTRUM>
static __device__ __forceinline__ float multiply(float2 (&w)[B], const SPECTRUM &spectrum)
{
	float sum = 0.0f;

	spectrum.wait();
#pragma unroll
	for (int k = 0; k < B; k++) {
		const float s = spectrum.at(k);
		const float2 v = make_float2(w[k].x * s, w[k].y * s);

		sum = fmaf(v.x, w[k].x, fmaf(v.y, w[k].y, sum));
		w[k] = v;
	}
	return sum;
}

/* Writes the sum over a block of columns; each thread gives its part. */
static __device__ __forceinline__ void put_energy(float *energy, float sum)
{
	for (int n = 16; n > 0; n >>= 1)
		sum += __shfl_down_sync(0xffffffffu, sum, n);
	if (threadIdx.x % 32 == 0)
		energy[threadIdx.x / 32] = sum;
}

static __device__ __forceinline__ void keep_energy(const struct tp_flat &a, const float *energy)
{
	const int image = (int)blockIdx.y;
	double sum = 0.0;

	if (threadIdx.x != 0)
		return;
	for (int k = 0; k < (int)blockDim.x / 32; k++)
		sum += (double)energy[k];
	a.energy[image * gridDim.x + blockIdx.x] = sum;
	if (blockIdx.x == 0 && (a.maps == NULL || image == 0))
		a.solves[image].iteration++;
}

/*
 * Works in place. width: points of a row, both halves; blockIdx.y: the image or the coil, of
 * operator blockIdx.z.
 */
template <int A, int B>
static __global__ __launch_bounds__(columns_of<A, B>::THREADS,
				    columns_of<A, B>::blocks) void columns(const struct tp_flat a,
									   int width)
{
	using L = halves<A, B>;
	using C = columns_of<A, B>;
	extern __shared__ __align__(16) float2 mid[];
	__shared__ float energy[C::THREADS / 32];
	const int c = (int)threadIdx.x % TP_COLUMNS;
	const int half = (int)threadIdx.x / TP_COLUMNS % 2;
	const int t = (int)threadIdx.x / (2 * TP_COLUMNS);
	const int column = (int)blockIdx.x * TP_COLUMNS + c;
	const float2 *twiddles = mid + half * (L::TABLE / 2);
	const column_exchange<B> exchange = { mid + L::TABLE + half * C::HALF + c };
	const float *spectra =
		a.q + ((long long)(2 * blockIdx.z + half) * L::H + t) * width + column;
	const column_spectrum<A, B, C::AHEAD> spectrum(spectra, A * width,
						       (float *)(mid + L::TABLE + 2 * C::HALF));
	float2 *data =
		a.rows + (long long)(blockIdx.z * gridDim.y + blockIdx.y) * a.y.n * width + column;
	const auto load = [&](int at) { return data[at * width]; };
	float2 begun[A];
	float2 w[B];

	L::table(mid, a.y);
	bs_after_previous();
	L::fill_set(begun, a.y.n, t, 0, load);
	if (flat_stopped(a, (int)blockIdx.y)) {
		spectrum.wait(); /* no copy may be in progress when a block ends */
		return;
	}
	L::in(w, twiddles, half, t, exchange, [&](int u, float2(&v)[A]) {
		if (u > 0)
			L::fill_set(v, a.y.n, t, u, load);
#pragma unroll
		for (int j = 0; u == 0 && j < A; j++)
			v[j] = begun[j];
	});
	const float sum = multiply(w, spectrum);

	if (a.energy != NULL)
		put_energy(energy, sum);
	exchange.sync();
	if (a.energy != NULL)
		keep_energy(a, energy);
	/* The asm makes the compiler compute offsets anew instead of keeping them in registers. */
	asm volatile("" : "+r"(width));
	L::out(w, twiddles, a.y.n, half, TP_COLUMNS, t, exchange,
	       [&](int at, float2 value, int, int) { data[at * width] = value; });
}

#endif
