/*
 * core/thread/canary.h - a thread that does nothing but wake on time, and what its lateness shows
 *
 * wake, in the canary's thread, once for each time that it slept until due_ns: how late it was goes
 * into a histogram, a lateness of BS_CANARY_STALL_NS or more into a ring of stalls: the interval in
 * which the processor ran nothing, or nothing of ours. One writer each; any process reads
 * meanwhile, the newest BS_CANARY_STALLS stalls are kept. A canary that is late at this moment
 * counts as stalled from its due time on, so that whoever runs first after a stall knows it.
 * stalled: ns of from_ns .. to_ns in which at least one of n canaries was stalled.
 * explains: a wait that took longer than budget_ns would have kept it without these stalls.
 * Whether the canary ran at a real-time priority says what a stall is worth: without one it is late
 * when any other process, even ours, has the processor.
 * Allocates nothing, waits for nothing. Zeroed memory is a canary that never ran.
 * Test: test/unit/core/test_canary.c
 */
#ifndef BS_CORE_THREAD_CANARY_H
#define BS_CORE_THREAD_CANARY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/latency/hist.h"

#define BS_CANARIES         64u              /* one for each processor, at most */
#define BS_CANARY_PERIOD_NS INT64_C(1000000) /* between two wakes */
#define BS_CANARY_STALL_NS  INT64_C(200000)  /* later than this is a stall */
#define BS_CANARY_STALLS    1024u            /* that are remembered */

struct bs_canary {
	_Atomic int32_t cpu;      /* that it is bound to; -1: to none */
	_Atomic int32_t priority; /* SCHED_FIFO; 0: none was granted */
	_Atomic int64_t due_ns;   /* of the next wake; 0: it does not run */
	_Atomic uint64_t wakes, stalls;
	struct bs_hist late; /* of each wake */
	struct {
		_Atomic int64_t begin_ns, end_ns;
	} stall[BS_CANARY_STALLS]; /* number i is in place i % BS_CANARY_STALLS */
};

/* Woken at now_ns instead of due_ns. Returns the next due time, in the future, on the same beat. */
int64_t bs_canary_wake(struct bs_canary *c, int64_t due_ns, int64_t now_ns);

/* now_ns: what the clock says, for a canary that is late right now. */
int64_t bs_canary_stalled(const struct bs_canary *c, uint32_t n, int64_t from_ns, int64_t to_ns,
			  int64_t now_ns);
bool bs_canary_explains(const struct bs_canary *c, uint32_t n, int64_t from_ns, int64_t to_ns,
			int64_t budget_ns, int64_t now_ns);

#endif
