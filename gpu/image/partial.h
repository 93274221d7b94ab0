/*
 * gpu/image/partial.h - a sliding window's partial sums, as images
 *
 * The window is the protocol's table of `readouts` rows; its groups are frame_step rows each, in
 * the order of the table. Every method here is linear in the data up to F^H d (or the gridded
 * image) of each coil, so what a group adds to it is kept as coil images, and a frame is the sum of
 * the groups. The sum has a fixed shape: about sqrt(groups) groups in a row make a block; each
 * block is the sum of its groups in the order of their numbers, the frame the sum of the blocks in
 * theirs; which group is the newest does not matter. A block's sum is kept until one of its groups
 * changes, so that a frame costs about 2 sqrt(groups) additions. Nothing is ever subtracted: no
 * error builds up, and a frame depends on its own readouts alone, to the bit.
 *
 * part   [frame][group][coil][z][y][x] complex float, behind them the blocks' sums
 * need -> open -> { write, sum }*. Takes what need states from the arena, allocates nothing. One
 * caller. Without groups need adds nothing and open takes nothing.
 * Twins: partial.c (host), partial.cu (CUDA).
 * Tests: test/unit/gpu/test_window.c, test/twin/twin_window.c
 */
#ifndef BS_GPU_IMAGE_PARTIAL_H
#define BS_GPU_IMAGE_PARTIAL_H

#include "core/memory/arena.h"
#include "core/protocol.h"
#include "core/thread/team.h"

BS_C_BEGIN

struct bs_partial {
	struct bs_team *team;
	float *part, *block;
	/* [frame][group]: whether the group was held when its block was summed */
	uint8_t *seen;
	uint8_t *mark; /* marks of blocks, [frame][block] */
	/* floats of a group's coil images, and floats from one group to the next */
	uint64_t floats, stride;
	uint32_t groups, side, blocks;
};

/*
 * Number of groups of a window. 0: there is no window, or the weights depend on all groups' paths.
 */
static inline uint32_t bs_partial_groups(const struct bs_protocol *p)
{
	return p->frame_step > 0 && !p->plan.streams ? p->readouts / p->frame_step : 0;
}

/* Groups of a block: the square root of their number, rounded up. */
static inline uint32_t bs_partial_side(uint32_t groups)
{
	uint32_t side = 1;

	while ((uint64_t)side * side < groups)
		side++;
	return side;
}

static inline uint32_t bs_partial_blocks(uint32_t groups)
{
	return groups > 0 ? (groups - 1) / bs_partial_side(groups) + 1 : 0;
}

/*
 * Readouts of an operator's chunk: at most `want` (at least 1), and a divisor of a group's
 * readouts, so that no chunk lies in two groups.
 */
static inline uint32_t bs_partial_chunk(const struct bs_protocol *p, uint32_t want)
{
	if (p->frame_step == 0)
		return want;
	want = want < 1 ? 1 : want < p->frame_step ? want : p->frame_step;
	while (p->frame_step % want != 0)
		want--;
	return want;
}

void bs_partial_need(const struct bs_protocol *p, struct bs_need *need);
int bs_partial_open(struct bs_partial *w, const struct bs_protocol *p, struct bs_arena *arena,
		    struct bs_team *team, struct bs_fail *why);
/* Returns where a group's coil images are to be written now. */
float *bs_partial_write(struct bs_partial *w, uint32_t frame, uint32_t group);
/*
 * out [coil][z][y][x] = sum of the groups whose held[group] is not 0; zeros where there are none.
 */
void bs_partial_sum(struct bs_partial *w, uint32_t frame, const uint8_t *held, float *out);

BS_C_END
#endif
