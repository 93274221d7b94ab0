/* drivers/file/program.c - see program.h */
#define _GNU_SOURCE /* for posix_spawn_file_actions_addchdir_np, addclosefrom_np, environ */
#include "drivers/file/program.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <unistd.h>

static int set_files(posix_spawn_file_actions_t *files, const struct bs_program *p)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < p->fds; i++)
		rc = p->fd[i] < 0
			     ? posix_spawn_file_actions_addopen(files, i, "/dev/null", O_RDONLY, 0)
			     : posix_spawn_file_actions_adddup2(files, p->fd[i], i);
	if (rc == 0)
		rc = posix_spawn_file_actions_addclosefrom_np(files, p->fds);
	if (rc == 0 && p->folder != NULL)
		rc = posix_spawn_file_actions_addchdir_np(files, p->folder);
	return rc;
}

int bs_program_start(pid_t *pid, const struct bs_program *p)
{
	const struct sched_param ordinary = { 0 };
	char *const *argv = (char *const *)(uintptr_t)p->argv; /* it is not written to */
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc = posix_spawn_file_actions_init(&files);

	if (rc != 0)
		return rc;
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_init(&attr);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setsigdefault(&attr, &all);
	(void)posix_spawnattr_setschedpolicy(&attr, SCHED_OTHER);
	(void)posix_spawnattr_setschedparam(&attr, &ordinary);
	(void)posix_spawnattr_setflags(&attr,
				       (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					       (p->ordinary ? POSIX_SPAWN_SETSCHEDULER : 0)));
	rc = set_files(&files, p);
	if (rc == 0)
		rc = p->path != NULL ? posix_spawn(pid, p->path, &files, &attr, argv, environ)
				     : posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&attr);
	return rc;
}
