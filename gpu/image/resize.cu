/*
 * gpu/image/resize.cu - CUDA twin of resize.c; see resize.h
 *
 * First every axis that changes is transformed and cut to the k that stay; then each is transformed
 * back to its new size. So the arrays in between are never larger than the result.
 */
#include "gpu/image/resize.h"

#include <stdlib.h>

#include "core/sizes.h"
#include "gpu/device/check.h"
#include "gpu/device/memory.h"
#include "gpu/fft/lines_cuda.h"

/* most passes: two for each axis, to k-space and back */
#define PASSES 6

struct bs_resize_cuda {
	uint32_t passes;
	bs_line_pass pass[PASSES];
	/* two arrays, used in turns: the result of one pass is the input of the next */
	float2 *between[2];
};

struct step {
	uint32_t n;       /* length of the transform */
	uint32_t in, out; /* elements of an input line and of an output line */
	uint64_t inner, outer;
};

/* Writes the passes in their order. Returns their number; the first half go to k-space. */
static uint32_t steps_of(struct step step[PASSES], const struct bs_resize_spec *s)
{
	uint32_t size[3] = { s->from[0], s->from[1], s->from[2] };
	uint32_t n = 0;

	for (int back = 0; back < 2; back++)
		for (uint32_t a = 0; a < 3; a++) {
			const uint32_t kept = bs_least(s->from[a], s->to[a]);

			if (s->from[a] == s->to[a])
				continue;
			step[n] = { back ? s->to[a] : s->from[a], size[a], back ? s->to[a] : kept,
				    1, s->images };
			for (uint32_t b = 0; b < 3; b++)
				*(b < a ? &step[n].inner : &step[n].outer) *= b == a ? 1 : size[b];
			size[a] = step[n++].out;
		}
	return n;
}

static uint64_t bytes_after(const struct step *s)
{
	return bs_devmem_round(s->outer * s->out * s->inner * sizeof(float2));
}

/*
 * Returns the bytes of the largest result of the passes number turn, turn + 2 and so on, the last
 * pass excepted.
 */
static uint64_t between_bytes(const struct step *step, uint32_t n, uint32_t turn)
{
	uint64_t most = 0;

	for (uint32_t i = turn; i + 1 < n; i += 2)
		most = bytes_after(&step[i]) > most ? bytes_after(&step[i]) : most;
	return most;
}

uint64_t bs_resize_cuda_bytes(const struct bs_resize_spec *s)
{
	struct step step[PASSES];
	const uint32_t n = steps_of(step, s);
	uint64_t bytes = between_bytes(step, n, 0) + between_bytes(step, n, 1);

	for (uint32_t i = 0; i < n; i++)
		bytes += bs_line_bytes(step[i].n) + bs_devmem_round(BS_AXIS_MAX * sizeof(float));
	return bytes;
}

static int make_pass(bs_line_pass *l, const struct step *s, bool back, struct bs_devmem *mem,
		     struct bs_fail *why)
{
	int rc = bs_line_scale(&l->scale_in, back ? 1.0f : 1.0f / (float)s->n, BS_AXIS_MAX, mem,
			       why);

	l->in_count = s->in;
	l->in_half = s->in / 2;
	l->out_count = s->out;
	l->out_half = s->out / 2;
	l->inner = s->inner;
	l->outer = s->outer;
	return rc != 0 ? rc : bs_line_make(&l->line, s->n, mem, why);
}

int bs_resize_cuda_plan(struct bs_resize_cuda **plan, const struct bs_resize_spec *s,
			struct bs_devmem *mem, struct bs_fail *why)
{
	struct bs_resize_cuda *r = (struct bs_resize_cuda *)calloc(1, sizeof(*r));
	struct step step[PASSES];
	int rc = r == NULL ? bs_fail(why, BS_ERR_NOMEM, "resize") : bs_lines_cuda_init(why);

	*plan = r;
	if (rc == 0)
		r->passes = steps_of(step, s);
	for (uint32_t turn = 0; turn < 2 && rc == 0; turn++) {
		r->between[turn] =
			(float2 *)bs_devmem_take(mem, between_bytes(step, r->passes, turn));
		if (r->between[turn] == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "resize to %u x %u x %u", s->to[0],
				     s->to[1], s->to[2]);
	}
	for (uint32_t i = 0; rc == 0 && i < r->passes; i++)
		rc = make_pass(&r->pass[i], &step[i], i >= r->passes / 2, mem, why);
	return rc;
}

int bs_resize_cuda_run(const struct bs_resize_cuda *r, const float *in, float *out,
		       struct CUstream_st *stream, struct bs_fail *why)
{
	const float2 *from = (const float2 *)in;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < r->passes; i++) {
		float2 *to = i + 1 == r->passes ? (float2 *)out : r->between[i % 2];

		rc = bs_line_launch(&r->pass[i], i < r->passes / 2 ? -1 : 1, from, to, stream, why);
		from = to;
	}
	return rc;
}

void bs_resize_cuda_close(struct bs_resize_cuda *r)
{
	free(r);
}
