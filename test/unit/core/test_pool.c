/* test/unit/core/test_pool.c - slots have one owner at a time, also when a process dies */
#include "core/memory/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/memory/ring.h"
#include "test/support/check.h"
#include "test/support/turns.h"

#define SLOTS  16u
#define ROUNDS 100000u

static struct bs_pool *make_pool(uint32_t slots)
{
	struct bs_pool *p = aligned_alloc(64, bs_pool_bytes(slots));

	if (p == NULL)
		exit(1);
	bs_pool_init(p, slots);
	return p;
}

static void test_counts(void)
{
	struct bs_pool *p = make_pool(3);
	uint32_t s[4] = { 9, 9, 9, 9 };

	for (int i = 0; i < 3; i++)
		CHECK(bs_pool_take(p, BS_OWNER_INGEST, &s[i]) && s[i] < 3, "slot %d", i);
	CHECK(s[0] != s[1] && s[1] != s[2] && s[0] != s[2], "three different slots");
	CHECK(!bs_pool_take(p, BS_OWNER_INGEST, &s[3]) && s[3] == 9, "a full pool refuses");
	CHECK(atomic_load(&p->refusals) == 1, "one refusal counted");
	bs_pool_give(p, s[1]);
	bs_pool_give(p, s[1]);
	CHECK(bs_pool_in_use(p) == 2, "giving twice frees once: %u in use", bs_pool_in_use(p));
	CHECK(bs_pool_take(p, BS_OWNER_RECON, &s[3]) && s[3] == s[1], "the freed slot comes again");
	CHECK(atomic_load(&p->high_water) == 3, "high-water mark %u", atomic_load(&p->high_water));
	free(p);
}

static void test_reclaim(void)
{
	struct bs_pool *p = make_pool(SLOTS);
	uint8_t keep[SLOTS] = { 0 };
	uint32_t s;

	for (uint32_t i = 0; i < SLOTS; i++)
		(void)bs_pool_take(p, BS_OWNER_INGEST, &s);
	for (uint32_t i = 0; i < 4; i++)
		bs_pool_claim(p, i, BS_OWNER_RECON);
	keep[5] = keep[6] = 1; /* in the ring: the consumer will find them */
	CHECK(bs_pool_reclaim(p, BS_OWNER_INGEST, keep) == SLOTS - 6,
	      "all but 4 claimed and 2 kept");
	CHECK(bs_pool_in_use(p) == 6 && atomic_load(&p->taken) == 6, "six stay in use");
	CHECK(p->owner[0] == BS_OWNER_RECON && p->owner[5] == BS_OWNER_INGEST &&
		      p->owner[7] == BS_OWNER_FREE,
	      "each with its owner");
	CHECK(bs_pool_reclaim(p, BS_OWNER_RECON, NULL) == 4, "the claimed ones are reclaimed, too");
	free(p);
}

/* Producer and consumer hand slots through a ring; the bytes of a slot are plain memory. */
static struct bs_pool *shared;
static struct bs_ring *ring;
static uint64_t bytes[SLOTS][8];

static void *take_and_pass(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < ROUNDS;) {
		uint32_t s;

		if (!bs_pool_take(shared, BS_OWNER_INGEST, &s)) {
			bide();
			continue;
		}
		for (int j = 0; j < 8; j++)
			bytes[s][j] = i;
		while (!bs_ring_push(ring, s))
			bide();
		i++;
	}
	return NULL;
}

static void test_threads(void)
{
	uint64_t wrong = 0;
	pthread_t t;

	shared = make_pool(SLOTS);
	ring = aligned_alloc(64, bs_ring_bytes(32));
	if (ring == NULL)
		exit(1);
	bs_ring_init(ring, 32);
	if (pthread_create(&t, NULL, take_and_pass, NULL) != 0)
		exit(1);
	for (uint64_t i = 0; i < ROUNDS;) {
		uint64_t s;

		if (!bs_ring_peek(ring, &s)) {
			bide();
			continue;
		}
		bs_pool_claim(shared, (uint32_t)s, BS_OWNER_RECON);
		for (int j = 0; j < 8; j++)
			wrong += bytes[s][j] != i;
		bs_ring_advance(ring);
		bs_pool_give(shared, (uint32_t)s);
		i++;
	}
	(void)pthread_join(t, NULL);
	CHECK(wrong == 0, "%u slots passed, %llu values wrong", ROUNDS, (unsigned long long)wrong);
	CHECK(bs_pool_in_use(shared) == 0 && atomic_load(&shared->taken) == 0,
	      "all are free at the end");
	CHECK(atomic_load(&shared->high_water) >= 1 && atomic_load(&shared->high_water) <= SLOTS,
	      "high-water mark %u of %u", atomic_load(&shared->high_water), SLOTS);
	free(shared);
	free(ring);
}

int main(void)
{
	test_counts();
	test_reclaim();
	test_threads();
	return check_done();
}
