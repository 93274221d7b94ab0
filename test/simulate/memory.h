/*
 * test/simulate/memory.h - the shared memory of a simulated service
 *
 * make -> keep -> reset*. What is written between make and keep is there after each reset; all else
 * that was written is not.
 */
#ifndef BS_TEST_SIMULATE_MEMORY_H
#define BS_TEST_SIMULATE_MEMORY_H

#include "ipc/shm/shm.h"

/* With the bells' descriptors (wakes.h). Ends the program where it cannot be made. */
void memory_make(struct bs_shm *shm, const struct bs_site *site, enum bs_worker worker);
void memory_keep(struct bs_shm *shm);
/* Of a service that starts. */
void memory_reset(struct bs_shm *shm);

#endif
