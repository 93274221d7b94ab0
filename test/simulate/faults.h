/*
 * test/simulate/faults.h - the faults, and the table of which schedule had which one in which state
 */
#ifndef BS_TEST_SIMULATE_FAULTS_H
#define BS_TEST_SIMULATE_FAULTS_H

#include "test/simulate/simulate.h"

/* A schedule begins: which faults it may have. */
void faults_reset(void);
/* One of them, now. False: it cannot happen now. */
bool faults_one(void);
unsigned faults_had(void);
/* What happened in this schedule, and when. */
void faults_print(void);
/* Of all schedules. */
void faults_table(void);

#endif
