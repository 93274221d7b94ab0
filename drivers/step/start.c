/* drivers/step/start.c - see start.h */
#include "drivers/step/start.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/file/program.h"

#define WORDS_MAX 64u

int bs_step_start(pid_t *pid, const struct bs_step_spec *step, const char *dir, struct bs_fail *why)
{
	const char *argv[WORDS_MAX + 3] = { "env" }; /* the rest is NULL */
	char command[BS_PATH_MAX_];
	char *rest = NULL;
	char socket[BS_PATH_MAX_ + BS_NAME_MAX + 32];
	int rc;

	(void)snprintf(socket, sizeof(socket), "BORESIDE_STEP=%s/%s", dir != NULL ? dir : step->dir,
		       step->name);
	memcpy(command, step->command, sizeof(step->command));
	argv[1] = socket;
	argv[2] = strtok_r(command, " ", &rest);
	for (unsigned i = 2; argv[i] != NULL && i < WORDS_MAX; i++)
		argv[i + 1] = strtok_r(NULL, " ", &rest);
	rc = bs_program_start(pid, &(struct bs_program){ .argv = argv,
							 .fd = (int[]){ -1, 1, 2 },
							 .fds = 3,
							 .ordinary = true,
							 .group = dir == NULL });
	if (rc == 0)
		return 0;
	*pid = 0;
	return bs_fail(why, BS_ERR_IO, "step '%s': %s: %s", step->name, step->command,
		       strerror(rc));
}

int bs_step_usable(const struct bs_step_spec *step, struct bs_fail *why)
{
	char path[BS_PATH_MAX_];

	(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(step->command, " "), step->command);
	if (path[0] == '\0' || access(path, X_OK) == 0)
		return 0;
	return bs_fail(why, BS_ERR_CONFIG, "%s: %s", path, strerror(errno));
}
