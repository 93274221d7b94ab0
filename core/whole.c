/* core/whole.c - see whole.h */
#include "core/whole.h"

#include <errno.h>
#include <unistd.h>

size_t bs_read_whole(int fd, void *to, size_t len, int64_t at)
{
	size_t done = 0;

	while (done < len) {
		unsigned char *p = (unsigned char *)to + done;
		const ssize_t n = at < 0 ? read(fd, p, len - done)
					 : pread(fd, p, len - done, (off_t)at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = 0;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

bool bs_write_whole(int fd, const void *from, size_t len, int64_t at)
{
	for (size_t done = 0; done < len;) {
		const unsigned char *p = (const unsigned char *)from + done;
		const ssize_t n = at < 0 ? write(fd, p, len - done)
					 : pwrite(fd, p, len - done, (off_t)at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENOSPC;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}
