/* test/unit/drivers/test_probe.c - files tried in a child: drivers/file/probe.h */
#define _GNU_SOURCE
#include "test/support/check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/file/probe.h"

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
	(void)raise(SIGKILL);
	return 0;
}

static void hang(void)
{
	bs_probe_allow(1);
	for (;;)
		(void)pause();
}

static int hangs(const char *path, struct bs_fail *why)
{
	(void)why;
	visit(path);
	hang();
	return 0;
}

static int hangs_at_first(const char *path, struct bs_fail *why)
{
	(void)why;
	visit(path);
	if (visits(path) == 1)
		hang();
	return 0;
}

static void check(const char *name, int (*fn)(const char *path, struct bs_fail *why), int code,
		  size_t children)
{
	char path[] = "/tmp/boreside-test-XXXXXX";
	struct bs_fail why = { 0 };
	int fd = mkstemp(path);

	CHECK(fd >= 0, "%s: a file", name);
	int rc = bs_probe(fn, path, &why);

	CHECK(rc == code, "%s: %d, %d expected: %s", name, rc, code, why.text);
	CHECK(visits(path) == children, "%s: %zu children, %zu expected", name, visits(path),
	      children);
	if (code == BS_ERR_SIZE)
		CHECK(strcmp(why.text, "too large by 7") == 0, "%s: %s", name, why.text);
	(void)close(fd);
	(void)unlink(path);
}

int main(void)
{
	check("a good file", good, 0, 1);
	check("a file that is refused", refused, BS_ERR_SIZE, 1);
	check("a child that dies", falls, BS_ERR_FORMAT, 1);
	check("a child that hangs at first", hangs_at_first, 0, 2);
	check("children that hang", hangs, BS_ERR_FORMAT, 2);
	return check_done();
}
