/*
 * board/recon/recon.c - the reconstruction process: arms every protocol, then turns readouts into
 * images. After arming its loop allocates nothing, opens nothing and waits only for its bell.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/arm/armed.h"
#include "board/arm/measure.h"
#include "board/arm/memplan.h"
#include "board/service/realtime.h"
#include "board/service/worker.h"
#include "core/thread/clock.h"
#include "gpu/engine/engines.h"

struct worker_recon {
	struct bs_worker_env *env;
	struct bs_team *team;
	struct bs_armed armed[BS_PROTOCOLS_MAX];
	/* the scan in flight; current NULL: none */
	struct bs_armed *current;
	uint32_t protocol;
	uint64_t scan, session;
	int64_t noted_ns;
	bool unnoted;     /* the team has worked since it wrote its records */
	int64_t ready_ns; /* when the frame that is popped next was complete */
	/* of each frame slot's latest readout */
	struct stamps {
		int64_t sender_ns; /* by the sender's clock */
		int64_t handed_ns, taken_ns, added_ns;
	} stamps[BS_FRAMES_MAX];
	int64_t told_ns; /* what was received then ends a frame that lacks readouts */
	struct bs_budget budget[BS_PROTOCOLS_MAX];
	uint64_t results; /* of the scan's protocol: read so far */
	/* slots whose samples a GPU may still be reading, in the order they came: [acq_slots], a ring */
	struct {
		uint32_t slot;
		uint64_t adds; /* the engine's, when this one was made */
	} * held;
	uint64_t held_first, held_next;
};

static void beat(void *arg)
{
	bs_worker_beat(arg);
}

/* Times what was armed where its budget asks for it, in the very memory that scans will use. */
static int admit(struct worker_recon *w, uint32_t i, struct bs_fail *why)
{
	struct bs_shm *shm = &w->env->shm;
	struct bs_admission *out = &shm->s->admission[i];
	struct bs_measure_env env = { .canary = shm->s->canary,
				      .canaries = atomic_load(&shm->s->canaries),
				      .seconds = BS_MEASURE_SECONDS,
				      .beat = beat,
				      .arg = w->env };
	uint32_t acq;
	uint32_t image;
	bool has_acq;
	bool has_image;
	int rc;

	/* a successor believes what was measured in peace: it is to be back at once */
	if (out->measured)
		return bs_admission_judge(out, w->armed[i].protocol, why);
	if (!bs_measure_wanted(w->armed[i].protocol))
		return 0;
	has_acq = bs_pool_take(shm->acq_pool, BS_OWNER_RECON, &acq);
	has_image = bs_pool_take(shm->image_pool, BS_OWNER_RECON, &image);
	env.samples = has_acq ? bs_shm_samples(shm, acq) : NULL;
	env.image = has_image ? (float *)(bs_shm_image(shm, image) + BS_POOLS_PIXELS) : NULL;
	rc = bs_measure(out, &w->armed[i], &env, why);
	if (has_acq)
		bs_pool_give(shm->acq_pool, acq);
	if (has_image)
		bs_pool_give(shm->image_pool, image);
	return rc != 0 ? rc : bs_admission_judge(out, w->armed[i].protocol, why);
}

static int arm_one(struct worker_recon *w, uint32_t i, struct bs_fail *why)
{
	struct bs_armed *a = &w->armed[i];
	struct bs_shared *s = w->env->shm.s;
	char text[256];
	int rc = bs_armed_open_on(a, &w->env->site, &w->env->site.protocol[i], w->team,
				  bs_shm_samples(&w->env->shm, 0),
				  (size_t)(s->pools.acq_slots * s->pools.acq_bytes), why);

	if (rc == 0)
		rc = admit(w, i, why);
	if (rc != 0) {
		bs_armed_close(a);
		return rc;
	}
	bs_budget_open(&w->budget[i], a->protocol, bs_recon_stands_in(a->recon));
	atomic_store(&s->budget[i].rung, BS_RUNG_FULL);
	s->arm_bytes[i] = a->need.total_bytes;
	(void)snprintf(s->engine[i], sizeof(s->engine[i]), "%s", a->engine->name);
	bs_engine_place(s->place[i], sizeof(s->place[i]), a->engine, a->protocol);
	atomic_store(&s->armed[i], 1);
	(void)snprintf(text, sizeof(text), "protocol '%s' on %s, %s", a->protocol->name,
		       a->engine->name, s->place[i]);
	bs_worker_say(w->env, BS_EVENT_ARMED, 0,
		      (const uint64_t[3]){ a->need.total_bytes, (uint64_t)a->arm_ns / 1000 }, text);
	return 0;
}

static void say_fault(void *arg, const char *line)
{
	bs_worker_say(arg, BS_EVENT_FAULT, BS_ERR_CONFIG, NULL, line);
}

/* A protocol that cannot be is refused, with the reason for whoever asks for it; the rest serves. */
static void refuse(struct worker_recon *w, uint32_t i, const struct bs_fail *why)
{
	struct bs_shared *s = w->env->shm.s;

	(void)snprintf(s->refusal[i], sizeof(s->refusal[i]), "%s", why->text);
	s->refused[i] = why->code;
}

static int arm_all(struct worker_recon *w)
{
	static struct bs_memplan plan;
	struct bs_fail why = { 0 };
	int rc;

	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++) {
		atomic_store(&w->env->shm.s->armed[i], 0);
		w->env->shm.s->refused[i] = 0;
	}
	bs_worker_phase(w->env, BS_PHASE_ARMING);
	bs_rt_gpu(w->env);
	rc = bs_memplan_make(&plan, &w->env->site, say_fault, w->env);
	if (plan.code != 0)
		return rc;
	w->held = calloc(w->env->shm.acq_pool->slots, sizeof(*w->held));
	rc = w->held == NULL ? bs_fail(&why, BS_ERR_NOMEM, "a list of the pool's slots")
			     : bs_team_open(&w->team, (int)w->env->site.threads, &why);
	if (rc != 0) {
		bs_worker_say(w->env, BS_EVENT_FAULT, rc, NULL, why.text);
		return rc;
	}
	rc = BS_ERR_CONFIG; /* all of them refused: there is nothing to serve */
	for (uint32_t i = 0; i < w->env->site.protocols; i++) {
		if (plan.protocol[i].why.code != 0) {
			refuse(w, i, &plan.protocol[i].why);
		} else if (arm_one(w, i, &why) == 0) {
			rc = 0;
		} else {
			bs_worker_say(w->env, BS_EVENT_FAULT, why.code, NULL, why.text);
			refuse(w, i, &why);
		}
		bs_worker_beat(w->env);
	}
	return rc;
}

static void disarm_all(struct worker_recon *w)
{
	for (uint32_t i = 0; i < w->env->site.protocols; i++)
		bs_armed_close(&w->armed[i]);
	bs_team_close(w->team);
	free(w->held);
}

/* The scan's first fault is the one that its outcome names. */
static void scan_fault(struct worker_recon *w, const struct bs_fail *why)
{
	struct bs_scan_record *scan = &w->env->shm.s->scan;

	if (scan->recon_code != 0)
		return;
	(void)snprintf(scan->recon_text, sizeof(scan->recon_text), "%s", why->text);
	scan->recon_code = why->code;
}

/* Until emit gives one back: images are never dropped here, the stream is slowed down instead. */
static bool wait_image_slot(struct worker_recon *w, uint32_t *slot)
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
			return false; /* cannot be while recon lives, but never wait for it */
	}
}

/* Admission has checked both counters. */
static struct stamps *stamps_of(struct worker_recon *w, uint32_t slice, uint32_t contrast)
{
	return &w->stamps[bs_protocol_frame(w->current->protocol, slice, contrast) % BS_FRAMES_MAX];
}

/* A step of the ladder, counted, named, and what it asks of the frames to come. */
static void step(struct worker_recon *w, enum bs_rung before)
{
	struct bs_budget_record *r = &w->env->shm.s->budget[w->protocol];
	struct bs_budget *b = &w->budget[w->protocol];

	bs_count(b->rung > before ? &r->down[b->rung] : &r->up[b->rung], 1);
	atomic_store(&r->rung, (uint32_t)b->rung);
	bs_worker_say(w->env, BS_EVENT_RUNG, 0, (const uint64_t[3]){ w->scan, before, b->rung },
		      w->current->protocol->name);
}

static void aim(struct worker_recon *w)
{
	struct bs_aim a = bs_budget_aim(&w->budget[w->protocol]);

	bs_recon_aim(w->current->recon, &a);
}

/* What emit says of the images that were handed on since the last look. */
static void read_results(struct worker_recon *w)
{
	const struct bs_budget_record *r = &w->env->shm.s->budget[w->protocol];
	struct bs_budget *b = &w->budget[w->protocol];
	uint64_t end = atomic_load(&r->results);

	if (end - w->results > BS_RESULTS_KEPT)
		w->results = end - BS_RESULTS_KEPT;
	for (; w->results != end; w->results++) {
		uint64_t v = atomic_load(&r->result[w->results % BS_RESULTS_KEPT]);
		enum bs_rung before = b->rung;

		if (v >> 40 == (w->scan & 0xffffff) &&
		    bs_budget_handed(b, (enum bs_rung)(v >> 36 & 15),
				     (enum bs_budget_result)(v >> 32 & 15),
				     (int64_t)(v & UINT32_MAX) * 1000))
			step(w, before);
	}
}

/* What is done to a slot's image before emit may see it. */
static void describe(struct worker_recon *w, struct bs_image_meta *m, int64_t begun_ns)
{
	struct bs_scan_record *scan = &w->env->shm.s->scan;
	struct bs_armed *a = w->current;
	const struct stamps *t = stamps_of(w, m->image.head.slice, m->image.head.contrast);
	bool whole = m->image.missing == 0;
	enum bs_rung before = w->budget[w->protocol].rung;

	m->made_ns = bs_now_ns();
	m->begun_ns = begun_ns;
	m->ready_ns = w->ready_ns;
	m->sender_ns = t->sender_ns;
	m->from_ns = whole ? m->image.last_ns : w->told_ns;
	m->acq_handed_ns = whole ? t->handed_ns : 0;
	m->taken_ns = whole ? t->taken_ns : 0;
	m->added_ns = whole ? t->added_ns : 0;
	m->scan = w->scan;
	m->session = w->session;
	m->protocol = w->protocol;
	(void)snprintf(m->engine, sizeof(m->engine), "%s", bs_recon_engine(a->recon, &m->image));
	/* grows over recon's restarts, too */
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

static void add_times(struct worker_recon *w, const struct bs_image_meta *m)
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
 * Only previews are due, and they would cost more than their own time: the next one's readouts are here
 * already, or an image slot that a frame will want soon. They are left out, and counted.
 */
static bool skips_previews(struct worker_recon *w)
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

/* Between images, not before one; the team's members write theirs at our word alone. */
static void note_costs(struct worker_recon *w)
{
	int64_t now = bs_now_ns();

	if (!w->unnoted || now - w->noted_ns < BS_THREAD_NS)
		return;
	bs_rt_note_team(w->env, w->team);
	w->noted_ns = now;
	w->unnoted = false;
}

/* told_ns: when what made the frame ready was received. 0, or the engine's failure when this process
 * must be replaced. */
static int make_images(struct worker_recon *w, int64_t told_ns)
{
	struct bs_shm *shm = &w->env->shm;
	struct bs_recon *r = w->current->recon;
	struct bs_fail why = { 0 };
	uint32_t slot;

	w->told_ns = told_ns;
	while (bs_recon_ready(r) > 0 && !skips_previews(w)) {
		if (!wait_image_slot(w, &slot))
			return BS_ERR_ABORTED;
		struct bs_image_meta *m = &shm->image_meta[slot];
		int64_t begun = bs_now_ns();

		read_results(w);
		aim(w);
		m->image.pixels = (float *)(bs_shm_image(shm, slot) + BS_POOLS_PIXELS);
		int rc = bs_recon_pop(r, &m->image,
				      bs_budget_deadline(&w->budget[w->protocol], told_ns), &why);

		if (rc != 1) {
			bs_pool_give(shm->image_pool, slot);
			if (rc == 0)
				return 0;
			bs_count(&shm->s->totals.engine_faults, 1);
			bs_worker_say(w->env, BS_EVENT_FAULT, rc, NULL, why.text);
			scan_fault(w, &why);
			if (rc == BS_ERR_GPU) /* a CUDA error is sticky: only a new process helps */
				return rc;
			continue;
		}
		describe(w, m, begun);
		if (!m->image.preview)
			add_times(w, m);
		(void)bs_ring_push(shm->image_ring, bs_entry(BS_ENTRY_IMAGE, w->scan, slot));
		bs_shm_ring_bell(shm, BS_WORKER_EMIT);
		bs_worker_beat(w->env);
		w->unnoted = true;
		note_costs(w);
	}
	return 0;
}

/* The slots that have been read go back to ingest. wait: all of them. */
static void give_back(struct worker_recon *w, bool wait)
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

static void open_scan(struct worker_recon *w, uint64_t entry)
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
	w->results = atomic_load(&w->env->shm.s->budget[w->protocol].results);
	bs_budget_scan(&w->budget[w->protocol]);
	atomic_store(&w->env->shm.s->budget[w->protocol].rung, BS_RUNG_FULL);
	aim(w);
	bs_recon_scan(w->current->recon, &scan->info);
}

/* At once, unless the engine reads it where it lies. */
static void give_slot(struct worker_recon *w, uint32_t slot, bool mine)
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

static int take_readout(struct worker_recon *w, uint32_t slot, int64_t taken_ns)
{
	struct bs_shm *shm = &w->env->shm;
	const struct bs_acq_meta *m = &shm->acq_meta[slot];
	struct bs_fail why = { 0 };
	int rc;

	bs_hist_add(bs_shm_hist(shm, w->protocol, BS_STAGE_QUEUE), taken_ns - m->handed_ns);
	read_results(w);
	aim(w);
	do {
		rc = bs_recon_readout(w->current->recon, &m->head, m->row,
				      bs_shm_samples(shm, slot), m->received_ns, &why);
		w->ready_ns = bs_now_ns();
		if (rc == 0) {
			bs_hist_add(bs_shm_hist(shm, w->protocol, BS_STAGE_ADD),
				    w->ready_ns - taken_ns);
			*stamps_of(w, m->head.idx.slice, m->head.idx.contrast) =
				(struct stamps){ m->sender_ns, m->handed_ns, taken_ns,
						 w->ready_ns };
		}
		int made = make_images(w, m->received_ns);

		if (made != 0)
			return made;
	} while (rc == BS_RECON_POP_FIRST);
	if (rc < 0) {
		bs_count(&shm->s->scan.unused, 1);
		bs_worker_say(w->env, BS_EVENT_REJECTED, rc, (const uint64_t[3]){ w->scan },
			      why.text);
		scan_fault(w, &why);
	}
	return rc == BS_ERR_GPU ? rc : 0;
}

static int close_scan(struct worker_recon *w)
{
	int rc;

	w->ready_ns = bs_now_ns();
	bs_recon_close(w->current->recon);
	rc = make_images(w, w->ready_ns);
	give_back(w, true);
	w->current = NULL;
	if (rc != 0)
		return rc;
	(void)bs_ring_push(w->env->shm.image_ring, bs_entry(BS_ENTRY_END, w->scan, 0));
	bs_shm_ring_bell(&w->env->shm, BS_WORKER_EMIT);
	return 0;
}

/* One entry of ingest's queue. A slot is given back only after the entry is out of the ring. */
static int take_entry(struct worker_recon *w, uint64_t entry)
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

/* Until there may be work. While a scan runs a site may want it polled for: no sleep, no bell. */
static void rest(struct worker_recon *w)
{
	struct bs_worker_env *env = w->env;

	note_costs(w);
	if (w->current != NULL && env->site.realtime.wait == BS_WAIT_POLL) {
		bs_worker_beat(env);
		bs_rt_publish(env, BS_THREAD_RECON, bs_now_ns());
		return;
	}
	bs_bell_announce(&env->me->bell);
	if (bs_ring_count(env->shm.acq_ring) == 0)
		bs_worker_sleep(env, NULL, 0, INT64_MAX);
	else
		bs_bell_awake(&env->me->bell, env->shm.bell_fd[env->who]);
}

static int work(struct worker_recon *w)
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
	static struct worker_recon w;
	int rc;

	w.env = env;
	if (arm_all(&w) != 0)
		return BS_EXIT_HOPELESS;
	/* arming computes for minutes, at nobody's expense; from here on time counts */
	bs_rt_lock(env, false);
	bs_rt_enter_team(env, w.team);
	bs_rt_throttle(env);
	bs_worker_phase(env, BS_PHASE_READY);
	rc = work(&w);
	if (rc != 0) /* a device in error may hang whoever tries to tidy up: the end does it all */
		_exit(BS_EXIT_REPLACE);
	disarm_all(&w);
	return 0;
}
