/*
 * gpu/penalty/dual.c - priors sum |D x|: total variation, and W; see penalty.h
 *
 * The proximal step at v is v - D^H p, p the minimum of 1/2 ||v - D^H p||^2 with |p| at most lambda
 * times the step, which is found by projected gradients with momentum and restart; p is kept from
 * one proximal step to the next. A row's components (differences along each axis) count together.
 */
#include "gpu/penalty/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/solve/blocks.h"
#include "gpu/solve/csr.h"

#define INNER     10u /* dual steps of a proximal step */
#define INNER_MAX 80u

static void add_axis(struct bs_penalty_plan *p, uint64_t length, uint64_t stride, bool open)
{
	if (length > 1)
		p->axis[p->axes++] = (struct bs_penalty_axis){ length, stride, open };
}

static uint32_t components(const struct bs_penalty_plan *p)
{
	return p->axes > 0 ? p->axes : 1;
}

static void lay_out(struct bs_penalty_plan *p, struct bs_room *r)
{
	const uint32_t *n = p->s.matrix;
	uint64_t values;

	if (p->s.kind == BS_PRIOR_W)
		return;
	p->rows = p->size;
	if (p->s.kind == BS_PRIOR_TV) {
		add_axis(p, n[0], 1, false);
		add_axis(p, n[1], n[0], false);
		add_axis(p, n[2], (uint64_t)n[0] * n[1], false);
	} else {
		add_axis(p, p->s.images, p->voxels, p->s.kind == BS_PRIOR_TV_FRAMES);
	}
	values = p->rows * components(p);
	bs_room_take(r, &p->p, "dual of the prior", 1, values * 8);
	bs_room_take(r, &p->q, "dual of the prior", 1, values * 8);
	bs_room_take(r, &p->r, "dual of the prior", 1, values * 8);
	bs_room_take(r, &p->spare, "dual of the prior", 1, p->size * 8);
	bs_room_take(r, &p->partial, "partial sums", 1, (uint64_t)bs_blocks(p->rows) * 8);
}

/* Takes what W needs, whose rows no protocol says, and touches it, so that no fault comes later. */
static int take_w(struct bs_penalty_plan *p, struct bs_fail *why)
{
	const uint64_t vectors = 3 * p->w->rows * p->s.images + p->size;
	const uint64_t sums = (uint64_t)bs_blocks(p->w->rows * p->s.images);

	p->own = malloc(vectors * 8 + sums * 8);
	if (p->own == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "prior w");
	memset(p->own, 0, vectors * 8 + sums * 8);
	p->rows = p->w->rows * p->s.images;
	p->p = p->own;
	p->q = p->p + 2 * p->rows;
	p->r = p->q + 2 * p->rows;
	p->spare = p->r + 2 * p->rows;
	p->partial = (double *)p->own + vectors;
	return 0;
}

/* ||D||^2 is at most 4 an axis of differences, and W's bound. */
static int ready(struct bs_penalty_plan *p, struct bs_fail *why)
{
	const bool by_w = p->s.kind == BS_PRIOR_W;
	double bound;

	if (by_w && (p->w == NULL || p->w->cols != p->voxels))
		return bs_fail(why, BS_ERR_SIZE,
			       "prior w: W has %llu columns, an image %llu voxels",
			       (unsigned long long)(p->w != NULL ? p->w->cols : 0),
			       (unsigned long long)p->voxels);
	bound = by_w ? bs_csr_bound(p->w) : 4.0 * p->axes;
	p->tau = bound > 0.0 ? 1.0 / bound : 1.0;
	return by_w ? take_w(p, why) : 0;
}

/*
 * A run of values along an axis whose neighbor lies equally far: from `at` on, before `end`. back:
 * the neighbor before each; else the one behind.
 */
struct stretch {
	uint64_t end;
	int64_t neighbor;
	bool first; /* the values are the first along the axis */
};

static struct stretch stretch_at(const struct bs_penalty_axis *a, uint64_t at, uint64_t end,
				 bool back)
{
	const uint64_t ring = a->length * a->stride;
	const uint64_t in = at % ring;
	const uint64_t edge = back ? a->stride : ring - a->stride;
	const bool below = in < edge;
	const uint64_t stop = at - in + (below ? edge : ring);
	const int64_t far = (int64_t)(ring - a->stride);
	const int64_t near = (int64_t)a->stride;

	return (struct stretch){ stop < end ? stop : end,
				 back ? (below ? far : -near) : (below ? near : -far),
				 back && below };
}

/* Sets r = D x, by differences, for one block of values. */
static void differ(void *arg, int task)
{
	const struct bs_penalty_plan *p = arg;
	uint64_t from;
	const uint64_t end = bs_block(p->size, task, &from) + from;

	for (uint32_t a = 0; a < p->axes; a++) {
		float *restrict r = p->r + 2 * a * p->rows;
		struct stretch s = { from, 0, false };

		for (uint64_t at = from; at < end; at = s.end) {
			s = stretch_at(&p->axis[a], at, end, true);
			if (s.first && p->axis[a].open) {
				memset(r + 2 * at, 0, (size_t)(s.end - at) * 8);
				continue;
			}
			for (uint64_t i = 2 * at; i < 2 * s.end; i++)
				r[i] = p->in[i] - p->in[(int64_t)i + 2 * s.neighbor];
		}
	}
}

/* Sets x = spare - D^H in, by differences, for one block of values. */
static void gather(void *arg, int task)
{
	const struct bs_penalty_plan *p = arg;
	uint64_t from;
	const uint64_t end = bs_block(p->size, task, &from) + from;
	float *restrict x = p->x;

	memcpy(x + 2 * from, p->spare + 2 * from, (size_t)(end - from) * 8);
	for (uint32_t a = 0; a < p->axes; a++) {
		const float *q = p->in + 2 * a * p->rows;
		struct stretch s = { from, 0, false };

		for (uint64_t at = from; at < end; at = s.end) {
			s = stretch_at(&p->axis[a], at, end, false);
			for (uint64_t i = 2 * at; i < 2 * s.end; i++)
				x[i] -= q[i] - q[(int64_t)i + 2 * s.neighbor];
		}
	}
}

static void forward(struct bs_penalty_plan *p, const float *x)
{
	p->in = x;
	if (p->s.kind != BS_PRIOR_W) {
		bs_team_do(p->team, differ, p, bs_blocks(p->size));
		return;
	}
	for (uint32_t i = 0; i < p->s.images; i++)
		bs_csr_forward(p->team, p->w, x + 2 * i * p->voxels, p->r + 2 * i * p->w->rows);
}

/* Sets x = spare - D^H q. */
static void adjoint(struct bs_penalty_plan *p, const float *q, float *x)
{
	p->in = q;
	p->x = x;
	if (p->s.kind != BS_PRIOR_W) {
		bs_team_do(p->team, gather, p, bs_blocks(p->size));
		return;
	}
	memcpy(x, p->spare, (size_t)p->size * 8);
	for (uint32_t i = 0; i < p->s.images; i++)
		bs_csr_adjoint_add(p->team, p->w, -1.0f, q + 2 * i * p->w->rows,
				   x + 2 * i * p->voxels);
}

/* The modulus of a row's components together, of which v is the first. */
static double modulus(const struct bs_penalty_plan *p, const float *v)
{
	double sum = 0.0;

	for (uint32_t a = 0; a < components(p); a++) {
		const double re = (double)v[2 * a * p->rows];
		const double im = (double)v[2 * a * p->rows + 1];

		sum += re * re + im * im;
	}
	return sqrt(sum);
}

/* Sums |r| of a block's rows. */
static void measure(void *arg, int task)
{
	const struct bs_penalty_plan *p = arg;
	uint64_t from;
	const uint64_t n = bs_block(p->rows, task, &from);
	double sum = 0.0;

	for (uint64_t i = from; i < from + n; i++)
		sum += modulus(p, p->r + 2 * i);
	p->partial[task] = sum;
}

/*
 * Sets r to q + tau r, cut to the threshold; sums (q - r).(r - p), which is above 0 where the
 * momentum points uphill.
 */
static void project(void *arg, int task)
{
	const struct bs_penalty_plan *p = arg;
	uint64_t from;
	const uint64_t n = bs_block(p->rows, task, &from);
	const uint32_t many = components(p);
	const float tau = (float)p->tau;
	const float t = (float)p->threshold;
	double uphill = 0.0;

	for (uint64_t i = from; i < from + n; i++) {
		float sum = 0.0f;
		float keep;

		for (uint32_t a = 0; a < many; a++) {
			const uint64_t at = 2 * (a * p->rows + i);

			for (uint64_t j = at; j < at + 2; j++) {
				p->r[j] = p->q[j] + tau * p->r[j];
				sum += p->r[j] * p->r[j];
			}
		}
		keep = sum > t * t ? t / sqrtf(sum) : 1.0f;
		for (uint32_t a = 0; a < many; a++) {
			const uint64_t at = 2 * (a * p->rows + i);

			for (uint64_t j = at; j < at + 2; j++) {
				p->r[j] *= keep;
				uphill += ((double)p->q[j] - (double)p->r[j]) *
					  ((double)p->r[j] - (double)p->p[j]);
			}
		}
	}
	p->partial[task] = uphill;
}

/* Sets q = r + c (r - p). */
static void extrapolate(void *arg, int task)
{
	const struct bs_penalty_plan *p = arg;
	uint64_t from;
	const uint64_t n = bs_block(p->rows, task, &from);
	const float c = p->c;

	for (uint32_t a = 0; a < components(p); a++) {
		const uint64_t at = 2 * (a * p->rows + from);
		const float *restrict r = p->r + at;
		const float *restrict was = p->p + at;
		float *restrict q = p->q + at;

		for (uint64_t i = 0; i < 2 * n; i++)
			q[i] = r[i] + c * (r[i] - was[i]);
	}
}

static void dual_step(struct bs_penalty_plan *p, float *x, double *t)
{
	const int blocks = bs_blocks(p->rows);
	float *was = p->p;
	double next;

	adjoint(p, p->q, x);
	forward(p, x);
	bs_team_do(p->team, project, p, blocks);
	next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * *t * *t));
	if (bs_penalty_sum(p, (uint64_t)blocks) > 0.0)
		*t = next = 1.0;
	p->c = (float)((*t - 1.0) / next);
	*t = next;
	bs_team_do(p->team, extrapolate, p, blocks);
	p->p = p->r;
	p->r = was;
}

static double dual_value(void *self, const float *x)
{
	struct bs_penalty_plan *p = self;

	forward(p, x);
	bs_team_do(p->team, measure, p, bs_blocks(p->rows));
	return p->lambda * bs_penalty_sum(p, (uint64_t)bs_blocks(p->rows));
}

static double dual_prox(void *self, double step, uint32_t iteration, float *x)
{
	struct bs_penalty_plan *p = self;
	const size_t bytes = (size_t)(p->rows * components(p)) * 8;
	double t = 1.0;

	if (iteration == 0) {
		memset(p->p, 0, bytes);
		p->inner_now = INNER;
	}
	memcpy(p->q, p->p, bytes);
	memcpy(p->spare, x, (size_t)p->size * 8);
	p->threshold = p->lambda * step;
	for (uint32_t i = 0; i < p->inner_now; i++)
		dual_step(p, x, &t);
	adjoint(p, p->p, x);
	return dual_value(p, x);
}

static bool dual_refine(void *self)
{
	struct bs_penalty_plan *p = self;
	const bool could = p->inner_now < INNER_MAX;

	p->inner_now *= could ? 2 : 1;
	return could;
}

const struct bs_penalty_row bs_penalty_dual = {
	.lay_out = lay_out,
	.ready = ready,
	.value = dual_value,
	.prox = dual_prox,
	.refine = dual_refine,
};
