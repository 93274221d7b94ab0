/*
 * test/simulate/recon.h - a model of the reconstruction (board/recon/recon.c): its end of the ring,
 * its marks on slots, what it writes in the scan's record; and emit's word that the end has passed
 *
 * One turn is one of its steps: claim, use, advance, give. It makes no image but counts them.
 */
#ifndef BS_TEST_SIMULATE_RECON_H
#define BS_TEST_SIMULATE_RECON_H

#include "ipc/shm/shm.h"
#include "test/simulate/simulate.h"

void recon_reset(struct bs_shm *shm);
/* A new process; it arms until then. */
void recon_start(int64_t ready_ns);
void recon_kill(void);
bool recon_lives(void);
void recon_stop(int64_t until_ns);
bool recon_ready(void);
void recon_turn(void);
int64_t recon_due(void);
/* Was it told that this scan begins, or will it be? */
bool recon_knows(uint64_t scan);

#endif
