/* gpu/engine/left_out.c - see left_out.h */
#include "gpu/engine/left_out.h"

#include <string.h>

struct bs_pocs_spec bs_left_out_spec(const struct bs_protocol *p, const uint32_t size[3],
				     uint32_t images)
{
	struct bs_pocs_spec s = { .images = images,
				  .iterations = p->pocs_iterations,
				  .taper = p->pocs_taper };

	memcpy(s.size, size, sizeof(s.size));
	memcpy(s.matrix, p->matrix, sizeof(s.matrix));
	return s;
}

static size_t lines_of(const struct bs_protocol *p)
{
	return (size_t)p->encoded[1] * p->encoded[2];
}

int bs_left_out_need(const struct bs_protocol *p, const uint32_t size[3], uint32_t images,
		     struct bs_need *need, struct bs_fail *why)
{
	const struct bs_pocs_spec s = bs_left_out_spec(p, size, images);

	bs_need_add(need, "lines that came", 1, bs_protocol_frames(p) * lines_of(p));
	return bs_left_out_wanted(p) ? bs_pocs_need(&s, need, why) : 0;
}

int bs_left_out_arm(struct bs_left_out *l, const struct bs_protocol *p, const uint32_t size[3],
		    uint32_t images, const struct bs_arm_env *env, struct bs_fail *why)
{
	const struct bs_pocs_spec s = bs_left_out_spec(p, size, images);

	memset(l, 0, sizeof(*l));
	l->p = p;
	memcpy(l->size, size, sizeof(l->size));
	l->lines = bs_arena_take(env->arena, bs_protocol_frames(p) * lines_of(p), BS_ALIGN);
	if (l->lines == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': lines", p->name);
	return bs_left_out_wanted(p) ? bs_pocs_plan(&l->pocs, &s, env->arena, env->team, why) : 0;
}

void bs_left_out_close(struct bs_left_out *l)
{
	bs_pocs_close(l->pocs);
	l->pocs = NULL;
}

void bs_left_out_begin(struct bs_left_out *l, uint32_t frame)
{
	memset(l->lines + frame * lines_of(l->p), 0, lines_of(l->p));
}

void bs_left_out_add(struct bs_left_out *l, uint32_t frame, uint32_t line)
{
	l->lines[frame * lines_of(l->p) + line] = 1;
}

const uint8_t *bs_left_out_lines(const struct bs_left_out *l, uint32_t frame)
{
	return l->lines + frame * lines_of(l->p);
}

void bs_left_out_spans(struct bs_pocs_span spans[3], const struct bs_protocol *p,
		       const uint8_t *lines, uint32_t unknown, const uint32_t size[3])
{
	bs_pocs_spans(spans, lines, p->encoded, p->samples);
	for (int a = 0; a < 2; a++)
		if (unknown >> a & 1u)
			spans[1 + a] = (struct bs_pocs_span){ 0, p->encoded[1 + a] };
	bs_pocs_rescale(spans, p->encoded, size);
}

void bs_left_out_run(struct bs_left_out *l, uint32_t frame, uint32_t unknown, float *in, float *out)
{
	struct bs_pocs_span spans[3];

	bs_left_out_spans(spans, l->p, bs_left_out_lines(l, frame), unknown, l->size);
	bs_pocs_run(l->pocs, spans, in, out);
}
