/* test/unit/drivers/test_probe.c - files tried in a child: drivers/tool/load/probe.h */
#define _GNU_SOURCE
#include "test/support/check.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/thread/team.h"
#include "drivers/tool/load/probe.h"
#include "test/support/await.h"

/* The path is a file that says what has happened so far: each child adds a letter. */
static size_t visits(const char *path)
{
	char all[16];
	FILE *f = fopen(path, "r");
	size_t n = f != NULL ? fread(all, 1, sizeof(all), f) : 0;

	if (f != NULL)
		(void)fclose(f);
	return n;
}

static void visit(const char *path)
{
	FILE *f = fopen(path, "a");

	if (f != NULL) {
		(void)fputc('x', f);
		(void)fclose(f);
	}
}

static int good(const char *path, struct bs_fail *why)
{
	(void)why;
	visit(path);
	return 0;
}

static int refused(const char *path, struct bs_fail *why)
{
	visit(path);
	return bs_fail(why, BS_ERR_SIZE, "too large by %d", 7);
}

static int falls(const char *path, struct bs_fail *why)
{
	(void)why;
	visit(path);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)raise(SIGSEGV);
	return 0;
}

/* As the system does where memory runs out. */
static int killed(const char *path, struct bs_fail *why)
{
	(void)why;
	visit(path);
	(void)raise(SIGKILL);
	return 0;
}

static int leaves(const char *path, struct bs_fail *why)
{
	(void)why;
	visit(path);
	_exit(3);
}

static int hangs(const char *path, struct bs_fail *why)
{
	volatile unsigned n = 0;

	(void)why;
	visit(path);
	bs_probe_allow(1);
	for (;;)
		n++;
	return 0;
}

/* No processor for much longer than its work takes of one. */
static int starves(const char *path, struct bs_fail *why)
{
	(void)why;
	visit(path);
	bs_probe_allow(1);
	(void)raise(SIGALRM);
	return 0;
}

/* In a process that is killed meanwhile. */
static int outlives(const char *path, struct bs_fail *why)
{
	(void)why;
	visit(path);
	(void)kill(getppid(), SIGKILL);
	for (;;)
		(void)pause();
	return 0;
}

static void test_orphan(void)
{
	char path[] = "/tmp/boreside-test-XXXXXX";
	const int fd = mkstemp(path);
	int left[2];
	char byte;
	pid_t pid;

	CHECK(fd >= 0 && pipe(left) == 0, "a file");
	pid = fork();
	if (pid == 0)
		_exit(bs_probe(outlives, path, NULL));
	(void)close(left[1]); /* the child of that process has it now */
	CHECK(waitpid(pid, NULL, 0) == pid && read(left[0], &byte, 1) == 0 && visits(path) == 1,
	      "who asked is killed: its child goes, too");
	(void)close(left[0]);
	(void)close(fd);
	(void)unlink(path);
}

/* A thread that starts holds a lock for a while, as a sanitizer's malloc does; nobody sees it from
 * the thread itself. */
static sem_t start_lock;

struct start {
	void *(*run)(void *);
	void *arg;
};

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg);

static void *start_slowly(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	await_pause_ms(100);
	(void)sem_post(&start_lock);
	return s.run(s.arg);
}

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg)
{
	struct start *s = malloc(sizeof(*s));

	if (s == NULL)
		abort();
	*s = (struct start){ run, arg };
	(void)sem_wait(&start_lock); /* the new thread gives it back */
	return __real_pthread_create(t, a, start_slowly, s);
}

static int locks(const char *path, struct bs_fail *why)
{
	(void)why;
	visit(path);
	bs_probe_allow(1);
	(void)sem_wait(&start_lock);
	(void)sem_post(&start_lock);
	return 0;
}

static void check(const char *name, int (*fn)(const char *path, struct bs_fail *why), int code,
		  const char *words)
{
	char path[] = "/tmp/boreside-test-XXXXXX";
	struct bs_fail why = { 0 };
	int fd = mkstemp(path);

	CHECK(fd >= 0, "%s: a file", name);
	int rc = bs_probe(fn, path, &why);

	CHECK(rc == code, "%s: %d, %d expected: %s", name, rc, code, why.text);
	CHECK(visits(path) == 1, "%s: %zu children, 1 expected", name, visits(path));
	CHECK(strstr(why.text, words) != NULL &&
		      (strstr(why.text, "damaged") != NULL) == (code == BS_ERR_FORMAT),
	      "%s: '%s' says '%s'", name, why.text, words);
	(void)close(fd);
	(void)unlink(path);
}

/* A team's threads have begun when it is open: the child is not born with a lock of theirs. */
static void test_team(void)
{
	struct bs_team *team = NULL;
	struct bs_fail why = { 0 };

	(void)sem_init(&start_lock, 0, 1);
	CHECK(bs_team_open(&team, 2, &why) == 0, "a team of two %s", why.text);
	check("a child that needs what a thread locks when it starts", locks, 0, "");
	bs_team_close(team);
}

int main(void)
{
	check("a good file", good, 0, "");
	check("a file that is refused", refused, BS_ERR_SIZE, "too large by 7");
	check("a child that dies", falls, BS_ERR_FORMAT, "did not survive");
	check("a child that hangs", hangs, BS_ERR_FORMAT, "came to no end");
	check("a child that got no processor", starves, BS_ERR_TIMEOUT, "tried again");
	check("a child that is killed", killed, BS_ERR_NOMEM, "killed, perhaps by the system");
	check("a child that ends", leaves, BS_ERR_FORMAT, "ended with status 3");
	test_orphan();
	test_team();
	return check_done();
}
