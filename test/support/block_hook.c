/*
 * test/support/block_hook.c - a disk that hangs, as a preloaded object (LD_PRELOAD): while the file
 * that BLOCK_HOOK names exists, fsync of a file in a folder "out" does not come back; one that is
 * read only: while the file that READONLY_HOOK names exists, no file in "out" is opened for
 * writing; one that fails: while the file that EIO_HOOK names exists, nothing is written in a
 * folder "logs"
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool stands(const char *hook)
{
	const char *gate = getenv(hook);

	return gate != NULL && access(gate, F_OK) == 0;
}

static bool lies_in(int fd, const char *folder)
{
	char link[40];
	char path[256] = "";

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	(void)!readlink(link, path, sizeof(path) - 1);
	return strstr(path, folder) != NULL;
}

int fsync(int fd)
{
	const struct timespec moment = { 0, 5000000 };

	while (lies_in(fd, "/out/") && stands("BLOCK_HOOK"))
		(void)nanosleep(&moment, NULL);
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	if (stands("EIO_HOOK") && lies_in(fd, "/logs/")) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	if (stands("EIO_HOOK") && lies_in(fd, "/logs/")) {
		errno = EIO;
		return -1;
	}
	return (ssize_t)syscall(SYS_pwrite64, fd, bytes, n, at);
}

int open(const char *path, int flags, ...)
{
	va_list more;
	int mode;

	va_start(more, flags);
	mode = va_arg(more, int);
	va_end(more);
	if ((flags & O_ACCMODE) != O_RDONLY && strstr(path, "/out/") != NULL &&
	    stands("READONLY_HOOK")) {
		errno = EROFS;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
