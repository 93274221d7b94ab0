/*
 * test/support/block_hook.c - a disk that hangs, as a preloaded object (LD_PRELOAD): while the file
 * that BLOCK_HOOK names exists, fsync does not come back
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int fd)
{
	const char *gate = getenv("BLOCK_HOOK");
	const struct timespec moment = { 0, 5000000 };

	while (gate != NULL && access(gate, F_OK) == 0)
		(void)nanosleep(&moment, NULL);
	return (int)syscall(SYS_fsync, fd);
}
