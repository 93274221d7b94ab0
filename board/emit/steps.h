/*
 * board/emit/steps.h - images pass their protocol's step (ipc/step.h) before they leave
 *
 * open -> { look, try, run }* -> close, in emit's first thread. The pixels that recon made stay as
 * they are: a step's lie beside them (bs_shm_leaving), and which of the two leave is one store, the
 * verdict in the image's record. A process that replaces this one finds it there and asks no second
 * time. An image leaves step.budget_ms after it was made at the latest, and at once where recon
 * would have to wait for its slot.
 * Test: test/fault/step/fault_step.c
 */
#ifndef BS_BOARD_EMIT_STEPS_H
#define BS_BOARD_EMIT_STEPS_H

#include "board/emit/emit.h"

int bs_emit_steps_open(struct emit *e, struct bs_fail *why);
void bs_emit_steps_close(struct emit *e);
/* Lets steps connect, and notices those that end or hang. The site has steps. */
void bs_emit_steps_look(struct emit *e);
/*
 * Times a step that is new with an image of its protocol's size, of no scan: when none is open. The
 * first one warms the step up; twenty, or a third of a second, are the measurement, which the log
 * and the status have. True: another step or image may be owed one.
 */
bool bs_emit_steps_try(struct emit *e);
/* The image's protocol has a step; the image is no preview. */
void bs_emit_steps_run(struct emit *e, uint32_t slot);

#endif
