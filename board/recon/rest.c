/* board/recon/rest.c - what recon does where no entry waits; see recon.h */
#include "board/recon/recon.h"

#include "board/service/usage.h"
#include "core/thread/clock.h"

void bs_recon_worker_note(struct recon_worker *w)
{
	int64_t now;

	if (!w->unnoted)
		return;
	now = bs_now_ns();
	if (now - w->noted_ns < BS_THREAD_NS)
		return;
	bs_usage_note_team(&w->env->shm, w->team);
	w->noted_ns = now;
	w->unnoted = false;
}

/* Works ahead. Returns false if there is nothing to make. */
static bool work_ahead(struct recon_worker *w)
{
	_Atomic uint32_t *busy = &w->env->me->busy;
	bool made;

	bs_worker_beat(w->env);
	atomic_store_explicit(busy, BS_BUSY_COMPUTES, memory_order_relaxed);
	made = bs_recon_ahead(w->current->recon);
	atomic_store_explicit(busy, BS_BUSY_NOT, memory_order_relaxed);
	return made;
}

void bs_recon_worker_rest(struct recon_worker *w)
{
	struct bs_worker_env *env = w->env;

	bs_recon_worker_note(w);
	if (w->current != NULL && (work_ahead(w) || env->site.realtime.wait == BS_WAIT_POLL)) {
		bs_worker_beat(env);
		bs_usage_publish(&env->shm, BS_THREAD_RECON, bs_now_ns());
		return;
	}
	bs_bell_announce(&env->me->bell);
	if (bs_ring_count(env->shm.acq_ring) == 0)
		bs_worker_sleep(env, NULL, 0, INT64_MAX);
	else
		bs_bell_awake(&env->me->bell, env->shm.bell_fd[env->who]);
}
