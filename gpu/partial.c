/* gpu/partial.c - host twin; see partial.h */
#include "gpu/partial.h"

#include <string.h>

#define BLOCK 4096u /* floats of one task: they stay in the first-level cache over all groups */

static uint64_t bytes_of(const struct bs_protocol *p)
{
	return bs_protocol_voxels(p) * p->coils * 8u;
}

static uint64_t slots_of(const struct bs_protocol *p)
{
	return (uint64_t)p->slices * p->contrasts * bs_partial_groups(p);
}

void bs_partial_need(const struct bs_protocol *p, struct bs_need *need)
{
	if (p->frame_step > 0)
		bs_need_add(need, "window's partial sums", slots_of(p), bytes_of(p));
}

int bs_partial_open(struct bs_partial *w, const struct bs_protocol *p, struct bs_arena *arena,
		    struct bs_team *team, struct bs_fail *why)
{
	const uint64_t slot = (bytes_of(p) + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN;

	memset(w, 0, sizeof(*w));
	w->team = team;
	w->floats = bytes_of(p) / sizeof(float);
	w->stride = slot / sizeof(float);
	w->groups = bs_partial_groups(p);
	if (w->groups == 0)
		return 0;
	w->sum = bs_arena_take(arena, (size_t)(slot * slots_of(p)), BS_ALIGN);
	if (w->sum == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': %u groups of a sliding window",
			       p->name, w->groups);
	return 0;
}

float *bs_partial_at(const struct bs_partial *w, uint32_t frame, uint32_t group)
{
	return w->sum + ((uint64_t)frame * w->groups + group) * w->stride;
}

struct job {
	const struct bs_partial *w;
	const float *from; /* group 0 */
	const uint8_t *held;
	float *out;
};

static void sum_block(void *arg, int task, int member)
{
	const struct job *j = arg;
	const uint64_t at = (uint64_t)task * BLOCK;
	const uint64_t left = j->w->floats - at;
	const size_t n = left < BLOCK ? (size_t)left : BLOCK;
	float *restrict out = j->out + at;
	bool any = false;

	(void)member;
	for (uint32_t g = 0; g < j->w->groups; g++) {
		const float *restrict in = j->from + g * j->w->stride + at;

		if (!j->held[g])
			continue;
		if (!any)
			memcpy(out, in, n * sizeof(*out));
		else
			for (size_t i = 0; i < n; i++)
				out[i] += in[i];
		any = true;
	}
	if (!any)
		memset(out, 0, n * sizeof(*out));
}

void bs_partial_sum(const struct bs_partial *w, uint32_t frame, const uint8_t *held, float *out)
{
	struct job j = { w, bs_partial_at(w, frame, 0), held, out };

	bs_team_run(w->team, sum_block, &j, (int)((w->floats + BLOCK - 1) / BLOCK));
}
