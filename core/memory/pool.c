/* core/memory/pool.c - see pool.h */
#include "core/memory/pool.h"

void bs_pool_init(struct bs_pool *p, uint32_t slots)
{
	p->slots = slots;
	atomic_init(&p->cursor, 0);
	atomic_init(&p->taken, 0);
	atomic_init(&p->high_water, 0);
	atomic_init(&p->refusals, 0);
	for (uint32_t i = 0; i < slots; i++)
		atomic_init(&p->owner[i], BS_OWNER_FREE);
}

/* Slots come back in the order in which they were taken, nearly: the first look finds one. */
bool bs_pool_take(struct bs_pool *p, enum bs_owner who, uint32_t *slot)
{
	uint32_t at = atomic_load_explicit(&p->cursor, memory_order_relaxed);

	for (uint32_t i = 0; i < p->slots; i++) {
		uint32_t s = (uint32_t)(((uint64_t)at + i) % p->slots);
		uint8_t expected = BS_OWNER_FREE;

		if (!atomic_compare_exchange_strong(&p->owner[s], &expected, (uint8_t)who))
			continue;
		uint32_t used = atomic_fetch_add(&p->taken, 1) + 1;

		/* a slot is free before its giver has counted it: the count may run ahead by one */
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

void bs_pool_claim(struct bs_pool *p, uint32_t slot, enum bs_owner who)
{
	atomic_store(&p->owner[slot], (uint8_t)who);
}

void bs_pool_give(struct bs_pool *p, uint32_t slot)
{
	if (atomic_exchange(&p->owner[slot], (uint8_t)BS_OWNER_FREE) != BS_OWNER_FREE)
		atomic_fetch_sub(&p->taken, 1);
}

/*
 * Sequentially consistent: whoever waits for a slot announces that it sleeps and looks here once more
 * (ipc/shm/bell.h), whoever gives one marks it free and then looks for sleepers. With a weaker load the
 * look could pass the announcement (store before load, which ARM reorders, and C11 allows anywhere):
 * the sleeper sees a full pool, the giver nobody asleep, and the wake-up is lost.
 */
uint32_t bs_pool_in_use(const struct bs_pool *p)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < p->slots; s++)
		n += atomic_load(&p->owner[s]) != BS_OWNER_FREE;
	return n;
}

enum bs_owner bs_pool_owner(const struct bs_pool *p, uint32_t slot)
{
	return (enum bs_owner)atomic_load(&p->owner[slot]);
}

uint32_t bs_pool_reclaim(struct bs_pool *p, enum bs_owner who, const uint8_t *keep)
{
	uint32_t freed = 0;

	for (uint32_t s = 0; s < p->slots; s++) {
		uint8_t expected = (uint8_t)who;

		if (keep != NULL && keep[s] != 0)
			continue;
		freed += atomic_compare_exchange_strong(&p->owner[s], &expected,
							(uint8_t)BS_OWNER_FREE);
	}
	/* A process killed between its mark and its count left the count wrong: count anew. */
	atomic_store(&p->taken, bs_pool_in_use(p));
	return freed;
}
