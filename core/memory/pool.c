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
	/*
	 * A process that was killed between its mark and its count has left the count wrong: count
	 * anew.
	 */
	atomic_store(&p->taken, bs_pool_in_use(p));
	return freed;
}
