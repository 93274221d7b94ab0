/*
 * test/simulate/step.h - included before everything else in the sources that run in the simulator
 *
 * The compiler calls __sanitizer_cov_trace_pc in each basic block; what is stored for other
 * processes, and each counter, is a step and a place (places.h) of its own. Between any two steps
 * the process may be stopped, or killed.
 */
#ifndef BS_TEST_SIMULATE_STEP_H
#define BS_TEST_SIMULATE_STEP_H

#include <stdatomic.h>
#include <stdlib.h>

#include "test/simulate/places.h"

void sim_step(void);
/* What a process has allocated goes with it. */
void *sim_malloc(size_t n);
void *sim_calloc(size_t n, size_t size);
void *sim_realloc(void *p, size_t n);
void sim_free(void *p);

#ifdef SIMULATE_STEPPED
#define malloc  sim_malloc
#define calloc  sim_calloc
#define realloc sim_realloc
#define free    sim_free
#define mmap    sim_mmap /* the linker's word for it is the daemon's (board/service/allocs.c) */

#undef atomic_store
#undef atomic_store_explicit
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_exchange
#undef atomic_compare_exchange_strong
#ifdef __clang__
#define STEP_STORE    __c11_atomic_store
#define STEP_ADD      __c11_atomic_fetch_add
#define STEP_SUB      __c11_atomic_fetch_sub
#define STEP_EXCHANGE __c11_atomic_exchange
#define STEP_SWAP(p, e, v)                                                                         \
	__c11_atomic_compare_exchange_strong(p, e, v, memory_order_seq_cst, memory_order_seq_cst)
#else
#define STEP_STORE    __atomic_store_n
#define STEP_ADD      __atomic_fetch_add
#define STEP_SUB      __atomic_fetch_sub
#define STEP_EXCHANGE __atomic_exchange_n
#define STEP_SWAP(p, e, v)                                                                         \
	__atomic_compare_exchange_n(p, e, v, 0, memory_order_seq_cst, memory_order_seq_cst)
#endif
#define atomic_store_explicit(p, v, order) (SIM_PLACE(), STEP_STORE(p, v, order))
#define atomic_store(p, v)                 atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v)             (SIM_PLACE(), STEP_ADD(p, v, memory_order_seq_cst))
#define atomic_fetch_sub(p, v)             (SIM_PLACE(), STEP_SUB(p, v, memory_order_seq_cst))
#define atomic_exchange(p, v)              (SIM_PLACE(), STEP_EXCHANGE(p, v, memory_order_seq_cst))

#define atomic_compare_exchange_strong(p, e, v) (SIM_PLACE(), STEP_SWAP(p, e, v))
#endif
#endif
