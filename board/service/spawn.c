/* board/service/spawn.c - starts a process of the service; see supervising.h */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "board/service/herald.h"
#include "board/service/supervising.h"
#include "drivers/file/program.h"

void bs_end_words(char words[96], int status)
{
	if (WIFSIGNALED(status))
		(void)snprintf(words, 96, "signal %d, %s", WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
	else
		(void)snprintf(words, 96, "exit status %d", WEXITSTATUS(status));
}

int bs_spawn(struct supervisor *v, const char *name, pid_t *pid)
{
	char self[16];
	const char *const argv[] = { "boreside", "worker", name, self, NULL };
	int fd[BS_WORKER_FD + 1 + BS_BELLS] = { 0, 1, 2, v->shm.fd };
	int rc;

	(void)snprintf(self, sizeof(self), "%d", (int)getpid());
	memcpy(fd + BS_WORKER_FD + 1, v->shm.bell_fd, sizeof(v->shm.bell_fd));
	rc = bs_program_start(pid, &(struct bs_program){ .path = BS_PROGRAM_SELF,
							 .argv = argv,
							 .fd = fd,
							 .fds = BS_WORKER_FD + 1 + BS_BELLS });
	if (rc == 0)
		return 0;
	*pid = 0;
	bs_herald_say(&v->shm, BS_LOG_ERROR, "starting %s: " BS_PROGRAM_SELF ": %s", name,
		      strerror(rc));
	return BS_ERR_IO;
}
