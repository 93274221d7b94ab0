/*
 * gpu/penalty/lowrank.cu - singular values of blocks over frames on the GPU; see penalty_cuda.h
 *
 * As lowrank.c, in double precision: of a block's matrix [long][short], G = B^H B = V s^2 V^H, and
 * B V f V^H has the singular values s f. A block of threads does one: G and V lie in shared memory,
 * B comes in tiles. V is found by Jacobi's rotations of G, as many side by side as do not touch.
 * Source: Brent & Luk, SIAM J Sci Stat Comput 1985;6:69-84.
 */
#include "gpu/penalty/cuda/rows.cuh"

#include "gpu/device/reach.h"

#define TILE   32u   /* rows of B at a time */
#define SWEEPS 20    /* most rounds of all rotations; 6 to 9 do */
#define ZERO   1e-16 /* an element of G, relative to its trace, that is no rotation's work */

struct lowrank {
	uint32_t n[3], blocks[3], frames, block;
	uint32_t most; /* shorter side of the largest block, made even */
	uint64_t voxels;
	double *sums; /* [block] what is left of its singular values */
	double *partial;
	struct bs_prox_state *state;
};

/* A block of the images, and its matrix. */
struct patch {
	uint64_t first; /* its first voxel */
	uint32_t size[3];
	uint32_t longer, shorter, even; /* sides of its matrix; the shorter made even */
	bool frames_short;
};

/* A rotation of columns p and q: p' = c p - s u q, q' = s p + c u q, with |u| = 1. */
struct rotation {
	double c, s;
	double2 u;
};

/* Shared memory of a block of threads. G becomes the map of B's rows. */
struct room {
	double2 *g, *v; /* [column][row], `even` on each side */
	struct rotation *rotation;
	double *factor;
	float2 *tile; /* [short][TILE] */
};

static __host__ __device__ size_t square_of(uint32_t even)
{
	return (size_t)even * even;
}

static size_t room_bytes(uint32_t even)
{
	return square_of(even) * 2 * sizeof(double2) + even / 2 * sizeof(struct rotation) +
	       even * sizeof(double) + (size_t)even * TILE * sizeof(float2);
}

static __device__ struct room room_of(uint32_t even)
{
	extern __shared__ double2 shared[];
	struct room r;

	r.g = shared;
	r.v = r.g + square_of(even);
	r.rotation = (struct rotation *)(r.v + square_of(even));
	r.factor = (double *)(r.rotation + even / 2);
	r.tile = (float2 *)(r.factor + even);
	return r;
}

static __device__ struct patch patch_of(const struct lowrank &a, uint32_t i)
{
	const uint32_t at[3] = { i % a.blocks[0], i / a.blocks[0] % a.blocks[1],
				 i / a.blocks[0] / a.blocks[1] };
	struct patch b;

	for (int d = 0; d < 3; d++)
		b.size[d] = min(a.n[d] - at[d] * a.block, a.block);
	b.first = (((uint64_t)at[2] * a.n[1] + at[1]) * a.n[0] + at[0]) * a.block;
	const uint32_t voxels = b.size[0] * b.size[1] * b.size[2];

	b.frames_short = a.frames <= voxels;
	b.longer = b.frames_short ? voxels : a.frames;
	b.shorter = b.frames_short ? a.frames : voxels;
	b.even = b.shorter + b.shorter % 2;
	return b;
}

/* Where element (l, j) of a block's matrix lies in the images. */
static __device__ uint64_t index_of(const struct lowrank &a, const struct patch &b, uint32_t l,
				    uint32_t j)
{
	const uint32_t v = b.frames_short ? l : j;
	const uint64_t t = b.frames_short ? j : l;
	const uint64_t y = v / b.size[0] % b.size[1];
	const uint64_t z = v / b.size[0] / b.size[1];

	return t * a.voxels + b.first + (z * a.n[1] + y) * a.n[0] + v % b.size[0];
}

/* Loads rows from `first` on to the tile, zeros behind the last; waits for all threads. */
static __device__ void load_tile(const struct lowrank &a, const struct patch &b,
				 const struct room &r, const float2 *x, uint32_t first)
{
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < b.shorter * TILE; i += blockDim.x) {
		const uint32_t l = first + i % TILE;

		r.tile[i] = l < b.longer ? x[index_of(a, b, l, i / TILE)] : make_float2(0.0f, 0.0f);
	}
	__syncthreads();
}

/* Sets G = B^H B, V = 1; returns the trace of G. */
static __device__ double make_gram(const struct lowrank &a, const struct patch &b,
				   const struct room &r, const float2 *x)
{
	const uint32_t n = b.even;
	double trace = 0.0;

	for (uint32_t i = threadIdx.x; i < n * n; i += blockDim.x) {
		r.g[i] = make_double2(0.0, 0.0);
		r.v[i] = make_double2(i / n == i % n ? 1.0 : 0.0, 0.0);
	}
	for (uint32_t first = 0; first < b.longer; first += TILE) {
		load_tile(a, b, r, x, first);
		for (uint32_t e = threadIdx.x; e < b.shorter * b.shorter; e += blockDim.x) {
			const float2 *row = r.tile + e % b.shorter * TILE;
			const float2 *column = r.tile + e / b.shorter * TILE;
			double2 *g = r.g + e / b.shorter * n + e % b.shorter;
			double2 sum = *g;

			for (uint32_t k = 0; k < TILE; k++) {
				const uint32_t l = (k + e) % TILE; /* apart in the banks */
				const double2 p = make_double2(row[l].x, row[l].y);
				const double2 q = make_double2(column[l].x, column[l].y);

				sum.x += p.x * q.x + p.y * q.y;
				sum.y += p.x * q.y - p.y * q.x;
			}
			*g = sum;
		}
	}
	__syncthreads();
	for (uint32_t i = 0; i < b.shorter; i++)
		trace += r.g[i * n + i].x;
	return trace;
}

/* The two columns of pair k in round `round`: each two of n columns meet once in n - 1 rounds. */
static __device__ __forceinline__ uint2 pair_of(uint32_t n, uint32_t round, uint32_t k)
{
	const uint32_t ring = n - 1;

	return k == 0 ? make_uint2(round, ring)
		      : make_uint2((round + k) % ring, (round + ring - k) % ring);
}

/* Finds the rotation that makes G(p, q) 0. Returns true where there was one to make. */
static __device__ bool find_rotation(const struct room &r, uint32_t n, uint2 pair, double least,
				     struct rotation *to)
{
	const double2 g = r.g[pair.y * n + pair.x];
	const double size = sqrt(g.x * g.x + g.y * g.y);

	to->c = 1.0;
	to->s = 0.0;
	to->u = make_double2(1.0, 0.0);
	if (!(size > least))
		return false;
	const double z = (r.g[pair.y * n + pair.y].x - r.g[pair.x * n + pair.x].x) / (2.0 * size);
	const double t = copysign(1.0 / (fabs(z) + sqrt(1.0 + z * z)), z);

	to->c = 1.0 / sqrt(1.0 + t * t);
	to->s = t * to->c;
	to->u = make_double2(g.x / size, -g.y / size);
	return true;
}

static __device__ __forceinline__ double2 times(double2 a, double2 b)
{
	return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

/* Rotates two values of columns p and q. */
static __device__ __forceinline__ void rotate(const struct rotation &j, double2 *p, double2 *q)
{
	const double2 u = times(j.u, *q);
	const double2 was = *p;

	*p = make_double2(j.c * was.x - j.s * u.x, j.c * was.y - j.s * u.y);
	*q = make_double2(j.s * was.x + j.c * u.x, j.s * was.y + j.c * u.y);
}

static __device__ __forceinline__ struct rotation conjugate(struct rotation j)
{
	j.u.y = -j.u.y;
	return j;
}

/* Makes the rotations of a round: of G from both sides, of V from the right. */
static __device__ void turn(const struct room &r, uint32_t n, uint32_t round)
{
	const uint32_t half = n / 2;

	for (uint32_t i = threadIdx.x; i < half * half; i += blockDim.x) {
		const uint2 row = pair_of(n, round, i % half);
		const uint2 col = pair_of(n, round, i / half);
		const struct rotation left = conjugate(r.rotation[i % half]);
		double2 *p = r.g + col.x * n;
		double2 *q = r.g + col.y * n;
		double2 a = p[row.x];
		double2 b = p[row.y];
		double2 c = q[row.x];
		double2 d = q[row.y];

		rotate(r.rotation[i / half], &a, &c);
		rotate(r.rotation[i / half], &b, &d);
		rotate(left, &a, &b);
		rotate(left, &c, &d);
		p[row.x] = a;
		p[row.y] = b;
		q[row.x] = c;
		q[row.y] = d;
	}
	for (uint32_t i = threadIdx.x; i < half * n; i += blockDim.x) {
		const uint2 col = pair_of(n, round, i / n);

		rotate(r.rotation[i / n], r.v + col.x * n + i % n, r.v + col.y * n + i % n);
	}
}

/* Makes G diagonal. */
static __device__ void diagonalize(const struct room &r, uint32_t n, double least)
{
	int turned = 1;

	for (int sweep = 0; sweep < SWEEPS && turned != 0; sweep++) {
		turned = 0;
		for (uint32_t round = 0; round + 1 < n; round++) {
			int mine = 0;

			for (uint32_t k = threadIdx.x; k < n / 2; k += blockDim.x)
				mine |= find_rotation(r, n, pair_of(n, round, k), least,
						      r.rotation + k);
			if (__syncthreads_or(mine) == 0) /* none in this round */
				continue;
			turned = 1;
			turn(r, n, round);
			__syncthreads();
		}
	}
}

/* Finds the factors of the singular values; returns, in thread 0, the sum of what is left. */
static __device__ double shrink(const struct room &r, uint32_t n, double threshold)
{
	double left = 0.0;

	for (uint32_t m = threadIdx.x; m < n; m += blockDim.x) {
		const double power = r.g[m * n + m].x;
		const double s = power > 0.0 ? sqrt(power) : 0.0;

		r.factor[m] = s > threshold ? 1.0 - threshold / s : 0.0;
	}
	__syncthreads();
	for (uint32_t m = 0; m < n && threadIdx.x == 0; m++)
		left += r.factor[m] > 0.0 ? r.factor[m] * sqrt(r.g[m * n + m].x) : 0.0;
	__syncthreads();
	return left;
}

/* Sets G(i, j) = sum_m V(i, m) f_m conj(V(j, m)): a row of B times it is a row of the result. */
static __device__ void make_map(const struct room &r, uint32_t n)
{
	for (uint32_t e = threadIdx.x; e < n * n; e += blockDim.x) {
		double2 sum = make_double2(0.0, 0.0);

		for (uint32_t m = 0; m < n; m++) {
			const double2 p = r.v[m * n + e % n];
			const double2 q = r.v[m * n + e / n];
			const double f = r.factor[m];

			sum.x += f * (p.x * q.x + p.y * q.y);
			sum.y += f * (p.y * q.x - p.x * q.y);
		}
		r.g[e] = sum;
	}
}

/* Replaces each row of the block in the images by the row times the map. */
static __device__ void apply_map(const struct lowrank &a, const struct patch &b,
				 const struct room &r, float2 *x)
{
	for (uint32_t first = 0; first < b.longer; first += TILE) {
		load_tile(a, b, r, x, first);
		for (uint32_t i = threadIdx.x; i < b.shorter * TILE; i += blockDim.x) {
			const uint32_t l = i % TILE;
			double2 sum = make_double2(0.0, 0.0);

			for (uint32_t k = 0; k < b.shorter && first + l < b.longer; k++) {
				const float2 v = r.tile[k * TILE + l];
				const double2 p =
					times(make_double2(v.x, v.y), r.g[i / TILE * b.even + k]);

				sum.x += p.x;
				sum.y += p.y;
			}
			if (first + l < b.longer)
				x[index_of(a, b, first + l, i / TILE)] =
					make_float2((float)sum.x, (float)sum.y);
		}
	}
}

/* Thresholds a block; or, measuring, only sums its singular values. */
static __global__ void __launch_bounds__(SUM_THREADS)
	do_block(const struct lowrank a, float2 *x, bool measures)
{
	const struct bs_prox_state *s = a.state;
	const double threshold = measures ? 0.0 : s->lambda * s->step;
	const struct patch b = patch_of(a, blockIdx.x);
	const struct room r = room_of(a.most);
	double left = 0.0;

	if (s->stop)
		return;
	const double trace = make_gram(a, b, r, x);
	/* the largest singular value is at most the root of the sum of all squares */
	const bool none = trace <= threshold * threshold;

	if (!none) {
		diagonalize(r, b.even, ZERO * trace);
		left = shrink(r, b.even, threshold);
	} else {
		for (uint32_t m = threadIdx.x; m < b.even; m += blockDim.x)
			r.factor[m] = 0.0;
		__syncthreads();
	}
	if (threadIdx.x == 0)
		a.sums[blockIdx.x] = trace == trace ? left : trace; /* NaN is told */
	if (measures)
		return;
	make_map(r, b.even);
	apply_map(a, b, r, x);
}

static __global__ void __launch_bounds__(SUM_THREADS)
	sum_blocks(const struct lowrank a, uint32_t blocks)
{
	double2 sum = make_double2(0.0, 0.0);

	if (a.state->stop)
		return;
	for (uint64_t i = penalty_first(); i < blocks; i += penalty_step())
		sum.x += a.sums[i];
	if (grid_sum(a.partial, &a.state->tickets, sum, &sum) && threadIdx.x == 0)
		a.state->value = a.state->lambda * sum.x;
}

/* ---- plan ------------------------------------------------------------------------------------ */

static uint32_t even_of(const struct bs_penalty_cuda_plan *p)
{
	uint64_t voxels = 1;
	uint32_t shorter;

	for (int d = 0; d < 3; d++)
		voxels *= p->s.matrix[d] < p->s.block ? p->s.matrix[d] : p->s.block;
	shorter = p->s.images < voxels ? p->s.images : (uint32_t)voxels;
	return shorter + shorter % 2;
}

static int check(const struct bs_penalty_cuda_plan *p, struct bs_fail *why)
{
	return even_of(p) <= BS_PRIOR_SHORTER_MAX
		       ? 0
		       : bs_fail(why, BS_ERR_UNSUPPORTED,
				 "prior low_rank: blocks of %u voxels a side over %u frames; on a "
				 "GPU the lesser of voxels and frames is at most %u",
				 p->s.block, p->s.images, BS_PRIOR_SHORTER_MAX);
}

static uint32_t all_blocks(const struct bs_penalty_cuda_plan *p)
{
	return p->blocks[0] * p->blocks[1] * p->blocks[2];
}

static void take(struct bs_penalty_cuda_plan *p, struct bs_devroom *room)
{
	for (int d = 0; d < 3; d++)
		p->blocks[d] = (p->s.matrix[d] + p->s.block - 1) / p->s.block;
	bs_devroom_take(room, &p->sums, all_blocks(p) * sizeof(double));
}

static int ready(struct bs_penalty_cuda_plan *p, struct bs_devmem *mem, struct bs_fail *why)
{
	const size_t bytes = room_bytes(even_of(p));
	struct bs_reach reach;
	int rc = bs_reach(&reach, why);

	(void)mem;
	if (rc == 0 && bytes > reach.shared_bytes)
		rc = bs_fail(why, BS_ERR_UNSUPPORTED,
			     "prior low_rank: %zu bytes of shared memory of %zu", bytes,
			     reach.shared_bytes);
	return rc != 0 ? rc : bs_cuda_shared((const void *)do_block, bytes, why);
}

static int queue(const struct bs_penalty_cuda_plan *p, struct bs_prox_state *state, float *x,
		 bool measures, cudaStream_t stream, struct bs_fail *why)
{
	const uint32_t even = even_of(p);
	const unsigned threads = even > 24 ? SUM_THREADS : SUM_THREADS / 2;
	struct lowrank a = {};

	for (int d = 0; d < 3; d++) {
		a.n[d] = p->s.matrix[d];
		a.blocks[d] = p->blocks[d];
	}
	a.frames = p->s.images;
	a.block = p->s.block;
	a.most = even;
	a.voxels = p->voxels;
	a.sums = p->sums;
	a.partial = p->partial;
	a.state = state;
	do_block<<<all_blocks(p), threads, room_bytes(even), stream>>>(a, (float2 *)x, measures);
	sum_blocks<<<penalty_blocks(all_blocks(p)), SUM_THREADS, 0, stream>>>(a, all_blocks(p));
	return penalty_launched(why);
}

static int lowrank_value(void *self, struct bs_prox_state *state, const float *x,
			 cudaStream_t stream, struct bs_fail *why)
{
	/* x is only read */
	return queue((const struct bs_penalty_cuda_plan *)self, state, (float *)x, true, stream,
		     why);
}

static int lowrank_prox(void *self, struct bs_prox_state *state, float *z, cudaStream_t stream,
			struct bs_fail *why)
{
	return queue((const struct bs_penalty_cuda_plan *)self, state, z, false, stream, why);
}

const struct bs_penalty_cuda_row bs_penalty_cuda_lowrank = {
	check, take, ready, lowrank_value, lowrank_prox, false,
};
