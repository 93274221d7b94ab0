/*
 * test/unit/board/tool/init/test_terminal.c - what is said on a terminal: how far a command has
 * come, by a scripted clock, and the questions of boreside init
 */
#define _GNU_SOURCE /* posix_openpt, mkdtemp */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/progress.h"
#include "core/thread/clock.h"
#include "test/support/await.h"
#include "test/support/check.h"

#define END "<end>"

/* The two ends of a terminal; false: there are none here. */
static bool open_terminal(int *master, int *slave)
{
	const char *name;

	*slave = -1;
	*master = posix_openpt(O_RDWR | O_NOCTTY);
	if (*master >= 0 && grantpt(*master) == 0 && unlockpt(*master) == 0 &&
	    (name = ptsname(*master)) != NULL)
		*slave = open(name, O_RDWR | O_NOCTTY);
	if (*slave >= 0)
		return true;
	if (*master >= 0)
		(void)close(*master);
	return false;
}

/* All that comes until the words, the end of the file, or a hang. */
static size_t read_until(int fd, char *out, size_t cap, const char *words)
{
	const int64_t limit = await_limit();
	size_t n = 0;

	out[0] = '\0';
	while (n + 1 < cap && strstr(out, words) == NULL && await_now_ns() < limit) {
		struct pollfd p = { fd, POLLIN, 0 };
		ssize_t got;

		if (poll(&p, 1, 1000) <= 0)
			continue;
		got = read(fd, out + n, cap - 1 - n);
		if (got <= 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
		out[n] = '\0';
	}
	return n;
}

/* In a child whose standard error is fd: work of four and a half scripted seconds. */
static void work(int fd, bool use)
{
	int64_t now_ns = 7;
	struct bs_progress p;
	struct bs_progress within;

	(void)dup2(fd, STDERR_FILENO);
	bs_clock_script(&now_ns);
	if (use)
		bs_progress_use();
	bs_progress_begin(&p, "short", 10, "parts");
	now_ns += BS_PROGRESS_FIRST_NS / 2;
	bs_progress_at(&p, 5);
	bs_progress_end(&p);
	bs_progress_begin(&p, "long", 1000, "parts");
	bs_progress_begin(&within, "within", 0, "parts");
	for (unsigned i = 1; i <= 1000; i++) {
		now_ns += 10000000; /* 10 s in all */
		bs_progress_at(&within, i);
		bs_progress_at(&p, i);
	}
	bs_progress_end(&within);
	bs_progress_end(&p);
	(void)!write(STDERR_FILENO, END, strlen(END));
	_exit(0);
}

static unsigned count(const char *text, const char *words)
{
	unsigned n = 0;

	for (; (text = strstr(text, words)) != NULL; text += strlen(words))
		n++;
	return n;
}

/* What a child that works says. fd[0] is read, fd[1] its standard error. */
static void said(int fd[2], bool use, char *text, size_t cap)
{
	const pid_t pid = fork();

	if (pid == 0)
		work(fd[1], use);
	(void)read_until(fd[0], text, cap, END);
	(void)waitpid(pid, NULL, 0);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

static void progress(void)
{
	static char text[65536];
	int fd[2];

	if (pipe(fd) != 0)
		exit(1);
	said(fd, false, text, sizeof(text));
	CHECK(strcmp(text, END) == 0, "without use nothing is told");
	if (pipe(fd) != 0)
		exit(1);
	said(fd, true, text, sizeof(text));
	CHECK(count(text, "\n") == 2 && count(text, "\r") == 0 && count(text, "short") == 0,
	      "no terminal: %u lines in 10 s", count(text, "\n"));
	CHECK(strstr(text, "long: 50 %, 500 parts, about 5 s left\n") == text, "%.38s", text);
	if (!open_terminal(&fd[0], &fd[1])) {
		SKIP("progress on a terminal: there is none (%s)", strerror(errno));
		return;
	}
	said(fd, true, text, sizeof(text));
	CHECK(strstr(text, END) != NULL && count(text, "short") == 0, "on a terminal");
	CHECK(count(text, "\rlong") == 46, "one line, %u times anew in 9 s", count(text, "\rlong"));
	CHECK(count(text, "\n") == 0, "in one place");
	CHECK(count(text, "within") == 0, "what begins within another says nothing");
	CHECK(strlen(text) > 90 && strspn(text + strlen(text) - strlen(END) - 2, " ") == 1 &&
		      text[strlen(text) - strlen(END) - 1] == '\r',
	      "and is wiped");
}

/* boreside init with a terminal as its standard input and error. */
static void questions(const char *program)
{
	static const char answers[] = "knee\nradail\nradial\n64 by 64\n64x64\n4\n\n";
	static char text[65536];
	char dir[] = "/tmp/bs_terminal.XXXXXX";
	char site[64];
	struct stat st;
	int status = -1;
	int fd[2];
	pid_t pid;

	if (!open_terminal(&fd[0], &fd[1])) {
		SKIP("questions on a terminal: there is none (%s)", strerror(errno));
		return;
	}
	if (mkdtemp(dir) == NULL)
		exit(1);
	(void)snprintf(site, sizeof(site), "%s/site.cfg", dir);
	pid = fork();
	if (pid == 0) {
		(void)dup2(fd[1], STDIN_FILENO);
		(void)dup2(fd[1], STDOUT_FILENO);
		(void)dup2(fd[1], STDERR_FILENO);
		(void)close(fd[0]);
		(void)close(fd[1]);
		(void)execl(program, "boreside", "init", "-o", site, (char *)NULL);
		_exit(127);
	}
	(void)!write(fd[0], answers, strlen(answers));
	(void)read_until(fd[0], text, sizeof(text), "boreside serve -c");
	if (strstr(text, "boreside serve -c") == NULL)
		(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "boreside init asks, and ends");
	CHECK(strstr(text, "did you mean radial?") != NULL, "a mistyped answer is asked again");
	CHECK(strstr(text, "two or three numbers") != NULL, "so is a matrix that is none");
	CHECK(strstr(text, "protocol 'knee', method gridding, 64 x 64 x 1 voxels, 4 coils") != NULL,
	      "the answers are the protocol");
	CHECK(stat(site, &st) == 0 && st.st_size > 500, "the site file");
	(void)close(fd[0]);
	(void)close(fd[1]);
	(void)unlink(site);
	(void)rmdir(dir);
}

int main(void)
{
	const char *program = getenv("BORESIDE");

	progress();
	if (program != NULL)
		questions(program);
	else
		SKIP("questions on a terminal: BORESIDE names no program");
	return check_done();
}
