/* drivers/file/program.c - see program.h */
#include "drivers/file/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/thread/clock.h"

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
					       (p->group ? POSIX_SPAWN_SETPGROUP : 0) |
					       (p->ordinary ? POSIX_SPAWN_SETSCHEDULER : 0)));
	rc = set_files(&files, p);
	if (rc == 0)
		rc = p->path != NULL ? posix_spawn(pid, p->path, &files, &attr, argv, environ)
				     : posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&attr);
	return rc;
}

/* ---- run to its end ---- */

/*
 * Exit status of a child that could not run the program. posix_spawn learns of the error by memory
 * that it shares with the child; under qemu-user no memory is shared, and only this status tells.
 */
#define NOT_RUN 127

int bs_program_there(const char *name, const char *package, struct bs_fail *why)
{
	const char *path = getenv("PATH");

	if (path == NULL)
		path = "/usr/local/bin:/usr/bin:/bin";
	while (*path != '\0') {
		const size_t n = strcspn(path, ":");
		char full[512];

		(void)snprintf(full, sizeof(full), "%.*s/%s", (int)(n < 400 ? n : 400), path, name);
		if (n > 0 && n < 400 && access(full, X_OK) == 0)
			return 0;
		path += path[n] == ':' ? n + 1 : n;
	}
	return bs_fail(why, BS_ERR_UNSUPPORTED, "the program %s is not there (Debian's package %s)",
		       name, package);
}

static int64_t now_ms(void)
{
	return bs_now_ns() / 1000000;
}

/* Waits for the program's end after it has closed its output. False: it did not end in time. */
static bool wait_for(pid_t pid, int64_t until_ms, int *status)
{
	pid_t got = 0;

	while ((got = waitpid(pid, status, WNOHANG)) == 0 && now_ms() < until_ms)
		bs_sleep_ns(1000000);
	return got != 0;
}

/* Reads the program's output until the program closes it. False: the time is over. */
static bool listen_to(int fd, int64_t until_ms, char *said, size_t cap)
{
	size_t n = 0;

	for (;;) {
		struct pollfd p = { fd, POLLIN, 0 };
		const int64_t left = until_ms - now_ms();
		char rest[512];
		ssize_t got;

		if (left <= 0)
			return false;
		if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
			return false;
		if (p.revents == 0)
			continue;
		got = read(fd, rest, sizeof(rest));
		if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
			return true;
		for (ssize_t i = 0; i < got && n + 1 < cap; i++)
			if (rest[i] != '\n' || (n > 0 && said[n - 1] != ' '))
				said[n++] = rest[i];
		said[n] = '\0';
		for (char *c = said; *c != '\0'; c++)
			if (*c > 0 && *c < ' ')
				*c = ' ';
	}
}

int bs_program_run(const char *const argv[], const char *folder, int limit_ms, char *said,
		   size_t cap, struct bs_fail *why)
{
	const int64_t until_ms = now_ms() + limit_ms;
	int end[2];
	pid_t pid;
	bool ended;
	int status = 0;
	int rc;

	said[0] = '\0';
	if (pipe2(end, O_CLOEXEC | O_NONBLOCK) != 0)
		return bs_fail(why, BS_ERR_IO, "%s: no pipe: %s", argv[0], strerror(errno));
	rc = bs_program_start(&pid, &(struct bs_program){ .argv = argv,
							  .folder = folder,
							  .fd = (int[]){ -1, end[1], end[1] },
							  .fds = 3 });
	(void)close(end[1]);
	if (rc != 0) {
		(void)close(end[0]);
		return bs_fail(why, BS_ERR_IO, "%s cannot be run: %s", argv[0], strerror(rc));
	}
	ended = listen_to(end[0], until_ms, said, cap) && wait_for(pid, until_ms, &status);
	(void)close(end[0]);
	if (!ended) {
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (!ended)
		return bs_fail(why, BS_ERR_TIMEOUT, "%s took longer than %d ms", argv[0], limit_ms);
	if (!WIFEXITED(status))
		return bs_fail(why, BS_ERR_IO, "%s was ended by signal %d", argv[0],
			       WTERMSIG(status));
	if (WEXITSTATUS(status) == NOT_RUN)
		return bs_fail(why, BS_ERR_IO, "%s cannot be run", argv[0]);
	return WEXITSTATUS(status);
}
