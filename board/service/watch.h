/*
 * board/service/watch.h - whether a worker that does not beat makes progress all the same
 *
 * A worker beats (counts up worker.beat) at each pass of its loop and each change of its phase. One
 * that is arming, or inside a long call of an engine, cannot. In such a call it must have used
 * processor time: 1 % of the time since its last beat, for 10 minutes at most. A call that sleeps
 * until a GPU is done (realtime.gpu_wait = block) uses none: it may last a minute, or ten times
 * stall_ms if that is longer. Arming may read a disk or wait for a driver: it may last 10 minutes.
 * One that only waits for a processor makes no progress by no fault of its own: it has a thread
 * that could run, and has not used stall_ns of a processor since its last beat. What it would be
 * replaced by had no more. Time is the supervisor's: what that could not run itself is left out. A
 * worker that was replaced for this has twice the time, and so on. A pure function. Test:
 * test/unit/board/test_watch.c, test/fault/start/starved.sh
 */
#ifndef BS_BOARD_SERVICE_WATCH_H
#define BS_BOARD_SERVICE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/shm/workers.h"

#define BS_WATCH_LONG_NS INT64_C(600000000000)
#define BS_WATCH_WAIT_NS INT64_C(60000000000)

struct bs_watched {
	enum bs_phase phase;
	enum bs_busy busy;
	bool runnable;     /* a thread of the worker runs or waits for a processor */
	int64_t silent_ns; /* time since the worker's last beat */
	int64_t cpu_ns;    /* processor time that the worker has used since then */
	unsigned replaced; /* earlier replacements of this worker for lack of progress */
};
#define BS_WATCH_TWICE 6u /* doublings of the allowed time; later replacements add none */

static inline bool bs_watch_alive(const struct bs_watched *w, int64_t stall_ns)
{
	const unsigned times = w->replaced < BS_WATCH_TWICE ? w->replaced : BS_WATCH_TWICE;
	const int64_t silent_ns = w->silent_ns >> times;
	const int64_t wait_ns = 10 * stall_ns > BS_WATCH_WAIT_NS ? 10 * stall_ns : BS_WATCH_WAIT_NS;

	if (silent_ns <= stall_ns || (w->runnable && w->cpu_ns <= stall_ns << times))
		return true;
	if ((w->phase == BS_PHASE_READY && w->busy == BS_BUSY_NOT) || silent_ns > BS_WATCH_LONG_NS)
		return false;
	return w->phase == BS_PHASE_ARMING || w->cpu_ns > w->silent_ns / 100 ||
	       (w->busy == BS_BUSY_WAITS && silent_ns <= wait_ns);
}

#endif
