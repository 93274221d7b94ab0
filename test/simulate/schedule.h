/*
 * test/simulate/schedule.h - one schedule: at least 200 steps and 3 faults, then calm, in which all
 * must come to rest and one more scan must succeed
 */
#ifndef BS_TEST_SIMULATE_SCHEDULE_H
#define BS_TEST_SIMULATE_SCHEDULE_H

#include "test/simulate/simulate.h"

#define SCHEDULE_STEPS  200u
#define SCHEDULE_FAULTS 3u

/* False: a promise was broken. */
bool schedule_run(uint64_t seed);
unsigned schedule_steps(void); /* so far */

#endif
