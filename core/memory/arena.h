/*
 * core/memory/arena.h - the memory of one armed protocol, taken once and sealed
 *
 * need -> open -> take* -> seal -> (work) -> close. Each part states its bytes through bs_need_add
 * with the same sizes that it will take; `boreside check` prints the list; open maps and prefaults
 * the sum (zero-filled, 64-byte aligned or better). After seal nothing can be taken.
 * Thread rules: one thread arms. open and close call mmap/munmap, nothing else allocates.
 */
#ifndef BS_CORE_MEMORY_ARENA_H
#define BS_CORE_MEMORY_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

BS_C_BEGIN

#define BS_ALIGN 64u /* bytes of a cache line and of an AVX-512 vector */

struct bs_arena {
	unsigned char *base;
	size_t size; /* bytes of the arena */
	size_t used; /* bytes that are taken */
	bool sealed;
};

/* The memory plan of one protocol, which `boreside check` prints. */
/* parts at most; phases, coils, GRAPPA, maps and projections in one protocol need about 100 */
#define BS_NEED_MAX 160u
struct bs_need {
	struct {
		const char *what; /* name of the part, static words: "grid", "samples", ... */
		uint64_t count;   /* number of slots */
		uint64_t bytes;   /* bytes of one slot, already rounded up to BS_ALIGN */
	} part[BS_NEED_MAX];
	uint32_t parts;
	uint64_t total_bytes;
	/* a size did not fit 64 bits, or there were too many parts: refuse the protocol */
	bool overflow;
};

/* Adds count slots of bytes each. Sets overflow rather than wrap around. */
void bs_need_add(struct bs_need *need, const char *what, uint64_t count, uint64_t bytes);

/* The bytes of a slot, rounded up to BS_ALIGN as bs_need_add does it. */
static inline uint64_t bs_slot(uint64_t bytes)
{
	return (bytes + BS_ALIGN - 1) / BS_ALIGN * BS_ALIGN;
}

/*
 * A part's memory in one list of calls, which sum its bytes up, state them, or take them. A piece
 * is count slots of bytes each. to: the address of the pointer to the piece. The pointer is set
 * where there is an arena: to NULL for an empty piece, and for one that the arena has no room for.
 */
struct bs_room {
	struct bs_need *need;   /* need to add to; or NULL */
	struct bs_arena *arena; /* arena to take from; or NULL */
	uint64_t bytes;
	bool full; /* the arena was full before the last piece */
};
void bs_room_take(struct bs_room *r, void *to, const char *what, uint64_t count, uint64_t bytes);

/* Returns BS_ERR_NOMEM with the need in words when the system refuses. bytes may be 0. */
int bs_arena_open(struct bs_arena *a, uint64_t bytes, struct bs_fail *why);
void bs_arena_close(struct bs_arena *a);

/* Returns NULL when the arena is sealed or full. align: a power of two. */
static inline void *bs_arena_take(struct bs_arena *a, size_t bytes, size_t align)
{
	size_t at = (a->used + align - 1) & ~(align - 1);

	if (a->sealed || at > a->size || bytes > a->size - at)
		return NULL;
	a->used = at + bytes;
	return a->base + at;
}

BS_C_END
#endif
