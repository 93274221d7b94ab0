/*
 * test/walk/walk_hook.c - which functions are entered below others, as a preloaded object
 *
 * For a program that is built with TRACED=1. WALK_ROOTS: "1a2b,...", the roots by their offset in
 * the program. While a thread is in root number i (from 0), each function that it enters leaves bit
 * i in the byte at its own offset of the file WALK_MAP, which all processes of a service share.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOTS 8

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

static uintptr_t base, root[ROOTS];
static unsigned roots;
static _Atomic unsigned char *map;
static size_t map_bytes;
static _Thread_local unsigned depth, inside; /* calls below a root, itself included; its number */

static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uintptr_t *)arg = info->dlpi_addr;
	return 1;
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("WALK_MAP");
	const char *list = getenv("WALK_ROOTS");
	struct stat st;
	void *at;
	int fd;

	if (path == NULL || list == NULL)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		return;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	if (at == MAP_FAILED)
		return;
	(void)dl_iterate_phdr(first_object, &base);
	while (*list != '\0' && roots < ROOTS) {
		char *end;

		root[roots++] = (uintptr_t)strtoull(list, &end, 16);
		list = *end == ',' ? end + 1 : end;
	}
	map_bytes = (size_t)st.st_size;
	map = at;
}

void __cyg_profile_func_enter(void *function, void *caller)
{
	const uintptr_t at = (uintptr_t)function - base;

	(void)caller;
	for (unsigned i = 0; depth == 0 && i < roots; i++)
		if (root[i] == at)
			inside = i;
	if (depth == 0 && (roots == 0 || root[inside] != at))
		return;
	depth++;
	if (at < map_bytes)
		map[at] |= (unsigned char)(1u << inside);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function;
	(void)caller;
	depth -= depth > 0;
}
