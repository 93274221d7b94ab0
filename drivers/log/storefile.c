/* drivers/log/storefile.c - see storefile.h */
#define _GNU_SOURCE
#include "drivers/log/storefile.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool bs_store_file_gone(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

int bs_store_file_read(const struct bs_store_reader *r, const char *dir, unsigned char *to,
		       size_t len, uint64_t at, struct bs_fail *why)
{
	while (len > 0) {
		const ssize_t n = pread(r->fd, to, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return bs_fail(why, BS_ERR_IO, "%s/%s: offset %llu: %s", dir, r->name,
				       (unsigned long long)at,
				       n == 0 ? "it ends early" : strerror(errno));
		to += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}
