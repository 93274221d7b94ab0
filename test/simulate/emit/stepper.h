/*
 * test/simulate/emit/stepper.h - a site's own step (ipc/step.h) as a process, and the calls of the
 * system that the service's side (drivers/step/door.c) makes: a socket, memory for both, a futex
 *
 * In some schedules it is unruly: it answers late or never, what was not asked, too much or no
 * numbers, or dies over an image. Its memory outlives the service's process, which it notices by
 * the socket. What an image leaves with is judged by the books (pictures.h); here, that none is
 * held for longer than its budget, and none asked for once more that has its verdict.
 */
#ifndef BS_TEST_SIMULATE_EMIT_STEPPER_H
#define BS_TEST_SIMULATE_EMIT_STEPPER_H

#include "test/simulate/simulate.h"

#define STEPPER_BUDGET_MS 20.0

void stepper_reset(bool is_there);
/* The service's process is gone. */
void stepper_process_gone(void);
/* One of its steps. False: there is nothing to do before stepper_due. */
bool stepper_turn(void);
int64_t stepper_due(void);
/* The service closes this descriptor. False: it is none of these. */
bool stepper_closes(int fd);
bool stepper_sizes(int fd); /* the same of ftruncate */
/* From now on it answers well. */
void stepper_calm(void);

#endif
