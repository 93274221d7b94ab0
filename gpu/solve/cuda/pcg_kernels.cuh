/* gpu/solve/cuda/pcg_kernels.cuh - the kernels of pcg.cu, conjugate gradients; see pcg_cuda.h */
#ifndef BS_GPU_SOLVE_CUDA_PCG_KERNELS_CUH
#define BS_GPU_SOLVE_CUDA_PCG_KERNELS_CUH

#include "gpu/solve/cuda/csr_row.cuh"
#include "gpu/solve/cuda/sums.cuh"
#include "gpu/device/launch.cuh"
#include "gpu/solve/pcg_cuda.h"
#include "gpu/toeplitz/cuda/addends.cuh"
#include "gpu/toeplitz/cuda/cg_state.h"

#define CG_THREADS SUM_THREADS
#define CG_ROWS    4 /* most voxels of a thread */

/* The vectors of all images, [image][voxel]. blockIdx.y is the image of a block. */
struct cg_vectors {
	const float2 *b;
	float2 *x, *r, *p, *q;
	const float *inverse;
	/* M^-1 r of the circulant preconditioner; NULL: inverse times r (Jacobi), or r itself */
	float2 *z;
	double *partial; /* sums of blocks, [image][2][blocks] */
	double *history; /* residuals [image][made] */
	struct bs_cg_state *state;
	/* [part][voxel]: their sum is A p without the constraint; NULL: there are none */
	const float2 *addends;
	uint64_t voxels;
	/* voxels of a thread; number of addends; most iterations plus one */
	unsigned rows, parts, made;
	float mu;
	double tolerance;
};

/* The vectors of a block's own image. It waits for the kernels before this one. */
static __device__ __forceinline__ struct cg_vectors own(struct cg_vectors a)
{
	const uint64_t at = blockIdx.y * a.voxels;

	a.state += blockIdx.y;
	a.b += at;
	a.x += at;
	a.r += at;
	a.p += at;
	a.q += at;
	a.z += a.z != NULL ? at : 0;
	a.partial += blockIdx.y * 2 * gridDim.x;
	a.history += blockIdx.y * a.made;
	return a;
}

/* The first of a thread's voxels, which are CG_THREADS apart. */
static __device__ __forceinline__ uint64_t first_of(const struct cg_vectors &a)
{
	return (uint64_t)blockIdx.x * (CG_THREADS * a.rows) + threadIdx.x;
}

static __device__ __forceinline__ bool has(const struct cg_vectors &a, unsigned i, uint64_t at)
{
	return i < a.rows && at < a.voxels;
}

/* The sum over the blocks of an image, as the other grid_sum. */
static __device__ bool grid_sum(const struct cg_vectors &a, double2 v, double2 *sum)
{
	return grid_sum(a.partial, &a.state->tickets, v, sum);
}

static __device__ __forceinline__ double norm2(float2 v)
{
	return (double)v.x * v.x + (double)v.y * v.y;
}

/* Starts a solve: x = 0, r = b, and a direction of 0. */
static __global__ __launch_bounds__(CG_THREADS) void begin(const struct cg_vectors all)
{
	double2 sum = make_double2(0.0, 0.0);

	bs_after_previous();
	const struct cg_vectors a = own(all);
	const uint64_t first = first_of(a);

#pragma unroll
	for (unsigned i = 0; i < CG_ROWS; i++) {
		const uint64_t at = first + i * CG_THREADS;

		if (has(a, i, at)) {
			const float2 r = a.b[at];
			const double n = norm2(r);

			a.x[at] = make_float2(0.0f, 0.0f);
			a.p[at] = make_float2(0.0f, 0.0f);
			a.r[at] = r;
			sum.x += n;
			sum.y += a.inverse != NULL ? n * (double)__ldg(a.inverse + at) : n;
		}
	}
	if (grid_sum(a, sum, &sum) && threadIdx.x == 0) {
		struct bs_cg_state *s = a.state;

		s->bb = s->rr = sum.x;
		s->rz = a.z == NULL ? sum.y : 0.0;
		s->alpha = s->beta = 0.0f;
		s->iterations = 0;
		s->stop = !(sum.x > 0.0);
		a.history[0] = sum.x > 0.0 ? 1.0 : 0.0;
	}
}

/* p = z + beta p. In 3D without maps the operator's first pass does this instead. */
static __global__ __launch_bounds__(CG_THREADS) void direction(const struct cg_vectors all)
{
	bs_after_previous();
	const struct cg_vectors a = own(all);
	const uint64_t first = first_of(a);

	if (a.state->stop)
		return;
	const float beta = a.state->beta;

#pragma unroll
	for (unsigned i = 0; i < CG_ROWS; i++) {
		const uint64_t at = first + i * CG_THREADS;

		if (has(a, i, at)) {
			const float w = a.inverse != NULL ? __ldg(a.inverse + at) : 1.0f;
			const float2 r = a.z != NULL ? a.z[at] : a.r[at];
			const float2 p = a.p[at];

			a.p[at] = make_float2(fmaf(beta, p.x, w * r.x), fmaf(beta, p.y, w * r.y));
		}
	}
}

/*
 * Forms of the constraint's part of A p: p itself (identity), or a product with a real or a complex
 * sparse matrix: W^H W times p, or W^H times the rows W p.
 */
enum { CG_IDENTITY, CG_REAL, CG_COMPLEX };

template <int FORM>
static __device__ __forceinline__ float2 constrain(const struct bs_csr_cuda &m, const float2 *in,
						   uint64_t at)
{
	return FORM == CG_IDENTITY ? in[at] : bs_csr_row<FORM == CG_COMPLEX>(m, at, in);
}

/*
 * q = sum of the addends, if any, + mu times the constraint's part, made from p or from rows; then
 * p^H q and alpha.
 */
template <int FORM>
static __global__ __launch_bounds__(CG_THREADS) void finish_apply(const struct cg_vectors all,
								  const struct bs_csr_cuda m,
								  const float2 *rows)
{
	const uint64_t first = first_of(all);
	double2 sum = make_double2(0.0, 0.0);
	float2 product[CG_ROWS];

	bs_after_previous();
	/* These loads are issued before the state is waited for. */
#pragma unroll
	for (unsigned i = 0; i < CG_ROWS; i++) {
		const uint64_t at = first + i * CG_THREADS;

		if (has(all, i, at))
			product[i] = all.parts > 0 ? bs_sum_addends(all.addends, all.parts,
								    all.voxels, at)
						   : all.q[blockIdx.y * all.voxels + at];
	}
	const struct cg_vectors a = own(all);

	if (a.state->stop)
		return;
	const float2 *from = rows != NULL ? rows + blockIdx.y * m.cols : a.p;

#pragma unroll
	for (unsigned i = 0; i < CG_ROWS; i++) {
		const uint64_t at = first + i * CG_THREADS;

		if (has(a, i, at)) {
			const float2 p = a.p[at];
			float2 q = product[i];

			if (a.mu != 0.0f) {
				const float2 c = constrain<FORM>(m, from, at);

				q.x = fmaf(a.mu, c.x, q.x);
				q.y = fmaf(a.mu, c.y, q.y);
			}
			if (a.mu != 0.0f || a.parts > 0)
				a.q[at] = q;
			sum.x += (double)p.x * q.x + (double)p.y * q.y;
		}
	}
	if (grid_sum(a, sum, &sum) && threadIdx.x == 0) {
		if (sum.x > 0.0)
			a.state->alpha = (float)(a.state->rz / sum.x);
		else
			/* round-off has used up the accuracy that the system allows */
			a.state->stop = 1;
	}
}

/* Sets rows = W p. */
template <bool COMPLEX>
static __global__ __launch_bounds__(CG_THREADS) void constraint_rows(const struct cg_vectors all,
								     const struct bs_csr_cuda m,
								     float2 *rows)
{
	const uint64_t at = (uint64_t)blockIdx.x * CG_THREADS + threadIdx.x;

	bs_after_previous();
	const struct cg_vectors a = own(all);

	if (a.state->stop == 0 && at < m.rows)
		rows[blockIdx.y * m.rows + at] = bs_csr_row<COMPLEX>(m, at, a.p);
}

/* Adds alpha p to x, subtracts alpha q from r, and finds norms and beta. */
static __global__ __launch_bounds__(CG_THREADS) void update(const struct cg_vectors all)
{
	const uint64_t first = first_of(all);
	const uint64_t image = blockIdx.y * all.voxels;
	double2 sum = make_double2(0.0, 0.0);
	float2 x[CG_ROWS];
	float2 r[CG_ROWS];
	float2 q[CG_ROWS];

	bs_after_previous();
	/* These loads are issued before the state is waited for. */
#pragma unroll
	for (unsigned i = 0; i < CG_ROWS; i++) {
		const uint64_t at = first + i * CG_THREADS;

		if (has(all, i, at)) {
			q[i] = all.q[image + at];
			r[i] = all.r[image + at];
			x[i] = all.x[image + at];
		}
	}
	const struct cg_vectors a = own(all);

	if (a.state->stop)
		return;
	const float alpha = a.state->alpha;

#pragma unroll
	for (unsigned i = 0; i < CG_ROWS; i++) {
		const uint64_t at = first + i * CG_THREADS;

		if (has(a, i, at)) {
			const float2 p = a.p[at];

			x[i] = make_float2(fmaf(alpha, p.x, x[i].x), fmaf(alpha, p.y, x[i].y));
			r[i] = make_float2(fmaf(-alpha, q[i].x, r[i].x),
					   fmaf(-alpha, q[i].y, r[i].y));
			a.x[at] = x[i];
			a.r[at] = r[i];
			const double n = norm2(r[i]);

			sum.x += n;
			sum.y += a.inverse != NULL ? n * (double)__ldg(a.inverse + at) : n;
		}
	}
	if (grid_sum(a, sum, &sum) && threadIdx.x == 0) {
		struct bs_cg_state *s = a.state;
		const double residual = sqrt(sum.x / s->bb);

		s->rr = sum.x;
		/* with a circulant preconditioner, `preconditioned` computes beta */
		if (a.z == NULL) {
			s->beta = (float)(sum.y / s->rz);
			s->rz = sum.y;
		}
		s->iterations++;
		a.history[s->iterations] = residual;
		s->stop = residual <= a.tolerance || residual <= BS_PCG_ROUND_OFF;
	}
}

/* Computes r^H z of the circulant preconditioner, and beta. rz is 0 before the first iteration. */
static __global__ __launch_bounds__(CG_THREADS) void preconditioned(const struct cg_vectors all)
{
	double2 sum = make_double2(0.0, 0.0);

	bs_after_previous();
	const struct cg_vectors a = own(all);
	const uint64_t first = first_of(a);

	if (a.state->stop)
		return;
#pragma unroll
	for (unsigned i = 0; i < CG_ROWS; i++) {
		const uint64_t at = first + i * CG_THREADS;

		if (has(a, i, at)) {
			const float2 r = a.r[at];
			const float2 z = a.z[at];

			sum.x += (double)r.x * z.x + (double)r.y * z.y;
		}
	}
	if (grid_sum(a, sum, &sum) && threadIdx.x == 0) {
		struct bs_cg_state *s = a.state;

		s->beta = s->rz > 0.0 ? (float)(sum.x / s->rz) : 0.0f;
		s->rz = sum.x;
	}
}

/*
 * Replaces the residual of the recurrence by the measured residual of x. q holds A x; with `bare`,
 * q (or the sum of the addends, if there are any) holds A x without mu x. Also clears check->stop,
 * which the constraint's part may have set, for the next solve.
 */
static __global__ __launch_bounds__(CG_THREADS) void distance(const struct cg_vectors all,
							      struct bs_cg_state *check, bool bare)
{
	double2 sum = make_double2(0.0, 0.0);

	bs_after_previous();
	const struct cg_vectors a = own(all);
	const uint64_t first = first_of(a);

	if (blockIdx.x == 0 && threadIdx.x == 0)
		check[blockIdx.y].stop = 0;
	if (a.state->iterations == 0)
		return;
#pragma unroll
	for (unsigned i = 0; i < CG_ROWS; i++) {
		const uint64_t at = first + i * CG_THREADS;

		if (has(a, i, at)) {
			const float2 b = a.b[at];
			float2 q = a.q[at];

			if (bare) {
				const float2 x = a.x[at];

				if (a.parts > 0)
					q = bs_sum_addends(a.addends, a.parts, a.voxels, at);
				q.x = fmaf(a.mu, x.x, q.x);
				q.y = fmaf(a.mu, x.y, q.y);
			}
			const double re = (double)b.x - q.x;
			const double im = (double)b.y - q.y;

			sum.x += re * re + im * im;
		}
	}
	if (grid_sum(a, sum, &sum) && threadIdx.x == 0)
		a.history[a.state->iterations] = sqrt(sum.x / a.state->bb);
}

/* Writes the outcome of each image; one thread an image. */
static __global__ void tell_outcome(const struct cg_vectors a, struct bs_pcg_outcome *out)
{
	const unsigned made = a.state[threadIdx.x].iterations;

	out[threadIdx.x].iterations = made;
	out[threadIdx.x].residual = a.history[threadIdx.x * a.made + made];
}

#endif
