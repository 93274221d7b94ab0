/*
 * board/birds.h - canaries of one's own (core/canary.h), where no service runs them
 *
 * start: a thread on each processor that this process may use, at most max, writing to canary[0 ..
 * count-1], at the highest real-time priority where that is allowed. stop waits for them; canary
 * may be read until it is freed by its owner. The service's are those of board/rt.h.
 */
#ifndef BS_BOARD_BIRDS_H
#define BS_BOARD_BIRDS_H

#include <pthread.h>

#include "core/canary.h"

struct bs_birds {
	_Atomic bool quit;
	uint32_t count;
	struct bs_bird {
		struct bs_birds *all;
		struct bs_canary *c;
		pthread_t thread;
	} bird[BS_CANARIES];
};

/* canary: zeroed, [max]; max: BS_CANARIES at most. */
void bs_birds_start(struct bs_birds *b, struct bs_canary *canary, uint32_t max);
void bs_birds_stop(struct bs_birds *b);

#endif
