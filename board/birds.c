/* board/birds.c - see birds.h */
#define _GNU_SOURCE
#include "board/birds.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/clock.h"

static void *sing(void *arg)
{
	struct bs_bird *b = arg;
	struct sched_param p = { .sched_priority = sched_get_priority_max(SCHED_FIFO) };
	int64_t due;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(atomic_load(&b->c->cpu), &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		atomic_store(&b->c->cpu, -1);
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

void bs_birds_start(struct bs_birds *b, struct bs_canary *canary, uint32_t max)
{
	cpu_set_t mine;

	memset(b, 0, sizeof(*b));
	if (sched_getaffinity(0, sizeof(mine), &mine) != 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && b->count < max && b->count < BS_CANARIES; cpu++) {
		struct bs_bird *one = &b->bird[b->count];

		if (!CPU_ISSET(cpu, &mine))
			continue;
		one->all = b;
		one->c = &canary[b->count];
		atomic_store(&one->c->cpu, cpu);
		if (pthread_create(&one->thread, NULL, sing, one) != 0)
			return;
		b->count++;
	}
}

void bs_birds_stop(struct bs_birds *b)
{
	atomic_store(&b->quit, true);
	for (uint32_t i = 0; i < b->count; i++)
		(void)pthread_join(b->bird[i].thread, NULL);
	b->count = 0;
}
