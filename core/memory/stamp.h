/*
 * core/memory/stamp.h - a record that one side writes over while others copy it
 *
 * A stamp is a number beside the record, odd while the record is being written. The writer calls
 * open, writes, and calls close. A reader calls read (an even number), copies, and calls held: true
 * if nothing was written meanwhile; else the reader starts again. A ring that is written over needs
 * no stamp of its own: its count of entries serves as one. Its writer calls bs_stamp_before before
 * it writes over a place, its reader bs_stamp_after between its copy and its second look at the
 * count.
 *
 * Both fences are needed where the memory model is weak. A store with release (or sequentially
 * consistent) order does not keep later writes from being seen before it, nor does a load with
 * acquire order keep earlier reads from being done after it. There is one writer at a time; readers
 * write nothing.
 * Source: Boehm, MSPC 2012, "Can seqlocks get along with programming language memory models?"
 * Test: test/unit/core/memory/test_stamp.c
 */
#ifndef BS_CORE_MEMORY_STAMP_H
#define BS_CORE_MEMORY_STAMP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The thread sanitizer knows no fences; under it only the compiler is kept from moving accesses. */
#ifdef __SANITIZE_THREAD__
#define BS_STAMP_FENCE(order) atomic_signal_fence(memory_order_seq_cst)
#else
#define BS_STAMP_FENCE(order) atomic_thread_fence(order)
#endif

/* Orders the writer's stores: later ones are seen after earlier ones. */
static inline void bs_stamp_before(void)
{
	BS_STAMP_FENCE(memory_order_release);
}

/* Orders the reader's loads: earlier ones are done before later ones. */
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

/* An odd result: the record is being written, and a copy would be discarded. */
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
