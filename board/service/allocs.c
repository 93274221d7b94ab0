/* board/service/allocs.c - see allocs.h */
#include "board/service/allocs.h"

#include <stddef.h>
#include <sys/types.h>

static _Thread_local uint64_t here;

uint64_t bs_allocs_here(void)
{
	return here;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names, --wrap. */
/* Whoever says malloc gets __wrap_malloc, __real_malloc is malloc. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
int __real_posix_memalign(void **p, size_t align, size_t n);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
int __wrap_posix_memalign(void **p, size_t align, size_t n);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);

void *__wrap_malloc(size_t n)
{
	here++;
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	here++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	here++;
	return __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
	here++;
	return __real_aligned_alloc(align, n);
}

int __wrap_posix_memalign(void **p, size_t align, size_t n)
{
	here++;
	return __real_posix_memalign(p, align, n);
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	here++;
	return __real_mmap(at, n, prot, flags, fd, offset);
}
/* NOLINTEND(bugprone-reserved-identifier) */
