/*
 * test/support/folder.h - a folder of the test's own: there before main, gone with all in it after
 *
 * FOLDER before the include: its name, where that matters. Children that exit leave it.
 */
#ifndef BS_TEST_SUPPORT_FOLDER_H
#define BS_TEST_SUPPORT_FOLDER_H

#ifndef _GNU_SOURCE
#error "define _GNU_SOURCE before the first include: mkdtemp"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef FOLDER
#define FOLDER "/tmp/boreside-test-XXXXXX"
#endif

static char dir[] = FOLDER;
static pid_t folder_owner;

__attribute__((constructor)) static inline void folder_make(void)
{
	folder_owner = getpid();
	if (mkdtemp(dir) == NULL)
		abort();
}

__attribute__((destructor)) static inline void folder_remove(void)
{
	char command[sizeof(dir) + 16];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (getpid() == folder_owner && system(command) != 0)
		_exit(1);
}

/* Of up to four names at a time. */
static inline const char *in_dir(const char *name)
{
	static char path[4][256];
	static int turn;

	turn = (turn + 1) % 4;
	(void)snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

#endif
