/* board/recon/recon.c - the reconstruction process: its loop, readouts, images; see recon.h */
#include "board/recon/recon.h"

#include <stdio.h>
#include <string.h>

#include "board/service/realtime.h"
#include "core/frame/state.h"
#include "core/thread/clock.h"

/* ---- images ---- */

/* The scan's first fault is the one that its outcome names. */
static void scan_fault(struct recon_worker *w, const struct bs_fail *why)
{
	struct bs_scan_record *scan = recon_record(w);

	if (scan->recon_code != 0)
		return;
	(void)snprintf(scan->recon_text, sizeof(scan->recon_text), "%s", why->text);
	scan->recon_code = why->code;
}

/*
 * Notes that the scan lacks what its protocol needs: no more images are made, and ingest ends the
 * scan. The reason is stored before the number, since ingest reads the number first.
 */
static void give_up(struct recon_worker *w, const struct bs_fail *why)
{
	struct bs_scan_record *scan = recon_record(w);

	w->lacking = true;
	(void)snprintf(scan->recon_text, sizeof(scan->recon_text), "%s", why->text);
	scan->recon_code = why->code;
	atomic_store(&scan->lacking, w->scan);
	bs_shm_ring_bell(&w->env->shm, BS_WORKER_INGEST);
}

/* Notes an image that could not be calibrated. A later image of the scan, with other lines, may. */
static bool may_come(struct recon_worker *w)
{
	const struct bs_scan_info *info = &recon_record(w)->info;
	uint64_t images = bs_protocol_pairs(w->current->protocol);

	for (int a = 0; a < 2; a++)
		images *= info->acceleration[a] > 1 ? info->acceleration[a] : 1;
	return info->calibration == BS_CALIBRATION_INTERLEAVED && ++w->uncalibrated < images;
}

/* Takes a slot for an image; waits until emit gives one back: no image is dropped here. */
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

/* Counts and reports a step of the ladder. */
static void step_ladder(struct recon_worker *w, enum bs_rung before)
{
	struct bs_budget_record *r = &w->env->shm.s->budget[w->protocol];
	struct bs_budget *b = &w->budget[w->protocol];

	bs_count(bs_rung_below(b->rung, before) ? &r->down[b->rung] : &r->up[b->rung], 1);
	atomic_store(&r->rung, (uint32_t)b->rung);
	bs_worker_say(w->env, BS_EVENT_RUNG, 0, (const uint64_t[3]){ w->scan, before, b->rung },
		      w->current->protocol->name);
}

/* Sets how the next frames are made (the ladder's rung), by emit's results of the last images. */
static void aim(struct recon_worker *w)
{
	const struct bs_budget_record *r = &w->env->shm.s->budget[w->protocol];
	struct bs_budget *b = &w->budget[w->protocol];
	uint64_t end = atomic_load(&r->results);
	struct bs_aim next;

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
			step_ladder(w, before);
	}
	next = bs_budget_aim(b);
	bs_recon_aim(w->current->recon, &next);
}

/* Fills in an image's meta data for emit and its takers: times, scan, and the ladder's rung. */
static void describe(struct recon_worker *w, struct bs_image_meta *m, int64_t told_ns)
{
	struct bs_scan_record *scan = recon_record(w);
	struct bs_armed *a = w->current;
	const struct stamps *t = &w->stamps;
	/* true: the frame's last readout ended it; else its end was received at told_ns */
	const bool whole = m->image.own;
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
	m->image.head.image_series_index =
		(uint16_t)(w->scan % BS_VELOCITY_SERIES) |
		(m->image.head.image_series_index & (BS_PREVIEW_SERIES | BS_VELOCITY_SERIES));
	m->step.verdict = BS_STEP_NONE;
	atomic_store(&m->failed, 0);
	atomic_store(&m->stored, 0);
	atomic_store(&m->takers, 0);
	m->rung = BS_RUNG_FULL;
	if (m->image.preview) {
		w->made.preview = m->image.number;
		w->made.previews++;
		return;
	}
	if (m->image.report.again)
		m->rung = bs_rung_again(&m->image.report, m->image.iterations);
	else if (bs_budget_sheds(a->protocol) &&
		 bs_budget_made(&w->budget[w->protocol], &m->image.report, m->from_ns, m->made_ns,
				&m->rung))
		step_ladder(w, before);
	bs_count(&w->env->shm.s->budget[w->protocol].images[m->rung], 1);
	w->made.image = m->image.number;
	w->made.images++;
	if (m->image.lacks[0] != '\0') {
		if (w->made.partial == 0)
			memcpy(scan->lacks, m->image.lacks, sizeof(scan->lacks));
		w->made.partial++;
	}
	if (scan->remark[0] == '\0')
		(void)bs_image_remark(scan->remark, sizeof(scan->remark), &m->image);
	w->made.missing += m->image.elsewhere ? 0 : m->image.missing;
	bs_count(&w->env->shm.s->totals.images, 1);
}

static void show(struct bs_scan_record *scan, const struct bs_made_step *made)
{
	atomic_store(&scan->images_made, made->images);
	atomic_store(&scan->images_partial, made->partial);
	atomic_store(&scan->readouts_missing, made->missing);
	atomic_store(&scan->previews_made, made->previews);
}

/* Notes an image and pushes its entry as one step, so that a successor knows if it was pushed. */
static void hand_on(struct recon_worker *w, uint32_t slot)
{
	struct bs_shm *shm = &w->env->shm;
	struct bs_scan_record *scan = recon_record(w);
	const uint32_t other = ~atomic_load(&scan->made_at) & 1;

	w->made.entries = atomic_load(&shm->image_ring->head) + 1;
	scan->made[other] = w->made;
	atomic_store(&scan->made_at, other);
	atomic_signal_fence(memory_order_seq_cst); /* the other one is not touched before */
	show(scan, &w->made);
	(void)bs_ring_push(shm->image_ring, bs_entry(BS_ENTRY_IMAGE, w->scan, slot));
	bs_shm_ring_bell(shm, BS_WORKER_EMIT);
}

/* Takes over what a recon before this one has handed on of the scan. */
static void restore(struct recon_worker *w)
{
	struct bs_scan_record *scan = recon_record(w);
	uint32_t at = atomic_load(&scan->made_at) & 1;

	if (scan->made[at].entries > atomic_load(&w->env->shm.image_ring->head)) {
		at = 1 - at; /* the newest copy's image was never pushed: the other copy is valid */
		atomic_store(&scan->made_at, at);
	}
	w->made = scan->made[at];
	if (w->made.scan != w->scan)
		w->made = (struct bs_made_step){ .scan = w->scan };
	show(scan, &w->made);
	atomic_store(&scan->unused, 0); /* the scan's readouts come again from the first one on */
	bs_recon_resume(w->current->recon, w->made.image, w->made.preview);
}

static void add_times(struct recon_worker *w, const struct bs_image_meta *m)
{
	static const enum bs_stage stages[BS_BUDGET_STAGES] = {
		[BS_BUDGET_UPLOAD] = BS_STAGE_UPLOAD,
		[BS_BUDGET_ACCUMULATE] = BS_STAGE_ACCUMULATE,
		[BS_BUDGET_SOLVE] = BS_STAGE_SOLVE,
		[BS_BUDGET_COMBINE] = BS_STAGE_COMBINE,
		[BS_BUDGET_DOWNLOAD] = BS_STAGE_DOWNLOAD,
		[BS_BUDGET_CALIBRATION] = BS_STAGE_CALIBRATION,
	};
	struct bs_shm *shm = &w->env->shm;

	bs_hist_add(bs_shm_hist(shm, w->protocol, BS_STAGE_SLOT), m->begun_ns - m->ready_ns);
	bs_hist_add(bs_shm_hist(shm, w->protocol, BS_STAGE_FINISH), m->made_ns - m->begun_ns);
	for (int i = BS_BUDGET_UPLOAD; i < BS_BUDGET_STAGES; i++)
		if (i != BS_BUDGET_EMIT && m->image.report.stage_ns[i] != 0)
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
	bs_count(&recon_record(w)->previews_skipped, due);
	return true;
}

/*
 * Makes every image that is ready, since ready_ns; what made it so was received at told_ns. Waits
 * for image slots. 0, or the failure after which this process must be replaced.
 */
static int make_images(struct recon_worker *w, int64_t told_ns, int64_t ready_ns)
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
		if (bs_budget_sheds(w->current->protocol))
			aim(w);
		m->image.pixels = (float *)(bs_shm_image(shm, slot) + BS_POOLS_PIXELS);
		int rc = bs_recon_pop(r, &m->image,
				      bs_budget_deadline(&w->budget[w->protocol], told_ns), &why);

		if (rc != 1) {
			bs_pool_give(shm->image_pool, slot);
			if (rc == BS_ERR_CALIBRATION && !may_come(w)) {
				give_up(w, &why);
				return 0;
			}
			if (rc == 0)
				return 0;
			bs_count(&shm->s->totals.engine_faults, 1);
			bs_worker_say(w->env, BS_EVENT_FAULT, rc, NULL, why.text);
			if (rc == BS_ERR_GPU) /* CUDA works again only in a new process */
				return rc;
			scan_fault(w, &why);
			continue;
		}
		bs_shm_keep_kspace(shm, slot, w->current->protocol);
		describe(w, m, told_ns);
		if (!m->image.preview)
			add_times(w, m);
		if (w->env->shm.study != NULL)
			bs_recon_worker_leave(w, &m->image);
		hand_on(w, slot);
		bs_worker_beat(w->env);
		w->unnoted = true;
	}
	return 0;
}

/* ---- readouts, and the slots they lie in ---- */

/* Gives the slots that have been read back to ingest. wait: all slots. */
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
	struct bs_scan_record *scan = &w->env->shm.s->scan[bs_entry_place(entry)];
	uint64_t id = atomic_load(&scan->id);
	struct bs_budget_record *record;
	struct bs_fail why;

	give_back(w, true);
	w->current = NULL;
	w->lacking = false;
	w->uncalibrated = 0;
	if (!bs_entry_of(entry, id) || !atomic_load(&scan->open) ||
	    scan->protocol >= w->env->site.protocols)
		/* the entry is of an ended scan; the record may already hold the next header */
		return;
	if (w->armed[scan->protocol] == NULL)
		return; /* ingest admitted it before this process refused the protocol */
	w->scan = id;
	w->session = scan->session;
	w->protocol = scan->protocol;
	w->current = w->armed[scan->protocol];
	record = &w->env->shm.s->budget[scan->protocol];
	w->results = atomic_load(&record->results);
	bs_budget_scan(&w->budget[w->protocol]);
	atomic_store(&record->rung, BS_RUNG_FULL);
	aim(w);
	bs_armed_scan(w->current, &scan->info, &scan->noise.noise);
	restore(w);
	bs_recon_solved(w->current->recon, &scan->solved);
	if (bs_armed_take(w->current, w->env->shm.study, &scan->study, &scan->info, &why) != 0) {
		bs_worker_say(w->env, BS_EVENT_FAULT, why.code, NULL, why.text);
		scan_fault(w, &why);
	}
}

/* Gives a slot back at once, unless the engine reads its samples in place. */
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

/* True for the kinds of readouts that images wait for. */
static bool ends_frames(const struct bs_mrd_acq *head)
{
	const enum bs_kind kind = bs_mrd_kind(head->flags);

	return kind == BS_KIND_IMAGING || kind == BS_KIND_CALIBRATION;
}

/* Leaves the refusal for ingest to send, once. */
static void refuse_message(struct recon_worker *w, uint64_t seq, const struct bs_fail *why)
{
	if (!bs_unused_put(&w->env->shm.s->unused, w->scan, seq, why))
		return;
	bs_shm_ring_bell(&w->env->shm, BS_WORKER_INGEST);
	bs_worker_say(w->env, BS_EVENT_REJECTED, why->code, (const uint64_t[3]){ w->scan },
		      why->text);
}

static int take_readout(struct recon_worker *w, uint32_t slot, int64_t taken_ns)
{
	struct bs_shm *shm = &w->env->shm;
	const struct bs_acq_meta *m = &shm->acq_meta[slot];
	struct bs_fail why = { 0 };
	int rc;

	bs_hist_add(bs_shm_hist(shm, w->protocol, BS_STAGE_QUEUE), taken_ns - m->handed_ns);
	if (bs_budget_sheds(w->current->protocol))
		aim(w);
	if (m->lost)
		bs_recon_lost(w->current->recon);
	do {
		rc = bs_armed_readout(w->current, &m->head, m->row, bs_shm_samples(shm, slot),
				      m->received_ns, &why);
		int64_t added_ns = bs_now_ns();

		if (rc == 0) {
			bs_hist_add(bs_shm_hist(shm, w->protocol, BS_STAGE_ADD),
				    added_ns - taken_ns);
			if (ends_frames(&m->head))
				w->stamps = (struct stamps){ m->sender_ns, m->handed_ns, taken_ns,
							     added_ns };
		}
		int made = make_images(w, m->received_ns, added_ns);

		if (made != 0)
			return made;
	} while (rc == BS_RECON_POP_FIRST && !w->lacking);
	if (rc < 0)
		bs_count(&recon_record(w)->unused, 1);
	if (rc == BS_ERR_CALIBRATION || rc == BS_ERR_UNSUPPORTED) {
		give_up(w, &why);
	} else if (rc == BS_ERR_GPU) { /* another process gets the scan again */
		bs_worker_say(w->env, BS_EVENT_FAULT, rc, NULL, why.text);
		return rc;
	} else if (rc < 0) {
		refuse_message(w, m->seq, &why);
		scan_fault(w, &why);
	}
	return 0;
}

/* Only a scan that ended well leaves maps and fields for later ones. */
static bool ended_well(const struct bs_scan_record *scan)
{
	return scan->recon_code == 0 && atomic_load(&scan->state) == BS_STATE_DRAINING &&
	       atomic_load(&scan->readouts_missing) == 0;
}

static int close_scan(struct recon_worker *w)
{
	struct bs_scan_record *scan = recon_record(w);
	int64_t now = bs_now_ns();
	struct bs_fail why = { 0 };
	int closed = 0;
	int rc = 0;

	if (atomic_load(&scan->lost) != 0)
		bs_recon_lost(w->current->recon);
	while (!w->lacking && rc == 0) {
		closed = bs_armed_scan_close(w->current, &why);
		rc = make_images(w, now, now);
		if (closed != BS_RECON_POP_FIRST)
			break;
	}
	if (closed < 0)
		scan_fault(w, &why);
	(void)bs_recon_words(w->current->recon, scan->words, sizeof(scan->words));
	give_back(w, true);
	if (rc == 0 && ended_well(scan) &&
	    bs_armed_leave(w->current, &w->env->site, w->env->shm.study, &scan->study, &scan->info,
			   &why) != 0)
		scan_fault(w, &why);
	w->current = NULL;
	if (rc != 0)
		return rc;
	(void)bs_ring_push(w->env->shm.image_ring, bs_entry(BS_ENTRY_END, w->scan, 0));
	bs_shm_ring_bell(&w->env->shm, BS_WORKER_EMIT);
	return 0;
}

/* Takes one entry of ingest's queue. A slot is given back only when the entry has left the ring. */
static int take_entry(struct recon_worker *w, uint64_t entry)
{
	struct bs_shm *shm = &w->env->shm;
	uint32_t slot = bs_entry_slot(entry);
	bool mine = w->current != NULL && bs_entry_of(entry, w->scan);
	_Atomic uint64_t *at = &shm->s->scan[bs_entry_place(entry)].recon_at;
	int rc = 0;

	atomic_store(at, bs_entry_kind(entry) == BS_ENTRY_OPEN ? 1 : atomic_load(at) | 1);
	switch (bs_entry_kind(entry)) {
	case BS_ENTRY_OPEN:
		open_scan(w, entry);
		break;
	case BS_ENTRY_ACQ:
		if (slot >= shm->acq_pool->slots)
			break;
		bs_pool_claim(shm->acq_pool, slot, BS_OWNER_RECON);
		if (mine && !w->lacking)
			rc = take_readout(w, slot, bs_now_ns());
		if (rc != 0) /* the entry stays in the queue: recon_at says that it was in hand */
			return rc;
		atomic_store(at, (atomic_load(at) | 1) + 1);
		bs_ring_advance(shm->acq_ring);
		give_slot(w, slot, mine);
		return 0;
	case BS_ENTRY_CLOSE:
		if (mine)
			rc = close_scan(w);
		break;
	case BS_ENTRY_IMAGE:
	case BS_ENTRY_END:
		break;
	}
	if (rc != 0)
		return rc;
	atomic_store(at, (atomic_load(at) | 1) + 1);
	bs_ring_advance(shm->acq_ring);
	return 0;
}

static int work_off(struct recon_worker *w)
{
	struct bs_worker_env *env = w->env;
	const uint32_t busy =
		env->site.realtime.gpu_wait == BS_WAIT_BLOCK && bs_armed_on_gpu(env->shm.s)
			? BS_BUSY_WAITS
			: BS_BUSY_COMPUTES;
	uint64_t entry;
	int rc = 0;

	while (rc == 0) {
		if (bs_ring_peek(env->shm.acq_ring, &entry)) {
			bs_worker_beat(env);
			atomic_store_explicit(&env->me->busy, busy, memory_order_relaxed);
			rc = take_entry(w, entry);
			atomic_store_explicit(&env->me->busy, BS_BUSY_NOT, memory_order_relaxed);
			bs_recon_worker_note(w);
			continue;
		}
		give_back(w, true);
		if (bs_worker_stop(env))
			return 0;
		if (w->current == NULL)
			bs_recon_worker_reload(w);
		bs_recon_worker_rest(w);
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
	rc = work_off(&w);
	if (rc != 0) /* freeing what a device in error holds may hang: the process's end frees it */
		_exit(BS_EXIT_REPLACE);
	bs_recon_worker_disarm(&w);
	return 0;
}
