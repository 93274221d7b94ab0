/* gpu/calibrate/cuda/projector.cu - see projector.cuh */
#include "gpu/calibrate/cuda/projector.cuh"

#include <math.h>
#include <stdlib.h>

#include "gpu/device/check.h"

#define TILE    32 /* rows and columns of a product that a block makes */
#define DEPTH   16 /* columns of the factors that a block has in shared memory at a time */
#define THREADS 256
#define SUMMING 1024
/* squarings: A^4096 gives the largest eigenvalue to 1e-4 of its distance to t */
#define SQUARES 12
#define LEAST   1e-6  /* least |eigenvalue| of X at the start that is certain to become 1 */
#define DONE    1e-12 /* largest distance of such an |eigenvalue| from 1 at the end */
#define STEPS   64    /* most steps of the iteration; 19 are made */
/* factor on the largest eigenvalue, so that |eigenvalues| of X stay below 1 */
#define MARGIN 1.0001

struct bs_projector_cuda {
	struct bs_espirit_spec s;
	/*
	 * n: elements of the kernel; pitch: n rounded up to whole tiles, the length of a matrix row
	 */
	uint32_t n, pitch;
	double2 *y;         /* samples under the kernel, [element][place] */
	double2 *a, *b, *c; /* matrices [pitch][pitch] */
	double *trace;      /* trace of the matrix that is made last */
};

static uint32_t whole(uint64_t n, uint32_t of)
{
	return (uint32_t)((n + of - 1) / of * of);
}

static uint32_t elements_of(const struct bs_espirit_spec *s)
{
	return s->coils * s->kernel[0] * s->kernel[1] * s->kernel[2];
}

static uint32_t depth_of(const struct bs_espirit_spec *s, const uint32_t size[3])
{
	uint64_t places = 1;

	for (int i = 0; i < 3; i++)
		places *= size[i] - s->kernel[i] + 1;
	return whole(places, DEPTH);
}

/* ---- kernels --------------------------------------------------------------------------------- */

struct shape {
	uint32_t block[3], kernel[3], places[3];
	uint32_t n, depth;
};

/*
 * Sets y[element][place] to the block's sample under the kernel, zero beyond it. blockIdx.y: the
 * element.
 */
static __global__ void __launch_bounds__(THREADS)
	gather(double2 *y, const float2 *block, const struct shape s)
{
	const uint32_t p = blockIdx.x * THREADS + threadIdx.x;
	const uint32_t e = blockIdx.y;
	const uint32_t *k = s.kernel;
	const uint32_t *b = s.block;
	double2 value = make_double2(0.0, 0.0);

	if (p >= s.depth)
		return;
	if (e < s.n && p < s.places[0] * s.places[1] * s.places[2]) {
		const uint32_t coil = e / (k[0] * k[1] * k[2]);
		const uint32_t x = e % k[0] + p % s.places[0];
		const uint32_t row = e / k[0] % k[1] + p / s.places[0] % s.places[1];
		const uint32_t z = e / (k[0] * k[1]) % k[2] + p / (s.places[0] * s.places[1]);
		const float2 v = block[(((size_t)coil * b[2] + z) * b[1] + row) * b[0] + x];

		value = make_double2(v.x, v.y);
	}
	y[(size_t)e * s.depth + p] = value;
}

/*
 * c = alpha / t^2 a b^H + beta d, for matrices with rows of `pitch`; a, b: `depth` columns in rows
 * of `depth`. t NULL: 1; d NULL: 0. A block makes TILE x TILE elements, a thread 2 x 2.
 */
static __global__ void __launch_bounds__(THREADS)
	product(double2 *c, const double2 *a, const double2 *b, uint32_t depth, uint32_t pitch,
		double alpha, const double *t, double beta, const double2 *d)
{
	__shared__ double2 left[DEPTH][TILE + 1];
	__shared__ double2 right[DEPTH][TILE + 1];
	const uint32_t tx = threadIdx.x % (TILE / 2);
	const uint32_t ty = threadIdx.x / (TILE / 2);
	const size_t row0 = (size_t)blockIdx.y * TILE;
	const size_t column0 = (size_t)blockIdx.x * TILE;
	double2 sum[2][2] = {};

	for (uint32_t k0 = 0; k0 < depth; k0 += DEPTH) {
		for (uint32_t i = threadIdx.x; i < TILE * DEPTH; i += THREADS) {
			const uint32_t r = i / DEPTH;
			const uint32_t k = i % DEPTH;

			left[k][r] = a[(row0 + r) * depth + k0 + k];
			right[k][r] = b[(column0 + r) * depth + k0 + k];
		}
		__syncthreads();
#pragma unroll
		for (uint32_t k = 0; k < DEPTH; k++)
#pragma unroll
			for (int i = 0; i < 2; i++)
#pragma unroll
				for (int j = 0; j < 2; j++) {
					const double2 p = left[k][ty + i * (TILE / 2)];
					const double2 q = right[k][tx + j * (TILE / 2)];

					sum[i][j].x = fma(p.x, q.x, fma(p.y, q.y, sum[i][j].x));
					sum[i][j].y = fma(p.y, q.x, fma(-p.x, q.y, sum[i][j].y));
				}
		__syncthreads();
	}
	if (t != NULL)
		alpha /= *t * *t;
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2; j++) {
			const size_t at = (row0 + ty + i * (TILE / 2)) * pitch + column0 + tx +
					  j * (TILE / 2);
			const double2 v = d != NULL ? d[at] : make_double2(0.0, 0.0);

			c[at] = make_double2(alpha * sum[i][j].x + beta * v.x,
					     alpha * sum[i][j].y + beta * v.y);
		}
}

/* Sums v over a block's threads; thread 0 gets the result. */
static __device__ double block_sum(double v)
{
	__shared__ double part[SUMMING / 32];

	for (int n = 16; n > 0; n >>= 1)
		v += __shfl_down_sync(~0u, v, n);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	if (threadIdx.x >= 32)
		return 0.0;
	v = part[threadIdx.x];
	for (int n = 16; n > 0; n >>= 1)
		v += __shfl_down_sync(~0u, v, n);
	return v;
}

/* Sets to = trace of a. */
static __global__ void __launch_bounds__(SUMMING)
	trace(double *to, const double2 *a, uint32_t pitch)
{
	double v = 0.0;

	for (uint32_t i = threadIdx.x; i < pitch; i += SUMMING)
		v += a[(size_t)i * pitch + i].x;
	v = block_sum(v);
	if (threadIdx.x == 0)
		*to = v;
}

/* Sets to = trace of a b^H divided by the trace of b; both are Hermitian. */
static __global__ void __launch_bounds__(SUMMING)
	quotient(double *to, const double2 *a, const double2 *b, uint32_t pitch)
{
	double over = 0.0;
	double under = 0.0;

	for (size_t i = threadIdx.x; i < (size_t)pitch * pitch; i += SUMMING)
		over += a[i].x * b[i].x + a[i].y * b[i].y;
	for (uint32_t i = threadIdx.x; i < pitch; i += SUMMING)
		under += b[(size_t)i * pitch + i].x;
	over = block_sum(over);
	under = block_sum(under);
	if (threadIdx.x == 0)
		*to = over / under;
}

/* Sets x = (a - threshold largest I) / largest for n elements, 0 beyond. blockIdx.y: the row. */
static __global__ void __launch_bounds__(THREADS)
	shift(double2 *x, const double2 *a, const double *largest, double threshold, uint32_t n,
	      uint32_t pitch)
{
	const uint32_t j = blockIdx.x * THREADS + threadIdx.x;
	const uint32_t i = blockIdx.y;
	const double scale = 1.0 / (MARGIN * *largest);

	if (j >= pitch)
		return;
	double2 v = a[(size_t)i * pitch + j];

	v.x = v.x * scale - (i == j && i < n ? threshold / MARGIN : 0.0);
	v.y *= scale;
	x[(size_t)i * pitch + j] = v;
}

struct lags {
	uint32_t kernel[3], pairs, line, pitch;
};

/*
 * Makes corr [lag z][lag y][re, im][pair][lag x] from x, the sign. blockIdx.y: the pair;
 * blockIdx.z: lags y and z.
 */
static __global__ void correlate(float *corr, const double2 *x, const struct lags s)
{
	const uint32_t *k = s.kernel;
	const uint32_t points = 2 * k[0] - 1;
	const uint32_t volume = k[0] * k[1] * k[2];
	const int lag[3] = { (int)threadIdx.x - (int)k[0] + 1,
			     (int)(blockIdx.z % (2 * k[1] - 1)) - (int)k[1] + 1,
			     (int)(blockIdx.z / (2 * k[1] - 1)) - (int)k[2] + 1 };
	uint32_t c = 0;
	uint32_t d = blockIdx.y;
	double re = 0.0;
	double im = 0.0;

	if (threadIdx.x >= points)
		return;
	while (d > c) {
		c++;
		d -= c;
	}
	for (uint32_t i = 0; i < volume; i++) {
		const int at[3] = { (int)(i % k[0]) + lag[0], (int)(i / k[0] % k[1]) + lag[1],
				    (int)(i / k[0] / k[1]) + lag[2] };

		if (at[0] < 0 || at[0] >= (int)k[0] || at[1] < 0 || at[1] >= (int)k[1] ||
		    at[2] < 0 || at[2] >= (int)k[2])
			continue;
		const uint32_t row = c * volume + i;
		const uint32_t column = d * volume +
					((uint32_t)at[2] * k[1] + (uint32_t)at[1]) * k[0] +
					(uint32_t)at[0];
		const double2 v = x[(size_t)row * s.pitch + column];

		re += 0.5 * (v.x + (row == column ? 1.0 : 0.0));
		im += 0.5 * v.y;
	}
	corr += (size_t)blockIdx.z * 2 * s.line + blockIdx.y * points + threadIdx.x;
	corr[0] = (float)(re / volume);
	corr[s.line] = (float)(im / volume);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static struct bs_projector_cuda lay_out(const struct bs_espirit_spec *s, struct bs_devroom *r)
{
	struct bs_projector_cuda p = {};

	p.s = *s;
	p.n = elements_of(s);
	p.pitch = whole(p.n, TILE);
	bs_devroom_take(r, &p.y, (uint64_t)p.pitch * depth_of(s, s->block) * sizeof(double2));
	for (double2 **matrix : { &p.a, &p.b, &p.c })
		bs_devroom_take(r, matrix, (uint64_t)p.pitch * p.pitch * sizeof(double2));
	bs_devroom_take(r, &p.trace, sizeof(double));
	return p;
}

uint64_t bs_projector_cuda_bytes(const struct bs_espirit_spec *s)
{
	struct bs_devroom room = {};

	(void)lay_out(s, &room);
	return room.bytes;
}

int bs_projector_cuda_plan(struct bs_projector_cuda **plan, const struct bs_espirit_spec *s,
			   struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_devroom room = { mem, 0, false };

	*plan = (struct bs_projector_cuda *)malloc(sizeof(**plan));
	if (*plan == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "coil maps: the kernels' projector");
	**plan = lay_out(s, &room);
	return bs_devroom_check(&room, "coil maps", why);
}

void bs_projector_cuda_close(struct bs_projector_cuda *p)
{
	free(p);
}

/* ---- make ------------------------------------------------------------------------------------ */

static int multiply(const struct bs_projector_cuda *p, double2 *c, const double2 *a,
		    const double2 *b, double alpha, const double *t, double beta, const double2 *d,
		    cudaStream_t stream, struct bs_fail *why)
{
	const unsigned tiles = p->pitch / TILE;

	product<<<dim3(tiles, tiles), THREADS, 0, stream>>>(c, a, b, p->pitch, p->pitch, alpha, t,
							    beta, d);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/* Queues a = y y^H. */
static int gram(const struct bs_projector_cuda *p, const uint32_t size[3], const float2 *block,
		cudaStream_t stream, struct bs_fail *why)
{
	const unsigned tiles = p->pitch / TILE;
	struct shape s;

	for (int i = 0; i < 3; i++) {
		s.block[i] = size[i];
		s.kernel[i] = p->s.kernel[i];
		s.places[i] = size[i] - s.kernel[i] + 1;
	}
	s.n = p->n;
	s.depth = depth_of(&p->s, size);
	gather<<<dim3((s.depth + THREADS - 1) / THREADS, p->pitch), THREADS, 0, stream>>>(p->y,
											  block, s);
	BS_CUDA(cudaGetLastError(), why);
	product<<<dim3(tiles, tiles), THREADS, 0, stream>>>(p->a, p->y, p->y, s.depth, p->pitch,
							    1.0, NULL, 0.0, NULL);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/*
 * Finds the largest eigenvalue by a power of a that keeps little but its share, with the trace held
 * at 1.
 */
static int find_largest(const struct bs_projector_cuda *p, double *largest, cudaStream_t stream,
			struct bs_fail *why)
{
	const double2 *from = p->a;
	double2 *to[2] = { p->b, p->c };
	int rc = 0;

	for (int i = 0; rc == 0 && i < SQUARES; i++) {
		trace<<<1, SUMMING, 0, stream>>>(p->trace, from, p->pitch);
		rc = multiply(p, to[i % 2], from, from, 1.0, p->trace, 0.0, NULL, stream, why);
		from = to[i % 2];
	}
	if (rc != 0)
		return rc;
	quotient<<<1, SUMMING, 0, stream>>>(largest, p->a, from, p->pitch);
	return BS_CUDA_RC(cudaGetLastError(), why);
}

/* Finds the sign of the matrix in b. *sign: where the result lies. */
static int find_sign(const struct bs_projector_cuda *p, const double2 **sign, cudaStream_t stream,
		     struct bs_fail *why)
{
	double2 *x = p->b;
	double2 *square = p->a;
	double2 *next = p->c;
	double least = LEAST;
	int rc = 0;

	for (int i = 0; rc == 0 && i < STEPS && 1.0 - least > DONE; i++) {
		const double r = sqrt(3.0 / (1.0 + least + least * least));
		double2 *last = x;

		rc = multiply(p, square, x, x, 1.0, NULL, 0.0, NULL, stream, why);
		if (rc == 0)
			rc = multiply(p, next, x, square, -0.5 * r * r * r, NULL, 1.5 * r, x,
				      stream, why);
		least = 0.5 * r * least * (3.0 - r * r * least * least);
		x = next;
		next = last;
	}
	*sign = x;
	return rc;
}

int bs_projector_cuda_make(struct bs_projector_cuda *p, const uint32_t size[3], const float2 *block,
			   float *corr, uint32_t line, double *largest, cudaStream_t stream,
			   struct bs_fail *why)
{
	const uint32_t *k = p->s.kernel;
	struct lags l = { { k[0], k[1], k[2] }, p->s.coils * (p->s.coils + 1) / 2, line, p->pitch };
	const double2 *sign = NULL;
	int rc = gram(p, size, block, stream, why);

	if (rc == 0)
		rc = find_largest(p, largest, stream, why);
	if (rc != 0)
		return rc;
	shift<<<dim3((p->pitch + THREADS - 1) / THREADS, p->pitch), THREADS, 0, stream>>>(
		p->b, p->a, largest, p->s.threshold, p->n, p->pitch);
	BS_CUDA(cudaGetLastError(), why);
	rc = find_sign(p, &sign, stream, why);
	if (rc != 0)
		return rc;
	correlate<<<dim3(1, l.pairs, (2 * k[1] - 1) * (2 * k[2] - 1)), 2 * k[0] - 1, 0, stream>>>(
		corr, sign, l);
	return BS_CUDA_RC(cudaGetLastError(), why);
}
