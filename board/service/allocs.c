/* board/service/allocs.c - see allocs.h */
#include "board/service/allocs.h"

#include <stddef.h>
#include <sys/types.h>

static _Thread_local uint64_t here;

uint64_t bs_allocs_here(void)
{
	return here;
}

/* The linker's --wrap: a call of malloc reaches __wrap_malloc; __real_malloc is malloc. */
/* NOLINTBEGIN(bugprone-reserved-identifier,bugprone-macro-parentheses) */
#define COUNTED(type, name, parameters, arguments)                                                 \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		here++;                                                                            \
		return __real_##name arguments;                                                    \
	}

COUNTED(void *, malloc, (size_t n), (n))
COUNTED(void *, calloc, (size_t n, size_t size), (n, size))
COUNTED(void *, realloc, (void *p, size_t n), (p, n))
COUNTED(void *, aligned_alloc, (size_t align, size_t n), (align, n))
COUNTED(int, posix_memalign, (void **p, size_t align, size_t n), (p, align, n))
COUNTED(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
	(at, n, prot, flags, fd, offset))
/* NOLINTEND(bugprone-reserved-identifier,bugprone-macro-parentheses) */
