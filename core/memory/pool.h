/*
 * core/memory/pool.h - fixed-size slots in shared memory, each with one owner
 *
 * init -> { take -> (hand over: claim) -> give }*. Every slot has the mark of its owner. take finds
 * a free slot and marks it; the slot's index then travels through a ring, and the process that
 * finds it there claims the slot; the last owner gives it back. The marks make recovery possible:
 * when a process has certainly ended, reclaim frees every slot that has its mark and that no ring
 * holds.
 * Nothing here blocks or allocates. Any thread may give; one thread at a time takes for one owner.
 * The functions that each readout calls are inline, as the ring's are; reclaim is for the
 * supervisor.
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
	_Atomic uint32_t cursor; /* slot at which the next search starts */
	/* slots in use, for high_water; bs_pool_in_use is exact */
	_Alignas(64) _Atomic uint32_t taken;
	_Atomic uint32_t high_water; /* most slots that were ever in use */
	_Atomic uint64_t refusals;   /* takes that found no slot */
	_Alignas(64) _Atomic uint8_t owner[];
};

/* Returns the bytes of a pool, a multiple of 64. */
static inline size_t bs_pool_bytes(uint32_t slots)
{
	return (sizeof(struct bs_pool) + slots + 63) & ~(size_t)63;
}

void bs_pool_init(struct bs_pool *p, uint32_t slots);

/*
 * Takes a free slot. False: all slots are in use, which is counted as a refusal. Slots come back
 * nearly in the order in which they were taken, so the search mostly ends at its first slot.
 */
static inline bool bs_pool_take(struct bs_pool *p, enum bs_owner who, uint32_t *slot)
{
	uint32_t at = atomic_load_explicit(&p->cursor, memory_order_relaxed);

	for (uint32_t i = 0; i < p->slots; i++) {
		uint32_t s = (uint32_t)(((uint64_t)at + i) % p->slots);
		uint8_t expected = BS_OWNER_FREE;

		if (!atomic_compare_exchange_strong(&p->owner[s], &expected, (uint8_t)who))
			continue;
		uint32_t used = atomic_fetch_add(&p->taken, 1) + 1;

		/*
		 * A slot is free before its giver has counted it, so the count may be one too high.
		 */
		used = used < p->slots ? used : p->slots;
		uint32_t high = atomic_load_explicit(&p->high_water, memory_order_relaxed);

		while (used > high && !atomic_compare_exchange_weak(&p->high_water, &high, used))
			;
		atomic_store_explicit(&p->cursor, s + 1, memory_order_relaxed);
		*slot = s;
		return true;
	}
	atomic_fetch_add(&p->refusals, 1);
	return false;
}

/* Puts the consumer's mark on a slot that it found in its ring. */
static inline void bs_pool_claim(struct bs_pool *p, uint32_t slot, enum bs_owner who)
{
	atomic_store(&p->owner[slot], (uint8_t)who);
}

/* Gives back a taken slot; a slot that is free already stays free. */
static inline void bs_pool_give(struct bs_pool *p, uint32_t slot)
{
	if (atomic_exchange(&p->owner[slot], (uint8_t)BS_OWNER_FREE) != BS_OWNER_FREE)
		atomic_fetch_sub(&p->taken, 1);
}

/*
 * The number of slots that are not free, counted one by one. Sequentially consistent: a process
 * that waits for a slot announces that it sleeps and looks here once more (ipc/shm/bell.h); a
 * process that gives a slot marks it free and then looks for sleepers. A weaker load could be done
 * before the announcement (ARM reorders a store and a later load, and C11 allows it anywhere): the
 * sleeper would see a full pool, the giver nobody asleep, and the wake-up would be lost.
 */
static inline uint32_t bs_pool_in_use(const struct bs_pool *p)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < p->slots; s++)
		n += atomic_load(&p->owner[s]) != BS_OWNER_FREE;
	return n;
}

/*
 * Frees the slots of a process that has ended, except those with keep[slot] != 0 (NULL: none).
 * Returns how many it freed.
 */
uint32_t bs_pool_reclaim(struct bs_pool *p, enum bs_owner who, const uint8_t *keep);

#endif
