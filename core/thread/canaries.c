/* core/thread/canaries.c - see canaries.h */
#include "core/thread/canaries.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/thread/clock.h"

static void *watch_stalls(void *arg)
{
	struct bs_canary_thread *t = arg;
	struct sched_param p = { .sched_priority = t->all->priority };
	int64_t due;

	(void)prctl(PR_SET_NAME, "bs-canary");
	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p) == 0)
		atomic_store(&t->canary->priority, p.sched_priority);
	due = bs_now_ns() + BS_CANARY_PERIOD_NS;
	while (!atomic_load(&t->all->quit)) {
		const struct timespec at = bs_timespec(due);

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
			;
		due = bs_canary_wake(t->canary, due, bs_now_ns());
	}
	atomic_store(&t->canary->due_ns, 0);
	return NULL;
}

/*
 * Starts a canary. It is bound to its processor before it runs, so its stalls are those of the
 * processor in its record.
 */
static bool start_one(struct bs_canary_thread *t, uint32_t cpu)
{
	pthread_attr_t attr;
	cpu_set_t set;
	bool good;

	if (pthread_attr_init(&attr) != 0)
		return false;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	atomic_store(&t->canary->cpu, (int32_t)cpu);
	good = pthread_attr_setaffinity_np(&attr, sizeof(set), &set) == 0 &&
	       pthread_create(&t->id, &attr, watch_stalls, t) == 0;
	(void)pthread_attr_destroy(&attr);
	return good;
}

void bs_canaries_start(struct bs_canaries *all, struct bs_canary *canary, uint32_t max,
		       const struct bs_cpus *where, int priority)
{
	struct bs_cpus mine = { 0 };
	sigset_t every, old;

	memset(all, 0, sizeof(*all));
	all->priority = priority > 0 ? priority : sched_get_priority_max(SCHED_FIFO);
	if (where == NULL && bs_cpus_may_run(&mine, 0))
		where = &mine;
	(void)sigfillset(&every);
	(void)pthread_sigmask(SIG_SETMASK, &every, &old);
	for (uint32_t cpu = 0; where != NULL && cpu < BS_CPUS_MAX; cpu++) {
		struct bs_canary_thread *t = &all->thread[all->count % BS_CANARIES];

		if (!bs_cpus_has(where, cpu))
			continue;
		*t = (struct bs_canary_thread){ .all = all, .canary = &canary[all->count] };
		if (all->count < max && all->count < BS_CANARIES && start_one(t, cpu))
			all->count++;
		else
			all->unwatched++;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void bs_canaries_stop(struct bs_canaries *all)
{
	atomic_store(&all->quit, true);
	for (uint32_t i = 0; i < all->count; i++)
		(void)pthread_join(all->thread[i].id, NULL);
	all->count = 0;
}
