/*
 * board/service/supervisor.h - the service's first process: starts, replaces and ends the workers
 *
 * It holds no socket and no device, and parses nothing that comes from outside: it is what stays
 * when another process dies. run returns the exit status: 0 when it was told to end (SIGTERM,
 * SIGINT, SIGUSR1) and did; 1 when a worker cannot be started at all.
 * Test: test/fault/fault_kill.c, test/fault/fault_stop.c
 */
#ifndef BS_BOARD_SERVICE_SUPERVISOR_H
#define BS_BOARD_SERVICE_SUPERVISOR_H

#include "core/protocol.h"

int bs_supervisor_run(const struct bs_site *site);

#endif
