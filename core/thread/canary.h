/*
 * core/thread/canary.h - a thread that does nothing but wake on time, and what its lateness shows
 *
 * The canary's thread calls wake each time that it has slept until due_ns. Its lateness goes into a
 * histogram; a lateness of BS_CANARY_STALL_NS or more goes into a ring of stalls, as the interval
 * in which the processor ran nothing, or nothing of the service. Each canary has one writer; any
 * process may read meanwhile. The newest BS_CANARY_STALLS stalls are kept. A canary that is late at
 * this moment counts as stalled from its due time on, so that the thread that runs first after a
 * stall knows of it.
 * stalled: ns of from_ns .. to_ns in which at least one of n canaries was stalled.
 * explains: a wait that took longer than budget_ns would have kept the budget without these stalls.
 * Whether the canary ran at a real-time priority says how much a stall proves: without one it is
 * late when any other process, even of the service, has the processor.
 * Allocates nothing, waits for nothing. Zeroed memory is a canary that never ran.
 * Test: test/unit/core/test_canary.c
 */
#ifndef BS_CORE_THREAD_CANARY_H
#define BS_CORE_THREAD_CANARY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/latency/hist.h"

#define BS_CANARIES         64u              /* most canaries, one on each processor */
#define BS_CANARY_PERIOD_NS INT64_C(1000000) /* ns between two wakes */
#define BS_CANARY_STALL_NS  INT64_C(200000)  /* ns of lateness that count as a stall */
#define BS_CANARY_STALLS    1024u            /* stalls that are kept */

struct bs_canary {
	_Atomic int32_t cpu;      /* processor that it is bound to; -1: none */
	_Atomic int32_t priority; /* SCHED_FIFO priority of its thread; 0: none was granted */
	_Atomic int64_t due_ns;   /* time of the next wake; 0: the canary does not run */
	_Atomic uint64_t wakes, stalls;
	struct bs_hist late; /* times from due to awake, of each wake */
	struct {
		_Atomic int64_t begin_ns, end_ns;
	} stall[BS_CANARY_STALLS]; /* stall number i is in place i % BS_CANARY_STALLS */
};

/*
 * Notes a wake at now_ns instead of due_ns. Returns the next due time, in the future, a whole
 * number of periods after due_ns.
 */
int64_t bs_canary_wake(struct bs_canary *c, int64_t due_ns, int64_t now_ns);

/* now_ns: the present time, for a canary that is late right now. */
int64_t bs_canary_stalled(const struct bs_canary *c, uint32_t n, int64_t from_ns, int64_t to_ns,
			  int64_t now_ns);
bool bs_canary_explains(const struct bs_canary *c, uint32_t n, int64_t from_ns, int64_t to_ns,
			int64_t budget_ns, int64_t now_ns);

#endif
