/*
 * test/simulate/process.h - a program that can be stopped, and killed, between any two of its steps
 *
 * start -> { run }* -> ended | kill. It has threads with stacks of their own, the first one from
 * start, others from pthread_create; each runs when it is told to, for so many steps (step.h) or
 * until it waits or ends. A kill drops them all, what they allocated, and every variable of the
 * code that runs in here is what it was at the program's start.
 */
#ifndef BS_TEST_SIMULATE_PROCESS_H
#define BS_TEST_SIMULATE_PROCESS_H

#include "test/simulate/simulate.h"

#define PROCESS_THREADS 8u

enum process_state { PROCESS_DOWN, PROCESS_LIVES, PROCESS_ENDED };

extern enum process_state process_state;
extern int process_status; /* ENDED: what its main returned */

void process_start(int (*main)(void *), void *arg);
void process_kill(void);

/* Has this thread something to do now? */
bool process_ready(unsigned thread);
/* Does it wait for something to happen, and not for a call to be done? */
bool process_rests(unsigned thread);
/* Does it wait, and is it only time that wakes it? */
bool process_idles(unsigned thread);
/* steps 0: until it waits or ends. */
void process_run(unsigned thread, uint32_t steps);
/* One of those that are ready, each as likely as another, for some steps or until it waits. False:
 * none is. */
bool process_run_any(void);
/* When time wakes a thread. INT64_MAX: never. */
int64_t process_due(void);

/* Of what its threads call. */
bool process_inside(void);
/* When the thread that runs has slept last; it may have been stopped since, without its knowing. */
int64_t process_since(void);
/* For so long this thread could have run, and did not, since it began. */
int64_t process_stalled(void);
/* Until ready says so or until then. */
void process_wait(int64_t until_ns, bool (*ready)(void *), void *arg);
/* What was allocated for it goes with it. */
void process_own(void *p);
/* What it calls now is one step: code that is linked as it is may not be left halfway. */
void process_hold(bool holds);
/* It is stopped after so many steps. */
void process_cut(uint32_t steps);
/*
 * It is stopped at the next of some places, drawn from all (places.h), each as likely as another
 * however often it is passed: of every 8th, or 32nd, ..., as many choices as rarer says.
 */
void process_aim(uint32_t rarer);
/* No more. */
void process_aim_off(void);
/* It was stopped there just now. */
bool process_hit(void);
/* One step. */
void sim_step(void);

#endif
