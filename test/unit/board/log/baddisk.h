/*
 * test/unit/board/log/baddisk.h - a disk that is full, or hangs, while a test says so; its
 * program is linked with pwrite and fdatasync wrapped
 */
#ifndef BS_TEST_BOARD_LOG_BADDISK_H
#define BS_TEST_BOARD_LOG_BADDISK_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "test/support/await.h"

static _Atomic bool disk_full, disk_hangs;

ssize_t __real_pwrite(int fd, const void *p, size_t n, off_t at);
int __real_fdatasync(int fd);

ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at)
{
	errno = ENOSPC;
	return atomic_load(&disk_full) ? -1 : __real_pwrite(fd, p, n, at);
}

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	while (atomic_load(&disk_hangs))
		await_pause_ms(1);
	return __real_fdatasync(fd);
}

#endif
