/* board/service/spawn.c - starts a process of the service; see supervising.h */
#define _GNU_SOURCE /* for environ */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "board/service/herald.h"
#include "board/service/supervising.h"

int bs_spawn(struct supervisor *v, const char *name, pid_t *pid)
{
	char self[16];
	char *argv[] = { "boreside", "worker", (char *)(uintptr_t)name, self, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	(void)snprintf(self, sizeof(self), "%d", (int)getpid());
	(void)posix_spawn_file_actions_init(&files);
	(void)posix_spawnattr_init(&attr);
	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setsigdefault(&attr, &all);
	(void)posix_spawn_file_actions_adddup2(&files, v->shm.fd, BS_WORKER_FD);
	for (int i = 0; i < BS_BELLS; i++)
		(void)posix_spawn_file_actions_adddup2(&files, v->shm.bell_fd[i],
						       BS_WORKER_FD + 1 + i);
	rc = posix_spawn(pid, "/proc/self/exe", &files, &attr, argv, environ);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&attr);
	if (rc == 0)
		return 0;
	*pid = 0;
	bs_herald_say(&v->shm, BS_LOG_ERROR, "starting %s: /proc/self/exe: %s", name, strerror(rc));
	return BS_ERR_IO;
}
