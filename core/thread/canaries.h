/*
 * core/thread/canaries.h - a canary (canary.h) on each of several processors
 *
 * start makes a thread on each processor of `where` (NULL: all that this process may use), at most
 * max of them. Each writes to one of canary[0 .. count-1], at the real-time priority given (0: the
 * highest there is) where that is allowed. unwatched: processors of `where` without a thread: those
 * beyond max, or the system refused. stop waits for the threads; the records stay. stop may be
 * called for a zeroed struct.
 * Test: test/unit/core/test_canaries.c
 */
#ifndef BS_CORE_THREAD_CANARIES_H
#define BS_CORE_THREAD_CANARIES_H

#include <pthread.h>

#include "core/thread/canary.h"
#include "core/thread/cpus.h"

struct bs_canaries {
	_Atomic bool quit;
	int priority;
	uint32_t count, unwatched;
	struct bs_canary_thread {
		struct bs_canaries *all;
		struct bs_canary *canary;
		pthread_t id;
	} thread[BS_CANARIES];
};

/* Starts the canaries. canary: [max], zeroed; max: at most BS_CANARIES. */
void bs_canaries_start(struct bs_canaries *all, struct bs_canary *canary, uint32_t max,
		       const struct bs_cpus *where, int priority);
void bs_canaries_stop(struct bs_canaries *all);

#endif
