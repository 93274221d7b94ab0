/* gpu/toeplitz.cu - the Toeplitz operator as fused, pruned FFT passes; see toeplitz_cuda.h */
#include "gpu/toeplitz_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "core/protocol.h"
#include "gpu/cudacheck.h"
#include "gpu/dft.cuh"
#include "gpu/launch.cuh"
#include "gpu/dft.cuh"

#define TP_THREADS 256
#ifndef TP_MIDDLE_BLOCKS
#define TP_MIDDLE_BLOCKS 3
#endif

/*
 * One line of G = A B points: n = t + B j and k = k1 + A k2. A threads share it. Going in, thread t
 * transforms its A values for each t it has (t, t + A, ...), turns them, exchanges, and thread k1
 * transforms B values: it ends with X[k1 + A k2]. Going back is the same in reverse, and the lower
 * half of the result alone is made.
 */
struct tp_pass {
	const float2 *in;
	float2 *out;
	const float *q;        /* middle pass: spectrum, at k * line + column */
	const float2 *maps;    /* x passes of sense: [coil][z][y][x] */
	const float2 *turns;   /* exp(-i2pi t k1 / G), [k1][t], then again [t][k1] */
	int n;                 /* voxels of the axis */
	int columns;           /* strided passes: contiguous values beside each other */
	long long in_line, out_line;   /* from one point of a line to the next */
	long long in_outer, out_outer; /* from one set of columns to the next; x passes: line to line */
	long long in_coil, out_coil;   /* from one coil to the next; 0: all read the same */
	int lines;             /* x passes */
	int coils;             /* sense's last pass: sums over them */
	struct bs_toeplitz_step step; /* the first pass of a step */
	const int *stop;              /* nothing is done where this is set; NULL: always */
};

/* What the first pass along x reads. */
enum { TP_PLAIN, TP_SENSE, TP_STEP };

static __device__ __forceinline__ bool stopped(const struct tp_pass &a)
{
	return a.stop != NULL && *a.stop != 0;
}

/* p = z + beta p of one voxel, written back; z the residual, preconditioned. */
static __device__ __forceinline__ float2 next_direction(const struct bs_toeplitz_step &s,
							long long at, float beta)
{
	const float2 old = ((const float2 *)s.direction)[at];
	float2 z = ((const float2 *)s.residual)[at];

	if (s.inverse != NULL) {
		const float w = __ldg(s.inverse + at);

		z = make_float2(z.x * w, z.y * w);
	}
	z = make_float2(fmaf(beta, old.x, z.x), fmaf(beta, old.y, z.y));
	((float2 *)s.direction)[at] = z;
	return z;
}

/* Thread t's P sets of A values (zero from n on), transformed and turned, into v[u][k1]. */
template <int A, int B> struct line_in {
	static const int P = B / A;

	template <class LOAD>
	static __device__ __forceinline__ void start(float2 (&v)[P][A], int t, int n,
						     const float2 *turns, LOAD load)
	{
#pragma unroll
		for (int u = 0; u < P; u++)
#pragma unroll
			for (int j = 0; j < A / 2; j++) {
				const int at = t + A * u + B * j;

				v[u][j] = at < n ? load(at) : make_float2(0.0f, 0.0f);
			}
#pragma unroll
		for (int u = 0; u < P; u++) {
			bs_dft<A, -1>::template run<true>(v[u]);
#pragma unroll
			for (int k = 1; k < A; k++)
				v[u][k] = bs_mul(v[u][k], __ldg(turns + k * B + t + A * u));
		}
	}
};

/* Lines along x: a warp has 32 / A of them, so the exchange needs no other warp. */
template <int A, int B, int MODE>
static __global__ __launch_bounds__(TP_THREADS) void x_in(const struct tp_pass a)
{
	extern __shared__ float2 exchange[];
	const int t = (int)threadIdx.x % A;
	const int line = (int)(blockIdx.x * (TP_THREADS / A) + threadIdx.x / A);
	const bool mine = line < a.lines;
	const float2 *in = a.in + blockIdx.y * a.in_coil + line * a.in_outer;
	const float2 *map = a.maps + (long long)blockIdx.y * a.lines * a.n + (long long)line * a.n;
	float2 *out = a.out + blockIdx.y * a.out_coil + line * a.out_outer;
	float2 *mid = exchange + threadIdx.x / A * (A * (B + 1));
	float2 v[B / A][A];
	float2 w[B];
	float beta = 0.0f;

	bs_after_previous();
	if (stopped(a))
		return;
	if (MODE == TP_STEP)
		beta = *a.step.beta;
	line_in<A, B>::start(v, t, mine ? a.n : 0, a.turns, [&](int at) {
		return MODE == TP_STEP ? next_direction(a.step, (long long)line * a.n + at, beta) :
		       MODE == TP_SENSE ? bs_mul(in[at], __ldg(map + at)) : in[at];
	});
#pragma unroll
	for (int u = 0; u < B / A; u++)
#pragma unroll
		for (int k = 0; k < A; k++)
			mid[k * (B + 1) + t + A * u] = v[u][k];
	__syncwarp();
#pragma unroll
	for (int s = 0; s < B; s++)
		w[s] = mid[t * (B + 1) + s];
	bs_dft<B, -1>::run(w);
	if (mine) {
#pragma unroll
		for (int k = 0; k < B; k++)
			out[t + A * k] = w[k];
	}
}

/* The way back from thread k1's B values: exchanged and transformed, v[u][j] at n = t + A u + B j. */
template <int A, int B>
static __device__ __forceinline__ void turn_back(float2 (&w)[B], int k1, const float2 *turns)
{
	bs_dft<B, 1>::run(w);
#pragma unroll
	for (int s = 0; s < B; s++)
		w[s] = bs_mul_conj(w[s], __ldg(turns + A * B + s * A + k1));
}

template <int A, int B>
static __device__ __forceinline__ void x_back(float2 (&v)[B / A][A], const float2 *in, float2 *mid,
					      int t, bool mine, const float2 *turns)
{
	float2 w[B];

#pragma unroll
	for (int k = 0; k < B; k++)
		w[k] = mine ? in[t + A * k] : make_float2(0.0f, 0.0f);
	turn_back<A, B>(w, t, turns);
	__syncwarp();
#pragma unroll
	for (int s = 0; s < B; s++)
		mid[t * (B + 1) + s] = w[s];
	__syncwarp();
#pragma unroll
	for (int u = 0; u < B / A; u++) {
#pragma unroll
		for (int k = 0; k < A; k++)
			v[u][k] = mid[k * (B + 1) + t + A * u];
		bs_dft<A, 1>::run(v[u]);
	}
}

template <int A, int B, bool SENSE>
static __global__ __launch_bounds__(TP_THREADS) void x_out(const struct tp_pass a)
{
	extern __shared__ float2 exchange[];
	const int t = (int)threadIdx.x % A;
	const int line = (int)(blockIdx.x * (TP_THREADS / A) + threadIdx.x / A);
	const bool mine = line < a.lines;
	const float2 *in = a.in + blockIdx.y * a.in_coil + line * a.in_outer;
	float2 *out = a.out + blockIdx.y * a.out_coil + line * a.out_outer;
	float2 *mid = exchange + threadIdx.x / A * (A * (B + 1));
	float2 sum[B / A][A / 2] = {};

	bs_after_previous();
	if (stopped(a))
		return;
#pragma unroll 1
	for (int c = 0; c < (SENSE ? a.coils : 1); c++) {
		const float2 *map = a.maps + ((long long)c * a.lines + line) * a.n;
		float2 v[B / A][A];

		x_back<A, B>(v, in + c * a.in_coil, mid, t, mine, a.turns);
#pragma unroll
		for (int u = 0; u < B / A; u++)
#pragma unroll
			for (int j = 0; j < A / 2; j++) {
				const int at = t + A * u + B * j;

				if (!SENSE)
					sum[u][j] = v[u][j];
				else if (mine && at < a.n)
					sum[u][j] = bs_add(sum[u][j],
							   bs_mul_conj(v[u][j], __ldg(map + at)));
			}
	}
#pragma unroll
	for (int u = 0; u < B / A; u++)
#pragma unroll
		for (int j = 0; j < A / 2; j++) {
			const int at = t + A * u + B * j;

			if (mine && at < a.n)
				out[at] = sum[u][j];
		}
}

/* Strided lines: COLS columns beside each other share a block, so every access is a whole sector. */
template <int A, int B> struct tile {
	static const int cols = TP_THREADS / A, bytes = A * B * cols * (int)sizeof(float2);
};

/* between: what the caller wants under way while the exchange is waited for. */
template <int A, int B, class BETWEEN>
static __device__ __forceinline__ void strided_in(float2 (&w)[B], const float2 *in, long long line,
						  int n, float2 *exchange, int t, int c,
						  const float2 *turns, BETWEEN between)
{
	const int C = tile<A, B>::cols;
	float2 v[B / A][A];

	line_in<A, B>::start(v, t, n, turns, [&](int at) { return in[at * line]; });
#pragma unroll
	for (int u = 0; u < B / A; u++)
#pragma unroll
		for (int k = 0; k < A; k++)
			exchange[(k * B + t + A * u) * C + c] = v[u][k];
	between();
	__syncthreads();
#pragma unroll
	for (int s = 0; s < B; s++)
		w[s] = exchange[(t * B + s) * C + c];
	bs_dft<B, -1>::run(w);
}

template <int A, int B>
static __device__ __forceinline__ void strided_out(float2 (&w)[B], float2 *out, long long line, int n,
						   float2 *exchange, int t, int c,
						   const float2 *turns)
{
	const int C = tile<A, B>::cols;

	turn_back<A, B>(w, t, turns);
#pragma unroll
	for (int s = 0; s < B; s++)
		exchange[(t * B + s) * C + c] = w[s];
	__syncthreads();
#pragma unroll
	for (int u = 0; u < B / A; u++) {
		float2 v[A];

#pragma unroll
		for (int k = 0; k < A; k++)
			v[k] = exchange[(k * B + t + A * u) * C + c];
		bs_dft<A, 1>::run(v);
#pragma unroll
		for (int j = 0; j < A / 2; j++) {
			const int at = t + A * u + B * j;

			if (at < n)
				out[at * line] = v[j];
		}
	}
}

template <int A, int B>
static __global__ __launch_bounds__(TP_THREADS) void y_in(const struct tp_pass a)
{
	extern __shared__ float2 exchange[];
	const int C = tile<A, B>::cols;
	const int t = (int)threadIdx.x / C;
	const int c = (int)threadIdx.x % C;
	const long long column = (long long)blockIdx.x * C + c;
	const float2 *in = a.in + blockIdx.z * a.in_coil + blockIdx.y * a.in_outer + column;
	float2 *out = a.out + blockIdx.z * a.out_coil + blockIdx.y * a.out_outer + column;
	float2 w[B];

	bs_after_previous();
	if (stopped(a))
		return;
	strided_in<A, B>(w, in, a.in_line, a.n, exchange, t, c, a.turns, []() {});
#pragma unroll
	for (int k = 0; k < B; k++)
		out[(t + A * k) * a.out_line] = w[k];
}

template <int A, int B>
static __global__ __launch_bounds__(TP_THREADS) void y_out(const struct tp_pass a)
{
	extern __shared__ float2 exchange[];
	const int C = tile<A, B>::cols;
	const int t = (int)threadIdx.x / C;
	const int c = (int)threadIdx.x % C;
	const long long column = (long long)blockIdx.x * C + c;
	const float2 *in = a.in + blockIdx.z * a.in_coil + blockIdx.y * a.in_outer + column;
	float2 *out = a.out + blockIdx.z * a.out_coil + blockIdx.y * a.out_outer + column;
	float2 w[B];

	bs_after_previous();
	if (stopped(a))
		return;
#pragma unroll
	for (int k = 0; k < B; k++)
		w[k] = in[(t + A * k) * a.in_line];
	strided_out<A, B>(w, out, a.out_line, a.n, exchange, t, c, a.turns);
}

/* In place. Coils are neighbors in the grid, so that they find Q's spectrum in the cache. */
template <int A, int B>
static __global__ __launch_bounds__(TP_THREADS, A == 16 && B == 16 ? TP_MIDDLE_BLOCKS : 1) void middle(const struct tp_pass a)
{
	extern __shared__ float2 exchange[];
	const int C = tile<A, B>::cols;
	const int t = (int)threadIdx.x / C;
	const int c = (int)threadIdx.x % C;
	const long long column = (long long)blockIdx.y * C + c;
	float2 *data = a.out + blockIdx.x * a.out_coil + column;
	const float *q = a.q + column;
	float spectrum[B];
	float2 w[B];

	bs_after_previous();
	if (stopped(a))
		return;
	strided_in<A, B>(w, data, a.out_line, a.n, exchange, t, c, a.turns, [&]() {
#pragma unroll
		for (int k = 0; k < B; k++)
			spectrum[k] = __ldcs(q + (t + A * k) * a.out_line);
	});
#pragma unroll
	for (int k = 0; k < B; k++)
		w[k] = make_float2(w[k].x * spectrum[k], w[k].y * spectrum[k]);
	__syncthreads();
	strided_out<A, B>(w, data, a.out_line, a.n, exchange, t, c, a.turns);
}

typedef void (*pass_kernel)(const struct tp_pass);

enum { TP_X_IN, TP_X_IN_SENSE, TP_X_IN_STEP, TP_X_OUT, TP_X_OUT_SENSE, TP_Y_IN, TP_Y_OUT, TP_MIDDLE, TP_KINDS };

#define TP_KERNELS(A, B)                                                                           \
	{ A, B,                                                                                    \
	  { x_in<A, B, TP_PLAIN>, x_in<A, B, TP_SENSE>, x_in<A, B, TP_STEP>, x_out<A, B, false>, x_out<A, B, true>,            \
	    y_in<A, B>, y_out<A, B>, middle<A, B> } }

static const struct tp_size {
	int a, b;
	pass_kernel kernel[TP_KINDS];
} sizes[] = {
	TP_KERNELS(8, 8),   TP_KERNELS(8, 16),  TP_KERNELS(16, 16),
	TP_KERNELS(16, 32), TP_KERNELS(32, 32),
};

struct bs_toeplitz_cuda {
	struct bs_toeplitz_spec spec;
	const struct tp_size *size[3];
	int grid[3];         /* padded; 1 beyond dims */
	float2 *turns[3];
	float *spectrum;     /* [gz][gy][gx] */
	float2 *first;       /* 3D: [coil][z Nz][y Ny][gx] */
	float2 *last;        /* 3D: [coil][z Nz][gy][gx]; 2D: [coil][y Ny][gx] */
	bool close;          /* launches may overlap (launch.cuh) */
	const int *stop;     /* of the call under way */
};

static int shared_of(const struct tp_size *s, int kind)
{
	const int per = TP_THREADS / s->a;

	return kind <= TP_X_OUT_SENSE ? per * s->a * (s->b + 1) * (int)sizeof(float2) :
					s->a * s->b * per * (int)sizeof(float2);
}

static int lay_out(struct bs_toeplitz_cuda *p, const struct bs_toeplitz_spec *spec,
		   struct bs_fail *why)
{
	if ((spec->dims != 2 && spec->dims != 3) || spec->coils < 1 || spec->coils > BS_COILS_MAX)
		return bs_fail(why, BS_ERR_SIZE, "Toeplitz operator: %u dimensions, %u coils",
			       spec->dims, spec->coils);
	int major = 0;

	memset(p, 0, sizeof(*p));
	p->spec = *spec;
	BS_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), why);
	p->close = major >= 9;
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t n = spec->matrix[i];

		p->grid[i] = 1;
		if (i >= spec->dims) {
			if (n != 1)
				return bs_fail(why, BS_ERR_SIZE, "Toeplitz operator: matrix[%u] is %u",
					       i, n);
			continue;
		}
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]) && p->size[i] == NULL; s++)
			if (n >= 1 && (uint32_t)(sizes[s].a * sizes[s].b) + 1 >= 2 * n)
				p->size[i] = &sizes[s];
		if (p->size[i] == NULL)
			return bs_fail(why, BS_ERR_SIZE, "Toeplitz operator: matrix[%u] is %u", i, n);
		p->grid[i] = p->size[i]->a * p->size[i]->b;
	}
	return 0;
}

/* Complex values of the two intermediate arrays, of one coil, and of the spectrum. */
static void array_sizes(const struct bs_toeplitz_cuda *p, size_t *first, size_t *last, size_t *all)
{
	const uint32_t *n = p->spec.matrix;

	*all = (size_t)p->grid[0] * p->grid[1] * p->grid[2];
	if (p->spec.dims == 3) {
		*first = (size_t)p->grid[0] * n[1] * n[2];
		*last = (size_t)p->grid[0] * p->grid[1] * n[2];
	} else {
		*first = 0;
		*last = (size_t)p->grid[0] * n[1];
	}
}

static uint64_t need_of(const struct bs_toeplitz_cuda *p)
{
	size_t first;
	size_t last;
	size_t all;
	uint64_t bytes = 0;

	array_sizes(p, &first, &last, &all);
	for (int i = 0; i < 3; i++)
		bytes += bs_devmem_round((uint64_t)p->grid[i] * 2 * sizeof(float2));
	return bytes + bs_devmem_round(all * sizeof(float)) +
	       bs_devmem_round(first * p->spec.coils * sizeof(float2)) +
	       bs_devmem_round(last * p->spec.coils * sizeof(float2));
}

int bs_toeplitz_cuda_need(const struct bs_toeplitz_spec *spec, uint64_t *bytes, struct bs_fail *why)
{
	struct bs_toeplitz_cuda p;
	int err = lay_out(&p, spec, why);

	if (err == 0)
		*bytes = need_of(&p);
	return err;
}

uint64_t bs_toeplitz_cuda_bytes(const struct bs_toeplitz_cuda *p, uint32_t coils)
{
	size_t first;
	size_t last;
	size_t all;
	const uint64_t voxels = (uint64_t)p->spec.matrix[0] * p->spec.matrix[1] * p->spec.matrix[2];

	array_sizes(p, &first, &last, &all);
	return coils * sizeof(float2) * (2 * voxels + 4 * (uint64_t)first + 4 * (uint64_t)last) +
	       all * sizeof(float);
}

static __global__ void make_turns(float2 *turns, int a, int b)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (i < a * b) {
		double s;
		double c;

		sincospi(-2.0 * (double)(i / b) * (double)(i % b) / (double)(a * b), &s, &c);
		turns[i] = make_float2((float)c, (float)s);
		turns[a * b + i % b * a + i / b] = turns[i];
	}
}

/* q (half of the offsets, q.h) onto the padded grid, offset n at n mod G, zero elsewhere. */
static __global__ void spread_q(float2 *grid, const float2 *q, int3 g, int3 n)
{
	const int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	const int y = (int)blockIdx.y;
	const int z = (int)blockIdx.z;
	int ox = x <= g.x / 2 ? x : x - g.x;
	int oy = y <= g.y / 2 ? y : y - g.y;
	int oz = z <= g.z / 2 ? z : z - g.z;
	const int rows = g.y > 1 ? 2 * n.y : 1;
	const int planes = g.z > 1 ? 2 * n.z : 1;
	float2 v = make_float2(0.0f, 0.0f);

	if (x >= g.x)
		return;
	if (abs(ox) < n.x && abs(oy) < n.y && abs(oz) < n.z) {
		const bool mirror = ox < 0;

		if (mirror) {
			ox = -ox;
			oy = -oy;
			oz = -oz;
		}
		oy += oy < 0 ? rows : 0;
		oz += oz < 0 ? planes : 0;
		v = q[((long long)oz * rows + oy) * n.x + ox];
		if (mirror)
			v.y = -v.y;
	}
	grid[((long long)z * g.y + y) * g.x + x] = v;
}

static __global__ void keep_real(float *out, const float2 *in, size_t count, float scale)
{
	const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		out[i] = in[i].x * scale;
}

/* The spectrum by cuFFT, in temporary memory: only here, at arm. */
static int transform_q(struct bs_toeplitz_cuda *p, const float *q, float2 *grid, void *work,
		       cufftHandle fft, struct bs_fail *why)
{
	const uint32_t *n = p->spec.matrix;
	const size_t all = (size_t)p->grid[0] * p->grid[1] * p->grid[2];
	const dim3 blocks((unsigned)(p->grid[0] + 127) / 128, (unsigned)p->grid[1], (unsigned)p->grid[2]);

	spread_q<<<blocks, 128>>>(grid, (const float2 *)q, make_int3(p->grid[0], p->grid[1], p->grid[2]),
				  make_int3((int)n[0], (int)n[1], (int)n[2]));
	BS_CUDA(cudaGetLastError(), why);
	BS_CUFFT(cufftSetWorkArea(fft, work), why);
	BS_CUFFT(cufftExecC2C(fft, (cufftComplex *)grid, (cufftComplex *)grid, CUFFT_FORWARD), why);
	keep_real<<<(unsigned)((all + 255) / 256), 256>>>(p->spectrum, grid, all,
							  (float)(1.0 / (double)all));
	BS_CUDA(cudaGetLastError(), why);
	BS_CUDA(cudaDeviceSynchronize(), why);
	return 0;
}

static int make_spectrum(struct bs_toeplitz_cuda *p, const float *q, struct bs_fail *why)
{
	const size_t all = (size_t)p->grid[0] * p->grid[1] * p->grid[2];
	int dims[3] = { p->grid[2], p->grid[1], p->grid[0] };
	struct bs_devmem temporary;
	cufftHandle fft;
	size_t work = 0;
	int err;

	memset(&temporary, 0, sizeof(temporary));
	BS_CUFFT(cufftCreate(&fft), why);
	cufftResult r = cufftSetAutoAllocation(fft, 0);

	if (r == CUFFT_SUCCESS)
		r = cufftMakePlanMany(fft, (int)p->spec.dims, dims + 3 - p->spec.dims, NULL, 1, 0, NULL,
				      1, 0, CUFFT_C2C, 1, &work);
	err = r == CUFFT_SUCCESS ? 0 : bs_cufft_fail(why, r, "cufftMakePlanMany", __FILE__, __LINE__);
	if (err == 0)
		err = bs_devmem_open(&temporary,
				     bs_devmem_round(all * sizeof(float2)) + bs_devmem_round(work + 1),
				     "(spectrum of Q)", why);
	if (err == 0) {
		float2 *grid = (float2 *)bs_devmem_take(&temporary, all * sizeof(float2));

		err = transform_q(p, q, grid, bs_devmem_take(&temporary, work + 1), fft, why);
	}
	bs_devmem_close(&temporary);
	(void)cufftDestroy(fft);
	return err;
}

static int prepare(struct bs_toeplitz_cuda *p, struct bs_devmem *mem, struct bs_fail *why)
{
	size_t first;
	size_t last;
	size_t all;

	array_sizes(p, &first, &last, &all);
	p->spectrum = (float *)bs_devmem_take(mem, all * sizeof(float));
	p->first = (float2 *)bs_devmem_take(mem, first * p->spec.coils * sizeof(float2));
	p->last = (float2 *)bs_devmem_take(mem, last * p->spec.coils * sizeof(float2));
	for (int i = 0; i < 3; i++)
		p->turns[i] = (float2 *)bs_devmem_take(mem, (size_t)p->grid[i] * 2 * sizeof(float2));
	if (p->spectrum == NULL || p->first == NULL || p->last == NULL || p->turns[0] == NULL ||
	    p->turns[1] == NULL || p->turns[2] == NULL)
		return bs_fail(why, BS_ERR_NOMEM,
			       "Toeplitz operator: %llu bytes do not fit the device arena",
			       (unsigned long long)need_of(p));
	for (uint32_t i = 0; i < p->spec.dims; i++) {
		const struct tp_size *s = p->size[i];

		make_turns<<<(unsigned)(p->grid[i] + 127) / 128, 128>>>(p->turns[i], s->a, s->b);
		BS_CUDA(cudaGetLastError(), why);
		for (int kind = 0; kind < TP_KINDS; kind++)
			BS_CUDA(cudaFuncSetAttribute((const void *)s->kernel[kind],
						     cudaFuncAttributeMaxDynamicSharedMemorySize,
						     shared_of(s, kind)),
				why);
	}
	return 0;
}

int bs_toeplitz_cuda_plan(struct bs_toeplitz_cuda **plan, const struct bs_toeplitz_spec *spec,
			  const float *q, struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_toeplitz_cuda *p = (struct bs_toeplitz_cuda *)calloc(1, sizeof(*p));
	int err;

	*plan = NULL;
	if (p == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "Toeplitz operator: no memory for the plan");
	err = lay_out(p, spec, why);
	if (err == 0)
		err = prepare(p, mem, why);
	if (err == 0)
		err = make_spectrum(p, q, why);
	if (err != 0) {
		bs_toeplitz_cuda_close(p);
		return err;
	}
	*plan = p;
	return 0;
}

void bs_toeplitz_cuda_close(struct bs_toeplitz_cuda *plan)
{
	free(plan);
}

static int launch(const struct bs_toeplitz_cuda *p, int axis, int kind, dim3 blocks,
		  struct tp_pass *a, cudaStream_t stream, struct bs_fail *why)
{
	const struct tp_size *s = p->size[axis];

	a->turns = p->turns[axis];
	a->n = (int)p->spec.matrix[axis];
	a->stop = p->stop;
	return bs_launch(s->kernel[kind], blocks, TP_THREADS, (size_t)shared_of(s, kind), p->close,
			 stream, why, *a);
}

/* Along x: rows of voxels in `image`, rows of gx in `rows`. */
static int x_pass(const struct bs_toeplitz_cuda *p, int kind, uint32_t coils, const float2 *in,
		  float2 *out, const float *maps, const struct bs_toeplitz_step *step,
		  cudaStream_t stream, struct bs_fail *why)
{
	const uint32_t *n = p->spec.matrix;
	const bool inward = kind < TP_X_OUT;
	const bool sense = kind == TP_X_IN_SENSE || kind == TP_X_OUT_SENSE;
	const int per = TP_THREADS / p->size[0]->a;
	struct tp_pass a;

	memset(&a, 0, sizeof(a));
	a.in = in;
	a.out = out;
	a.maps = (const float2 *)maps;
	if (step != NULL)
		a.step = *step;
	a.lines = (int)(n[1] * n[2]);
	a.coils = (int)coils;
	a.in_outer = inward ? (long long)n[0] : p->grid[0];
	a.out_outer = inward ? p->grid[0] : (long long)n[0];
	a.in_coil = inward && sense ? 0 : a.in_outer * a.lines;
	a.out_coil = !inward && sense ? 0 : a.out_outer * a.lines;
	const dim3 blocks((unsigned)((a.lines + per - 1) / per), !inward && sense ? 1 : coils);

	return launch(p, 0, kind, blocks, &a, stream, why);
}

/* 3D, along y: [z][Ny][gx] to [z][gy][gx] and back. */
static int y_pass(const struct bs_toeplitz_cuda *p, int kind, uint32_t coils, cudaStream_t stream,
		  struct bs_fail *why)
{
	const uint32_t *n = p->spec.matrix;
	const long long narrow = (long long)p->grid[0] * n[1];
	const long long wide = (long long)p->grid[0] * p->grid[1];
	const bool inward = kind == TP_Y_IN;
	const int per = TP_THREADS / p->size[1]->a;
	struct tp_pass a;

	memset(&a, 0, sizeof(a));
	a.in = inward ? p->first : p->last;
	a.out = inward ? p->last : p->first;
	a.in_line = a.out_line = p->grid[0];
	a.in_outer = inward ? narrow : wide;
	a.out_outer = inward ? wide : narrow;
	a.in_coil = a.in_outer * n[2];
	a.out_coil = a.out_outer * n[2];
	return launch(p, 1, kind, dim3((unsigned)(p->grid[0] / per), n[2], coils), &a, stream, why);
}

static int middle_pass(const struct bs_toeplitz_cuda *p, uint32_t coils, cudaStream_t stream,
		       struct bs_fail *why)
{
	const int axis = (int)p->spec.dims - 1;
	const int per = TP_THREADS / p->size[axis]->a;
	const long long plane = axis == 2 ? (long long)p->grid[0] * p->grid[1] : p->grid[0];
	struct tp_pass a;

	memset(&a, 0, sizeof(a));
	a.out = p->last;
	a.q = p->spectrum;
	a.out_line = plane;
	a.out_coil = plane * p->spec.matrix[axis];
	return launch(p, axis, TP_MIDDLE, dim3(coils, (unsigned)(plane / per)), &a, stream, why);
}

static int run(struct bs_toeplitz_cuda *p, uint32_t coils, const float *maps, const float *in,
	       const struct bs_toeplitz_step *step, float *out, cudaStream_t stream,
	       struct bs_fail *why)
{
	const bool sense = maps != NULL;
	const int first = step != NULL ? TP_X_IN_STEP : sense ? TP_X_IN_SENSE : TP_X_IN;
	float2 *rows = p->spec.dims == 3 ? p->first : p->last;
	int err;

	if (coils < 1 || coils > p->spec.coils)
		return bs_fail(why, BS_ERR_SIZE, "Toeplitz operator: %u coils, planned for %u", coils,
			       p->spec.coils);
	err = x_pass(p, first, coils, (const float2 *)in, rows, maps, step, stream, why);
	if (err == 0 && p->spec.dims == 3)
		err = y_pass(p, TP_Y_IN, coils, stream, why);
	if (err == 0)
		err = middle_pass(p, coils, stream, why);
	if (err == 0 && p->spec.dims == 3)
		err = y_pass(p, TP_Y_OUT, coils, stream, why);
	if (err == 0)
		err = x_pass(p, sense ? TP_X_OUT_SENSE : TP_X_OUT, coils, rows, (float2 *)out, maps,
			     NULL, stream, why);
	return err;
}

int bs_toeplitz_cuda_apply(struct bs_toeplitz_cuda *plan, uint32_t coils, const float *in,
			   float *out, struct CUstream_st *stream, struct bs_fail *why)
{
	plan->stop = NULL;
	return run(plan, coils, NULL, in, NULL, out, stream, why);
}

int bs_toeplitz_cuda_sense(struct bs_toeplitz_cuda *plan, uint32_t coils, const float *maps,
			   const float *in, float *out, struct CUstream_st *stream,
			   struct bs_fail *why)
{
	plan->stop = NULL;
	return run(plan, coils, maps, in, NULL, out, stream, why);
}

int bs_toeplitz_cuda_step(struct bs_toeplitz_cuda *plan, const struct bs_toeplitz_step *step,
			  float *out, struct CUstream_st *stream, struct bs_fail *why)
{
	plan->stop = step->stop;
	return run(plan, 1, NULL, step->direction, step, out, stream, why);
}
