/* core/memory/arena.c - see arena.h */
#include "core/memory/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

void bs_need_add(struct bs_need *need, const char *what, uint64_t count, uint64_t bytes)
{
	uint64_t sum;
	uint64_t rounded;

	if (count == 0 || bytes == 0)
		return;
	if (__builtin_add_overflow(bytes, (uint64_t)BS_ALIGN - 1, &rounded) ||
	    need->parts == BS_NEED_MAX) {
		need->overflow = true;
		return;
	}
	rounded &= ~((uint64_t)BS_ALIGN - 1);
	if (__builtin_mul_overflow(count, rounded, &sum) ||
	    __builtin_add_overflow(need->total_bytes, sum, &need->total_bytes)) {
		need->overflow = true;
		return;
	}
	need->part[need->parts].what = what;
	need->part[need->parts].count = count;
	need->part[need->parts].bytes = rounded;
	need->parts++;
}

int bs_arena_open(struct bs_arena *a, uint64_t bytes, struct bs_fail *why)
{
	memset(a, 0, sizeof(*a));
	if (bytes == 0)
		return 0;
	if (bytes > SIZE_MAX / 2)
		return bs_fail(why, BS_ERR_NOMEM, "arena of %llu bytes", (unsigned long long)bytes);
	void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	if (p == MAP_FAILED)
		return bs_fail(why, BS_ERR_NOMEM, "arena of %llu bytes: %s",
			       (unsigned long long)bytes, strerror(errno));
	/* huge pages give fewer TLB misses in the grids */
	(void)madvise(p, (size_t)bytes, MADV_HUGEPAGE);
	memset(p, 0, (size_t)bytes); /* touches every page now: there is no page fault after arm */
	a->base = p;
	a->size = (size_t)bytes;
	return 0;
}

void bs_arena_close(struct bs_arena *a)
{
	if (a->base != NULL)
		(void)munmap(a->base, a->size);
	memset(a, 0, sizeof(*a));
}

void bs_room_take(struct bs_room *r, void *to, const char *what, uint64_t count, uint64_t bytes)
{
	const uint64_t all = count * bs_slot(bytes);
	void *at = NULL;

	r->bytes += all;
	if (r->need != NULL)
		bs_need_add(r->need, what, count, bytes);
	if (r->arena == NULL)
		return;
	if (all > 0)
		at = bs_arena_take(r->arena, (size_t)all, BS_ALIGN);
	r->full = r->full || (all > 0 && at == NULL);
	memcpy(to, &at, sizeof(at));
}
