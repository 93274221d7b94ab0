/*
 * test/simulate/emit/emit.h - a service whose images go to their takers: emit's real code
 * (board/emit, drivers/log) as a process, what the supervisor does when it ends, and a model of the
 * reconstruction that hands images on
 *
 * A schedule of this kind has no ingest. By the takers' books no image is lost that one was to
 * have, but those that it was told of or that were counted; none comes twice by number, or to a
 * folder; and numbers rise over all starts of the service.
 *
 * emit.c      the memory, the process, the supervisor
 * maker.c     the reconstruction
 * pictures.c  the books
 * sockets.c   ipc/endpoint.h's functions
 * stepper.c   a site's own step, in some schedules
 * askers.c, puller.c, files.c  the takers (takers.h)
 */
#ifndef BS_TEST_SIMULATE_EMIT_EMIT_H
#define BS_TEST_SIMULATE_EMIT_EMIT_H

#include "core/frame/state.h"
#include "test/simulate/faults.h"
#include "test/simulate/simulate.h"

/* Once. */
void emit_make(void);
/* A schedule begins; is it of this kind? */
void emit_reset(bool runs, bool step); /* step: of a site that has one */
bool emit_runs(void);
/* As ingest's: the faults' table has a column each. */
enum bs_state emit_state(void);
void emit_hears(void);

/* Somebody does something. False: nobody can before emit_due. */
bool emit_turn(void);
int64_t emit_due(void);
void emit_calm(void);
/* NULL: every taker has all that is there, and every slot is free. Else what is not so. */
const char *emit_unrest(void);
void emit_judge(void);

/* The wall clock. */
int64_t emit_clock(void);
/* What lies in the archive's connection is about to be lost. */
void emit_connection_breaks(void);

/* Faults. False: not now. */
bool emit_kill(int64_t start_ns);
bool emit_kill_at(enum sim_fault what, int64_t after_ns);
void emit_kill_service(int64_t start_ns);
bool emit_lose_power(int64_t start_ns);
bool emit_stop(void);

#endif
