/* drivers/log/folder.c - see folder.h */
#include "drivers/log/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/thread/clock.h"
#include "drivers/log/solved.h"
#include "drivers/log/writer.h"

/* One file of a log. The files of a log stand together when sorted by name. */
struct file {
	char name[BS_LOG_NAME];
	uint64_t bytes;
	int64_t changed_ns;
};

static int by_name(const void *a, const void *b)
{
	const struct file *x = a;
	const struct file *y = b;

	return strcmp(x->name, y->name);
}

static int add_file(struct file **list, size_t *count, int dir, const char *name,
		    struct bs_fail *why)
{
	const size_t length = strlen(name);
	struct stat st;
	struct file *more;

	if (length >= sizeof(more->name) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(st.st_mode))
		return 0; /* the file has gone, or is not a log's */
	more = realloc(*list, (*count + 1) * sizeof(*more));
	if (more == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "a list of %zu logs", *count);
	*list = more;
	memcpy(more[*count].name, name, length + 1);
	more[*count].bytes = (uint64_t)st.st_size;
	more[*count].changed_ns =
		(int64_t)st.st_mtim.tv_sec * 1000000000 + (int64_t)st.st_mtim.tv_nsec;
	(*count)++;
	return 0;
}

static int list_files(const char *dir, struct file **list, size_t *count, struct bs_fail *why)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint32_t index;
	size_t stem;
	int rc = 0;

	*list = NULL;
	*count = 0;
	if (d == NULL)
		return bs_fail(why, BS_ERR_IO, "%s: cannot be listed: %s", dir, strerror(errno));
	while (rc == 0 && (e = readdir(d)) != NULL)
		if (strlen(e->d_name) < BS_LOG_NAME && bs_log_split(e->d_name, &stem, &index))
			rc = add_file(list, count, dirfd(d), e->d_name, why);
	(void)closedir(d);
	if (rc != 0) {
		free(*list);
		*list = NULL;
		*count = 0;
	} else if (*count > 0) {
		qsort(*list, *count, sizeof(**list), by_name);
	}
	return rc;
}

static bool same_log(const char *a, const char *b)
{
	uint32_t index;
	size_t x = 0;
	size_t y = 0;

	(void)bs_log_split(a, &x, &index);
	(void)bs_log_split(b, &y, &index);
	return x == y && strncmp(a, b, x) == 0;
}

int bs_log_folder_list(const char *dir, struct bs_log_entry **list, size_t *count,
		       struct bs_fail *why)
{
	struct file *files;
	size_t n;
	int rc = list_files(dir, &files, &n, why);

	*list = NULL;
	*count = 0;
	if (rc == 0 && n > 0) {
		*list = calloc(n, sizeof(**list));
		if (*list == NULL)
			rc = bs_fail(why, BS_ERR_NOMEM, "a list of %zu logs", n);
	}
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct bs_log_entry *e = *count > 0 ? &(*list)[*count - 1] : NULL;

		if (e == NULL || !same_log(e->name, files[i].name)) {
			e = &(*list)[(*count)++];
			memcpy(e->name, files[i].name, sizeof(e->name));
		}
		memcpy(e->last, files[i].name, sizeof(e->last));
		e->segments++;
		e->bytes += files[i].bytes;
		if (files[i].changed_ns > e->changed_ns)
			e->changed_ns = files[i].changed_ns;
	}
	free(files);
	return rc;
}

int bs_log_folder_sealed(const char *dir, const struct bs_log_entry *e, bool *early)
{
	unsigned char blocks[BS_LOG_RECORDS];
	struct bs_log_head h;
	struct bs_log_head s = { 0 };
	char path[BS_LOG_DIR + BS_LOG_NAME + 1];
	ssize_t n = -1;
	int fd;
	bool sealed;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, e->last);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd >= 0)
		n = pread(fd, blocks, sizeof(blocks), 0);
	sealed = n == (ssize_t)sizeof(blocks) &&
		 bs_log_get_seal(&s, blocks + BS_LOG_SEAL_AT, NULL) == 0 && s.last &&
		 (bs_log_get_head(&h, blocks, NULL) != 0 || h.id == s.id);
	if (fd >= 0)
		(void)close(fd);
	if (early != NULL)
		*early = sealed && s.early;
	return n < 0 ? BS_ERR_IO : sealed;
}

static const char *made_path(char path[BS_LOG_DIR + sizeof(BS_LOG_MADE) + 1], const char *dir)
{
	(void)snprintf(path, BS_LOG_DIR + sizeof(BS_LOG_MADE) + 1, "%s/" BS_LOG_MADE, dir);
	return path;
}

uint64_t bs_log_folder_made(const char *dir)
{
	char path[BS_LOG_DIR + sizeof(BS_LOG_MADE) + 1];
	uint64_t session;

	return bs_cursor_get(made_path(path, dir), &session, NULL) == 0 ? session : 0;
}

int bs_log_folder_set_made(const char *dir, uint64_t session, struct bs_fail *why)
{
	char path[BS_LOG_DIR + sizeof(BS_LOG_MADE) + 1];

	return bs_cursor_put(made_path(path, dir), session, false, why);
}

/* True for a file that a writer had not finished: "N.spare.part", or 16 hexadecimal
 * digits and ".part". */
static bool is_part(const char *name)
{
	size_t digits = strspn(name, "0123456789");

	if (digits > 0 && strcmp(name + digits, ".spare.part") == 0)
		return true;
	digits = strspn(name, "0123456789abcdef");
	return digits == 16 && strcmp(name + digits, ".part") == 0;
}

static bool sweep_file(int dir, const char *name)
{
	const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	const bool swept =
		fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && unlinkat(dir, name, 0) == 0;

	if (fd >= 0)
		(void)close(fd);
	return swept;
}

unsigned bs_log_folder_sweep(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;

	while (d != NULL && (e = readdir(d)) != NULL)
		if (is_part(e->d_name))
			n += sweep_file(dirfd(d), e->d_name);
	if (d != NULL)
		(void)closedir(d);
	return n;
}

/* True if the log is being written: its writer holds a lock on the last file. */
static bool is_written(int dir, const char *name)
{
	const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		(void)close(fd);
	return held;
}

/* Removes a log's file. 1: it became a spare segment; 0: it is gone; -1: errno says why not. */
static int remove_file(int dir, const struct file *f, uint64_t segment_bytes)
{
	char spare[32];

	for (unsigned i = 0; f->bytes == segment_bytes && i < BS_LOG_SPARES; i++) {
		(void)snprintf(spare, sizeof(spare), "%u.spare", i);
		if (renameat2(dir, f->name, dir, spare, RENAME_NOREPLACE) == 0)
			return 1;
	}
	return unlinkat(dir, f->name, 0);
}

struct bs_log_limits bs_log_limits_of(uint64_t keep_mib, double keep_hours)
{
	return (struct bs_log_limits){
		.most_bytes = keep_mib << 20,
		.oldest_ns = keep_hours > 0.0 ? bs_utc_ns() - (int64_t)(keep_hours * 3.6e12) : 0,
	};
}

int bs_log_folder_prune(const char *dir, const struct bs_log_limits *limits,
			struct bs_log_pruned *done, struct bs_fail *why)
{
	const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct file *files = NULL;
	uint64_t sum = 0;
	size_t n = 0;
	size_t next;
	int rc = fd >= 0 ? list_files(dir, &files, &n, why)
			 : bs_fail(why, BS_ERR_IO, "%s: %s", dir, strerror(errno));

	*done = (struct bs_log_pruned){ 0 };
	for (size_t i = 0; i < n; i++)
		sum += files[i].bytes;
	for (size_t first = 0; first < n; first = next) {
		bool old = true;

		for (next = first; next < n && same_log(files[first].name, files[next].name);
		     next++)
			old = old && files[next].changed_ns < limits->oldest_ns;
		if (!old && (limits->most_bytes == 0 || sum <= limits->most_bytes))
			continue;
		if (is_written(fd, files[next - 1].name))
			continue;
		done->logs++;
		for (size_t i = next; i-- > first;) { /* a log's first file is removed last */
			int was = remove_file(fd, &files[i], limits->segment_bytes);

			if (was < 0)
				rc = bs_fail(why, BS_ERR_IO, "%s/%s: cannot be removed: %s", dir,
					     files[i].name, strerror(errno));
			done->spares += was == 1;
			done->bytes += was >= 0 ? files[i].bytes : 0;
			sum -= was >= 0 ? files[i].bytes : 0;
		}
		bs_solved_remove(fd, files[first].name);
	}
	free(files);
	if (fd >= 0)
		(void)close(fd);
	return rc;
}
