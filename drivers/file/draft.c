/* drivers/file/draft.c - see draft.h */
#include "drivers/file/draft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/whole.h"

#define DRAFT_MARK  ".part-"
#define DRAFT_TRIES 1000

int bs_file_fail(struct bs_fail *why, const char *path, const char *what)
{
	return bs_fail(why, BS_ERR_IO, "%s: %s: %s", path, what, strerror(errno));
}

/* Locks a draft: the kernel unlocks it when its writer dies. HDF5 itself uses
 * flock, so this does not. */
static bool own(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat st;

	return fcntl(fd, F_OFD_SETLK, &whole) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/*
 * Creates the draft. Its mode is left to the kernel, because reading the umask changes it for all
 * threads. Takes the next name if a sweeper came between open and lock. -1: see errno.
 */
static int create(char *temp, size_t size, const char *path)
{
	static _Atomic unsigned drafts;

	for (int tries = 0; tries < DRAFT_TRIES; tries++) {
		int fd;

		(void)snprintf(temp, size, "%s" DRAFT_MARK "%d-%u", path, (int)getpid(),
			       atomic_fetch_add(&drafts, 1));
		fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
		if (fd >= 0 && own(fd))
			return fd;
		if (fd >= 0)
			(void)close(fd);
		else if (errno != EEXIST)
			return -1;
	}
	errno = EEXIST;
	return -1;
}

int bs_draft_open(struct bs_draft *d, const char *path, struct bs_fail *why)
{
	d->fd = -1;
	d->temp[0] = '\0';
	if (strlen(path) >= BS_DRAFT_PATH)
		return bs_fail(why, BS_ERR_IO, "a file name of %zu bytes is too long",
			       strlen(path));
	d->fd = create(d->temp, sizeof(d->temp), path);
	if (d->fd < 0) {
		d->temp[0] = '\0';
		return bs_file_fail(why, path, "cannot create");
	}
	return 0;
}

/* Removes one dead writer's draft. Returns 1 if it did, else 0. */
static unsigned sweep_file(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	unsigned n = fd >= 0 && own(fd) && unlinkat(folder, name, 0) == 0;

	if (fd >= 0)
		(void)close(fd);
	return n;
}

unsigned bs_draft_sweep(const char *folder)
{
	DIR *d = opendir(folder);
	unsigned n = 0;

	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
		const char *mark = strstr(e->d_name, DRAFT_MARK);

		if (mark != NULL && strspn(mark + strlen(DRAFT_MARK), "0123456789-") ==
					    strlen(mark + strlen(DRAFT_MARK)))
			n += sweep_file(dirfd(d), e->d_name);
	}
	if (d != NULL)
		(void)closedir(d);
	return n;
}

int bs_draft_write(struct bs_draft *d, const void *bytes, size_t len, struct bs_fail *why)
{
	return bs_write_whole(d->fd, bytes, len, -1) ? 0
						     : bs_file_fail(why, d->temp, "cannot write");
}

/* Some file systems (NFS) know no RENAME_NOREPLACE, others (FAT) no hard links. */
int bs_draft_rename(int dir, const char *from, const char *to)
{
	if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (linkat(dir, from, dir, to, 0) != 0)
		return -1;
	return unlinkat(dir, from, 0);
}

/* Syncs the folder, without which the new name is not on the disk. Some file systems cannot. */
static void sync_folder(const char *path)
{
	char copy[BS_DRAFT_PATH + 16]; /* a copy, because dirname cuts its argument */
	int fd;

	(void)snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	(void)close(fd);
}

int bs_draft_commit(struct bs_draft *d, const char *path, enum bs_draft_mode mode,
		    struct bs_fail *why)
{
	if (fsync(d->fd) != 0)
		return bs_file_fail(why, d->temp, "cannot sync");
	if ((mode == BS_DRAFT_REPLACE ? rename(d->temp, path)
				      : bs_draft_rename(AT_FDCWD, d->temp, path)) != 0) {
		if (mode == BS_DRAFT_KEEP && errno == EEXIST)
			return BS_DRAFT_EXISTS;
		return bs_file_fail(why, path, "cannot rename the finished file to this");
	}
	d->temp[0] = '\0';
	sync_folder(path);
	if (close(d->fd) != 0) {
		d->fd = -1;
		return bs_file_fail(why, path, "cannot close");
	}
	d->fd = -1;
	return 0;
}

void bs_draft_drop(struct bs_draft *d)
{
	if (d->temp[0] != '\0')
		(void)unlink(d->temp);
	d->temp[0] = '\0';
	if (d->fd >= 0)
		(void)close(d->fd);
	d->fd = -1;
}

int bs_draft_end(struct bs_draft *d, int rc, const char *path, enum bs_draft_mode mode,
		 struct bs_fail *why)
{
	if (rc == 0)
		rc = bs_draft_commit(d, path, mode, why);
	if (rc != 0)
		bs_draft_drop(d);
	return rc;
}
