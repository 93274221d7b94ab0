/* drivers/log/storefile.c - see storefile.h */
#include "drivers/log/storefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/whole.h"

bool bs_store_file_gone(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

bool bs_store_file_lacks(const char *dir, const char *name)
{
	char path[BS_LOG_DIR + BS_LOG_NAME + 8u];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) != 0 && errno == ENOENT;
}

int bs_store_file_open(struct bs_store_reader *r, const char *dir, const char *name,
		       struct bs_fail *why)
{
	char path[BS_LOG_DIR + BS_LOG_NAME + 8u];

	if (r->fd >= 0 && strcmp(r->name, name) == 0)
		return 0;
	if (r->fd >= 0)
		(void)close(r->fd);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (r->fd < 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
	(void)snprintf(r->name, sizeof(r->name), "%s", name);
	return 0;
}

int bs_store_file_read(const struct bs_store_reader *r, const char *dir, unsigned char *to,
		       size_t len, uint64_t at, struct bs_fail *why)
{
	const size_t n = bs_read_whole(r->fd, to, len, (int64_t)at);

	return n == len ? 0
			: bs_fail(why, BS_ERR_IO, "%s/%s: offset %llu: %s", dir, r->name,
				  (unsigned long long)(at + n),
				  errno == 0 ? "it ends early" : strerror(errno));
}
