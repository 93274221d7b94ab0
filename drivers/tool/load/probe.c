/* drivers/tool/load/probe.c - see probe.h */
#include "drivers/tool/load/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static bool in_child;

#define PATIENCE 30u /* longest time by the clock, in multiples of the processor time allowed */

void bs_probe_allow(unsigned seconds)
{
	const struct itimerval t = { .it_value.tv_sec = seconds };

	if (in_child && setitimer(ITIMER_PROF, &t, NULL) == 0)
		(void)alarm(seconds * PATIENCE);
}

static void child(int (*fn)(const char *path, struct bs_fail *why), const char *path, int to,
		  pid_t parent)
{
	const struct rlimit no_core = { 0, 0 };
	struct bs_fail result = { 0 };
	sigset_t none;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* hides what a failing library prints */
	if (null >= 0)
		(void)dup2(null, STDERR_FILENO);
	(void)setrlimit(RLIMIT_CORE, &no_core);
	/* the child ends with its parent, which may have died before this call */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(1);
	(void)signal(SIGALRM, SIG_DFL);
	(void)signal(SIGPROF, SIG_DFL);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)signal(SIGBUS, SIG_DFL);
	(void)signal(SIGABRT, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	in_child = true;
	bs_probe_allow(BS_PROBE_SECONDS);
	result.code = fn(path, &result);
	/* one write of less than PIPE_BUF arrives whole or not at all */
	_exit(write(to, &result, sizeof(result)) == (ssize_t)sizeof(result) ? 0 : 1);
}

/* Says why the child ended without a result: the file is damaged only if reading it can do that. */
static int explain(int status, const char *path, struct bs_fail *why)
{
	switch (WIFSIGNALED(status) ? WTERMSIG(status) : 0) {
	case 0:
		return bs_fail(why, BS_ERR_FORMAT,
			       "%s: damaged: HDF5 ended with status %d reading it (in a child)",
			       path, WEXITSTATUS(status));
	case SIGALRM:
		return bs_fail(
			why, BS_ERR_TIMEOUT,
			"%s: it could not be read in time: its disk, or this machine, has no "
			"time for it; it may be tried again",
			path);
	case SIGKILL:
		return bs_fail(why, BS_ERR_NOMEM,
			       "%s: the child that tried it was killed, perhaps by the system for "
			       "want of memory; it may be tried again",
			       path);
	case SIGPROF:
		return bs_fail(why, BS_ERR_FORMAT,
			       "%s: damaged: HDF5 came to no end reading it (tried in a child)",
			       path);
	default:
		return bs_fail(why, BS_ERR_FORMAT,
			       "%s: damaged: HDF5 did not survive reading it (tried in a child)",
			       path);
	}
}

int bs_probe(int (*fn)(const char *path, struct bs_fail *why), const char *path,
	     struct bs_fail *why)
{
	struct bs_fail result;
	int fd[2];
	const pid_t self = getpid();
	pid_t pid;
	ssize_t n;
	int status = 0;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return bs_fail(why, BS_ERR_IO, "%s: no pipe: %s", path, strerror(errno));
	pid = fork();
	if (pid == 0)
		child(fn, path, fd[1], self);
	(void)close(fd[1]);
	if (pid < 0) {
		(void)close(fd[0]);
		return bs_fail(why, BS_ERR_IO, "%s: no child process: %s", path, strerror(errno));
	}
	do {
		n = read(fd[0], &result, sizeof(result));
	} while (n < 0 && errno == EINTR);
	(void)close(fd[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(result))
		return explain(status, path, why);
	result.text[sizeof(result.text) - 1] = '\0';
	return result.code == 0 ? 0 : bs_fail(why, result.code, "%s", result.text);
}
