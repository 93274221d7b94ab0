/*
 * core/memory/ring.h - a queue of numbers between one producer and one consumer, in shared memory
 *
 * init -> { push | peek, advance }*. The capacity is a power of two, fixed at init. push, peek and
 * advance never block and never allocate. The two ends may be any two threads or processes. What
 * the producer wrote to memory before a push is visible to the consumer after the peek that finds
 * its entry.
 *
 * peek does not take the entry out: a consumer that dies between peek and advance leaves it for its
 * successor. A producer or consumer that has certainly ended may be succeeded by another one: the
 * whole state lies in the ring.
 *
 * head's store and load are sequentially consistent, so that a consumer may announce that it
 * sleeps, look once more, and sleep without losing the producer's wake-up (ipc/shm/bell.h).
 * Source: Lamport, IEEE Trans Softw Eng 1977;3:125-143. Test: test/unit/core/test_ring.c
 */
#ifndef BS_CORE_MEMORY_RING_H
#define BS_CORE_MEMORY_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bs_ring {
	/* number of entries ever pushed; the producer alone writes it */
	_Alignas(64) _Atomic uint64_t head;
	/* number of entries ever taken; the consumer alone writes it */
	_Alignas(64) _Atomic uint64_t tail;
	_Alignas(64) uint64_t mask;
	uint64_t entry[];
};

/* The smallest legal capacity (a power of two) that holds n entries. n at most 2^31. */
static inline uint64_t bs_ring_capacity(uint64_t n)
{
	uint64_t c = 2;

	while (c < n)
		c *= 2;
	return c;
}

/* The bytes of a ring, a multiple of 64; capacity comes from bs_ring_capacity. */
static inline size_t bs_ring_bytes(uint64_t capacity)
{
	return (sizeof(struct bs_ring) + capacity * sizeof(uint64_t) + 63) & ~(size_t)63;
}

static inline void bs_ring_init(struct bs_ring *r, uint64_t capacity)
{
	atomic_init(&r->head, 0);
	atomic_init(&r->tail, 0);
	r->mask = capacity - 1;
}

/* Pushes an entry, for the producer. False: the ring is full, and nothing was pushed. */
static inline bool bs_ring_push(struct bs_ring *r, uint64_t value)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&r->tail, memory_order_acquire) > r->mask)
		return false;
	r->entry[head & r->mask] = value;
	atomic_store(&r->head, head + 1);
	return true;
}

/* Reads the oldest entry, for the consumer. False: the ring is empty. */
static inline bool bs_ring_peek(struct bs_ring *r, uint64_t *value)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (atomic_load(&r->head) == tail)
		return false;
	*value = r->entry[tail & r->mask];
	return true;
}

/*
 * Reads entry number index without taking it out, for the consumer. Entries are counted from the
 * first ever pushed; index is not before the tail. False: it was not pushed yet.
 */
static inline bool bs_ring_look(struct bs_ring *r, uint64_t index, uint64_t *value)
{
	if (atomic_load(&r->head) == index)
		return false;
	*value = r->entry[index & r->mask];
	return true;
}

/* Takes the oldest entry out, for the consumer, after a peek that was true. */
static inline void bs_ring_advance(struct bs_ring *r)
{
	atomic_store_explicit(&r->tail, atomic_load_explicit(&r->tail, memory_order_relaxed) + 1,
			      memory_order_release);
}

static inline bool bs_ring_pop(struct bs_ring *r, uint64_t *value)
{
	if (!bs_ring_peek(r, value))
		return false;
	bs_ring_advance(r);
	return true;
}

/* The number of entries now; exact for either end, a recent value for anybody else. */
static inline uint64_t bs_ring_count(const struct bs_ring *r)
{
	uint64_t tail = atomic_load(&r->tail);

	return atomic_load(&r->head) - tail;
}

#endif
