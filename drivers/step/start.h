/*
 * drivers/step/start.h - starts a step's command as a process of this user
 *
 * Its socket is DIR/NAME; dir: another folder than the step's own, or NULL: it is then the first of
 * a process group, so that what it starts can be ended with it. It gets its words, no input, this
 * process's output, ordinary scheduling. usable: BS_ERR_CONFIG where the command's
 * program is not there.
 */
#ifndef BS_DRIVERS_STEP_START_H
#define BS_DRIVERS_STEP_START_H

#include <sys/types.h>

#include "core/err.h"
#include "core/protocol.h"

int bs_step_start(pid_t *pid, const struct bs_step_spec *step, const char *dir,
		  struct bs_fail *why);
int bs_step_usable(const struct bs_step_spec *step, struct bs_fail *why);

#endif
