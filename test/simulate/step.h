/*
 * test/simulate/step.h - included before everything else in the sources that run in the simulator
 *
 * The compiler calls __sanitizer_cov_trace_pc in each basic block; what is stored for other
 * processes, and each counter, is a step of its own. Between any two steps the process may be
 * stopped, or killed.
 */
#ifndef BS_TEST_SIMULATE_STEP_H
#define BS_TEST_SIMULATE_STEP_H

#include <stdatomic.h>
#include <stdlib.h>

void sim_step(void);
/* What a process has allocated goes with it. */
void *sim_malloc(size_t n);
void sim_free(void *p);

#ifdef SIMULATE_STEPPED
#define malloc sim_malloc
#define free   sim_free

#undef atomic_store
#undef atomic_store_explicit
#undef atomic_fetch_add
#undef atomic_exchange
#ifdef __clang__
#define STEP_STORE    __c11_atomic_store
#define STEP_ADD      __c11_atomic_fetch_add
#define STEP_EXCHANGE __c11_atomic_exchange
#else
#define STEP_STORE    __atomic_store_n
#define STEP_ADD      __atomic_fetch_add
#define STEP_EXCHANGE __atomic_exchange_n
#endif
#define atomic_store_explicit(p, v, order) (sim_step(), STEP_STORE(p, v, order))
#define atomic_store(p, v)                 atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v)             (sim_step(), STEP_ADD(p, v, memory_order_seq_cst))
#define atomic_exchange(p, v)              (sim_step(), STEP_EXCHANGE(p, v, memory_order_seq_cst))

#endif
#endif
