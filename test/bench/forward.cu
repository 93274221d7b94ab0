/*
 * test/bench/forward.cu - the exact forward sum on the GPU's ordinary cores; see forward.h
 *
 * A thread has two samples. The image goes by in bricks of 16 x 16 voxels of a plane, kept in
 * shared memory; a brick's sum is Horner's rule along x inside Horner's rule along y, so a voxel
 * costs four multiply-adds a sample and no sine, and round-off grows over sixteen factors only: the
 * brick's own phase is reduced in double precision, and the bricks are added in double. Where there
 * are few samples the bricks are dealt out to several blocks, whose sums are added in a fixed
 * order.
 */
#include "test/bench/forward.h"

#include "core/protocol.h"
#include "gpu/device/check.h"

#define THREADS 128
#define EACH    2 /* samples of a thread */
#define SIDE    16
#define SLICES  64u /* parts that the bricks are dealt out to, at most */

struct forward {
	uint32_t n[3], dims, bricks_x, bricks_y, bricks, slices;
	uint64_t samples, voxels;
	const float *k;
	const float2 *image;
	double2 *work; /* [coil][slice][sample] */
};

static __device__ __forceinline__ float2 step(float2 s, float2 w, float2 v)
{
	return make_float2(fmaf(s.x, w.x, fmaf(-s.y, w.y, v.x)),
			   fmaf(s.x, w.y, fmaf(s.y, w.x, v.y)));
}

/* exp(-i 2 pi turn) */
static __device__ __forceinline__ float2 turned(double turn)
{
	float s;
	float c;

	turn -= rint(turn);
	sincospif((float)(-2.0 * turn), &s, &c);
	return make_float2(c, s);
}

static __device__ void load_brick(float2 (*brick)[SIDE], const forward &f, const float2 *image,
				  uint32_t x0, uint32_t y0, uint32_t z)
{
	for (uint32_t i = threadIdx.x; i < SIDE * SIDE; i += THREADS) {
		const uint32_t x = x0 + i % SIDE;
		const uint32_t y = y0 + i / SIDE;

		brick[i / SIDE][i % SIDE] =
			x < f.n[0] && y < f.n[1]
				? __ldg(image + ((uint64_t)z * f.n[1] + y) * f.n[0] + x)
				: make_float2(0.0f, 0.0f);
	}
}

static __global__ void __launch_bounds__(THREADS) sum_bricks(const __grid_constant__ forward f)
{
	__shared__ float2 brick[SIDE][SIDE];
	const uint64_t first = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * EACH;
	const uint32_t from = (uint32_t)((uint64_t)f.bricks * blockIdx.y / f.slices);
	const uint32_t to = (uint32_t)((uint64_t)f.bricks * (blockIdx.y + 1) / f.slices);
	const float2 *image = f.image + blockIdx.z * f.voxels;
	double k[EACH][3];
	float2 wx[EACH];
	float2 wy[EACH];
	double2 sum[EACH];

#pragma unroll
	for (int e = 0; e < EACH; e++) {
		const uint64_t m = first + e < f.samples ? first + e : f.samples - 1;

		for (uint32_t a = 0; a < 3; a++)
			k[e][a] = a < f.dims ? (double)__ldg(f.k + m * f.dims + a) : 0.0;
		wx[e] = turned(k[e][0]);
		wy[e] = turned(k[e][1]);
		sum[e] = make_double2(0.0, 0.0);
	}
	for (uint32_t b = from; b < to; b++) {
		const uint32_t x0 = b % f.bricks_x * SIDE;
		const uint32_t y0 = b / f.bricks_x % f.bricks_y * SIDE;
		const uint32_t z = b / f.bricks_x / f.bricks_y;
		float2 h[EACH];

		__syncthreads();
		load_brick(brick, f, image, x0, y0, z);
		__syncthreads();
#pragma unroll
		for (int e = 0; e < EACH; e++)
			h[e] = make_float2(0.0f, 0.0f);
		for (int y = SIDE - 1; y >= 0; y--) {
			float2 s[EACH];

#pragma unroll
			for (int e = 0; e < EACH; e++)
				s[e] = brick[y][SIDE - 1];
#pragma unroll
			for (int x = SIDE - 2; x >= 0; x--) {
				const float2 v = brick[y][x];

#pragma unroll
				for (int e = 0; e < EACH; e++)
					s[e] = step(s[e], wx[e], v);
			}
#pragma unroll
			for (int e = 0; e < EACH; e++)
				h[e] = step(h[e], wy[e], s[e]);
		}
#pragma unroll
		for (int e = 0; e < EACH; e++) {
			const double cx = (double)x0 - (double)(f.n[0] / 2);
			const double cy = (double)y0 - (double)(f.n[1] / 2);
			const double cz = (double)z - (double)(f.n[2] / 2);
			const float2 p = turned(k[e][0] * cx + k[e][1] * cy + k[e][2] * cz);

			sum[e].x += (double)(h[e].x * p.x - h[e].y * p.y);
			sum[e].y += (double)(h[e].x * p.y + h[e].y * p.x);
		}
	}
	double2 *out = f.work + ((uint64_t)blockIdx.z * f.slices + blockIdx.y) * f.samples;

#pragma unroll
	for (int e = 0; e < EACH; e++)
		if (first + e < f.samples)
			out[first + e] = sum[e];
}

static __global__ void __launch_bounds__(THREADS)
	add_slices(float2 *data, const double2 *work, uint64_t samples, uint32_t slices)
{
	const uint64_t m = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	const double2 *part = work + (uint64_t)blockIdx.y * slices * samples;
	double2 sum = make_double2(0.0, 0.0);

	if (m >= samples)
		return;
	for (uint32_t s = 0; s < slices; s++) {
		const double2 v = part[s * samples + m];

		sum.x += v.x;
		sum.y += v.y;
	}
	data[(uint64_t)blockIdx.y * samples + m] = make_float2((float)sum.x, (float)sum.y);
}

static uint64_t blocks_of(uint64_t samples)
{
	return (samples + THREADS * EACH - 1) / (THREADS * EACH);
}

/* So that a large GPU has several blocks a multiprocessor; the same for every device, and so the
 * same bytes. */
static uint32_t slices_of(const struct bs_exact_forward_spec *s)
{
	const uint64_t blocks = blocks_of(s->samples) * s->coils;
	const uint64_t want = (1024 + blocks - 1) / blocks;

	return want < 1 ? 1 : want > SLICES ? SLICES : (uint32_t)want;
}

uint64_t bs_exact_forward_bytes(const struct bs_exact_forward_spec *s)
{
	return (uint64_t)slices_of(s) * s->samples * s->coils * sizeof(double2);
}

int bs_exact_cuda_forward(const struct bs_exact_forward_spec *s, const float *k, const float *image,
			  float *data, void *work, struct CUstream_st *stream, struct bs_fail *why)
{
	forward f;

	if ((s->dims != 2 && s->dims != 3) || s->coils < 1 || s->coils > BS_COILS_MAX ||
	    s->samples < 1 || s->samples > UINT64_C(1) << 36)
		return bs_fail(why, BS_ERR_SIZE,
			       "exact forward: %u dimensions, %u coils, %llu samples", s->dims,
			       s->coils, (unsigned long long)s->samples);
	for (uint32_t a = 0; a < 3; a++) {
		if (s->matrix[a] < 1 || s->matrix[a] > BS_AXIS_MAX ||
		    (a >= s->dims && s->matrix[a] != 1))
			return bs_fail(why, BS_ERR_SIZE, "exact forward: matrix[%u] is %u", a,
				       s->matrix[a]);
		f.n[a] = s->matrix[a];
	}
	f.dims = s->dims;
	f.bricks_x = (f.n[0] + SIDE - 1) / SIDE;
	f.bricks_y = (f.n[1] + SIDE - 1) / SIDE;
	f.bricks = f.bricks_x * f.bricks_y * f.n[2];
	f.slices = slices_of(s);
	f.samples = s->samples;
	f.voxels = (uint64_t)f.n[0] * f.n[1] * f.n[2];
	f.k = k;
	f.image = (const float2 *)image;
	f.work = (double2 *)work;
	sum_bricks<<<dim3((unsigned)blocks_of(s->samples), f.slices, s->coils), THREADS, 0,
		     stream>>>(f);
	BS_CUDA(cudaGetLastError(), why);
	add_slices<<<dim3((unsigned)((s->samples + THREADS - 1) / THREADS), s->coils), THREADS, 0,
		     stream>>>((float2 *)data, f.work, s->samples, f.slices);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
