/*
 * board/service/usage.h - what a thread on the path of an image uses, written down by itself
 *
 * note: the calling thread writes its record in the shared memory (ipc/shm/realtime.h). publish:
 * the same, if it has a record and the last time is BS_THREAD_NS ago. note_team: each member of
 * recon's team, the caller included. Allocates nothing; one system call each.
 * Test: test/fault/fault_realtime.c
 */
#ifndef BS_BOARD_SERVICE_USAGE_H
#define BS_BOARD_SERVICE_USAGE_H

#include "ipc/shm/shm.h"

void bs_usage_note(const struct bs_shm *shm, enum bs_thread place);
void bs_usage_publish(const struct bs_shm *shm, enum bs_thread place, int64_t now_ns);
void bs_usage_note_team(struct bs_shm *shm, struct bs_team *team);

#endif
