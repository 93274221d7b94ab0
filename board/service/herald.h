/*
 * board/service/herald.h - what the supervisor reports to people and to systemd: log lines, the
 * last errors, readiness
 *
 * For the supervisor's thread alone. say: writes a log line. drain: writes the workers' events as
 * log lines, at a bounded rate. Warnings and errors stay in the shared memory for `boreside
 * status`. notify and alive tell systemd, if the program was built with it and started by
 * it; alive at most twice in each period of the watchdog.
 */
#ifndef BS_BOARD_SERVICE_HERALD_H
#define BS_BOARD_SERVICE_HERALD_H

#include "core/log.h"
#include "ipc/shm/shm.h"

__attribute__((format(printf, 3, 4))) void
bs_herald_say(struct bs_shm *shm, enum bs_log_level level, const char *fmt, ...);
void bs_herald_drain(struct bs_shm *shm);
/* From now on lines audit are signed, by the key of this file; "": they are not. BS_ERR_IO. */
int bs_herald_sign(const char *file, struct bs_fail *why);
void bs_herald_notify(const char *state); /* "READY=1", "STOPPING=1" */
void bs_herald_alive(const struct bs_shm *shm, int64_t now_ns);

#endif
