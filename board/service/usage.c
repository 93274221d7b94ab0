/* board/service/usage.c - see usage.h */
#include "board/service/usage.h"

#include <sys/resource.h>

#include "board/service/allocs.h"
#include "core/thread/clock.h"

void bs_usage_note(const struct bs_shm *shm, enum bs_thread place)
{
	struct bs_thread_record *r = &shm->s->thread[place];
	struct rusage u;

	if (getrusage(RUSAGE_THREAD, &u) != 0)
		return;
	atomic_store_explicit(&r->minor_faults, (uint64_t)u.ru_minflt, memory_order_relaxed);
	atomic_store_explicit(&r->major_faults, (uint64_t)u.ru_majflt, memory_order_relaxed);
	atomic_store_explicit(&r->preempted, (uint64_t)u.ru_nivcsw, memory_order_relaxed);
	atomic_store_explicit(&r->allocations, bs_allocs_here(), memory_order_relaxed);
	atomic_fetch_add_explicit(&r->notes, 1, memory_order_relaxed);
	atomic_store(&r->at_ns, bs_now_ns());
}

void bs_usage_publish(const struct bs_shm *shm, enum bs_thread place, int64_t now_ns)
{
	int64_t at = atomic_load_explicit(&shm->s->thread[place].at_ns, memory_order_relaxed);

	if (at != 0 && now_ns - at >= BS_THREAD_NS)
		bs_usage_note(shm, place);
}

static void note(void *arg, int task, int member)
{
	(void)task;
	bs_usage_note(arg, (enum bs_thread)(BS_THREAD_RECON + member));
}

void bs_usage_note_team(struct bs_shm *shm, struct bs_team *team)
{
	bs_team_each(team, note, shm);
}
