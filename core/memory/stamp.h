/*
 * core/memory/stamp.h - a record that one side writes over while others copy it
 *
 * A stamp is a number beside the record: odd while it is being written. The writer: open, write,
 * close. A reader: read (even), copy, held: true if nothing was written meanwhile, else again. A
 * ring that is written over needs no stamp of its own: its count of entries is one. The writer
 * calls bs_stamp_before before it writes over a place, the reader bs_stamp_after between its copy
 * and its second look at the count.
 *
 * Both fences are needed where memory is weak: neither a store with release (or sequentially
 * consistent) order keeps the writes behind it from being seen first, nor a load with acquire order
 * the reads before it from being done later. The writer is one at a time; readers write nothing.
 * Source: Boehm, MSPC 2012, "Can seqlocks get along with programming language memory models?"
 * Test: test/unit/core/memory/test_stamp.c
 */
#ifndef BS_CORE_MEMORY_STAMP_H
#define BS_CORE_MEMORY_STAMP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The thread sanitizer knows no fences: there the compiler is kept from moving anything. */
#ifdef __SANITIZE_THREAD__
#define BS_STAMP_FENCE(order) atomic_signal_fence(memory_order_seq_cst)
#else
#define BS_STAMP_FENCE(order) atomic_thread_fence(order)
#endif

/* Writer: what it writes from here on is seen after what it stored before. */
static inline void bs_stamp_before(void)
{
	BS_STAMP_FENCE(memory_order_release);
}

/* Reader: what it read up to here was read before what it loads next. */
static inline void bs_stamp_after(void)
{
	BS_STAMP_FENCE(memory_order_acquire);
}

static inline void bs_stamp_open(_Atomic uint32_t *s)
{
	atomic_store_explicit(s, atomic_load_explicit(s, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	bs_stamp_before();
}

static inline void bs_stamp_close(_Atomic uint32_t *s)
{
	atomic_store_explicit(s, atomic_load_explicit(s, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* Odd: it is being written; a copy would be thrown away. */
static inline uint32_t bs_stamp_read(const _Atomic uint32_t *s)
{
	return atomic_load_explicit(s, memory_order_acquire);
}

static inline bool bs_stamp_held(const _Atomic uint32_t *s, uint32_t before)
{
	bs_stamp_after();
	return before % 2 == 0 && atomic_load_explicit(s, memory_order_relaxed) == before;
}

#endif
