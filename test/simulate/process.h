/*
 * test/simulate/process.h - a program that can be stopped, and killed, between any two of its steps
 *
 * start -> { run }* -> ended | kill. It has a stack of its own and runs when it is told to, for so
 * many steps (step.h) or until it sleeps or ends. A kill drops the stack, and every variable of the
 * code that runs in here is what it was at the program's start.
 */
#ifndef BS_TEST_SIMULATE_PROCESS_H
#define BS_TEST_SIMULATE_PROCESS_H

#include "test/simulate/simulate.h"

enum process_state { PROCESS_DOWN, PROCESS_RUNS, PROCESS_SLEEPS, PROCESS_ENDED };

extern enum process_state process_state;
extern int process_status; /* ENDED: what its main returned */

void process_start(int (*main)(void *), void *arg);
/* steps 0: until it sleeps or ends. */
void process_run(uint32_t steps);
void process_kill(void);
/* Called by what the process calls: it is stopped after so many steps. */
void process_cut(uint32_t steps);
/* Of the process: it waits until it is run again. */
void process_sleep(void);
/* Is it the process that runs, and not the simulator? */
bool process_inside(void);
/* Of the process: one step. */
void sim_step(void);

#endif
