/*
 * board/service/supervisor.h - the service's first process: starts the workers, replaces them, ends them
 *
 * It holds no socket and no device, and parses nothing that comes from outside: it is what stays
 * when another process dies. run returns the exit status: 0 when it was told to end (SIGTERM,
 * SIGINT) and did; 1 when a worker cannot be started at all.
 */
#ifndef BS_BOARD_SERVICE_SUPERVISOR_H
#define BS_BOARD_SERVICE_SUPERVISOR_H

#include "ipc/shm/shm.h"

int bs_supervisor_run(const struct bs_site *site);

/* board/service/herald.c: the workers' events become lines of the log; the last bad ones stay for status.
 */
void bs_herald_drain(struct bs_shm *shm);
__attribute__((format(printf, 3, 4))) void
bs_herald_say(struct bs_shm *shm, enum bs_log_level level, const char *fmt, ...);
/* systemd, when the program was built with it and started by it; else nothing. */
void bs_herald_ready(void);
void bs_herald_stopping(void);
/* At most every half of the watchdog's time; state: one line. */
void bs_herald_alive(const struct bs_shm *shm, int64_t now_ns);

#endif
