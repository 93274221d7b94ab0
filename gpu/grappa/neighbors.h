/*
 * gpu/grappa/neighbors.h - the distinct neighborhoods of a frame's missing lines
 *
 * A neighborhood is which lines of a window of span[0] x span[1] lines (y, z, odd), around a
 * missing line, were measured; of these the `most` nearest count (of equally near ones the lower z,
 * then the lower y). Bit oz * span[0] + oy of a window is the line at offset oy - span[0] / 2,
 * oz - span[1] / 2. Lines are numbered ky + size[0] * kz; those without a measured one in their
 * window are in no neighborhood. Results depend on the pattern alone.
 * take -> find*; take states sizes or takes memory. Test: test/unit/gpu/calibrate/test_grappa.c
 */
#ifndef BS_GPU_GRAPPA_NEIGHBORS_H
#define BS_GPU_GRAPPA_NEIGHBORS_H

#include <stdint.h>

#include "core/memory/arena.h"
#include "core/err.h"

BS_C_BEGIN

#define BS_WINDOW_LINES 63u /* most lines of a window */

struct bs_neighborhood {
	uint64_t window;
	uint32_t sources;
	/* offset from the missing line to each source, lines */
	int8_t dy[BS_WINDOW_LINES], dz[BS_WINDOW_LINES];
	/* range of this neighborhood's missing lines in bs_neighbors.missing */
	uint32_t first, count;
};

struct bs_neighbors {
	uint32_t size[2], span[2]; /* lines of k-space, and lines of a window, along y and z */
	/* most sources of a neighborhood, and most distinct neighborhoods */
	uint32_t most, room;
	uint8_t nearest[BS_WINDOW_LINES];
	struct bs_neighborhood *one;
	uint32_t count;
	uint32_t *missing; /* numbers of lines, one neighborhood after the other */
	uint32_t missed;
	uint16_t *of; /* [line] number of its neighborhood */
};

/*
 * The caller sets most, room, size and span of n; the product of the spans is at most
 * BS_WINDOW_LINES.
 */
void bs_neighbors_take(struct bs_neighbors *n, struct bs_room *room);
#define BS_LINE_LEFT 2u
/*
 * have [line]: 1: measured; 0: missing; BS_LINE_LEFT: not to be made. BS_ERR_SIZE: there are more
 * distinct neighborhoods than room.
 */
int bs_neighbors_find(struct bs_neighbors *n, const uint8_t *have, struct bs_fail *why);

BS_C_END
#endif
