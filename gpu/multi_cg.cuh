/*
 * gpu/multi_cg.cuh - the vector work of conjugate gradients, for multi_sense.cu alone
 *
 * Every part does all of it on its own copy of the vectors. Sums run over blocks of fixed size by a
 * fixed tree and then over the blocks in order, in double: the same bits on every part.
 */
#ifndef BS_GPU_MULTI_CG_CUH
#define BS_GPU_MULTI_CG_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#define MC_THREADS 256
#define MC_EACH    4 /* voxels of a thread */
#define MC_BLOCK   (MC_THREADS * MC_EACH)

struct mc_state {
	double bb, rr; /* squared norms of b and r */
	float alpha, beta;
	int stop;
	unsigned iterations;
};

struct mc_vectors {
	float2 *x, *r, *p, *q;
	const float2 *all; /* [part][voxel]: the shares to be added */
	double *partial;   /* [block] */
	struct mc_state *state;
	uint64_t voxels;
	uint32_t parts;
	float lambda; /* of the identity; 0 where R is a matrix */
};

static __device__ __forceinline__ double mc_tree(double v)
{
	__shared__ double warp[MC_THREADS / 32];

	for (int n = 16; n > 0; n >>= 1)
		v += __shfl_down_sync(0xffffffffu, v, n);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		warp[threadIdx.x / 32] = v;
	__syncthreads();
	v = 0.0;
	for (int i = 0; i < MC_THREADS / 32; i++)
		v += warp[i];
	return v;
}

static __device__ __forceinline__ uint64_t mc_voxel(int i)
{
	return (uint64_t)blockIdx.x * MC_BLOCK + i * MC_THREADS + threadIdx.x;
}

/* The parts' shares at one voxel, in their order. */
static __device__ __forceinline__ float2 mc_shares(const mc_vectors &a, uint64_t v)
{
	float2 sum = a.all[v];

	for (uint32_t j = 1; j < a.parts; j++) {
		const float2 s = a.all[j * a.voxels + v];

		sum.x += s.x;
		sum.y += s.y;
	}
	return sum;
}

/* x = 0, r = p = b, b being the sum of the shares. */
static __global__ void __launch_bounds__(MC_THREADS) mc_begin(const mc_vectors a)
{
	double sum = 0.0;

	for (int i = 0; i < MC_EACH; i++) {
		const uint64_t v = mc_voxel(i);

		if (v >= a.voxels)
			continue;
		const float2 b = mc_shares(a, v);

		a.x[v] = make_float2(0.0f, 0.0f);
		a.r[v] = b;
		a.p[v] = b;
		sum += (double)b.x * b.x + (double)b.y * b.y;
	}
	sum = mc_tree(sum);
	if (threadIdx.x == 0)
		a.partial[blockIdx.x] = sum;
}

/* q = the sum of the shares + lambda p. */
static __global__ void __launch_bounds__(MC_THREADS) mc_combine(const mc_vectors a)
{
	for (int i = 0; i < MC_EACH; i++) {
		const uint64_t v = mc_voxel(i);

		if (v >= a.voxels)
			continue;
		const float2 s = mc_shares(a, v);
		const float2 p = a.p[v];

		a.q[v] = make_float2(fmaf(a.lambda, p.x, s.x), fmaf(a.lambda, p.y, s.y));
	}
}

/* Re p^H q. */
static __global__ void __launch_bounds__(MC_THREADS) mc_dot(const mc_vectors a)
{
	double sum = 0.0;

	for (int i = 0; i < MC_EACH; i++) {
		const uint64_t v = mc_voxel(i);

		if (v < a.voxels)
			sum += (double)a.p[v].x * a.q[v].x + (double)a.p[v].y * a.q[v].y;
	}
	sum = mc_tree(sum);
	if (threadIdx.x == 0)
		a.partial[blockIdx.x] = sum;
}

/* x += alpha p, r -= alpha q; |r|^2. */
static __global__ void __launch_bounds__(MC_THREADS) mc_update(const mc_vectors a)
{
	const float alpha = a.state->alpha;
	double sum = 0.0;

	for (int i = 0; i < MC_EACH; i++) {
		const uint64_t v = mc_voxel(i);

		if (v >= a.voxels)
			continue;
		const float2 p = a.p[v];
		const float2 q = a.q[v];
		float2 x = a.x[v];
		float2 r = a.r[v];

		x = make_float2(fmaf(alpha, p.x, x.x), fmaf(alpha, p.y, x.y));
		r = make_float2(fmaf(-alpha, q.x, r.x), fmaf(-alpha, q.y, r.y));
		a.x[v] = x;
		a.r[v] = r;
		sum += (double)r.x * r.x + (double)r.y * r.y;
	}
	sum = mc_tree(sum);
	if (threadIdx.x == 0)
		a.partial[blockIdx.x] = sum;
}

/* p = r + beta p. */
static __global__ void __launch_bounds__(MC_THREADS) mc_direction(const mc_vectors a)
{
	const float beta = a.state->beta;

	for (int i = 0; i < MC_EACH; i++) {
		const uint64_t v = mc_voxel(i);

		if (v >= a.voxels)
			continue;
		const float2 r = a.r[v];
		const float2 p = a.p[v];

		a.p[v] = make_float2(fmaf(beta, p.x, r.x), fmaf(beta, p.y, r.y));
	}
}

enum mc_scalar { MC_BEGIN, MC_ALPHA, MC_BETA };

/* One block: the partial sums in order, and what follows from them. */
static __global__ void __launch_bounds__(MC_THREADS)
	mc_scalars(const mc_vectors a, unsigned blocks, enum mc_scalar which)
{
	struct mc_state *s = a.state;
	double sum = 0.0;

	for (unsigned i = threadIdx.x; i < blocks; i += MC_THREADS)
		sum += a.partial[i];
	sum = mc_tree(sum);
	if (threadIdx.x != 0)
		return;
	if (which == MC_BEGIN) {
		s->bb = s->rr = sum;
		s->alpha = s->beta = 0.0f;
		s->iterations = 0;
		s->stop = !(sum > 0.0);
	} else if (which == MC_ALPHA) {
		if (!(sum > 0.0))
			s->stop = 1;
		s->alpha = s->stop ? 0.0f : (float)(s->rr / sum);
	} else {
		s->beta = s->stop ? 0.0f : (float)(sum / s->rr);
		if (!s->stop) {
			s->rr = sum;
			s->iterations++;
		}
		if (!(s->rr > 0.0))
			s->stop = 1;
	}
}

#endif
