/*
 * test/support/disk/gone_hook.c - preloaded: a disk that vanishes. After GONE_AFTER writes to files
 * of a folder out/ nothing reads or writes these any more (EIO).
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool gone(int fd, int writes)
{
	static _Atomic int done;
	const char *after = getenv("GONE_AFTER");
	char link[64];
	char path[4096] = "";

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (after == NULL || readlink(link, path, sizeof(path) - 1) < 0 ||
	    strstr(path, "/out/") == NULL || atomic_fetch_add(&done, writes) < atoi(after))
		return false;
	errno = EIO;
	return true;
}

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t n)
{
	return gone(fd, 1) ? -1 : REAL(write)(fd, bytes, n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	return gone(fd, 1) ? -1 : REAL(pwrite)(fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
	return gone(fd, 1) ? -1 : REAL(pwrite64)(fd, bytes, n, at);
}

ssize_t pread64(int fd, void *bytes, size_t n, off64_t at)
{
	return gone(fd, 0) ? -1 : REAL(pread64)(fd, bytes, n, at);
}

int ftruncate64(int fd, off64_t n)
{
	return gone(fd, 1) ? -1 : REAL(ftruncate64)(fd, n);
}

int fsync(int fd)
{
	return gone(fd, 1) ? -1 : REAL(fsync)(fd);
}
