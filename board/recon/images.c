/* board/recon/images.c - frames that are complete become images in their slots; see recon.h */
#include <stdio.h>

#include "board/recon/recon.h"
#include "core/thread/clock.h"

void bs_images_fault(struct recon_worker *w, const struct bs_fail *why)
{
	struct bs_scan_record *scan = &w->env->shm.s->scan;

	if (scan->recon_code != 0)
		return;
	(void)snprintf(scan->recon_text, sizeof(scan->recon_text), "%s", why->text);
	scan->recon_code = why->code;
}

/* Waits until emit gives one back: no image is dropped here, the stream is slowed down instead. */
static bool wait_image_slot(struct recon_worker *w, uint32_t *slot)
{
	struct bs_worker_env *env = w->env;

	if (bs_pool_take(env->shm.image_pool, BS_OWNER_RECON, slot))
		return true;
	bs_count(&env->me->waits, 1);
	for (;;) {
		bs_bell_announce(&env->me->bell);
		if (bs_pool_in_use(env->shm.image_pool) == env->shm.image_pool->slots)
			bs_worker_sleep(env, NULL, 0, INT64_MAX);
		else
			bs_bell_awake(&env->me->bell, env->shm.bell_fd[env->who]);
		if (bs_pool_in_use(env->shm.image_pool) < env->shm.image_pool->slots &&
		    bs_pool_take(env->shm.image_pool, BS_OWNER_RECON, slot))
			return true;
		if (atomic_load(&env->shm.s->worker[BS_WORKER_EMIT].phase) == BS_PHASE_STOPPED)
			return false; /* emit ends after recon; without it no slot comes back */
	}
}

/* A step of the ladder was taken: it is counted and told. */
static void step(struct recon_worker *w, enum bs_rung before)
{
	struct bs_budget_record *r = &w->env->shm.s->budget[w->protocol];
	struct bs_budget *b = &w->budget[w->protocol];

	bs_count(b->rung > before ? &r->down[b->rung] : &r->up[b->rung], 1);
	atomic_store(&r->rung, (uint32_t)b->rung);
	bs_worker_say(w->env, BS_EVENT_RUNG, 0, (const uint64_t[3]){ w->scan, before, b->rung },
		      w->current->protocol->name);
}

void bs_images_open(struct recon_worker *w)
{
	struct bs_budget_record *r = &w->env->shm.s->budget[w->protocol];

	w->results = atomic_load(&r->results);
	bs_budget_scan(&w->budget[w->protocol]);
	atomic_store(&r->rung, BS_RUNG_FULL);
	bs_images_aim(w);
}

void bs_images_aim(struct recon_worker *w)
{
	const struct bs_budget_record *r = &w->env->shm.s->budget[w->protocol];
	struct bs_budget *b = &w->budget[w->protocol];
	uint64_t end = atomic_load(&r->results);
	struct bs_aim aim;

	if (end - w->results > BS_RESULTS_KEPT)
		w->results = end - BS_RESULTS_KEPT;
	for (; w->results != end; w->results++) {
		uint64_t packed = atomic_load(&r->result[w->results % BS_RESULTS_KEPT]);
		enum bs_rung before = b->rung;
		enum bs_rung rung;
		enum bs_budget_result result;
		int64_t emit_ns;

		if (bs_result_unpack(packed, w->scan, &rung, &result, &emit_ns) &&
		    bs_budget_handed(b, rung, result, emit_ns))
			step(w, before);
	}
	aim = bs_budget_aim(b);
	bs_recon_aim(w->current->recon, &aim);
}

/* What emit and its takers are told of an image: its times, its scan, and which rung made it. */
static void describe(struct recon_worker *w, struct bs_image_meta *m, int64_t told_ns)
{
	struct bs_scan_record *scan = &w->env->shm.s->scan;
	struct bs_armed *a = w->current;
	const struct bs_stamps *t =
		bs_images_stamps(w, m->image.head.slice, m->image.head.contrast);
	bool whole = m->image.missing == 0;
	enum bs_rung before = w->budget[w->protocol].rung;

	m->made_ns = bs_now_ns();
	m->sender_ns = t->sender_ns;
	m->from_ns = whole ? m->image.last_ns : told_ns;
	m->acq_handed_ns = whole ? t->handed_ns : 0;
	m->taken_ns = whole ? t->taken_ns : 0;
	m->added_ns = whole ? t->added_ns : 0;
	m->scan = w->scan;
	m->session = w->session;
	m->protocol = w->protocol;
	(void)snprintf(m->engine, sizeof(m->engine), "%s", bs_recon_engine(a->recon, &m->image));
	/* the scan's number: recon's own count would start anew when recon is replaced */
	m->image.head.image_series_index = (uint16_t)(w->scan % BS_PREVIEW_SERIES) |
					   (m->image.preview ? BS_PREVIEW_SERIES : 0u);
	atomic_store(&m->inside, 0);
	atomic_store(&m->tries, 0);
	atomic_store(&m->takers, 0);
	atomic_store(&m->done, 0);
	if (m->image.preview) {
		m->rung = BS_RUNG_FULL;
		bs_count(&scan->previews_made, 1);
		return;
	}
	if (bs_budget_made(&w->budget[w->protocol], &m->image.report, m->from_ns, m->made_ns,
			   &m->rung))
		step(w, before);
	bs_count(&w->env->shm.s->budget[w->protocol].images[m->rung], 1);
	bs_count(&scan->images_made, 1);
	bs_count(&scan->images_partial, m->image.missing != 0);
	bs_count(&scan->readouts_missing, m->image.missing);
	bs_count(&w->env->shm.s->totals.images, 1);
}

static void add_times(struct recon_worker *w, const struct bs_image_meta *m)
{
	static const enum bs_stage stages[BS_BUDGET_STAGES] = {
		[BS_BUDGET_UPLOAD] = BS_STAGE_UPLOAD,
		[BS_BUDGET_ACCUMULATE] = BS_STAGE_ACCUMULATE,
		[BS_BUDGET_SOLVE] = BS_STAGE_SOLVE,
		[BS_BUDGET_COMBINE] = BS_STAGE_COMBINE,
		[BS_BUDGET_DOWNLOAD] = BS_STAGE_DOWNLOAD,
	};
	struct bs_shm *shm = &w->env->shm;

	bs_hist_add(bs_shm_hist(shm, w->protocol, BS_STAGE_SLOT), m->begun_ns - m->ready_ns);
	bs_hist_add(bs_shm_hist(shm, w->protocol, BS_STAGE_FINISH), m->made_ns - m->begun_ns);
	for (int i = BS_BUDGET_UPLOAD; i <= BS_BUDGET_DOWNLOAD; i++)
		if (m->image.report.stage_ns[i] != 0)
			bs_hist_add(bs_shm_hist(shm, w->protocol, stages[i]),
				    m->image.report.stage_ns[i]);
}

/*
 * Previews are left out, and counted, when nothing else is due and they would delay a frame: the
 * readouts of the next preview wait already, or image slots are scarce.
 */
static bool skips_previews(struct recon_worker *w)
{
	const struct bs_shm *shm = &w->env->shm;
	struct bs_recon *r = w->current->recon;
	uint32_t due = bs_recon_previews(r);

	if (due == 0 || due != bs_recon_ready(r) ||
	    (bs_ring_count(shm->acq_ring) <= w->current->protocol->preview_every &&
	     bs_pool_in_use(shm->image_pool) + 2 <= shm->image_pool->slots))
		return false;
	bs_recon_skip_previews(r);
	bs_count(&shm->s->scan.previews_skipped, due);
	return true;
}

int bs_images_make(struct recon_worker *w, int64_t told_ns, int64_t ready_ns)
{
	struct bs_shm *shm = &w->env->shm;
	struct bs_recon *r = w->current->recon;
	struct bs_fail why = { 0 };
	uint32_t slot;

	while (bs_recon_ready(r) > 0 && !skips_previews(w)) {
		if (!wait_image_slot(w, &slot))
			return BS_ERR_ABORTED;
		struct bs_image_meta *m = &shm->image_meta[slot];

		m->ready_ns = ready_ns;
		m->begun_ns = bs_now_ns();
		bs_images_aim(w);
		m->image.pixels = (float *)(bs_shm_image(shm, slot) + BS_POOLS_PIXELS);
		int rc = bs_recon_pop(r, &m->image,
				      bs_budget_deadline(&w->budget[w->protocol], told_ns), &why);

		if (rc != 1) {
			bs_pool_give(shm->image_pool, slot);
			if (rc == 0)
				return 0;
			bs_count(&shm->s->totals.engine_faults, 1);
			bs_worker_say(w->env, BS_EVENT_FAULT, rc, NULL, why.text);
			bs_images_fault(w, &why);
			if (rc == BS_ERR_GPU) /* CUDA works again only in a new process */
				return rc;
			continue;
		}
		describe(w, m, told_ns);
		if (!m->image.preview)
			add_times(w, m);
		(void)bs_ring_push(shm->image_ring, bs_entry(BS_ENTRY_IMAGE, w->scan, slot));
		bs_shm_ring_bell(shm, BS_WORKER_EMIT);
		bs_worker_beat(w->env);
		w->unnoted = true;
	}
	return 0;
}
