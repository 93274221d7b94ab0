/* core/thread/thread.c - see thread.h */
#include "core/thread/thread.h"

#include <signal.h>
#include <time.h>

#include "core/thread/clock.h"

int bs_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int rc;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(thread, NULL, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

void bs_lock_init(pthread_mutex_t *lock, pthread_cond_t *change)
{
	pthread_mutexattr_t kind;
	pthread_condattr_t clock;

	(void)pthread_mutexattr_init(&kind);
	(void)pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
	(void)pthread_mutex_init(lock, &kind);
	(void)pthread_mutexattr_destroy(&kind);
	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_cond_init(change, &clock);
	(void)pthread_condattr_destroy(&clock);
}

void bs_lock_wait(pthread_mutex_t *lock, pthread_cond_t *change, int64_t until_ns)
{
	const struct timespec until = bs_timespec(until_ns);

	if (until_ns == 0)
		(void)pthread_cond_wait(change, lock);
	else
		(void)pthread_cond_timedwait(change, lock, &until);
}
