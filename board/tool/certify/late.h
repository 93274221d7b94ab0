/*
 * board/tool/certify/late.h - whose lateness it was that an image was late from its due time
 *
 * The time is from the last readout's due time to the image handed on. In this order:
 * sender   Counted from when the sender woke, the image kept its budget: the sender, which only
 *          stands in for a scanner, overslept by itself (drivers/tool/replay/departures.h). The
 *          image before it was in the archive's hands when the readout came due, so that the sleep
 *          held no work back from a service that was behind. If either is not known, it was not
 *          the sender.
 * machine  Without the time that canaries were stalled, the image kept its budget. Where the sender
 *          overslept as above, that is taken off as well; time that is in both, once.
 * service  Neither.
 * Pure. Test: test/unit/board/tool/certify/test_late.c
 */
#ifndef BS_BOARD_TOOL_CERTIFY_LATE_H
#define BS_BOARD_TOOL_CERTIFY_LATE_H

#include "core/thread/canary.h"
#include "drivers/tool/replay/departures.h"

enum bs_blame { BS_BLAME_SERVICE, BS_BLAME_MACHINE, BS_BLAME_SENDER };

struct bs_late {
	uint64_t image; /* number of the image in the run, from 1 */
	struct bs_departure left;
	int64_t before_ns; /* time when the archive had the image before; 0: there was none */
	int64_t received_ns, handed_ns;
	int64_t overslept_ns; /* time that may be subtracted for the sender's oversleeping */
	int64_t stalled_ns;   /* time of canaries' stalls between due and handed on */
};

/* Fills in overslept_ns and stalled_ns, and returns whose lateness it was. n: number of canaries;
 * now_ns: the current time. */
enum bs_blame bs_late_blame(struct bs_late *m, int64_t budget_ns, const struct bs_canary *c,
			    uint32_t n, int64_t now_ns);

#endif
