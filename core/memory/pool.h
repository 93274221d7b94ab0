/*
 * core/memory/pool.h - fixed-size slots in shared memory, each with one owner
 *
 * init -> { take -> (hand over: claim) -> give }*. Every slot has an owner's mark. take finds a
 * free slot and marks it; the slot's index then travels through a ring, and the process that finds
 * it there claims it; the last one gives it back. The mark is what makes recovery possible: when a
 * process ended for certain, reclaim frees every slot that carries its mark and that no ring holds.
 * Nothing here blocks or allocates. Any thread may give; one thread at a time takes for one owner.
 * Test: test/unit/core/test_pool.c
 */
#ifndef BS_CORE_MEMORY_POOL_H
#define BS_CORE_MEMORY_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bs_owner { BS_OWNER_FREE, BS_OWNER_INGEST, BS_OWNER_RECON, BS_OWNER_EMIT };

struct bs_pool {
	uint32_t slots;
	_Atomic uint32_t cursor;             /* where the next search starts */
	_Alignas(64) _Atomic uint32_t taken; /* for high_water; bs_pool_in_use is exact */
	_Atomic uint32_t high_water;         /* most that were ever in use */
	_Atomic uint64_t refusals;           /* takes that found no slot */
	_Alignas(64) _Atomic uint8_t owner[];
};

/* A multiple of 64. */
static inline size_t bs_pool_bytes(uint32_t slots)
{
	return (sizeof(struct bs_pool) + slots + 63) & ~(size_t)63;
}

void bs_pool_init(struct bs_pool *p, uint32_t slots);
/* False: all slots are in use; counted as a refusal. */
bool bs_pool_take(struct bs_pool *p, enum bs_owner who, uint32_t *slot);
/* The consumer's mark on a slot that it found in its ring. */
void bs_pool_claim(struct bs_pool *p, uint32_t slot, enum bs_owner who);
/* Gives back a slot that is taken; a slot that is free already stays so. */
void bs_pool_give(struct bs_pool *p, uint32_t slot);
/* Slots that are not free, counted one by one; a second look after bs_bell_announce may be this. */
uint32_t bs_pool_in_use(const struct bs_pool *p);
enum bs_owner bs_pool_owner(const struct bs_pool *p, uint32_t slot);
/*
 * Frees the slots of a process that has ended, but for those with keep[slot] != 0 (NULL: none).
 * Returns how many.
 */
uint32_t bs_pool_reclaim(struct bs_pool *p, enum bs_owner who, const uint8_t *keep);

#endif
