/*
 * gpu/penalty/dual.cu - priors sum |D x| on the GPU: total variation, and W; see penalty_cuda.h
 *
 * As dual.c. A pass of the solver makes INNER dual steps; a refined step goes on in the next pass.
 */
#include "gpu/penalty/cuda/rows.cuh"

#include "gpu/solve/cuda/csr_row.cuh"

#define INNER 10 /* dual steps of a pass, as in dual.c */

/* What the kernels see of the plan. */
struct dual {
	struct penalty_axes axes;
	struct bs_csr_cuda plain, adjoint;
	uint64_t voxels, size, rows;
	float2 *p, *q, *r, *spare;
	double *partial;
	struct bs_prox_state *state;
	float tau;
};

static __device__ __forceinline__ uint32_t components(const struct dual &d)
{
	return d.axes.many > 0 ? d.axes.many : 1;
}

static __device__ __forceinline__ float2 minus(float2 a, float2 b)
{
	return make_float2(a.x - b.x, a.y - b.y);
}

/* Component a of row i of D x. */
static __device__ float2 row_of(const struct dual &d, const float2 *x, uint32_t a, uint64_t i)
{
	if (d.axes.many == 0) {
		const uint64_t row = i % d.plain.rows;
		const float2 *image = x + i / d.plain.rows * d.voxels;

		return d.plain.is_complex ? bs_csr_row<true>(d.plain, row, image)
					  : bs_csr_row<false>(d.plain, row, image);
	}
	const uint64_t stride = d.axes.axis[a].stride;
	const uint64_t ring = d.axes.axis[a].length * stride;

	if (i % ring >= stride)
		return minus(x[i], x[i - stride]);
	return d.axes.axis[a].open ? make_float2(0.0f, 0.0f) : minus(x[i], x[i + ring - stride]);
}

/* Value i of D^H q. */
static __device__ float2 column_of(const struct dual &d, const float2 *q, uint64_t i)
{
	float2 sum = make_float2(0.0f, 0.0f);

	if (d.axes.many == 0) {
		const uint64_t row = i % d.voxels;
		const float2 *image = q + i / d.voxels * d.plain.rows;

		return d.adjoint.is_complex ? bs_csr_row<true>(d.adjoint, row, image)
					    : bs_csr_row<false>(d.adjoint, row, image);
	}
	for (uint32_t a = 0; a < d.axes.many; a++) {
		const uint64_t stride = d.axes.axis[a].stride;
		const uint64_t ring = d.axes.axis[a].length * stride;
		const uint64_t next = i % ring + stride < ring ? i + stride : i + stride - ring;
		const float2 *at = q + a * d.rows;

		sum.x += at[i].x - at[next].x;
		sum.y += at[i].y - at[next].y;
	}
	return sum;
}

/* Begins a step, unless this pass goes on with one: q = p, which is 0 in a solve's first step. */
static __global__ void __launch_bounds__(SUM_THREADS) enter(const struct dual d, const float2 *z)
{
	struct bs_prox_state *s = d.state;
	const float2 none = make_float2(0.0f, 0.0f);

	if (s->stop || s->pass > 0)
		return;
	for (uint64_t i = penalty_first(); i < d.size; i += penalty_step())
		d.spare[i] = z[i];
	for (uint64_t i = penalty_first(); i < d.rows * components(d); i += penalty_step()) {
		const float2 p = s->iterations == 0 ? none : d.p[i];

		d.p[i] = p;
		d.q[i] = p;
	}
	if (blockIdx.x == 0 && threadIdx.x == 0)
		s->dual_t = 1.0;
}

/* Sets z = spare - D^H q. */
static __global__ void __launch_bounds__(SUM_THREADS)
	gather(const struct dual d, const float2 *q, float2 *z)
{
	if (d.state->stop)
		return;
	for (uint64_t i = penalty_first(); i < d.size; i += penalty_step())
		z[i] = minus(d.spare[i], column_of(d, q, i));
}

/* Finds the dual's momentum; turn: as project sums it. */
static __device__ void accelerate(struct bs_prox_state *s, double turn)
{
	double next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * s->dual_t * s->dual_t));

	if (turn > 0.0)
		s->dual_t = next = 1.0;
	s->dual_c = (float)((s->dual_t - 1.0) / next);
	s->dual_t = next;
}

/*
 * Sets r to q + tau D z, cut to the threshold; sums (q - r).(r - p), which is above 0 where the
 * momentum points uphill.
 */
static __global__ void __launch_bounds__(SUM_THREADS) project(const struct dual d, const float2 *z)
{
	struct bs_prox_state *s = d.state;
	const float t = (float)(s->lambda * s->step);
	const uint32_t many = components(d);
	double2 turn = make_double2(0.0, 0.0);

	if (s->stop)
		return;
	for (uint64_t i = penalty_first(); i < d.rows; i += penalty_step()) {
		float2 r[3];
		float sum = 0.0f;

#pragma unroll
		for (uint32_t a = 0; a < 3; a++)
			if (a < many) {
				const float2 q = d.q[a * d.rows + i];
				const float2 v = row_of(d, z, a, i);

				r[a] = make_float2(fmaf(d.tau, v.x, q.x), fmaf(d.tau, v.y, q.y));
				sum += r[a].x * r[a].x + r[a].y * r[a].y;
			}
		const float keep = sum > t * t ? t / sqrtf(sum) : 1.0f;

#pragma unroll
		for (uint32_t a = 0; a < 3; a++)
			if (a < many) {
				const float2 q = d.q[a * d.rows + i];
				const float2 p = d.p[a * d.rows + i];

				r[a] = make_float2(keep * r[a].x, keep * r[a].y);
				turn.x += ((double)q.x - r[a].x) * ((double)r[a].x - p.x) +
					  ((double)q.y - r[a].y) * ((double)r[a].y - p.y);
				d.r[a * d.rows + i] = r[a];
			}
	}
	if (grid_sum(d.partial, &s->tickets, turn, &turn) && threadIdx.x == 0)
		accelerate(s, turn.x);
}

/* Sets q = r + c (r - p), and p = r. */
static __global__ void __launch_bounds__(SUM_THREADS) extrapolate(const struct dual d)
{
	const float c = d.state->dual_c;

	if (d.state->stop)
		return;
	for (uint64_t i = penalty_first(); i < d.rows * components(d); i += penalty_step()) {
		const float2 r = d.r[i];
		const float2 step = minus(r, d.p[i]);

		d.q[i] = make_float2(fmaf(c, step.x, r.x), fmaf(c, step.y, r.y));
		d.p[i] = r;
	}
}

/* Sums |D x|. passes: it ends a pass of the solver. */
static __global__ void __launch_bounds__(SUM_THREADS)
	measure(const struct dual d, const float2 *x, bool passes)
{
	struct bs_prox_state *s = d.state;
	double2 sum = make_double2(0.0, 0.0);

	if (s->stop)
		return;
	for (uint64_t i = penalty_first(); i < d.rows; i += penalty_step()) {
		double power = 0.0;

		for (uint32_t a = 0; a < components(d); a++) {
			const float2 v = row_of(d, x, a, i);

			power += (double)v.x * v.x + (double)v.y * v.y;
		}
		sum.x += sqrt(power);
	}
	if (grid_sum(d.partial, &s->tickets, sum, &sum) && threadIdx.x == 0) {
		s->value = s->lambda * sum.x;
		if (passes)
			s->pass = s->pass + 1 < s->passes ? s->pass + 1 : 0;
	}
}

/* ---- plan ------------------------------------------------------------------------------------ */

static void add_axis(struct penalty_axes *axes, uint64_t length, uint64_t stride, bool open)
{
	if (length <= 1)
		return;
	axes->axis[axes->many].length = length;
	axes->axis[axes->many].stride = stride;
	axes->axis[axes->many++].open = open;
}

static uint64_t components_of(const struct bs_penalty_cuda_plan *p)
{
	return p->axes.many > 0 ? p->axes.many : 1;
}

/* One voxel, or one frame: there are no differences. */
static bool is_void(const struct bs_penalty_cuda_plan *p)
{
	return p->axes.many == 0 && p->s.kind != BS_PRIOR_W;
}

static void take(struct bs_penalty_cuda_plan *p, struct bs_devroom *room)
{
	const uint32_t *n = p->s.matrix;
	uint64_t bytes;

	p->axes.many = 0;
	p->rows = p->s.kind == BS_PRIOR_W ? p->w->rows * p->s.images : p->size;
	if (p->s.kind == BS_PRIOR_TV) {
		add_axis(&p->axes, n[0], 1, false);
		add_axis(&p->axes, n[1], n[0], false);
		add_axis(&p->axes, n[2], (uint64_t)n[0] * n[1], false);
	} else if (p->s.kind != BS_PRIOR_W) {
		add_axis(&p->axes, p->s.images, p->voxels, p->s.kind == BS_PRIOR_TV_FRAMES);
	}
	bytes = p->rows * components_of(p) * sizeof(float2);
	bs_devroom_take(room, &p->p, bytes);
	bs_devroom_take(room, &p->q, bytes);
	bs_devroom_take(room, &p->r, bytes);
	bs_devroom_take(room, &p->spare, p->size * sizeof(float2));
}

/* ||D||^2 is at most 4 an axis of differences, and W's bound. */
static int ready(struct bs_penalty_cuda_plan *p, struct bs_devmem *mem, struct bs_fail *why)
{
	const double bound = p->s.kind == BS_PRIOR_W ? bs_csr_bound(p->w) : 4.0 * p->axes.many;
	int rc = 0;

	p->tau = bound > 0.0 ? (float)(1.0 / bound) : 1.0f;
	if (p->s.kind == BS_PRIOR_W)
		rc = bs_csr_cuda_plan(&p->plain, p->w, BS_CSR_PLAIN, mem, why);
	return rc == 0 && p->s.kind == BS_PRIOR_W
		       ? bs_csr_cuda_plan(&p->adjoint, p->w, BS_CSR_ADJOINT, mem, why)
		       : rc;
}

static struct dual dual_of(const struct bs_penalty_cuda_plan *p, struct bs_prox_state *state)
{
	const struct dual d = { p->axes, p->plain, p->adjoint, p->voxels,  p->size, p->rows, p->p,
				p->q,    p->r,     p->spare,   p->partial, state,   p->tau };

	return d;
}

static int dual_value(void *self, struct bs_prox_state *state, const float *x, cudaStream_t stream,
		      struct bs_fail *why)
{
	const struct bs_penalty_cuda_plan *p = (const struct bs_penalty_cuda_plan *)self;

	if (!is_void(p))
		measure<<<penalty_blocks(p->rows), SUM_THREADS, 0, stream>>>(
			dual_of(p, state), (const float2 *)x, false);
	return penalty_launched(why);
}

static int dual_prox(void *self, struct bs_prox_state *state, float *z, cudaStream_t stream,
		     struct bs_fail *why)
{
	const struct bs_penalty_cuda_plan *p = (const struct bs_penalty_cuda_plan *)self;
	const struct dual d = dual_of(p, state);
	const unsigned voxels = penalty_blocks(p->size);
	const unsigned rows = penalty_blocks(p->rows);
	const unsigned all = penalty_blocks(p->rows * components_of(p));
	const unsigned most = all > voxels ? all : voxels;
	float2 *x = (float2 *)z;

	if (is_void(p))
		return 0;
	enter<<<most, SUM_THREADS, 0, stream>>>(d, x);
	for (int i = 0; i < INNER; i++) {
		gather<<<voxels, SUM_THREADS, 0, stream>>>(d, d.q, x);
		project<<<rows, SUM_THREADS, 0, stream>>>(d, x);
		extrapolate<<<all, SUM_THREADS, 0, stream>>>(d);
	}
	gather<<<voxels, SUM_THREADS, 0, stream>>>(d, d.p, x);
	measure<<<rows, SUM_THREADS, 0, stream>>>(d, x, true);
	return penalty_launched(why);
}

const struct bs_penalty_cuda_row bs_penalty_cuda_dual = {
	NULL, take, ready, dual_value, dual_prox, true,
};
