/* board/service/canaries.c - the threads that record the machine's own stalls; see realtime.h, core/thread/canary.h */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "board/service/realtime.h"
#include "board/service/supervisor.h"
#include "core/thread/clock.h"
#include "core/thread/cpus.h"

struct bs_canaries {
	struct bs_shm *shm;
	_Atomic bool quit;
	uint32_t count;
	struct bird {
		struct bs_canaries *all;
		struct bs_canary *c;
		pthread_t thread;
	} bird[BS_CANARIES];
};

/*
 * The highest priority of the service, whether the service itself has one or not: what keeps a
 * canary from running is then the machine, never our own threads and hardly another process.
 */
static void settle(struct bs_canary *c, const struct bs_site *site)
{
	struct sched_param p = { .sched_priority = (int)site->realtime.priority + 4 };
	int32_t cpu = atomic_load(&c->cpu);
	cpu_set_t set;

	(void)prctl(PR_SET_NAME, "bs-canary");
	(void)prctl(PR_SET_TIMERSLACK, 1000ul);
	if (cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set) != 0)
			atomic_store(&c->cpu, -1);
	}
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p) == 0)
		atomic_store(&c->priority, p.sched_priority);
}

static void *sing(void *arg)
{
	struct bird *b = arg;
	int64_t due;

	settle(b->c, &b->all->shm->s->site);
	due = bs_now_ns() + BS_CANARY_PERIOD_NS;
	while (!atomic_load(&b->all->quit)) {
		struct timespec t = { due / 1000000000, due % 1000000000 };

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
			;
		due = bs_canary_wake(b->c, due, bs_now_ns());
	}
	atomic_store(&b->c->due_ns, 0);
	return NULL;
}

/* True: the service may run there. Where no list names processors, everywhere. */
static bool of_service(const struct bs_site *site, uint32_t cpu)
{
	const char *const lists[] = { site->realtime.ingest_cpus, site->realtime.recon_cpus,
				      site->realtime.emit_cpus };
	struct bs_cpus set;

	for (int i = 0; i < 3; i++)
		if (lists[i][0] == '\0' || bs_cpus_parse(&set, lists[i], NULL) != 0 ||
		    bs_cpus_has(&set, cpu))
			return true;
	return false;
}

static int start_one(struct bs_canaries *all, int32_t cpu)
{
	struct bird *b = &all->bird[all->count];

	b->all = all;
	b->c = &all->shm->s->canary[all->count];
	atomic_store(&b->c->cpu, cpu);
	if (pthread_create(&b->thread, NULL, sing, b) != 0)
		return -1;
	all->count++;
	atomic_store(&all->shm->s->canaries, all->count);
	return 0;
}

struct bs_canaries *bs_canaries_start(struct bs_shm *shm)
{
	struct bs_canaries *all;
	sigset_t every, old;
	cpu_set_t mine;
	uint32_t unwatched = 0;
	int rc = 0;

	if (!shm->s->site.realtime.canary)
		return NULL;
	all = calloc(1, sizeof(*all));
	if (all == NULL || sched_getaffinity(0, sizeof(mine), &mine) != 0) {
		free(all);
		bs_herald_say(shm, BS_LOG_WARN, "no canary: no late image will be explained");
		return NULL;
	}
	all->shm = shm;
	(void)sigfillset(&every);
	(void)pthread_sigmask(SIG_SETMASK, &every, &old);
	for (int32_t cpu = 0; rc == 0 && cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &mine) || !of_service(&shm->s->site, (uint32_t)cpu))
			continue;
		if (all->count < BS_CANARIES)
			rc = start_one(all, cpu);
		else
			unwatched++;
	}
	if (rc == 0 && all->count == 0)
		rc = start_one(all, -1);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc != 0)
		bs_herald_say(shm, BS_LOG_WARN, "only %u canaries could be started", all->count);
	if (unwatched > 0)
		bs_herald_say(
			shm, BS_LOG_WARN,
			"canaries watch %u processors, the service may use %u more: a stall of "
			"those explains no late image",
			all->count, unwatched);
	return all;
}

void bs_canaries_stop(struct bs_canaries *all)
{
	if (all == NULL)
		return;
	atomic_store(&all->quit, true);
	for (uint32_t i = 0; i < all->count; i++)
		(void)pthread_join(all->bird[i].thread, NULL);
	atomic_store(&all->shm->s->canaries, 0);
	free(all);
}
