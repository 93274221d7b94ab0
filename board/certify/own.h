/*
 * board/certify/own.h - the service's own share of an image's latency, and what stalls took of it
 *
 * From the last readout received (from) to the image handed on: that readout accumulated (taken to
 * added: all the operators'), and the image finished (begun to made: operators and transfers, as the
 * image names them, and what of the service lies between them). The rest is the service's own.
 * own: never negative; operators that a device ran meanwhile are taken off begun to made at most.
 * quiet: own less the time that canaries were stalled in it. A stall outside begun to made that is
 * not in taken to added is in the own part; of those in begun to made only what the operators
 * cannot have covered: with s stalled and o of operators, s - o at least lay in the own part. So
 * never more is taken off than was there, and never what the operators lost.
 * All times by one clock; taken, added 0: not known. begun, made 0: anywhere in the latency.
 * Pure. Test: test/unit/board/test_own.c
 */
#ifndef BS_BOARD_CERTIFY_OWN_H
#define BS_BOARD_CERTIFY_OWN_H

#include "core/thread/canary.h"

struct bs_own {
	int64_t from_ns, taken_ns, added_ns, begun_ns, made_ns, handed_ns;
	int64_t operators_ns; /* taken to added included */
};

int64_t bs_own_part(const struct bs_own *s);
/* n canaries; now_ns: what the clock says. */
int64_t bs_own_quiet(const struct bs_own *s, const struct bs_canary *c, uint32_t n, int64_t now_ns);

#endif
