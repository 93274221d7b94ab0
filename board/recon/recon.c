/* board/recon/recon.c - the reconstruction process: its loop, and a readout's way; see recon.h */
#include "board/recon/recon.h"

#include <unistd.h>

#include "board/service/realtime.h"
#include "board/service/usage.h"
#include "core/thread/clock.h"

/* The slots that have been read go back to ingest. wait: all of them. */
static void give_back(struct recon_worker *w, bool wait)
{
	struct bs_shm *shm = &w->env->shm;
	uint64_t made = 0;
	uint64_t read = 0;
	bool any = false;

	if (w->held_first == w->held_next || w->current == NULL) /* only a scan holds slots */
		return;
	bs_recon_reading(w->current->recon, wait, &made, &read);
	for (; w->held_first < w->held_next; w->held_first++) {
		uint64_t at = w->held_first % shm->acq_pool->slots;

		if (w->held[at].adds > read)
			break;
		bs_pool_give(shm->acq_pool, w->held[at].slot);
		any = true;
	}
	if (any)
		bs_shm_ring_bell(shm, BS_WORKER_INGEST);
}

static void open_scan(struct recon_worker *w, uint64_t entry)
{
	struct bs_scan_record *scan = &w->env->shm.s->scan;
	uint64_t id = atomic_load(&scan->id);

	give_back(w, true);
	w->current = NULL;
	if (!bs_entry_of(entry, id) || scan->protocol >= w->env->site.protocols)
		return; /* an older scan's, which its ingest left behind */
	if (w->armed[scan->protocol].recon == NULL)
		return; /* admitted before this process refused the protocol */
	w->scan = id;
	w->session = scan->session;
	w->protocol = scan->protocol;
	w->current = &w->armed[scan->protocol];
	bs_images_open(w);
	bs_recon_scan(w->current->recon, &scan->info);
}

/* At once, unless the engine reads it where it lies. */
static void give_slot(struct recon_worker *w, uint32_t slot, bool mine)
{
	struct bs_shm *shm = &w->env->shm;
	uint64_t made = 0;
	uint64_t read = 0;

	if (mine)
		bs_recon_reading(w->current->recon, false, &made, &read);
	if (made == read) {
		bs_pool_give(shm->acq_pool, slot);
		bs_shm_ring_bell(shm, BS_WORKER_INGEST);
	} else {
		uint64_t at = w->held_next++ % shm->acq_pool->slots;

		w->held[at].slot = slot;
		w->held[at].adds = made;
	}
	give_back(w, false);
}

static int take_readout(struct recon_worker *w, uint32_t slot, int64_t taken_ns)
{
	struct bs_shm *shm = &w->env->shm;
	const struct bs_acq_meta *m = &shm->acq_meta[slot];
	struct bs_fail why = { 0 };
	int rc;

	bs_hist_add(bs_shm_hist(shm, w->protocol, BS_STAGE_QUEUE), taken_ns - m->handed_ns);
	bs_images_aim(w);
	do {
		rc = bs_recon_readout(w->current->recon, &m->head, m->row,
				      bs_shm_samples(shm, slot), m->received_ns, &why);
		int64_t added_ns = bs_now_ns();

		if (rc == 0) {
			bs_hist_add(bs_shm_hist(shm, w->protocol, BS_STAGE_ADD),
				    added_ns - taken_ns);
			*bs_images_stamps(w, m->head.idx.slice, m->head.idx.contrast) =
				(struct bs_stamps){ m->sender_ns, m->handed_ns, taken_ns,
						    added_ns };
		}
		int made = bs_images_make(w, m->received_ns, added_ns);

		if (made != 0)
			return made;
	} while (rc == BS_RECON_POP_FIRST);
	if (rc < 0) {
		bs_count(&shm->s->scan.unused, 1);
		bs_worker_say(w->env, BS_EVENT_REJECTED, rc, (const uint64_t[3]){ w->scan },
			      why.text);
		bs_images_fault(w, &why);
	}
	return rc == BS_ERR_GPU ? rc : 0;
}

static int close_scan(struct recon_worker *w)
{
	int64_t now = bs_now_ns();
	int rc;

	bs_recon_close(w->current->recon);
	rc = bs_images_make(w, now, now);
	give_back(w, true);
	w->current = NULL;
	if (rc != 0)
		return rc;
	(void)bs_ring_push(w->env->shm.image_ring, bs_entry(BS_ENTRY_END, w->scan, 0));
	bs_shm_ring_bell(&w->env->shm, BS_WORKER_EMIT);
	return 0;
}

/* One entry of ingest's queue. A slot is given back only after the entry is out of the ring. */
static int take_entry(struct recon_worker *w, uint64_t entry)
{
	struct bs_shm *shm = &w->env->shm;
	uint32_t slot = bs_entry_slot(entry);
	bool mine = w->current != NULL && bs_entry_of(entry, w->scan);
	int rc = 0;

	switch (bs_entry_kind(entry)) {
	case BS_ENTRY_OPEN:
		open_scan(w, entry);
		break;
	case BS_ENTRY_ACQ:
		if (slot >= shm->acq_pool->slots)
			break;
		bs_pool_claim(shm->acq_pool, slot, BS_OWNER_RECON);
		if (mine)
			rc = take_readout(w, slot, bs_now_ns());
		bs_ring_advance(shm->acq_ring);
		give_slot(w, slot, mine);
		return rc;
	case BS_ENTRY_CLOSE:
		if (mine)
			rc = close_scan(w);
		break;
	default:
		break;
	}
	bs_ring_advance(shm->acq_ring);
	return rc;
}

/* Between two entries: the team's members write their records only when they are asked to. */
static void note_costs(struct recon_worker *w)
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

/* Sleeps until there may be work; where the site wants it, polls for it while a scan runs. */
static void rest(struct recon_worker *w)
{
	struct bs_worker_env *env = w->env;

	note_costs(w);
	if (w->current != NULL && env->site.realtime.wait == BS_WAIT_POLL) {
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

static int work(struct recon_worker *w)
{
	struct bs_worker_env *env = w->env;
	uint64_t entry;
	int rc = 0;

	while (rc == 0) {
		if (bs_ring_peek(env->shm.acq_ring, &entry)) {
			bs_worker_beat(env);
			atomic_store_explicit(&env->me->busy, 1, memory_order_relaxed);
			rc = take_entry(w, entry);
			atomic_store_explicit(&env->me->busy, 0, memory_order_relaxed);
			note_costs(w);
			continue;
		}
		give_back(w, true);
		if (bs_worker_stop(env))
			return 0;
		rest(w);
	}
	return rc;
}

int bs_worker_recon(struct bs_worker_env *env)
{
	static struct recon_worker w;
	int rc;

	w.env = env;
	if (bs_recon_worker_arm(&w) != 0)
		return BS_EXIT_HOPELESS;
	/* arming may take minutes and has no real-time priority; what follows has */
	bs_rt_lock(env, false);
	bs_rt_enter_team(env, w.team);
	bs_rt_throttle(env);
	bs_worker_phase(env, BS_PHASE_READY);
	rc = work(&w);
	if (rc != 0) /* freeing what a device in error holds may hang: the process's end frees it */
		_exit(BS_EXIT_REPLACE);
	bs_recon_worker_disarm(&w);
	return 0;
}
