/*
 * test/support/fail_hook.c - one call of the program fails, as a preloaded object (LD_PRELOAD)
 *
 * FAIL_ROLE (serve, ingest, recon or emit), FAIL_CALL (a group below) and FAIL_AT say which
 * process, which functions and which of their calls, from 1; FAIL_FLAG is a file that is made then:
 * it fails once, a successor's calls are let through. FAIL_AFTER: only a process that starts once
 * this file is there. Calls count that the program itself makes.
 * A program that preloads it into itself says so by fail_next instead (test/fault/fault_parts.c).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);
int nn_socket(int domain, int protocol);
int nn_bind(int s, const char *url);
int nn_connect(int s, const char *url);
int nn_setsockopt(int s, int level, int option, const void *value, size_t n);
int nn_getsockopt(int s, int level, int option, void *value, size_t *n);
void fail_next(const char *group, long n);
bool fail_struck(void);
long fail_blocks(void);

static const char *wanted, *flag;
static long at;
static _Atomic long count, blocks;
static uintptr_t first, last; /* of the program */

static int note_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		const uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		first = first == 0 || begin < first ? begin : first;
		last = end > last ? end : last;
	}
	return 1; /* the program is the first */
}

__attribute__((constructor)) static void start(void)
{
	const char *role = getenv("FAIL_ROLE");
	const char *after = getenv("FAIL_AFTER");
	char line[256] = "";
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, line, sizeof(line) - 1) : 0;

	if (fd >= 0)
		(void)close(fd);
	flag = getenv("FAIL_FLAG");
	if (role == NULL || flag == NULL || getenv("FAIL_AT") == NULL || n <= 0 ||
	    memmem(line, (size_t)n, role, strlen(role)) == NULL || access(flag, F_OK) == 0 ||
	    (after != NULL && access(after, F_OK) != 0))
		return;
	(void)dl_iterate_phdr(note_program, NULL);
	at = atol(getenv("FAIL_AT"));
	wanted = getenv("FAIL_CALL");
}

static int (*program_main)(int argc, char **argv, char **environment);

/* From its end on nothing fails: what a build does then (gcov's counts) is not the program's. */
static int main_alone(int argc, char **argv, char **environment)
{
	const int rc = program_main(argc, argv, environment);

	wanted = NULL;
	return rc;
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *end);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *end)
{
	__typeof__(&__libc_start_main) real =
		(__typeof__(&__libc_start_main))(uintptr_t)dlsym(RTLD_NEXT, "__libc_start_main");

	program_main = main;
	return real(main_alone, argc, argv, init, fini, rtld_fini, end);
}

static bool fails(const char *group, const void *from, int error)
{
	int fd;

	if (wanted == NULL || (uintptr_t)from < first || (uintptr_t)from >= last ||
	    strcmp(group, wanted) != 0 || atomic_fetch_add(&count, 1) + 1 != at)
		return false;
	if (flag != NULL) {
		fd = (int)syscall(SYS_openat, AT_FDCWD, flag,
				  O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0 && errno == EEXIST)
			return false; /* it has failed in a child process */
		(void)close(fd);
	}
	errno = error;
	return true;
}

/* Of this process, the group's n-th call from now on; 0: none. */
void fail_next(const char *group, long n)
{
	if (first == 0)
		(void)dl_iterate_phdr(note_program, NULL);
	at = n;
	atomic_store(&count, 0);
	wanted = n > 0 ? group : NULL;
}

/* There was such a call. */
bool fail_struck(void)
{
	return atomic_load(&count) >= at;
}

/* Allocated and not given back. */
long fail_blocks(void)
{
	return atomic_load(&blocks);
}

#define FAILS(group, error) fails(group, __builtin_return_address(0), error)
#define REAL(name)          ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

/* memory */

static void *counted(void *p)
{
	atomic_fetch_add(&blocks, p != NULL);
	return p;
}

void *malloc(size_t n)
{
	return FAILS("memory", ENOMEM) ? NULL : counted(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
	return FAILS("memory", ENOMEM) ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t n)
{
	if (FAILS("memory", ENOMEM))
		return NULL;
	return p == NULL ? counted(__libc_realloc(p, n)) : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return FAILS("memory", ENOMEM) ? NULL : counted(__libc_memalign(align, n));
}

int posix_memalign(void **p, size_t align, size_t n)
{
	if (FAILS("memory", ENOMEM))
		return ENOMEM;
	*p = counted(__libc_memalign(align, n));
	return *p != NULL ? 0 : ENOMEM;
}

void free(void *p)
{
	atomic_fetch_sub(&blocks, p != NULL);
	__libc_free(p);
}

void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t offset)
{
	if (FAILS("mmap", ENOMEM))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, p, n, prot, flags, fd, offset);
}

/* files */

int open(const char *path, int flags, ...)
{
	va_list more;
	int mode;

	if (FAILS("open", EMFILE))
		return -1;
	va_start(more, flags);
	mode = va_arg(more, int);
	va_end(more);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
	va_list more;
	int mode;

	if (FAILS("open", EMFILE))
		return -1;
	va_start(more, flags);
	mode = va_arg(more, int);
	va_end(more);
	return (int)syscall(SYS_openat, folder, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	return FAILS("open", EMFILE) ? NULL : REAL(fopen)(path, mode);
}

int mkdir(const char *path, mode_t mode)
{
	return FAILS("file", ENOSPC) ? -1 : REAL(mkdir)(path, mode);
}

int ftruncate(int fd, off_t n)
{
	return FAILS("file", ENOSPC) ? -1 : REAL(ftruncate)(fd, n);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t where)
{
	return FAILS("file", EIO) ? -1 : REAL(pwrite)(fd, from, n, where);
}

int fsync(int fd)
{
	return FAILS("file", EIO) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
	return FAILS("file", EIO) ? -1 : REAL(fdatasync)(fd);
}

int fallocate(int fd, int mode, off_t where, off_t n)
{
	return FAILS("file", ENOSPC) ? -1 : REAL(fallocate)(fd, mode, where, n);
}

int flock(int fd, int how)
{
	return FAILS("file", ENOLCK) ? -1 : REAL(flock)(fd, how);
}

int fchmod(int fd, mode_t mode)
{
	return FAILS("file", EPERM) ? -1 : REAL(fchmod)(fd, mode);
}

ssize_t write(int fd, const void *from, size_t n)
{
	return FAILS("write", EIO) ? -1 : REAL(write)(fd, from, n);
}

ssize_t read(int fd, void *to, size_t n)
{
	return FAILS("read", EIO) ? -1 : REAL(read)(fd, to, n);
}

ssize_t getrandom(void *to, size_t n, unsigned flags)
{
	return FAILS("read", EAGAIN) ? -1 : REAL(getrandom)(to, n, flags);
}

/* names */

int rename(const char *from, const char *to)
{
	return FAILS("name", EIO) ? -1 : REAL(rename)(from, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return FAILS("name", EIO) ? -1 : REAL(renameat2)(from_dir, from, to_dir, to, flags);
}

int unlink(const char *path)
{
	return FAILS("name", EIO) ? -1 : REAL(unlink)(path);
}

int unlinkat(int dir, const char *path, int flags)
{
	return FAILS("name", EIO) ? -1 : REAL(unlinkat)(dir, path, flags);
}

DIR *opendir(const char *path)
{
	return FAILS("open", EMFILE) ? NULL : REAL(opendir)(path);
}

/* descriptors, sockets, threads, processes */

int memfd_create(const char *name, unsigned flags)
{
	return FAILS("descriptor", EMFILE) ? -1 : REAL(memfd_create)(name, flags);
}

int eventfd(unsigned n, int flags)
{
	return FAILS("descriptor", EMFILE) ? -1 : REAL(eventfd)(n, flags);
}

int pipe2(int fd[2], int flags)
{
	return FAILS("descriptor", EMFILE) ? -1 : REAL(pipe2)(fd, flags);
}

int signalfd(int fd, const sigset_t *set, int flags)
{
	return FAILS("descriptor", EMFILE) ? -1 : REAL(signalfd)(fd, set, flags);
}

int socket(int domain, int type, int protocol)
{
	return FAILS("socket", EMFILE) ? -1 : REAL(socket)(domain, type, protocol);
}

/* glibc declares the address as a union of pointers */
int bind(int fd, __CONST_SOCKADDR_ARG to, socklen_t len)
{
	return FAILS("socket", EADDRINUSE) ? -1 : REAL(bind)(fd, to, len);
}

int listen(int fd, int backlog)
{
	return FAILS("socket", EADDRINUSE) ? -1 : REAL(listen)(fd, backlog);
}

int epoll_create1(int flags)
{
	return FAILS("socket", EMFILE) ? -1 : REAL(epoll_create1)(flags);
}

int epoll_ctl(int fd, int what, int other, struct epoll_event *e)
{
	return FAILS("socket", ENOSPC) ? -1 : REAL(epoll_ctl)(fd, what, other, e);
}

int nn_socket(int domain, int protocol)
{
	return FAILS("socket", EMFILE) ? -1 : REAL(nn_socket)(domain, protocol);
}

int nn_bind(int s, const char *url)
{
	return FAILS("socket", ENODEV) ? -1 : REAL(nn_bind)(s, url);
}

int nn_connect(int s, const char *url)
{
	return FAILS("socket", ENODEV) ? -1 : REAL(nn_connect)(s, url);
}

int nn_setsockopt(int s, int level, int option, const void *value, size_t n)
{
	return FAILS("socket", EINVAL) ? -1 : REAL(nn_setsockopt)(s, level, option, value, n);
}

int nn_getsockopt(int s, int level, int option, void *value, size_t *n)
{
	return FAILS("socket", EINVAL) ? -1 : REAL(nn_getsockopt)(s, level, option, value, n);
}

int accept4(int fd, __SOCKADDR_ARG from, socklen_t *len, int flags)
{
	return FAILS("peer", EMFILE) ? -1 : REAL(accept4)(fd, from, len, flags);
}

ssize_t readv(int fd, const struct iovec *piece, int n)
{
	return FAILS("peer", ECONNRESET) ? -1 : REAL(readv)(fd, piece, n);
}

ssize_t recv(int fd, void *to, size_t n, int flags)
{
	return FAILS("peer", ECONNRESET) ? -1 : REAL(recv)(fd, to, n, flags);
}

ssize_t send(int fd, const void *from, size_t n, int flags)
{
	return FAILS("peer", ECONNRESET) ? -1 : REAL(send)(fd, from, n, flags);
}

int fstat(int fd, struct stat *st)
{
	return FAILS("look", EIO) ? -1 : REAL(fstat)(fd, st);
}

int stat(const char *restrict path, struct stat *restrict st)
{
	return FAILS("look", EACCES) ? -1 : REAL(stat)(path, st);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
	return FAILS("look", EACCES) ? -1 : REAL(lstat)(path, st);
}

ssize_t pread(int fd, void *to, size_t n, off_t where)
{
	return FAILS("look", EIO) ? -1 : REAL(pread)(fd, to, n, where);
}

int fcntl(int fd, int what, ...)
{
	va_list more;
	long value;

	if (FAILS("look", EMFILE))
		return -1;
	va_start(more, what);
	value = va_arg(more, long);
	va_end(more);
	return (int)syscall(SYS_fcntl, fd, what, value);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return FAILS("process", EAGAIN) ? EAGAIN : REAL(pthread_create)(thread, attr, run, arg);
}

pid_t fork(void)
{
	return FAILS("process", EAGAIN) ? -1 : REAL(fork)();
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files,
		const posix_spawnattr_t *attr, char *const argv[], char *const environment[])
{
	return FAILS("spawn", EAGAIN)
		       ? EAGAIN
		       : REAL(posix_spawn)(pid, path, files, attr, argv, environment);
}
