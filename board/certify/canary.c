/* board/certify/canary.c - see canary.h */
#define _GNU_SOURCE
#include "board/certify/canary.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/thread/clock.h"

static void *sing(void *arg)
{
	struct bs_bird *b = arg;
	struct sched_param p = { .sched_priority = sched_get_priority_max(SCHED_FIFO) };
	int64_t due;

	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	if (sched_setscheduler(0, SCHED_FIFO, &p) == 0)
		atomic_store(&b->c->priority, p.sched_priority);
	due = bs_now_ns() + BS_CANARY_PERIOD_NS;
	while (!atomic_load(&b->all->quit)) {
		const struct timespec t = { due / 1000000000, due % 1000000000 };

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
			;
		due = bs_canary_wake(b->c, due, bs_now_ns());
	}
	atomic_store(&b->c->due_ns, 0);
	return NULL;
}

/* Bound before it runs: a canary that is not where it says would explain what it did not see. */
static bool start_one(struct bs_bird *one, uint32_t cpu)
{
	pthread_attr_t attr;
	cpu_set_t set;
	bool good;

	if (pthread_attr_init(&attr) != 0)
		return false;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	atomic_store(&one->c->cpu, (int32_t)cpu);
	good = pthread_attr_setaffinity_np(&attr, sizeof(set), &set) == 0 &&
	       pthread_create(&one->thread, &attr, sing, one) == 0;
	(void)pthread_attr_destroy(&attr);
	return good;
}

void bs_birds_start(struct bs_birds *b, struct bs_canary *canary, uint32_t max,
		    const struct bs_cpus *where)
{
	struct bs_cpus mine = { 0 };

	memset(b, 0, sizeof(*b));
	if (where == NULL && bs_birds_may_run(&mine, 0))
		where = &mine;
	for (uint32_t cpu = 0; where != NULL && cpu < BS_CPUS_MAX; cpu++) {
		struct bs_bird *one = &b->bird[b->count % BS_CANARIES];

		if (!bs_cpus_has(where, cpu))
			continue;
		if (b->count == max || b->count == BS_CANARIES) {
			b->unwatched++;
			continue;
		}
		*one = (struct bs_bird){ .all = b, .c = &canary[b->count] };
		if (start_one(one, cpu))
			b->count++;
		else
			b->unwatched++;
	}
}

void bs_birds_stop(struct bs_birds *b)
{
	atomic_store(&b->quit, true);
	for (uint32_t i = 0; i < b->count; i++)
		(void)pthread_join(b->bird[i].thread, NULL);
	b->count = 0;
}

bool bs_birds_may_run(struct bs_cpus *set, int32_t tid)
{
	cpu_set_t native;

	if (sched_getaffinity(tid, sizeof(native), &native) != 0)
		return false;
	for (uint32_t cpu = 0; cpu < BS_CPUS_MAX && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &native))
			bs_cpus_add(set, cpu);
	return true;
}
