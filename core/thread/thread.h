/*
 * core/thread/thread.h - starts a thread; a lock that real-time threads may share with others
 *
 * start: the thread has all signals blocked, which belong to the process's main thread. Returns 0,
 * or errno's number.
 * lock: a thread that holds it runs at the priority of the highest that waits for it (priority
 * inheritance). change is signaled under the lock. wait (with the lock held) returns when it was
 * signaled, or at until_ns (bs_now_ns's clock; 0: no limit), or for no reason.
 * Test: test/fault/fault_takers.c
 */
#ifndef BS_CORE_THREAD_THREAD_H
#define BS_CORE_THREAD_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include "core/linkage.h"

BS_C_BEGIN

int bs_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);
void bs_lock_init(pthread_mutex_t *lock, pthread_cond_t *change);
void bs_lock_wait(pthread_mutex_t *lock, pthread_cond_t *change, int64_t until_ns);

BS_C_END
#endif
