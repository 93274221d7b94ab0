/*
 * test/simulate/wakes.h - what a process waits for: bells and other eventfds, the network's
 * descriptors
 */
#ifndef BS_TEST_SIMULATE_WAKES_H
#define BS_TEST_SIMULATE_WAKES_H

#include "test/simulate/simulate.h"

#define WAKES_BELL 3000000 /* descriptors of the bells, from here on */

/* By so much the wall clock is ahead of the other one. */
extern int64_t wakes_clock_ahead_ns;

void wakes_reset(void);
/* The eventfds that the process made are gone; bells stay as they are. */
void wakes_process_gone(void);

#endif
