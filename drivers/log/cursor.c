/* drivers/log/cursor.c - see cursor.h */
#include "drivers/log/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGITS 20u

static int io_fail(struct bs_fail *why, const char *path)
{
	return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(errno));
}

int bs_cursor_get(const char *path, uint64_t *number, struct bs_fail *why)
{
	char text[DIGITS + 2] = "";
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n;

	*number = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : io_fail(why, path);
	n = read(fd, text, sizeof(text));
	if (n < 0)
		(void)io_fail(why, path);
	(void)close(fd);
	if (n <= 0)
		return n == 0 ? 0 : BS_ERR_IO;
	errno = 0;
	*number = strtoull(text, NULL, 10);
	if (n == DIGITS + 1 && strspn(text, "0123456789") == DIGITS && text[DIGITS] == '\n' &&
	    errno == 0)
		return 0;
	*number = 0;
	return bs_fail(why, BS_ERR_FORMAT, "%s: not a number of %u digits", path, DIGITS);
}

/* Syncs the folder's entry of a new file. Not every file system can sync folders. */
static void sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	const int fd = dir != NULL ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		(void)fsync(fd);
		(void)close(fd);
	}
	free(dir);
}

/* Writes the line. On failure the file holds the old line or nothing. False: errno says why. */
static bool put_line(int fd, const char *text, size_t len)
{
	ssize_t n = 0;

	for (size_t at = 0; at < len; at += (size_t)n) {
		do {
			n = pwrite(fd, text + at, len - at, (off_t)at);
		} while (n < 0 && errno == EINTR);
		if (n > 0)
			continue;
		const int error = n == 0 ? ENOSPC : errno;

		if (at > 0)
			(void)!ftruncate(fd, 0);
		errno = error;
		return false;
	}
	return true;
}

int bs_cursor_put(const char *path, uint64_t number, bool synced, struct bs_fail *why)
{
	char text[DIGITS + 2];
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	bool made = fd < 0 && errno == ENOENT;
	int rc = 0;

	if (made)
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return io_fail(why, path);
	(void)snprintf(text, sizeof(text), "%020" PRIu64 "\n", number);
	if (!put_line(fd, text, DIGITS + 1) || (synced && fdatasync(fd) != 0))
		rc = io_fail(why, path);
	if (close(fd) != 0 && rc == 0)
		rc = io_fail(why, path);
	if (rc == 0 && made && synced)
		sync_folder(path);
	return rc;
}
