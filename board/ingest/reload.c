/* board/ingest/reload.c - takes up a changed site between two scans; see ingest.h */
#include "board/ingest/ingest.h"
#include "core/thread/clock.h"

bool bs_ingest_held(const struct ingest *in)
{
	return atomic_load(&in->env->shm.s->reload.step) >= BS_RELOAD_ARM;
}

bool bs_ingest_reloads(const struct ingest *in)
{
	const struct bs_shared *s = in->env->shm.s;

	return (in->now.state == BS_STATE_IDLE && atomic_load(&s->reload.step) == BS_RELOAD_WAIT) ||
	       atomic_load(&s->generation) != atomic_load(&in->env->me->generation);
}

/* Holds all headers back: no scan opens until the supervisor says that the reload is done. */
static void hold(struct ingest *in)
{
	struct bs_reload *r = &in->env->shm.s->reload;
	uint32_t wait = BS_RELOAD_WAIT;

	atomic_store(&r->held_since_ns, bs_now_ns());
	bs_ingest_step(in, &in->now, BS_ON_RELOAD, 0);
	(void)atomic_compare_exchange_strong(&r->step, &wait, BS_RELOAD_ARM);
	bs_shm_ring_bell(&in->env->shm, BS_WORKER_RECON);
}

bool bs_ingest_reload(struct ingest *in, struct bs_fail *why)
{
	if (!bs_ingest_reloads(in))
		return true;
	if (bs_worker_renew(in->env)) {
		in->keeps_noise = bs_ingest_sums_noise(&in->env->site);
		return bs_shm_map_tables(&in->env->shm, why) == 0;
	}
	hold(in);
	return true;
}
