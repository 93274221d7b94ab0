/* gpu/image/partial.c - host twin; see partial.h */
#include "gpu/image/partial.h"

#include <string.h>

/* floats of one task, so few that they stay in the first-level cache for all groups */
#define RUN 4096u

enum { STALE = 1, ANY = 2 }; /* marks of a block: it must be summed again; some group is held */

static uint64_t bytes_of(const struct bs_protocol *p)
{
	return bs_protocol_voxels(p) * p->coils * 8u;
}

static uint64_t frames_of(const struct bs_protocol *p)
{
	return bs_protocol_frames(p);
}

static uint64_t slots_of(const struct bs_protocol *p)
{
	uint32_t groups = bs_partial_groups(p);

	return frames_of(p) * ((uint64_t)groups + bs_partial_blocks(groups));
}

void bs_partial_need(const struct bs_protocol *p, struct bs_need *need)
{
	if (bs_partial_groups(p) == 0)
		return;
	bs_need_add(need, "window's partial sums", slots_of(p), bytes_of(p));
	bs_need_add(need, "window's marks", 1, slots_of(p));
}

int bs_partial_open(struct bs_partial *w, const struct bs_protocol *p, struct bs_arena *arena,
		    struct bs_team *team, struct bs_fail *why)
{
	const uint64_t slot = bs_slot(bytes_of(p));
	const uint64_t marks = bs_slot(slots_of(p));

	memset(w, 0, sizeof(*w));
	w->team = team;
	w->floats = bytes_of(p) / sizeof(float);
	w->stride = slot / sizeof(float);
	w->groups = bs_partial_groups(p);
	if (w->groups == 0)
		return 0;
	w->side = bs_partial_side(w->groups);
	w->blocks = bs_partial_blocks(w->groups);
	w->part = bs_arena_take(arena, (size_t)(slot * slots_of(p)), BS_ALIGN);
	w->seen = bs_arena_take(arena, (size_t)marks, BS_ALIGN);
	if (w->part == NULL || w->seen == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': %u groups of a sliding window",
			       p->name, w->groups);
	w->block = w->part + frames_of(p) * w->groups * w->stride;
	w->mark = w->seen + frames_of(p) * w->groups;
	memset(w->mark, STALE, (size_t)(frames_of(p) * w->blocks));
	return 0;
}

float *bs_partial_write(struct bs_partial *w, uint32_t frame, uint32_t group)
{
	w->mark[(uint64_t)frame * w->blocks + group / w->side] |= STALE;
	return w->part + ((uint64_t)frame * w->groups + group) * w->stride;
}

struct job {
	const struct bs_partial *w;
	float *part, *block; /* partial sums of the frame, and sums of its blocks */
	const uint8_t *held, *mark;
	float *out;
};

/* Sets out = in; with `add` adds in to out. */
static void put_block(float *restrict out, const float *restrict in, size_t n, bool add)
{
	if (!add)
		memcpy(out, in, n * sizeof(*out));
	else
		for (size_t i = 0; i < n; i++)
			out[i] += in[i];
}

static void sum_run(void *arg, int task)
{
	const struct job *j = arg;
	const struct bs_partial *w = j->w;
	const uint64_t at = (uint64_t)task * RUN;
	const uint64_t left = w->floats - at;
	const size_t n = left < RUN ? (size_t)left : RUN;
	bool any = false;

	for (uint32_t b = 0; b < w->blocks; b++) {
		float *sum = j->block + b * w->stride + at;
		bool begun = false;

		if (!(j->mark[b] & ANY))
			continue;
		for (uint32_t g = b * w->side;
		     (j->mark[b] & STALE) && g < w->groups && g < (b + 1) * w->side; g++)
			if (j->held[g]) {
				put_block(sum, j->part + g * w->stride + at, n, begun);
				begun = true;
			}
		put_block(j->out + at, sum, n, any);
		any = true;
	}
	if (!any)
		memset(j->out + at, 0, n * sizeof(*j->out));
}

void bs_partial_sum(struct bs_partial *w, uint32_t frame, const uint8_t *held, float *out)
{
	uint8_t *seen = w->seen + (uint64_t)frame * w->groups;
	uint8_t *mark = w->mark + (uint64_t)frame * w->blocks;
	struct job j = { .w = w,
			 .part = w->part + (uint64_t)frame * w->groups * w->stride,
			 .block = w->block + (uint64_t)frame * w->blocks * w->stride,
			 .held = held,
			 .mark = mark,
			 .out = out };

	for (uint32_t g = 0; g < w->groups; g++) {
		uint8_t *m = &mark[g / w->side];

		if (g % w->side == 0)
			*m &= STALE;
		*m |= (held[g] ? ANY : 0) | (held[g] != seen[g] ? STALE : 0);
		seen[g] = held[g];
	}
	bs_team_do(w->team, sum_run, &j, (int)((w->floats + RUN - 1) / RUN));
	for (uint32_t b = 0; b < w->blocks; b++)
		mark[b] = 0;
}
