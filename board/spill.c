/* board/spill.c - see spill.h */
#define _GNU_SOURCE
#include "board/spill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES (BS_PATH_MAX_ + 80)

static void path_of(char out[PATH_BYTES], const struct bs_spill *s, uint64_t number,
		    const char *ending)
{
	(void)snprintf(out, PATH_BYTES, "%s/%s-%020" PRIu64 ".%s", s->dir, s->name, number, ending);
}

/* True: a piece of ours; *number is its. */
static bool is_piece(const struct bs_spill *s, const char *file, uint64_t *number)
{
	size_t n = strlen(s->name);
	char *end = NULL;

	if (strncmp(file, s->name, n) != 0 || file[n] != '-' ||
	    strspn(file + n + 1, "0123456789") != 20 || strcmp(file + n + 21, ".image") != 0)
		return false;
	errno = 0;
	*number = strtoull(file + n + 1, &end, 10);
	return errno == 0 && *number < UINT64_MAX;
}

int bs_spill_open(struct bs_spill *s, const char *dir, const char *name, uint64_t most_bytes,
		  struct bs_fail *why)
{
	uint64_t first = UINT64_MAX;
	uint64_t next = 0;
	struct dirent *d;
	struct stat st;
	DIR *folder;

	memset(s, 0, sizeof(*s));
	(void)snprintf(s->dir, sizeof(s->dir), "%s", dir);
	(void)snprintf(s->name, sizeof(s->name), "%s", name);
	s->most_bytes = most_bytes;
	folder = opendir(dir);
	if (folder == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", dir, strerror(errno));
	while ((d = readdir(folder)) != NULL) { /* one thread reads this folder's stream */
		uint64_t number;

		if (!is_piece(s, d->d_name, &number) ||
		    fstatat(dirfd(folder), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		first = number < first ? number : first;
		next = number + 1 > next ? number + 1 : next;
		atomic_fetch_add(&s->bytes, (uint64_t)st.st_size);
		atomic_fetch_add(&s->pieces, 1);
	}
	(void)closedir(folder);
	atomic_store(&s->first, first == UINT64_MAX ? BS_SPILL_FIRST : first);
	atomic_store(&s->next, first == UINT64_MAX ? BS_SPILL_FIRST : next);
	return 0;
}

static int write_all(int fd, const unsigned char *at, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? EIO : errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int put(struct bs_spill *s, uint64_t number, const void *piece, size_t len,
	       struct bs_fail *why)
{
	char part[PATH_BYTES];
	char path[PATH_BYTES];
	int rc;
	int fd;

	if (len > s->most_bytes || atomic_load(&s->bytes) > s->most_bytes - len)
		return bs_fail(why, BS_ERR_NOMEM, "%s: %llu of %llu bytes are in use", s->dir,
			       (unsigned long long)atomic_load(&s->bytes),
			       (unsigned long long)s->most_bytes);
	path_of(part, s, number, "part");
	path_of(path, s, number, "image");
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", part, strerror(errno));
	rc = write_all(fd, piece, len);
	if (close(fd) != 0 && rc == 0)
		rc = errno;
	if (rc == 0 && rename(part, path) != 0)
		rc = errno;
	if (rc != 0) {
		(void)unlink(part);
		return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(rc));
	}
	atomic_fetch_add(&s->bytes, (uint64_t)len);
	return 0;
}

int bs_spill_put(struct bs_spill *s, const void *piece, size_t len, struct bs_fail *why)
{
	int rc = put(s, atomic_load(&s->next), piece, len, why);

	if (rc != 0)
		return rc;
	atomic_fetch_add(&s->next, 1);
	atomic_fetch_add(&s->pieces, 1); /* last: whoever takes sees it whole */
	return 0;
}

int bs_spill_put_back(struct bs_spill *s, const void *piece, size_t len, struct bs_fail *why)
{
	uint64_t first = atomic_load(&s->first);
	int rc = first == 0
			 ? bs_fail(why, BS_ERR_IO, "%s: no number is left before the first", s->dir)
			 : put(s, first - 1, piece, len, why);

	if (rc != 0)
		return rc;
	atomic_store(&s->first, first - 1);
	atomic_fetch_add(&s->pieces, 1);
	return 0;
}

/* The oldest is no more; its place in the count, too. */
static void forget(struct bs_spill *s, uint64_t bytes)
{
	uint64_t held = atomic_load(&s->bytes);

	while (!atomic_compare_exchange_weak(&s->bytes, &held, held > bytes ? held - bytes : 0))
		;
	atomic_fetch_sub(&s->pieces, 1);
	atomic_fetch_add(&s->first, 1);
}

/* A descriptor of the oldest that is there; -1: none. Numbers without a file are passed over. */
static int open_oldest(struct bs_spill *s, char path[PATH_BYTES])
{
	while (atomic_load(&s->first) < atomic_load(&s->next) && atomic_load(&s->pieces) > 0) {
		int fd;

		path_of(path, s, atomic_load(&s->first), "image");
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd >= 0 || errno != ENOENT)
			return fd;
		atomic_fetch_add(&s->first, 1);
	}
	return -1;
}

int bs_spill_take(struct bs_spill *s, void *piece, size_t cap, size_t *len, struct bs_fail *why)
{
	char path[PATH_BYTES];
	struct stat st = { 0 };
	int fd;
	int rc = 0;

	if (atomic_load(&s->pieces) == 0)
		return 0;
	fd = open_oldest(s, path);
	if (fd < 0 && atomic_load(&s->first) >= atomic_load(&s->next)) {
		atomic_store(&s->pieces, 0); /* somebody has emptied the folder */
		atomic_store(&s->bytes, 0);
		return bs_fail(why, BS_ERR_IO, "%s: what was there is gone", s->dir);
	}
	*len = 0;
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		rc = bs_fail(why, BS_ERR_IO, "%s: %s", path,
			     fd < 0 ? strerror(errno) : "not a regular file");
	else if ((uint64_t)st.st_size > cap)
		rc = bs_fail(why, BS_ERR_LENGTH, "%s: %lld bytes, %zu at most", path,
			     (long long)st.st_size, cap);
	while (rc == 0 && *len < (size_t)st.st_size) {
		ssize_t n = read(fd, (unsigned char *)piece + *len, (size_t)st.st_size - *len);

		if (n > 0)
			*len += (size_t)n;
		else if (n == 0 || errno != EINTR)
			rc = bs_fail(why, BS_ERR_IO, "%s: %s", path,
				     n == 0 ? "it ends early" : strerror(errno));
	}
	if (fd >= 0)
		(void)close(fd);
	if (rc == 0)
		return 1;
	forget(s, (uint64_t)st.st_size); /* the file stays for whoever wants to know */
	return rc;
}

void bs_spill_drop(struct bs_spill *s)
{
	char path[PATH_BYTES];
	struct stat st = { 0 };

	path_of(path, s, atomic_load(&s->first), "image");
	(void)stat(path, &st);
	(void)unlink(path);
	forget(s, (uint64_t)st.st_size);
}
