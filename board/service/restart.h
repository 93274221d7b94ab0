/*
 * board/service/restart.h - when a worker that has ended is started again
 *
 * A worker is started again at once, unless it keeps ending. Each end adds half a second to its
 * debt, an end before the process was ready two seconds, and time reduces the debt. A worker waits
 * for its debt beyond two seconds. So a worker that is killed now and then never waits; one that
 * ends as soon as it is ready is started twice a second, and waits for half a second at most; one
 * that does not get ready is started every two seconds.
 * Source: the generic cell rate algorithm, ITU-T I.371.
 * Any thread. Test: test/unit/board/test_restart.c
 */
#ifndef BS_BOARD_SERVICE_RESTART_H
#define BS_BOARD_SERVICE_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#define BS_RESTART_READY_NS   INT64_C(500000000)
#define BS_RESTART_UNREADY_NS INT64_C(2000000000)
#define BS_RESTART_FREE_NS    INT64_C(2000000000)

struct bs_restart {
	int64_t paid_ns; /* time at which the debt is 0 again; 0: the worker never had a debt */
};

/* Call when a worker has ended; was_ready: it had armed. Returns when to start it again. */
static inline int64_t bs_restart_at(struct bs_restart *r, bool was_ready, int64_t now_ns)
{
	const int64_t cost = was_ready ? BS_RESTART_READY_NS : BS_RESTART_UNREADY_NS;

	r->paid_ns = (r->paid_ns > now_ns ? r->paid_ns : now_ns) + cost;
	return r->paid_ns - BS_RESTART_FREE_NS > now_ns ? r->paid_ns - BS_RESTART_FREE_NS : now_ns;
}

#endif
