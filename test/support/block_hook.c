/*
 * test/support/block_hook.c - a disk that hangs, as a preloaded object (LD_PRELOAD): while the file
 * that BLOCK_HOOK names exists, fsync of a file in a folder "out" does not come back
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int fd)
{
	const char *gate = getenv("BLOCK_HOOK");
	const struct timespec moment = { 0, 5000000 };
	char link[40];
	char path[256] = "";

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	(void)!readlink(link, path, sizeof(path) - 1);
	while (gate != NULL && strstr(path, "/out/") != NULL && access(gate, F_OK) == 0)
		(void)nanosleep(&moment, NULL);
	return (int)syscall(SYS_fsync, fd);
}
