/* test/simulate/disk/disk.c - see disk.h; the linker puts these functions before the C library's */
#define _GNU_SOURCE
#include "test/simulate/disk/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/simulate/books.h"
#include "test/simulate/emit/stepper.h"
#include "test/simulate/faults.h"
#include "test/simulate/disk/files.h"
#include "test/simulate/places.h"
#include "test/simulate/process.h"

#define FDS    64u
#define SECTOR 512u

static struct {
	int file; /* -1: free; DISK_FILES: the folder */
	bool inside;
} fd_of[FDS];
static bool to_fail[DISK_FAULTS], lost_relaxed, was_ill, errs_reads;
static int64_t full_until_ns, read_only_until_ns, errs_until_ns, slow_until_ns, slow_ns;
static bool full_struck, read_only_struck, errs_struck, slow_struck; /* the present one has */

/* ---- what happens to it ---- */

void disk_reset(void)
{
	for (unsigned i = 0; i < DISK_FILES; i++) {
		sim_file[i].used = false;
		files_now[i].file = files_disk[i].file = -1;
	}
	for (unsigned i = 0; i < FDS; i++)
		fd_of[i].file = -1;
	files_changes = 0;
	lost_relaxed = was_ill = false;
	disk_calm();
}

bool disk_was_well(void)
{
	return !was_ill;
}

bool disk_lost_relaxed(void)
{
	return lost_relaxed;
}

void disk_calm(void)
{
	memset(to_fail, 0, sizeof(to_fail));
	full_until_ns = read_only_until_ns = errs_until_ns = slow_until_ns = 0;
}

bool disk_fail(enum disk_fault what)
{
	if (to_fail[what])
		return false;
	to_fail[what] = was_ill = true;
	return true;
}

void disk_full(int64_t until_ns)
{
	full_until_ns = until_ns;
	full_struck = false;
	was_ill = true;
}

void disk_read_only(int64_t until_ns)
{
	read_only_until_ns = until_ns;
	read_only_struck = false;
	was_ill = true;
}

void disk_err(int64_t until_ns, bool reads)
{
	errs_until_ns = until_ns;
	errs_reads = reads;
	errs_struck = false;
	was_ill = true;
}

void disk_slow(int64_t until_ns, int64_t sync_ns)
{
	slow_until_ns = until_ns;
	slow_struck = false;
	slow_ns = sync_ns;
	was_ill = true;
}

static void drop_fd(unsigned i)
{
	const int f = fd_of[i].file;

	fd_of[i].file = -1;
	if (f < 0 || f == (int)DISK_FILES)
		return;
	sim_file[f].opened--;
	if (sim_file[f].locked == (int)i)
		sim_file[f].locked = -1;
	files_free_unnamed();
}

void disk_process_gone(void)
{
	for (unsigned i = 0; i < FDS; i++)
		if (fd_of[i].inside)
			drop_fd(i);
}

/* Of a block that was being written: the old, the new, or some of both and of neither. */
static void tear(struct sim_file *f, size_t b)
{
	unsigned char *old = f->disk + b * DISK_BLOCK;
	const unsigned char *new = f->now + b *DISK_BLOCK;
	const uint32_t how = sim_below(3);

	for (unsigned s = 0; how > 0 && s < DISK_BLOCK; s += SECTOR) {
		const uint32_t what = how == 1 ? 1 : sim_below(3);

		if (what == 1)
			memcpy(old + s, new + s, SECTOR);
		else if (what == 2)
			memset(old + s, (int)sim_below(256), SECTOR);
	}
}

void disk_power_loss(void)
{
	const unsigned kept = sim_below(files_changes + 1);

	books_power_lost();
	lost_relaxed = true;
	for (unsigned c = 0; c < kept; c++)
		files_apply(files_disk, c);
	files_changes = 0;
	for (unsigned i = 0; i < FDS; i++)
		drop_fd(i);
	for (unsigned i = 0; i < DISK_FILES; i++) {
		struct sim_file *f = &sim_file[i];

		if (!f->used)
			continue;
		for (size_t b = 0; b < f->cap / DISK_BLOCK; b++)
			if (f->dirty[b]) {
				tear(f, b);
				f->dirty[b] = 0;
			}
		if (sim_chance(500))
			f->disk_size = f->size; /* it was longer or shorter already */
		f->size = f->disk_size;
		if (f->size > 0) /* else it may have no memory yet */
			memcpy(f->now, f->disk, f->size);
	}
	memcpy(files_now, files_disk, sizeof(files_now));
	files_free_unnamed();
}

const char *disk_name(unsigned i)
{
	for (unsigned n = 0; n < DISK_FILES; n++)
		if (files_now[n].file >= 0 && i-- == 0)
			return files_now[n].text;
	return NULL;
}

/* ---- the system's calls ---- */

static bool fails(enum disk_fault what, int error)
{
	if (!process_inside() || !to_fail[what])
		return false;
	to_fail[what] = false;
	faults_strike(what == DISK_SHORT ? FAULT_SHORT
					 : (enum sim_fault)(FAULT_WRITE + what - DISK_WRITE));
	SAY("the disk: %s", strerror(error));
	errno = error;
	return true;
}

static bool is_full(void)
{
	if (!process_inside() || sim_now >= full_until_ns)
		return false;
	if (!full_struck)
		faults_strike(FAULT_FULL);
	full_struck = true;
	errno = ENOSPC;
	return true;
}

static bool is_read_only(void)
{
	if (!process_inside() || sim_now >= read_only_until_ns)
		return false;
	if (!read_only_struck)
		faults_strike(FAULT_READ_ONLY);
	read_only_struck = true;
	errno = EROFS;
	return true;
}

/* reads: what would fail only reads. */
static bool errs(bool reads)
{
	if (!process_inside() || sim_now >= errs_until_ns || (reads && !errs_reads))
		return false;
	if (!errs_struck)
		faults_strike(FAULT_ERRS);
	errs_struck = true;
	errno = EIO;
	return true;
}

static bool ours(int fd)
{
	return fd >= DISK_FD && fd < DISK_FD + (int)FDS;
}

/* NULL: errno says why. */
static struct sim_file *file_of(int fd)
{
	const int f = fd_of[fd - DISK_FD].file;

	if (f < 0 || f == (int)DISK_FILES) {
		errno = EBADF;
		return NULL;
	}
	return &sim_file[f];
}

static int new_fd(int f)
{
	for (unsigned i = 0; i < FDS; i++)
		if (fd_of[i].file < 0) {
			fd_of[i].file = f;
			fd_of[i].inside = process_inside();
			if (f < (int)DISK_FILES)
				sim_file[f].opened++;
			return DISK_FD + (int)i;
		}
	errno = EMFILE;
	return -1;
}

static int open_name(const char *text, int flags)
{
	const bool reads = (flags & (O_ACCMODE | O_CREAT)) == O_RDONLY;
	int at;
	int f;

	SIM_PLACE();
	if (fails(DISK_OPEN, sim_chance(500) ? EIO : EMFILE) || errs(reads) ||
	    ((flags & O_ACCMODE) != O_RDONLY && is_read_only()))
		return -1;
	at = files_find(files_now, text);
	if (at < 0 && (flags & O_CREAT) == 0) {
		errno = ENOENT;
		return -1;
	}
	if (at >= 0 && (flags & O_EXCL) != 0) {
		errno = EEXIST;
		return -1;
	}
	if (at < 0 && is_full())
		return -1;
	f = at >= 0 ? files_now[at].file : files_make(text);
	if ((flags & O_TRUNC) != 0) {
		for (size_t b = 0; b * DISK_BLOCK < sim_file[f].size; b++)
			sim_file[f].dirty[b] = 1;
		sim_file[f].size = 0;
	}
	return new_fd(f);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	const size_t n = strlen(DISK_DIR);
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	if (strncmp(path, DISK_DIR, n) != 0)
		return __real_open(path, flags, mode);
	return path[n] == '/' && path[n + 1] != '\0' ? open_name(path + n + 1, flags)
						     : new_fd((int)DISK_FILES);
}

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	return ours(dir) ? open_name(path, flags) : __real_openat(dir, path, flags, mode);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	if (!ours(fd))
		return stepper_closes(fd) ? 0 : __real_close(fd);
	drop_fd((unsigned)(fd - DISK_FD));
	return 0;
}

ssize_t __real_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t at)
{
	struct sim_file *f;

	if (!ours(fd))
		return __real_pread(fd, p, n, at);
	f = file_of(fd);
	if (f == NULL || fails(DISK_READ, EIO) || errs(true))
		return -1;
	if ((size_t)at >= f->size)
		return 0;
	n = n < f->size - (size_t)at ? n : f->size - (size_t)at;
	memcpy(p, f->now + at, n);
	return (ssize_t)n;
}

bool disk_read(int fd, void *p, size_t n, ssize_t *had)
{
	if (!ours(fd))
		return false;
	*had = __wrap_pread(fd, p, n, 0);
	return true;
}

ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at)
{
	struct sim_file *f = file_of(fd);
	const size_t end = (size_t)at + n;

	SIM_PLACE();
	if (f == NULL || is_read_only() || errs(false) || fails(DISK_WRITE, EIO) ||
	    fails(DISK_SPACE, ENOSPC) || is_full())
		return -1;
	if (n > 1 && fails(DISK_SHORT, 0))
		return __wrap_pwrite(fd, p, 1 + sim_below((uint32_t)n - 1), at);
	files_grow(f, end);
	if ((size_t)at > f->size)
		memset(f->now + f->size, 0, (size_t)at - f->size);
	memcpy(f->now + at, p, n);
	for (size_t b = (size_t)at / DISK_BLOCK; b * DISK_BLOCK < end; b++)
		f->dirty[b] = 1;
	f->size = end > f->size ? end : f->size;
	SIM_PLACE();
	return (ssize_t)n;
}

/* A sync takes its time. */
static void take_time(void)
{
	const bool slow = sim_now < slow_until_ns;

	if (!process_inside())
		return;
	if (slow && !slow_struck)
		faults_strike(FAULT_SLOW);
	slow_struck = slow_struck || slow;
	process_wait(sim_now + (slow ? slow_ns : 100000 + sim_below(900000)), NULL, NULL);
}

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	struct sim_file *f;

	SIM_PLACE();
	take_time();
	f = file_of(fd);
	if (f == NULL)
		return -1;
	if (fails(DISK_SYNC, EIO) || errs(false)) {
		files_sync_badly(f);
		books_relaxed_lost();
		lost_relaxed = true;
		return -1;
	}
	files_sync(f);
	SIM_PLACE();
	return 0;
}

int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	if (fd_of[fd - DISK_FD].file != (int)DISK_FILES)
		return __wrap_fdatasync(fd);
	SIM_PLACE();
	take_time();
	if (fails(DISK_SYNC, EIO) || errs(false))
		return -1;
	files_sync_folder();
	SIM_PLACE();
	return 0;
}

/* What the system had kept of it goes: it is read from the disk. */
int __real_posix_fadvise(int fd, off_t at, off_t len, int advice);
int __wrap_posix_fadvise(int fd, off_t at, off_t len, int advice);
int __wrap_posix_fadvise(int fd, off_t at, off_t len, int advice)
{
	if (!ours(fd))
		return __real_posix_fadvise(fd, at, len, advice);
	if (file_of(fd) != NULL)
		files_forget(file_of(fd));
	return 0;
}

int __real_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len)
{
	struct sim_file *f;

	if (!ours(fd))
		return stepper_sizes(fd) ? 0 : __real_ftruncate(fd, len);
	f = file_of(fd);
	SIM_PLACE();
	if (f == NULL || is_read_only() || errs(false) || fails(DISK_WRITE, EIO))
		return -1;
	files_grow(f, (size_t)len);
	if ((size_t)len > f->size)
		memset(f->now + f->size, 0, (size_t)len - f->size);
	f->size = (size_t)len;
	return 0;
}

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
	return ours(fd) ? 0 : __real_fchmod(fd, mode);
}

int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);
int __wrap_flock(int fd, int how)
{
	struct sim_file *f;

	if (!ours(fd))
		return __real_flock(fd, how);
	f = file_of(fd);
	if (f == NULL)
		return -1;
	if (f->locked >= 0 && f->locked != fd - DISK_FD) {
		errno = EWOULDBLOCK;
		return -1;
	}
	if (how & LOCK_EX)
		f->locked = fd - DISK_FD;
	return 0;
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned how);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned how)
{
	int at = files_find(files_now, from);

	(void)from_dir;
	(void)to_dir;
	(void)how;
	SIM_PLACE();
	if (is_read_only() || errs(false) || fails(DISK_NAME, EIO) || is_full())
		return -1;
	if (at < 0 || files_find(files_now, to) >= 0) {
		errno = at < 0 ? ENOENT : EEXIST;
		return -1;
	}
	files_rename(from, to, files_now[at].file);
	SIM_PLACE();
	return 0;
}

int __wrap_unlinkat(int dir, const char *name, int how);
int __wrap_unlinkat(int dir, const char *name, int how)
{
	int at = files_find(files_now, name);

	(void)dir;
	(void)how;
	SIM_PLACE();
	if (is_read_only() || errs(false) || fails(DISK_NAME, EIO))
		return -1;
	if (at < 0) {
		errno = ENOENT;
		return -1;
	}
	files_rename(name, "", files_now[at].file);
	files_free_unnamed();
	return 0;
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
	const size_t n = strlen(DISK_DIR);

	if (strncmp(path, DISK_DIR, n) != 0)
		return __real_unlink(path);
	return __wrap_unlinkat(DISK_FD, path + n + 1, 0);
}

static int tell(struct stat *st, int f)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = f == (int)DISK_FILES ? S_IFDIR | 0750 : S_IFREG | 0640;
	st->st_size = f == (int)DISK_FILES ? 0 : (off_t)sim_file[f].size;
	st->st_nlink = 1;
	return 0;
}

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st)
{
	return ours(fd) ? tell(st, fd_of[fd - DISK_FD].file) : __real_fstat(fd, st);
}

int __real_fstatat(int dir, const char *name, struct stat *st, int how);
int __wrap_fstatat(int dir, const char *name, struct stat *st, int how);
int __wrap_fstatat(int dir, const char *name, struct stat *st, int how)
{
	int at;

	if (!ours(dir))
		return __real_fstatat(dir, name, st, how);
	at = files_find(files_now, name);
	if (at < 0) {
		errno = ENOENT;
		return -1;
	}
	return tell(st, files_now[at].file);
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	const size_t n = strlen(DISK_DIR "/");

	if (strncmp(path, DISK_DIR "/", n) != 0)
		return __real_access(path, mode);
	if (files_find(files_now, path + n) >= 0)
		return 0;
	errno = ENOENT;
	return -1;
}

int __real_faccessat(int dir, const char *name, int mode, int how);
int __wrap_faccessat(int dir, const char *name, int mode, int how);
int __wrap_faccessat(int dir, const char *name, int mode, int how)
{
	if (!ours(dir))
		return __real_faccessat(dir, name, mode, how);
	if (files_find(files_now, name) >= 0)
		return 0;
	errno = ENOENT;
	return -1;
}

ssize_t __wrap_getrandom(void *p, size_t n, unsigned how);
ssize_t __wrap_getrandom(void *p, size_t n, unsigned how)
{
	unsigned char *out = p;

	(void)how;
	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)sim_random();
	return (ssize_t)n;
}
