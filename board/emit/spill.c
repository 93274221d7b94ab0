/* board/emit/spill.c - see spill.h */
#define _GNU_SOURCE
#include "board/emit/spill.h"

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

/* The ending of a piece's file name, *number its number; NULL: it is none of our pieces. */
static const char *ending_of(const struct bs_spill *s, const char *file, uint64_t *number)
{
	size_t n = strlen(s->name);

	if (strncmp(file, s->name, n) != 0 || file[n] != '-' ||
	    strspn(file + n + 1, "0123456789") != 20 || file[n + 21] != '.')
		return NULL;
	errno = 0;
	*number = strtoull(file + n + 1, NULL, 10);
	return errno == 0 && *number < UINT64_MAX ? file + n + 22 : NULL;
}

/* One file of the folder. ".part": a process ended while it wrote it. */
static void find(struct bs_spill *s, int folder, const char *file)
{
	uint64_t number = 0;
	const char *ending = ending_of(s, file, &number);
	struct stat st = { 0 };
	int rc;

	if (ending == NULL)
		return;
	if (strcmp(ending, "part") == 0)
		(void)unlinkat(folder, file, 0);
	else if (strcmp(ending, "image") == 0 || strcmp(ending, "bad") == 0)
		s->next = number + 1 > s->next ? number + 1
					       : s->next; /* its number is not used again */
	if (strcmp(ending, "image") != 0)
		return;
	rc = fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW);
	if (rc == 0 && !S_ISREG(st.st_mode))
		return;
	/* also when its size is not known: take will say what is wrong with it */
	s->first = number < s->first ? number : s->first;
	atomic_fetch_add(&s->bytes, rc == 0 ? (uint64_t)st.st_size : 0);
	atomic_fetch_add(&s->pieces, 1);
}

int bs_spill_open(struct bs_spill *s, const char *dir, const char *name, uint64_t most_bytes,
		  struct bs_fail *why)
{
	struct dirent *d;
	DIR *folder;
	int rc = 0;

	memset(s, 0, sizeof(*s));
	(void)snprintf(s->dir, sizeof(s->dir), "%s", dir);
	(void)snprintf(s->name, sizeof(s->name), "%s", name);
	s->most_bytes = most_bytes;
	s->first = UINT64_MAX;
	s->next = BS_SPILL_FIRST;
	folder = opendir(dir);
	if (folder == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: %s", dir, strerror(errno));
	for (errno = 0; (d = readdir(folder)) != NULL; errno = 0)
		find(s, dirfd(folder), d->d_name);
	if (errno != 0) /* pieces that were not seen would be written over */
		rc = bs_fail(why, BS_ERR_IO, "%s: reading the folder: %s", dir, strerror(errno));
	(void)closedir(folder);
	if (rc != 0) {
		s->next = 0;
		return rc;
	}
	if (s->first == UINT64_MAX)
		s->first = s->next;
	s->holes = s->next - s->first - atomic_load(&s->pieces);
	(void)pthread_mutex_init(&s->lock, NULL);
	return 0;
}

void bs_spill_close(struct bs_spill *s)
{
	if (s->next != 0)
		(void)pthread_mutex_destroy(&s->lock);
	s->next = 0;
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

static int write_piece(const struct bs_spill *s, uint64_t number, const void *piece, size_t len,
		       struct bs_fail *why)
{
	char part[PATH_BYTES];
	char path[PATH_BYTES];
	int rc;
	int fd;

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
	if (rc == 0)
		return 0;
	(void)unlink(part);
	return bs_fail(why, BS_ERR_IO, "%s: %s", path, strerror(rc));
}

/* The bytes are counted before they are written, so that two puts cannot exceed the bound. */
static int put(struct bs_spill *s, const void *piece, size_t len, bool back, struct bs_fail *why)
{
	uint64_t number;
	uint64_t held;
	int rc = 0;

	(void)pthread_mutex_lock(&s->lock);
	held = atomic_load(&s->bytes);
	number = back ? s->first - 1 : s->next;
	if (len > s->most_bytes || held > s->most_bytes - len)
		rc = bs_fail(why, BS_ERR_NOMEM, "%s: %llu of %llu bytes are in use", s->dir,
			     (unsigned long long)held, (unsigned long long)s->most_bytes);
	else if (back && s->first == 0)
		rc = bs_fail(why, BS_ERR_IO, "%s: no number is left before the first", s->dir);
	else
		atomic_store(&s->bytes, held + len);
	s->writing += rc == 0 ? len : 0;
	(void)pthread_mutex_unlock(&s->lock);
	if (rc != 0)
		return rc;
	rc = write_piece(s, number, piece, len, why);
	(void)pthread_mutex_lock(&s->lock);
	s->writing -= len;
	if (rc != 0)
		atomic_fetch_sub(&s->bytes, len);
	else if (back)
		s->first--; /* only the taking thread changes it */
	else
		s->next++;
	atomic_fetch_add(&s->pieces, rc == 0);
	(void)pthread_mutex_unlock(&s->lock);
	return rc;
}

int bs_spill_put(struct bs_spill *s, const void *piece, size_t len, struct bs_fail *why)
{
	return put(s, piece, len, false, why);
}

int bs_spill_put_back(struct bs_spill *s, const void *piece, size_t len, struct bs_fail *why)
{
	return put(s, piece, len, true, why);
}

/* The oldest is gone: so is its place in the count, and so are its bytes. */
static void forget(struct bs_spill *s, uint64_t bytes)
{
	(void)pthread_mutex_lock(&s->lock);
	uint64_t held = atomic_load(&s->bytes) - s->writing;
	bool last = atomic_load(&s->pieces) == 1;

	atomic_store(&s->bytes, s->writing + (last || held < bytes ? 0 : held - bytes));
	atomic_fetch_sub(&s->pieces, 1);
	s->first = last ? s->next : s->first + 1;
	s->holes = last ? 0 : s->holes;
	s->taken = 0;
	s->tries = 0;
	(void)pthread_mutex_unlock(&s->lock);
}

/* How many numbers from the oldest on have no file; at least 1: the caller found that. */
static uint64_t gap_of(const struct bs_spill *s)
{
	DIR *folder = opendir(s->dir);
	uint64_t least = UINT64_MAX;
	struct dirent *d;

	if (folder == NULL)
		return 1;
	for (errno = 0; (d = readdir(folder)) != NULL; errno = 0) {
		uint64_t number = 0;
		const char *ending = ending_of(s, d->d_name, &number);

		if (ending != NULL && strcmp(ending, "image") == 0 && number > s->first &&
		    number < least)
			least = number;
	}
	if (errno != 0)
		least = s->first + 1;
	(void)closedir(folder);
	return least - s->first;
}

/* The oldest number has no file: it had none at the start (0), or somebody removed it. */
static int pass_over(struct bs_spill *s, const char *path, struct bs_fail *why)
{
	if (s->holes > 0) {
		const uint64_t gap = gap_of(s);
		const uint64_t over = gap < s->holes ? gap : s->holes;

		s->holes -= over;
		s->first += over;
		return 0;
	}
	(void)pthread_mutex_lock(&s->lock);
	uint64_t average = (atomic_load(&s->bytes) - s->writing) / atomic_load(&s->pieces);

	(void)pthread_mutex_unlock(&s->lock);
	forget(s, average);
	return bs_fail(why, BS_ERR_IO, "%s: somebody removed it", path);
}

int bs_spill_give_up(struct bs_spill *s, int code, const char *what, struct bs_fail *why)
{
	char path[PATH_BYTES];
	char bad[PATH_BYTES];
	struct stat st = { 0 };

	path_of(path, s, s->first, "image");
	path_of(bad, s, s->first, "bad");
	if (lstat(path, &st) == 0)
		s->taken = (uint64_t)st.st_size;
	if (rename(path, bad) == 0)
		(void)bs_fail(why, code, "%s: %s; it is given up, and kept as .bad", path, what);
	else
		(void)bs_fail(why, code, "%s: %s; it is given up, but not set aside: %s", path,
			      what, strerror(errno));
	forget(s, s->taken);
	return code;
}

/* An error of this process, not of the piece, is waited out; any other is tried a few times. */
static int later(struct bs_spill *s, const char *path, int error, struct bs_fail *why)
{
	bool ours = error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN ||
		    error == EINTR;

	if (!ours && ++s->tries >= BS_SPILL_TRIES)
		return bs_spill_give_up(s, BS_ERR_IO, strerror(error), why);
	(void)bs_fail(why, BS_ERR_IO, "%s: %s; it is tried again", path, strerror(error));
	return BS_SPILL_LATER;
}

/* 0, or the error; -1: the file ends early. */
static int read_all(int fd, unsigned char *at, size_t len)
{
	while (len > 0) {
		ssize_t n = read(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? -1 : errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int take_file(struct bs_spill *s, const char *path, int fd, void *piece, size_t cap,
		     size_t *len, struct bs_fail *why)
{
	struct stat st = { 0 };
	char words[80];
	int error = fstat(fd, &st) != 0 ? errno : 0;

	if (error == 0 && !S_ISREG(st.st_mode))
		return bs_spill_give_up(s, BS_ERR_FORMAT, "not a regular file", why);
	if (error == 0 && (uint64_t)st.st_size > cap) {
		(void)snprintf(words, sizeof(words), "%lld bytes, %zu at most",
			       (long long)st.st_size, cap);
		return bs_spill_give_up(s, BS_ERR_LENGTH, words, why);
	}
	if (error == 0)
		error = read_all(fd, piece, (size_t)st.st_size);
	if (error < 0)
		return bs_spill_give_up(s, BS_ERR_FORMAT, "it ends early", why);
	if (error > 0)
		return later(s, path, error, why);
	*len = (size_t)st.st_size;
	s->taken = (uint64_t)st.st_size;
	return 1;
}

int bs_spill_take(struct bs_spill *s, void *piece, size_t cap, size_t *len, struct bs_fail *why)
{
	char path[PATH_BYTES];
	int rc = 0;

	*len = 0;
	while (rc == 0 && atomic_load(&s->pieces) > 0) {
		int fd;

		path_of(path, s, s->first, "image");
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd >= 0) {
			rc = take_file(s, path, fd, piece, cap, len, why);
			(void)close(fd);
		} else if (errno == ENOENT) {
			rc = pass_over(s, path, why);
		} else {
			rc = later(s, path, errno, why);
		}
	}
	return rc;
}

int bs_spill_drop(struct bs_spill *s, struct bs_fail *why)
{
	char path[PATH_BYTES];
	int error;

	path_of(path, s, s->first, "image");
	error = unlink(path) != 0 && errno != ENOENT ? errno : 0;
	forget(s, s->taken);
	return error == 0 ? 0
			  : bs_fail(why, BS_ERR_IO,
				    "%s: it was delivered and cannot be removed: %s; the next "
				    "start delivers it again",
				    path, strerror(error));
}

/* The length of the name in front of a piece's number; 0: the file is no piece. */
static size_t name_of(const char *file)
{
	const char *at = strrchr(file, '-');

	return at != NULL && strspn(at + 1, "0123456789") == 20 && strcmp(at + 21, ".image") == 0
		       ? (size_t)(at - file)
		       : 0;
}

uint64_t bs_spill_strangers(const char *dir, const char *const *names, size_t n, char *file,
			    size_t cap)
{
	DIR *folder = opendir(dir);
	uint64_t strangers = 0;
	struct dirent *d;

	while (folder != NULL && (d = readdir(folder)) != NULL) {
		size_t len = name_of(d->d_name);
		bool ours = len == 0;

		for (size_t i = 0; i < n && !ours; i++)
			ours = strlen(names[i]) == len && strncmp(names[i], d->d_name, len) == 0;
		if (!ours && strangers++ == 0)
			(void)snprintf(file, cap, "%s", d->d_name);
	}
	if (folder != NULL)
		(void)closedir(folder);
	return strangers;
}
