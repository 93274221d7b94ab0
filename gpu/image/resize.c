/* gpu/image/resize.c - host twin; see resize.h */
#include "gpu/image/resize.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/fft/fft.h"

struct pass {
	struct bs_resize_axis a;
	struct bs_fft there, back;
	float scale[BS_AXIS_MAX]; /* scale 1/N of each element that is loaded */
};

struct bs_resize {
	const struct bs_fft_kernels *simd;
	struct bs_team *team;
	uint32_t passes;
	struct pass pass[3];
	float *between[2]; /* results of the first and of the second pass */
	float *blocks;     /* [member][2] blocks of the longest axis */
	size_t block_floats;
	/* These members belong to the run in progress, for the team's tasks. */
	const struct pass *now;
	const float *in;
	float *out;
};

uint32_t bs_resize_axes(struct bs_resize_axis axis[3], const struct bs_resize_spec *s)
{
	uint32_t size[3] = { s->from[0], s->from[1], s->from[2] };
	uint32_t n = 0;

	for (int grow = 0; grow < 2; grow++)
		for (uint32_t a = 0; a < 3; a++) {
			if (s->to[a] == s->from[a] || (s->to[a] > s->from[a]) != (grow == 1))
				continue;
			axis[n] = (struct bs_resize_axis){ a, s->from[a], s->to[a], 1, 1 };
			for (uint32_t b = 0; b < 3; b++)
				*(b < a ? &axis[n].inner : &axis[n].outer) *= b == a ? 1 : size[b];
			size[a] = s->to[a];
			n++;
		}
	return n;
}

static uint64_t values_after(const struct bs_resize_axis *a)
{
	return a->outer * a->to * a->inner;
}

/* Floats of a block that holds the longest axis. */
static size_t block_floats(const struct bs_resize_spec *s)
{
	uint32_t longest = 1;

	for (int a = 0; a < 3; a++) {
		longest = s->from[a] > longest ? s->from[a] : longest;
		longest = s->to[a] > longest ? s->to[a] : longest;
	}
	return (size_t)longest * 2 * BS_FFT_LANES_MAX;
}

int bs_resize_need(const struct bs_resize_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_resize_axis axis[3];
	uint32_t n;

	for (int a = 0; a < 3; a++)
		if (s->from[a] == 0 || s->from[a] > BS_AXIS_MAX || s->to[a] == 0 ||
		    s->to[a] > BS_AXIS_MAX)
			return bs_fail(why, BS_ERR_CONFIG, "resize %c from %u to %u: 1 .. %u",
				       "xyz"[a], s -> from[a], s -> to[a], BS_AXIS_MAX);
	n = bs_resize_axes(axis, s);
	if (n == 0)
		return bs_fail(why, BS_ERR_CONFIG, "resize: %u x %u x %u is its size already",
			       s->to[0], s->to[1], s->to[2]);
	for (uint32_t i = 0; i + 1 < n; i++)
		bs_need_add(need, "image half resized", 1, values_after(&axis[i]) * 8u);
	bs_need_add(need, "FFT lines", (uint64_t)BS_TEAM_MAX * 2, block_floats(s) * 4u);
	return 0;
}

static int plan_pass(struct pass *p, const struct bs_resize_axis *a)
{
	p->a = *a;
	for (uint32_t i = 0; i < a->from; i++)
		p->scale[i] = 1.0f / (float)a->from;
	return bs_fft_plan(&p->there, a->from) != 0 ? BS_ERR_NOMEM : bs_fft_plan(&p->back, a->to);
}

int bs_resize_plan(struct bs_resize **plan, const struct bs_resize_spec *s, struct bs_arena *arena,
		   struct bs_team *team, struct bs_fail *why)
{
	struct bs_resize *r = calloc(1, sizeof(*r));
	struct bs_resize_axis axis[3];
	int rc = 0;

	if (r == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "resize");
	r->simd = BS_ISA_PICK(bs_fft_kernels);
	r->team = team;
	r->block_floats = block_floats(s);
	r->passes = bs_resize_axes(axis, s);
	for (uint32_t i = 0; rc == 0 && i < r->passes; i++) {
		rc = plan_pass(&r->pass[i], &axis[i]);
		if (rc == 0 && i + 1 < r->passes) {
			r->between[i] = bs_arena_take(arena, (size_t)(values_after(&axis[i]) * 8u),
						      BS_ALIGN);
			rc = r->between[i] == NULL ? BS_ERR_NOMEM : 0;
		}
	}
	r->blocks = bs_arena_take(arena, (size_t)BS_TEAM_MAX * 2 * r->block_floats * 4, BS_ALIGN);
	if (rc != 0 || r->blocks == NULL) {
		bs_resize_close(r);
		return bs_fail(why, BS_ERR_NOMEM, "resize to %u x %u x %u", s->to[0], s->to[1],
			       s->to[2]);
	}
	*plan = r;
	return 0;
}

void bs_resize_close(struct bs_resize *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->passes; i++) {
		bs_fft_close(&r->pass[i].there);
		bs_fft_close(&r->pass[i].back);
	}
	free(r);
}

static float *block_at(const struct bs_resize *r, float *block, uint32_t index)
{
	return block + (size_t)index * 2 * r->simd->lanes;
}

/* Transforms the lines loaded in a, cuts or zero-fills them, and transforms them back. */
static float *resize_block(const struct bs_resize *r, float *a, float *b)
{
	const struct pass *p = r->now;
	const uint32_t n = p->a.from;
	const uint32_t m = p->a.to;
	const uint32_t below = (n < m ? n : m) / 2; /* number of negative k, which lie at the end */
	float *x = r->simd->run(&p->there, a, b, false);
	float *other = x == a ? b : a;

	memmove(block_at(r, x, m - below), block_at(r, x, n - below),
		(size_t)below * 2 * r->simd->lanes * sizeof(float));
	if (m > n)
		memset(block_at(r, x, n - below), 0,
		       (size_t)(m - n) * 2 * r->simd->lanes * sizeof(float));
	return r->simd->run(&p->back, x, other, true);
}

/* Resizes columns side by side, or (the x axis) whole rows: as many as a vector has lanes. */
static void columns(const struct bs_resize *r, uint64_t o, uint64_t first, float *a, float *b)
{
	const struct bs_resize_axis *p = &r->now->a;
	const uint64_t left = p->inner - first;
	const uint32_t count = left < r->simd->lanes ? (uint32_t)left : r->simd->lanes;
	const size_t row = 2 * (size_t)p->inner;
	const float *in = r->in + 2 * (o * p->from * p->inner + first);
	float *out = r->out + 2 * (o * p->to * p->inner + first);
	uint32_t low = p->from / 2;

	r->simd->cols_in(a, in + low * row, row, p->from - low, count, r->now->scale, false);
	r->simd->cols_in(block_at(r, a, p->from - low), in, row, low, count, r->now->scale, false);
	a = resize_block(r, a, b);
	low = p->to / 2;
	r->simd->cols_out(out, row, block_at(r, a, p->to - low), low, count, NULL);
	r->simd->cols_out(out + low * row, row, a, p->to - low, count, NULL);
}

static void rows(const struct bs_resize *r, uint64_t first, float *a, float *b)
{
	const struct bs_resize_axis *p = &r->now->a;
	const float *in[BS_FFT_LANES_MAX];
	float *out[BS_FFT_LANES_MAX];
	uint32_t low = p->from / 2;

	for (uint32_t l = 0; l < r->simd->lanes; l++) {
		/* Lanes without a row of their own repeat the last one. */
		uint64_t row = first + l < p->outer ? first + l : p->outer - 1;

		in[l] = r->in + 2 * row * p->from;
		out[l] = r->out + 2 * row * p->to;
	}
	r->simd->lines_in(block_at(r, a, p->from - low), in, low, r->now->scale);
	for (uint32_t l = 0; l < r->simd->lanes; l++)
		in[l] += 2 * (size_t)low;
	r->simd->lines_in(a, in, p->from - low, r->now->scale);
	a = resize_block(r, a, b);
	low = p->to / 2;
	r->simd->lines_out(out, block_at(r, a, p->to - low), low, NULL);
	for (uint32_t l = 0; l < r->simd->lanes; l++)
		out[l] += 2 * (size_t)low;
	r->simd->lines_out(out, a, p->to - low, NULL);
}

static uint64_t blocks_of(const struct bs_resize *r, uint64_t lines)
{
	return (lines + r->simd->lanes - 1) / r->simd->lanes;
}

static void task(void *arg, int number, int member)
{
	const struct bs_resize *r = arg;
	const struct bs_resize_axis *p = &r->now->a;
	const uint64_t each = blocks_of(r, p->inner);
	float *a = r->blocks + (size_t)member * 2 * r->block_floats;

	if (p->inner == 1)
		rows(r, (uint64_t)number * r->simd->lanes, a, a + r->block_floats);
	else
		columns(r, (uint64_t)number / each, (uint64_t)number % each * r->simd->lanes, a,
			a + r->block_floats);
}

void bs_resize_run(struct bs_resize *r, const float *in, float *out)
{
	for (uint32_t i = 0; i < r->passes; i++) {
		const struct bs_resize_axis *p = &r->pass[i].a;

		r->now = &r->pass[i];
		r->in = i == 0 ? in : r->between[i - 1];
		r->out = i + 1 == r->passes ? out : r->between[i];
		bs_team_run(r->team, task, r,
			    (int)(p->inner == 1 ? blocks_of(r, p->outer)
						: p->outer * blocks_of(r, p->inner)));
	}
}
