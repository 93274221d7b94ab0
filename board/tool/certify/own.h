/*
 * board/tool/certify/own.h - the service's own part of an image's latency, with stalls and without
 *
 * Of the time from the last readout received (from) to the image handed on, these are not the
 * service's own: that readout being accumulated (taken to added), which is the operators' alone;
 * and what operators and transfers took, as the image says, of finishing the image (begun to made).
 * part: the rest, never negative. Operators that a device ran meanwhile count as begun to made at
 * most.
 * quiet: part less the time that canaries were stalled in it. A stall outside of both intervals was
 * in the own part. Of a stall of s in begun to made, where operators took o, at least s - o was in
 * the own part, and only that is taken off. A stall in taken to added was the operators'.
 * All times by one clock. taken, added 0: not known. begun, made 0: anywhere in the latency.
 * Pure. Test: test/unit/board/tool/certify/test_own.c
 */
#ifndef BS_BOARD_TOOL_CERTIFY_OWN_H
#define BS_BOARD_TOOL_CERTIFY_OWN_H

#include "core/thread/canary.h"

struct bs_own {
	int64_t from_ns, taken_ns, added_ns, begun_ns, made_ns, handed_ns;
	int64_t operators_ns; /* time of the operators, from taken to added included */
};

int64_t bs_own_part(const struct bs_own *s);
/* Returns the service's own part without canaries' stalls. n: canaries;
 * now_ns: the current time. */
int64_t bs_own_quiet(const struct bs_own *s, const struct bs_canary *c, uint32_t n, int64_t now_ns);

#endif
