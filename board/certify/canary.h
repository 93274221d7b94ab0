/*
 * board/certify/canary.h - canaries of one's own (core/thread/canary.h), where no service runs them
 *
 * start: a thread on each processor of `where`, at most max, writing to canary[0 .. count-1], at the
 * highest real-time priority where that is allowed. where NULL: those that this process may use.
 * unwatched: processors of it that have none: beyond max, or the system refused the thread there.
 * stop waits for them; canary may be read until it is freed by its owner. The service's are those of
 * board/service/realtime.h. Test: test/unit/board/test_canaries.c
 */
#ifndef BS_BOARD_CERTIFY_CANARY_H
#define BS_BOARD_CERTIFY_CANARY_H

#include <pthread.h>

#include "core/thread/canary.h"
#include "core/thread/cpus.h"

struct bs_birds {
	_Atomic bool quit;
	uint32_t count, unwatched;
	struct bs_bird {
		struct bs_birds *all;
		struct bs_canary *c;
		pthread_t thread;
	} bird[BS_CANARIES];
};

/* canary: zeroed, [max]; max: BS_CANARIES at most. */
void bs_birds_start(struct bs_birds *b, struct bs_canary *canary, uint32_t max,
		    const struct bs_cpus *where);
void bs_birds_stop(struct bs_birds *b);

/* Adds the processors that a thread may run on (0: the caller). False: the system does not say. */
bool bs_birds_may_run(struct bs_cpus *set, int32_t tid);

#endif
