/*
 * gpu/penalty/wavelet.cu - Daubechies' wavelets with 4 taps on the GPU; see penalty_cuda.h
 *
 * A launch does a level along all its axes: forward, each thread makes a coefficient of every band
 * of one place and shrinks it; back, the values between its low coefficients and the ones before.
 * Band 0 of a level is the next level's image. Both grids of a step that shifts go together.
 */
#include "gpu/penalty/cuda/rows.cuh"

#define TAPS 4

static __constant__ float low_taps[TAPS] = { 0.4829629131445341f, 0.8365163037378077f,
					     0.2241438680420134f, -0.1294095225512603f };
static __constant__ float high_taps[TAPS] = { -0.1294095225512603f, -0.2241438680420134f,
					      0.8365163037378077f, -0.4829629131445341f };
/* as `back` in wavelet.c */
static __constant__ float back_taps[2][TAPS] = {
	{ 0.4829629131445341f, 0.2241438680420134f, -0.1294095225512603f, 0.8365163037378077f },
	{ 0.8365163037378077f, -0.1294095225512603f, -0.2241438680420134f, -0.4829629131445341f }
};

/* One launch. in_image, in_grid: values from one image or grid of what is halved to the next. */
struct pass {
	struct penalty_level l;
	float2 *in;
	uint64_t in_image, in_grid;
	uint32_t images, grids;
	uint32_t levels[3];
	bool first,
		last; /* the first level, whose grid is shifted; the last, whose band 0 is shrunk */
	bool shifts;
	bool measures; /* nothing is shrunk, grid 0 is not shifted */
	uint32_t grid; /* back, first level: the only grid of the launch */
};

/* A place of the low box, its image and grid; `from`: the first tap's place along each axis. */
struct place {
	uint32_t at[3], from[3];
	uint64_t image, grid, in_band;
};

/* bs_penalty_shift. */
static __device__ uint32_t shift_of(uint32_t grid, int axis, uint32_t levels)
{
	const double turn = axis == 0   ? 0.6180339887498949
			    : axis == 1 ? 0.7548776662466927
					: 0.8191725133961645;
	const double at = (double)grid * turn;

	return (uint32_t)((at - floor(at)) * (double)(2u << levels));
}

static __device__ struct place place_of(const struct pass &a, const struct bs_prox_state *s,
					uint64_t i)
{
	const uint64_t all = i / a.l.plane;
	struct place p;

	p.in_band = i % a.l.plane;
	p.image = all % a.images;
	p.grid = all / a.images + a.grid;
	p.at[0] = (uint32_t)(p.in_band % a.l.low[0]);
	p.at[1] = (uint32_t)(p.in_band / a.l.low[0] % a.l.low[1]);
	p.at[2] = (uint32_t)(p.in_band / a.l.low[0] / a.l.low[1]);
#pragma unroll
	for (int d = 0; d < 3; d++) {
		const uint32_t n = a.l.n[d];
		const uint32_t shift =
			a.first && a.shifts && !a.measures
				? shift_of(2 * s->iterations + (uint32_t)p.grid, d, a.levels[d]) % n
				: 0;

		/* the first coefficient begins 2 places before the shifted image's first value */
		p.from[d] = (3 * n - 2 - shift) % n;
	}
	return p;
}

static __device__ __forceinline__ void add(float2 &to, float w, float2 v)
{
	to.x = fmaf(w, v.x, to.x);
	to.y = fmaf(w, v.y, to.y);
}

/* Shrinks a coefficient by t; adds what is left of its modulus. */
static __device__ __forceinline__ float2 shrunk(float2 c, float t, double &sum)
{
	const float a = sqrtf(c.x * c.x + c.y * c.y);
	const float keep = a > t ? 1.0f - t / a : 0.0f;

	sum += a > t ? (double)(a - t) : 0.0;
	return make_float2(c.x * keep, c.y * keep);
}

/* The place of tap k along an axis that is halved, or the place itself. */
template <bool HALVED>
static __device__ __forceinline__ uint32_t tap_at(const struct pass &a, const struct place &p,
						  int d, int k)
{
	return HALVED ? (2 * p.at[d] + p.from[d] + (uint32_t)k) % a.l.n[d] : p.at[d];
}

template <bool X, bool Y, bool Z>
static __global__ void __launch_bounds__(SUM_THREADS)
	forward(const struct pass a, struct bs_prox_state *s, double *partial)
{
	constexpr int bx = X ? 2 : 1;
	constexpr int by = Y ? 2 : 1;
	constexpr int bands = bx * by * (Z ? 2 : 1);
	const float t = a.measures ? 0.0f : (float)(s->lambda * s->step);
	const uint64_t count = a.l.plane * a.images * a.grids;
	double2 sum = make_double2(0.0, 0.0);

	if (s->stop)
		return;
	for (uint64_t i = penalty_first(); i < count; i += penalty_step()) {
		const struct place p = place_of(a, s, i);
		const float2 *in = a.in + p.image * a.in_image + p.grid * a.in_grid;
		float2 *to = a.l.to + (p.grid * a.images + p.image) * bands * a.l.plane + p.in_band;
		float2 band[bands] = {};

#pragma unroll
		for (int kz = 0; kz < (Z ? TAPS : 1); kz++) {
			float2 rows[bx * by] = {};

#pragma unroll
			for (int ky = 0; ky < (Y ? TAPS : 1); ky++) {
				const float2 *row =
					in + ((uint64_t)tap_at<Z>(a, p, 2, kz) * a.l.n[1] +
					      tap_at<Y>(a, p, 1, ky)) *
						     a.l.n[0];
				float2 values[bx] = {};

#pragma unroll
				for (int kx = 0; kx < (X ? TAPS : 1); kx++) {
					const float2 v = row[tap_at<X>(a, p, 0, kx)];

					add(values[0], X ? low_taps[kx] : 1.0f, v);
					if (X)
						add(values[bx - 1], high_taps[kx], v);
				}
#pragma unroll
				for (int b = 0; b < bx; b++) {
					add(rows[b], Y ? low_taps[ky] : 1.0f, values[b]);
					if (Y)
						add(rows[bx * (by - 1) + b], high_taps[ky],
						    values[b]);
				}
			}
#pragma unroll
			for (int b = 0; b < bx * by; b++) {
				add(band[b], Z ? low_taps[kz] : 1.0f, rows[b]);
				if (Z)
					add(band[bands / 2 + b], high_taps[kz], rows[b]);
			}
		}
#pragma unroll
		for (int b = 0; b < bands; b++)
			to[b * a.l.plane] = b > 0 || a.last ? shrunk(band[b], t, sum.x) : band[b];
	}
	if (grid_sum(partial, &s->tickets, sum, &sum) && threadIdx.x == 0)
		s->value = (a.first ? 0.0 : s->value) + s->lambda * sum.x / a.grids;
}

template <bool X, bool Y, bool Z>
static __global__ void __launch_bounds__(SUM_THREADS)
	back(const struct pass a, const struct bs_prox_state *s, float scale, bool adds)
{
	constexpr int bx = X ? 2 : 1;
	constexpr int by = Y ? 2 : 1;
	constexpr int bz = Z ? 2 : 1;
	const uint64_t count = a.l.plane * a.images * a.grids;

	if (s->stop)
		return;
	for (uint64_t i = penalty_first(); i < count; i += penalty_step()) {
		const struct place p = place_of(a, s, i);
		const float2 *from =
			a.l.to + (p.grid * a.images + p.image) * bx * by * bz * a.l.plane;
		float2 *to = a.in + p.image * a.in_image + p.grid * a.in_grid;
		const uint32_t x1 = (p.at[0] == 0 ? a.l.low[0] : p.at[0]) - 1;
		const uint32_t y1 = (p.at[1] == 0 ? a.l.low[1] : p.at[1]) - 1;
		const uint32_t z1 = (p.at[2] == 0 ? a.l.low[2] : p.at[2]) - 1;
		float2 out[bx * by * bz] = {};

#pragma unroll
		for (int z = 0; z < (Z ? TAPS : 1); z++) { /* band z / 2, z % 2 places before */
			float2 rows[bx * by] = {};

#pragma unroll
			for (int y = 0; y < (Y ? TAPS : 1); y++) {
				const float2 *row =
					from +
					(uint64_t)(z / 2 * bx * by + y / 2 * bx) * a.l.plane +
					((uint64_t)(z % 2 != 0 ? z1 : p.at[2]) * a.l.low[1] +
					 (y % 2 != 0 ? y1 : p.at[1])) *
						a.l.low[0];
				float2 values[bx] = {};

#pragma unroll
				for (int x = 0; x < (X ? TAPS : 1); x++) {
					const float2 v = row[(uint64_t)(x / 2) * a.l.plane +
							     (x % 2 != 0 ? x1 : p.at[0])];

#pragma unroll
					for (int odd = 0; odd < bx; odd++)
						add(values[odd], X ? back_taps[odd][x] : 1.0f, v);
				}
#pragma unroll
				for (int o = 0; o < bx * by; o++)
					add(rows[o], Y ? back_taps[o / bx][y] : 1.0f,
					    values[o % bx]);
			}
#pragma unroll
			for (int o = 0; o < bx * by * bz; o++)
				add(out[o], Z ? back_taps[o / (bx * by)][z] : 1.0f,
				    rows[o % (bx * by)]);
		}
#pragma unroll
		for (int o = 0; o < bx * by * bz; o++) {
			float2 *at = to +
				     ((uint64_t)tap_at<Z>(a, p, 2, o / (bx * by)) * a.l.n[1] +
				      tap_at<Y>(a, p, 1, o / bx % by)) *
					     a.l.n[0] +
				     tap_at<X>(a, p, 0, o % bx);
			float2 v = make_float2(scale * out[o].x, scale * out[o].y);

			*at = adds ? make_float2(at->x + v.x, at->y + v.y) : v;
		}
	}
}

typedef void (*forward_kernel)(const struct pass, struct bs_prox_state *, double *);
typedef void (*back_kernel)(const struct pass, const struct bs_prox_state *, float, bool);

/* [halved x + 2 y + 4 z] */
static const forward_kernel forwards[] = {
	forward<false, false, false>, forward<true, false, false>, forward<false, true, false>,
	forward<true, true, false>,   forward<false, false, true>, forward<true, false, true>,
	forward<false, true, true>,   forward<true, true, true>,
};
static const back_kernel backs[] = {
	back<false, false, false>, back<true, false, false>, back<false, true, false>,
	back<true, true, false>,   back<false, false, true>, back<true, false, true>,
	back<false, true, true>,   back<true, true, true>,
};

static uint32_t grids_of(const struct bs_penalty_cuda_plan *p)
{
	return p->s.shifts ? 2 : 1;
}

/* Levels; where nothing is halved one that leaves the image as it is. */
static uint32_t levels_of(const struct bs_penalty_cuda_plan *p)
{
	uint32_t levels = 1;

	for (int a = 0; a < 3; a++)
		levels = p->levels[a] > levels ? p->levels[a] : levels;
	return levels;
}

static void take(struct bs_penalty_cuda_plan *p, struct bs_devroom *room)
{
	for (int a = 0; a < 3; a++)
		p->levels[a] = bs_penalty_levels(p->s.matrix[a]);
	for (uint32_t i = 0; i < levels_of(p); i++) {
		struct penalty_level *l = &p->level[i];

		l->bands = 1;
		l->plane = 1;
		for (int a = 0; a < 3; a++) {
			const bool halved = i < p->levels[a];

			l->n[a] = p->s.matrix[a] >> (halved ? i : p->levels[a]);
			l->low[a] = l->n[a] >> halved;
			l->bands *= halved ? 2 : 1;
			l->plane *= l->low[a];
		}
		bs_devroom_take(room, &l->to,
				l->plane * l->bands * p->s.images * grids_of(p) * sizeof(float2));
	}
}

static int halved_of(const struct penalty_level *l)
{
	return (l->low[0] < l->n[0]) + 2 * (l->low[1] < l->n[1]) + 4 * (l->low[2] < l->n[2]);
}

/* x: the images. */
static struct pass pass_of(const struct bs_penalty_cuda_plan *p, uint32_t level, float *x,
			   uint32_t grids)
{
	struct pass a = {};

	a.l = p->level[level];
	a.first = level == 0;
	a.last = level + 1 == levels_of(p);
	a.images = p->s.images;
	a.grids = grids;
	a.shifts = p->s.shifts;
	for (int d = 0; d < 3; d++)
		a.levels[d] = p->levels[d];
	if (level == 0) {
		a.in = (float2 *)x;
		a.in_image = p->voxels;
	} else {
		const struct penalty_level *before = &p->level[level - 1];

		a.in = before->to;
		a.in_image = before->bands * before->plane;
		a.in_grid = a.in_image * a.images;
	}
	return a;
}

static unsigned blocks_of(const struct pass *a)
{
	return penalty_blocks(a->l.plane * a->images * a->grids);
}

static int transform(const struct bs_penalty_cuda_plan *p, struct bs_prox_state *state, float *x,
		     bool measures, cudaStream_t stream, struct bs_fail *why)
{
	for (uint32_t i = 0; i < levels_of(p); i++) {
		struct pass a = pass_of(p, i, x, measures ? 1 : grids_of(p));

		a.measures = measures;
		forwards[halved_of(&a.l)]<<<blocks_of(&a), SUM_THREADS, 0, stream>>>(a, state,
										     p->partial);
	}
	return penalty_launched(why);
}

static int wavelet_value(void *self, struct bs_prox_state *state, const float *x,
			 cudaStream_t stream, struct bs_fail *why)
{
	/* x is only read */
	return transform((const struct bs_penalty_cuda_plan *)self, state, (float *)x, true, stream,
			 why);
}

static int wavelet_prox(void *self, struct bs_prox_state *state, float *z, cudaStream_t stream,
			struct bs_fail *why)
{
	const struct bs_penalty_cuda_plan *p = (const struct bs_penalty_cuda_plan *)self;
	const uint32_t grids = grids_of(p);
	int rc = transform(p, state, z, false, stream, why);

	if (rc != 0)
		return rc;
	for (uint32_t i = levels_of(p); i-- > 1;) {
		const struct pass a = pass_of(p, i, z, grids);

		backs[halved_of(&a.l)]<<<blocks_of(&a), SUM_THREADS, 0, stream>>>(a, state, 1.0f,
										  false);
	}
	for (uint32_t g = 0; g < grids; g++) { /* their places differ, so one after the other */
		struct pass a = pass_of(p, 0, z, 1);

		a.grid = g;
		backs[halved_of(&a.l)]<<<blocks_of(&a), SUM_THREADS, 0, stream>>>(
			a, state, 1.0f / (float)grids, g > 0);
	}
	return penalty_launched(why);
}

const struct bs_penalty_cuda_row bs_penalty_cuda_wavelet = {
	NULL, take, NULL, wavelet_value, wavelet_prox, false,
};
