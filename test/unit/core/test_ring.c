/* test/unit/core/test_ring.c - the ring between two threads: order, nothing lost, full and empty */
#include "core/memory/ring.h"

#include <pthread.h>
#include <stdlib.h>

#include "test/support/check.h"
#include "test/support/turns.h"

#define COUNT 100000u

static struct bs_ring *make_ring(uint64_t capacity)
{
	struct bs_ring *r = aligned_alloc(64, bs_ring_bytes(capacity));

	if (r == NULL)
		exit(1);
	bs_ring_init(r, capacity);
	return r;
}

/* The data beside the ring are plain: TSan reports it when the ring does not order them. */
static uint64_t payload[64];

static void *produce(void *arg)
{
	struct bs_ring *r = arg;

	for (uint64_t i = 0; i < COUNT;) {
		if (bs_ring_count(r) < 32) { /* slot i % 64 is not in use any more */
			payload[i % 64] = i * 3;
			if (bs_ring_push(r, i)) {
				i++;
				continue;
			}
		}
		bide();
	}
	return NULL;
}

static void test_threads(uint64_t capacity)
{
	struct bs_ring *r = make_ring(capacity);
	uint64_t wrong = 0;
	pthread_t t;

	if (pthread_create(&t, NULL, produce, r) != 0)
		exit(1);
	for (uint64_t i = 0; i < COUNT;) {
		uint64_t v;

		if (!bs_ring_peek(r, &v)) {
			bide();
			continue;
		}
		wrong += v != i || payload[v % 64] != v * 3;
		bs_ring_advance(r);
		i++;
	}
	(void)pthread_join(t, NULL);
	CHECK(wrong == 0, "capacity %llu: %u entries in order with their data, %llu wrong",
	      (unsigned long long)capacity, COUNT, (unsigned long long)wrong);
	CHECK(bs_ring_count(r) == 0, "capacity %llu: empty at the end",
	      (unsigned long long)capacity);
	free(r);
}

static void test_edges(void)
{
	struct bs_ring *r = make_ring(4);
	uint64_t v = 77;

	CHECK(bs_ring_capacity(1) == 2 && bs_ring_capacity(4) == 4 && bs_ring_capacity(5) == 8 &&
		      bs_ring_capacity(576) == 1024,
	      "capacities are powers of two");
	CHECK(!bs_ring_peek(r, &v) && v == 77, "an empty ring gives nothing");
	for (uint64_t i = 0; i < 4; i++)
		CHECK(bs_ring_push(r, i), "push %llu of 4", (unsigned long long)i);
	CHECK(!bs_ring_push(r, 4), "a full ring refuses");
	CHECK(bs_ring_peek(r, &v) && v == 0 && bs_ring_peek(r, &v) && v == 0,
	      "peek leaves the entry in");
	CHECK(bs_ring_count(r) == 4, "four entries");
	bs_ring_advance(r);
	CHECK(bs_ring_push(r, 4), "one place is free again");
	for (uint64_t i = 1; i < 5; i++)
		CHECK(bs_ring_pop(r, &v) && v == i, "pop gives %llu", (unsigned long long)i);
	CHECK(!bs_ring_pop(r, &v), "empty again");
	free(r);
}

/* The counters are 64 bits and only their low bits index: no step at any value. */
static void test_wrap(void)
{
	struct bs_ring *r = make_ring(8);
	uint64_t v = 0;
	int wrong = 0;

	atomic_store(&r->head, UINT64_MAX - 3);
	atomic_store(&r->tail, UINT64_MAX - 3);
	for (uint64_t i = 0; i < 100; i++) {
		wrong += !bs_ring_push(r, i) || !bs_ring_push(r, i + 1000);
		wrong += !bs_ring_pop(r, &v) || v != i;
		wrong += !bs_ring_pop(r, &v) || v != i + 1000;
	}
	CHECK(wrong == 0, "the counters pass 2^64: %d wrong", wrong);
	free(r);
}

int main(void)
{
	test_edges();
	test_wrap();
	test_threads(2);
	test_threads(64);
	return check_done();
}
