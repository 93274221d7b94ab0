/*
 * board/service/watch.h - whether a worker that does not beat makes progress all the same
 *
 * A worker beats (counts up worker.beat) whenever its loop turns. One that is arming, or inside a
 * long call of an engine, cannot. In such a call it must have used processor time: 1 % of the time
 * since its last beat, for 10 minutes at most. A call that sleeps until a GPU is done
 * (realtime.gpu_wait = block) uses none: it may last a minute, or ten times stall_ms if that is
 * longer. Arming may read a disk or wait for a driver: it may last 10 minutes.
 * A pure function. Test: test/unit/board/test_watch.c
 */
#ifndef BS_BOARD_SERVICE_WATCH_H
#define BS_BOARD_SERVICE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/shm/workers.h"

#define BS_WATCH_LONG_NS INT64_C(600000000000)
#define BS_WATCH_WAIT_NS INT64_C(60000000000)

/* silent_ns: since its last beat; cpu_ns: processor time that it has used since. */
static inline bool bs_watch_alive(enum bs_phase phase, enum bs_busy busy, int64_t stall_ns,
				  int64_t silent_ns, int64_t cpu_ns)
{
	const int64_t wait_ns = 10 * stall_ns > BS_WATCH_WAIT_NS ? 10 * stall_ns : BS_WATCH_WAIT_NS;

	if (silent_ns <= stall_ns)
		return true;
	if ((phase == BS_PHASE_READY && busy == BS_BUSY_NOT) || silent_ns > BS_WATCH_LONG_NS)
		return false;
	return phase == BS_PHASE_ARMING || cpu_ns > silent_ns / 100 ||
	       (busy == BS_BUSY_WAITS && silent_ns <= wait_ns);
}

#endif
