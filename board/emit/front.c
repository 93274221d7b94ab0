/* board/emit/front.c - see front.h */
#include "board/emit/front.h"

#include <inttypes.h>
#include <stdio.h>

#include "board/emit/flight.h"
#include "core/thread/clock.h"

#define SAY_NS   INT64_C(1000000000)
#define AWAIT_NS INT64_C(5000000000) /* longest wait of a scan's outcome for the takers */

static struct bs_images_record *line_of(const struct emit *e)
{
	return &e->env->shm.s->images;
}

uint64_t bs_front_next(const struct emit *e, uint32_t taker)
{
	const uint64_t had = atomic_load(&bs_emit_record(e, taker)->had);
	const uint64_t base = bs_emit_base(e);

	return had > base ? had - base : 0;
}

static void set_next(struct emit *e, uint32_t taker, uint64_t index)
{
	atomic_store(&bs_emit_record(e, taker)->had, bs_emit_base(e) + index);
}

/* True if the taker has been at one image for too long. */
static bool is_stuck(const struct emit *e, uint32_t taker)
{
	const int64_t since_ns = atomic_load(&bs_emit_record(e, taker)->since_ns);

	return since_ns != 0 && bs_now_ns() - since_ns > BS_FRONT_STUCK_NS;
}

struct bs_image_meta *bs_front_image(const struct emit *e, uint64_t index, uint32_t *slot)
{
	const struct bs_ring *r = e->env->shm.image_ring;
	const uint64_t entry = r->entry[index & r->mask];

	*slot = bs_entry_slot(entry);
	return bs_entry_kind(entry) == BS_ENTRY_IMAGE && *slot < e->env->shm.image_pool->slots
		       ? &e->env->shm.image_meta[*slot]
		       : NULL;
}

static bool held(const struct emit *e, uint32_t slot)
{
	bool any = false;

	for (uint32_t i = 0; i < BS_TAKERS; i++)
		any = any || atomic_load(&bs_emit_record(e, i)->hand) == slot + UINT64_C(1);
	return any;
}

static void give(struct emit *e, uint32_t slot)
{
	if (held(e, slot))
		return;
	bs_pool_give(e->env->shm.image_pool, slot);
	bs_shm_ring_bell(&e->env->shm, BS_WORKER_RECON);
}

/*
 * True if an earlier service, killed during the image's scan, had stored this image already. Then
 * the store has it, and so have takers with a cursor in the store, under its number of that time.
 */
static bool is_kept(const struct emit *e, uint32_t taker, const struct bs_image_meta *m)
{
	const struct bs_shared *s = e->env->shm.s;
	const struct bs_images_record *line = line_of(e);
	bool reopened = false;
	bool kept = false;

	for (int i = 0; i < 2; i++) {
		reopened = reopened || m->scan == atomic_load(&s->reopened[i].scan);
		kept = kept || (m->session == line->kept[i].session &&
				m->image.number <= (m->image.preview ? line->kept[i].preview
								     : line->kept[i].image));
	}
	return reopened && kept && (taker == BS_TAKER_IMAGES || e->taker[taker]->cursor[0] != '\0');
}

bool bs_front_take(struct emit *e, uint32_t taker, uint32_t *slot)
{
	struct bs_taker_record *r = bs_emit_record(e, taker);
	const uint64_t ready = atomic_load(&line_of(e)->ready);

	for (uint64_t next = bs_front_next(e, taker); next < ready; next++) {
		struct bs_image_meta *m = bs_front_image(e, next, slot);
		const bool kept = m != NULL && is_kept(e, taker, m);

		if (m != NULL && !kept && !atomic_load(&m->failed)) {
			atomic_store(&r->hand_at, next);
			atomic_store(&r->hand, *slot + UINT64_C(1));
			set_next(e, taker, next + 1);
			atomic_store(&r->since_ns, bs_now_ns());
			return true;
		}
		atomic_fetch_add(kept ? &r->handed : &r->failed, m != NULL);
		if (kept)
			atomic_fetch_add(&m->takers, 1);
		set_next(e, taker, next + 1);
	}
	return false;
}

void bs_front_drop(struct emit *e, uint32_t taker)
{
	struct bs_taker_record *r = bs_emit_record(e, taker);
	const uint64_t hand = atomic_load(&r->hand);

	atomic_store(&r->since_ns, 0);
	atomic_store(&r->hand, 0);
	atomic_store(&r->blame, 0);
	if (hand != 0 && hand != BS_HAND_STORED &&
	    atomic_load(&r->hand_at) < atomic_load(&e->env->shm.image_ring->tail))
		give(e, (uint32_t)(hand - 1));
}

uint64_t bs_front_first(const struct emit *e)
{
	return bs_emit_base(e) + atomic_load(&e->env->shm.image_ring->tail);
}

bool bs_front_behind(const struct bs_taker *t)
{
	return t->cursor[0] != '\0' && atomic_load(&t->r->had) < bs_front_first(t->e);
}

/* ---- what a taker did not get ---- */

void bs_front_say_shed(struct bs_taker *t, bool now)
{
	const int64_t now_ns = bs_now_ns();
	char line[200];

	if (t->sheds == 0 || (!now && t->said_ns != 0 && now_ns - t->said_ns < SAY_NS))
		return;
	(void)snprintf(line, sizeof(line),
		       "%.64s %s: %" PRIu64 " images shed, %" PRIu64 " since the start", t->r->name,
		       t->nobody ? "is not there" : "does not keep up", t->sheds,
		       atomic_load(&t->r->shed));
	t->sheds = 0;
	t->said_ns = now_ns;
	bs_emit_say(t->e, BS_EVENT_LIMIT, 0, line);
}

void bs_front_missed(struct bs_taker *t, uint64_t session)
{
	atomic_fetch_add(&t->r->shed, 1);
	t->sheds++;
	bs_emit_undelivered(t->e, session, 1);
	bs_front_say_shed(t, false);
}

void bs_front_no_more_behind(struct bs_taker *t)
{
	if (atomic_load(&t->r->behind) > 0)
		atomic_fetch_sub(&t->r->behind, 1);
}

/* True if the taker has image `number` in hand, in a slot or in its buffer. */
static bool has_in_hand(const struct bs_taker *t, uint64_t number)
{
	const uint64_t hand = atomic_load(&t->r->hand);
	const uint64_t at = atomic_load(&t->r->hand_at);

	return hand == BS_HAND_STORED ? t->read && at == number
				      : hand != 0 && bs_emit_base(t->e) + at + 1 == number;
}

void bs_front_gone(struct bs_taker *t, uint64_t session, uint64_t number)
{
	/* the store was to give the image, now or later */
	const bool due = atomic_load(&t->r->had) < number;

	t->losses++;
	if (due)
		bs_front_no_more_behind(t);
	if (has_in_hand(t, number)) {
		atomic_fetch_add(&t->r->lost, atomic_load(&t->r->hand_gone) != number);
		atomic_store(&t->r->hand_gone, number);
	} else if ((t->id != BS_TAKER_ARCHIVE || !bs_flight_gone(t, number)) && due) {
		bs_front_missed(t, session);
	}
}

bool bs_front_quiet(const struct bs_taker *t)
{
	const uint64_t ready = atomic_load(&t->e->env->shm.s->images.ready);

	return (atomic_load(&t->r->hand) == 0 && bs_front_next(t->e, t->id) >= ready) ||
	       atomic_load(&t->absent) || t->retry_ns != 0 || bs_front_behind(t) ||
	       is_stuck(t->e, t->id);
}

/* True if the store has the image, or is storing it now; taker.c reports how that ends. */
static bool is_stored(const struct emit *e, uint64_t index, const struct bs_image_meta *m)
{
	const struct bs_taker_record *store = bs_emit_record(e, BS_TAKER_IMAGES);

	return atomic_load(&m->stored) ||
	       (bs_emit_in_hand(store) && atomic_load(&store->hand_at) == index);
}

/*
 * Lets a taker go without one image, since its slot is needed or no taker is there. The image is
 * counted before the cursor moves beyond it: if this process ends in between, it is counted twice,
 * never forgotten.
 */
static void let_go(struct emit *e, uint32_t taker, uint64_t index, const struct bs_image_meta *m)
{
	struct bs_taker_record *r = bs_emit_record(e, taker);
	bool spills = r->policy == BS_POLICY_SPILL && e->images != NULL;
	const bool kept = is_kept(e, taker, m);

	if (!kept && spills && is_stored(e, index, m)) {
		/* the taker's cursor stays: the store will give it the image */
		atomic_fetch_add(&r->behind, 1);
		return;
	}
	if (kept)
		atomic_fetch_add(&r->handed, 1);
	else if (atomic_load(&m->failed))
		atomic_fetch_add(&r->failed, 1);
	else
		bs_front_missed(e->taker[taker], m->session);
	if (!spills)
		set_next(e, taker, index + 1);
}

void bs_front_pass(struct emit *e, uint32_t taker, uint64_t until)
{
	uint32_t slot;

	for (uint64_t i = bs_front_next(e, taker); i < until; i++) {
		const struct bs_image_meta *m = bs_front_image(e, i, &slot);

		if (m != NULL)
			let_go(e, taker, i, m);
		set_next(e, taker, i + 1);
	}
}

/* ---- closing entries: images and ends of scans ---- */

/* True if this entry needs no more waiting for the taker: it has had the entry, or will have it. */
static bool may_close(const struct emit *e, uint32_t taker, uint64_t index, bool image)
{
	const struct bs_taker_record *r = bs_emit_record(e, taker);
	bool had = bs_front_next(e, taker) > index &&
		   (atomic_load(&r->hand) == 0 || atomic_load(&r->hand_at) > index);

	if (had || !image)
		return had || bs_front_quiet(e->taker[taker]);
	return r->policy != BS_POLICY_WAIT || (taker == BS_TAKER_IMAGES && is_stuck(e, taker));
}

static void close_image(struct emit *e, const struct bs_image_meta *m, uint64_t index)
{
	struct bs_scan_record *scan = &e->env->shm.s->scan[m->scan & 1];
	bool taken = atomic_load(&m->takers) > 0;

	for (uint32_t i = 0; i < BS_TAKERS; i++) {
		const struct bs_taker_record *r = bs_emit_record(e, i);

		taken = taken || (e->taker[i] != NULL && !atomic_load(&m->failed) &&
				  (bs_front_next(e, i) <= index ||
				   (bs_emit_in_hand(r) && atomic_load(&r->hand_at) == index)));
	}
	if (!m->image.preview)
		bs_hist_add(bs_shm_hist(&e->env->shm, m->protocol, BS_STAGE_SINKS),
			    bs_now_ns() - m->handed_ns);
	if (!taken && !m->image.preview)
		bs_count(&e->env->shm.s->totals.unsent, 1);
	if (m->scan == atomic_load(&scan->id) && !m->image.preview)
		bs_count(taken ? &scan->images_left : &scan->images_unsent, 1);
}

static void end_scan(struct emit *e, uint64_t entry)
{
	struct bs_scan_record *scan = &e->env->shm.s->scan[bs_entry_place(entry)];
	uint64_t id = atomic_load(&scan->id);
	const uint64_t unsent = atomic_load(&scan->images_unsent);
	const uint64_t undelivered = atomic_load(&scan->undelivered);
	const struct bs_fail first = e->unwritten;

	e->unwritten.code = 0;
	for (uint32_t i = 0; i < BS_TAKERS; i++)
		if (e->taker[i] != NULL)
			bs_front_say_shed(e->taker[i], true);
	if (!bs_entry_of(entry, id))
		return;
	if (atomic_load(&e->swept[id & 1]) && undelivered != 0 && scan->emit_code == 0) {
		(void)snprintf(scan->emit_text, sizeof(scan->emit_text),
			       "overload.spill_dir was removed within the scan, and %llu images "
			       "did not reach a taker",
			       (unsigned long long)undelivered);
		scan->emit_code = BS_ERR_IO;
	}
	if (unsent != 0 && scan->emit_code == 0) {
		(void)snprintf(scan->emit_text, sizeof(scan->emit_text), "%llu images %s%.300s",
			       (unsigned long long)unsent,
			       first.code != 0 ? "were taken by nobody: "
					       : "found nobody to take them (no archive or file)",
			       first.code != 0 ? first.text : "");
		scan->emit_code = BS_ERR_IO;
	}
	atomic_store(&scan->ended, id);
	bs_shm_ring_bell(&e->env->shm, BS_WORKER_INGEST);
}

/*
 * True if a scan's end waits no longer for takers. In general the sender gets the scan's outcome
 * when the takers have had all of its images. But no taker is waited for longer than AWAIT_NS, or
 * once the service ends; its images still wait for it.
 */
static bool end_is_due(struct emit *e)
{
	if (e->end_ns == 0)
		e->end_ns = bs_now_ns();
	return bs_worker_stop(e->env) || bs_now_ns() - e->end_ns > AWAIT_NS;
}

static void close_entries(struct emit *e)
{
	struct bs_images_record *line = line_of(e);
	const struct bs_ring *ring = e->env->shm.image_ring;
	const uint64_t ready = atomic_load(&line->ready);
	uint64_t at = atomic_load(&line->closed);
	uint32_t slot;

	for (; at < ready; at++) {
		const struct bs_image_meta *m = bs_front_image(e, at, &slot);
		const uint64_t entry = ring->entry[at & ring->mask];
		bool all = true;

		for (uint32_t i = 0; i < BS_TAKERS; i++)
			all = all && (e->taker[i] == NULL || may_close(e, i, at, m != NULL));
		if (!all && (m != NULL || !end_is_due(e)))
			break;
		if (m != NULL)
			close_image(e, m, at);
		else if (bs_entry_kind(entry) == BS_ENTRY_END)
			end_scan(e, entry);
		e->end_ns = 0;
		atomic_store(&line->closed, at + 1);
	}
}

/* ---- slots ---- */

/* The oldest entry of the newest overload.queue images: policies that do not wait keep no older. */
static uint64_t newest(const struct emit *e)
{
	const uint64_t tail = atomic_load(&e->env->shm.image_ring->tail);
	uint64_t at = atomic_load(&line_of(e)->ready);
	uint32_t slot;

	for (uint32_t n = e->env->site.overload.queue; at > tail && n > 0; at--)
		n -= bs_front_image(e, at - 1, &slot) != NULL;
	return at;
}

/*
 * The oldest entry that the archive's connection may still hold: it stays in its slot, unless newer
 * images need the slot. UINT64_MAX: none is kept.
 */
static uint64_t unsafe(const struct emit *e, uint64_t low)
{
	const uint64_t safe = atomic_load(&bs_emit_record(e, BS_TAKER_ARCHIVE)->safe);
	const uint64_t next = bs_front_next(e, BS_TAKER_ARCHIVE);
	const uint64_t kept = bs_pools_unsafe(e->env->shm.s->pools.image_bytes);
	const uint64_t oldest = next > kept ? next - kept : 0;
	const uint64_t from = safe > bs_emit_base(e) ? safe - bs_emit_base(e) : 0;

	if (e->taker[BS_TAKER_ARCHIVE] == NULL ||
	    (next < low && bs_emit_record(e, BS_TAKER_ARCHIVE)->policy != BS_POLICY_WAIT))
		return UINT64_MAX;
	return from > oldest ? from : oldest;
}

bool bs_front_trim(struct emit *e)
{
	struct bs_ring *ring = e->env->shm.image_ring;
	const uint64_t tail = atomic_load(&ring->tail);
	const uint64_t closed = atomic_load(&line_of(e)->closed);
	const uint64_t low = newest(e);
	uint64_t limit;
	uint32_t slot;

	close_entries(e);
	limit = atomic_load(&line_of(e)->closed);
	limit = unsafe(e, low) < limit ? unsafe(e, low) : limit;
	for (uint32_t i = 0; i < BS_TAKERS; i++) {
		const struct bs_taker_record *r = bs_emit_record(e, i);
		uint64_t pin = bs_front_next(e, i);

		if (e->taker[i] == NULL)
			continue;
		if (pin < low &&
		    (r->policy != BS_POLICY_WAIT || (i == BS_TAKER_IMAGES && is_stuck(e, i))))
			pin = low;
		limit = pin < limit ? pin : limit;
	}
	for (uint64_t at = atomic_load(&ring->tail); at < limit; at++) {
		const struct bs_image_meta *m = bs_front_image(e, at, &slot);

		/* the store comes first: a spilling taker asks whether the store has the image */
		for (uint32_t i = BS_TAKERS; m != NULL && i-- > 0;) {
			if (e->taker[i] != NULL && bs_front_next(e, i) <= at)
				let_go(e, i, at, m);
			else if (i == BS_TAKER_ARCHIVE && e->taker[i] != NULL &&
				 e->taker[i]->cursor[0] != '\0' && !is_stored(e, at, m))
				bs_front_gone(e->taker[i], m->session, bs_emit_base(e) + at + 1);
		}
		bs_ring_advance(ring); /* the entry is taken before recon can reuse the slot */
		if (m != NULL)
			give(e, slot);
	}
	return atomic_load(&ring->tail) != tail || atomic_load(&line_of(e)->closed) != closed;
}

/* ---- for the first thread ---- */

bool bs_front_look(const struct emit *e, uint64_t *entry)
{
	return bs_ring_look(e->env->shm.image_ring, atomic_load(&line_of(e)->ready), entry);
}

void bs_front_ready(struct emit *e, bool image)
{
	for (uint32_t i = 0; image && i < BS_TAKERS; i++)
		if (e->taker[i] != NULL)
			atomic_fetch_add(&bs_emit_record(e, i)->taken, 1);
	atomic_fetch_add(&line_of(e)->ready, 1);
}

bool bs_front_empty(const struct emit *e)
{
	return atomic_load(&line_of(e)->closed) == atomic_load(&e->env->shm.image_ring->head);
}

/* ---- what a predecessor left ---- */

static uint64_t images_from(const struct emit *e, uint64_t index, uint64_t until)
{
	uint64_t n = 0;
	uint32_t slot;

	for (; index < until; index++)
		n += bs_front_image(e, index, &slot) != NULL;
	return n;
}

/* True if the archive gets its image in hand again, from the queue or from the store. */
static bool comes_again(const struct emit *e, const struct bs_taker_record *r)
{
	const uint64_t at = atomic_load(&r->hand_at);

	return at >= atomic_load(&e->env->shm.image_ring->tail) ||
	       (atomic_load(&e->env->shm.image_meta[atomic_load(&r->hand) - 1].stored) &&
		atomic_load(&r->hand_gone) != bs_emit_base(e) + at + 1);
}

/* Sets the archive's cursor back to its last safe image; returns how many images it gets again. */
static uint64_t rewind_archive(struct emit *e)
{
	struct bs_taker_record *r = bs_emit_record(e, BS_TAKER_ARCHIVE);
	const uint64_t tail = atomic_load(&e->env->shm.image_ring->tail);
	const uint64_t base = bs_emit_base(e);
	uint64_t from = atomic_load(&r->safe);
	uint64_t again;

	/* images of other policies are not in the store */
	if (r->policy != BS_POLICY_SPILL && from < base + tail)
		from = base + tail;
	if (from >= atomic_load(&r->had) ||
	    (bs_emit_in_hand(r) && from >= base + atomic_load(&r->hand_at)))
		return 0; /* no sent image is unsafe */
	if (bs_emit_in_hand(r) && comes_again(e, r)) {
		bs_front_drop(e, BS_TAKER_ARCHIVE);
		atomic_store(&r->had, base + atomic_load(&r->hand_at));
	}
	again = images_from(e, from > base + tail ? from - base : tail,
			    bs_front_next(e, BS_TAKER_ARCHIVE));
	atomic_store(&r->had, from);
	again = again < atomic_load(&r->handed) ? again : atomic_load(&r->handed);
	atomic_fetch_sub(&r->handed, again);
	atomic_fetch_add(&e->env->shm.s->totals.repeated, again);
	return again;
}

static uint64_t newest_session(const struct emit *e)
{
	return atomic_load(
		&e->scan[atomic_load(&e->scan[1].scan) > atomic_load(&e->scan[0].scan)].session);
}

/*
 * Images that were sent and whose slots were reused may have arrived; nobody knows, so they count
 * as lost. Images that the store has lost were counted as lost before.
 */
void bs_front_rewind(struct emit *e)
{
	struct bs_taker_record *r = bs_emit_record(e, BS_TAKER_ARCHIVE);
	const uint64_t again = rewind_archive(e);
	const bool spills = r->policy == BS_POLICY_SPILL;
	const uint64_t gone = atomic_exchange(&r->gone, 0);
	const uint64_t unsafe = atomic_exchange(&r->unsafe, 0);
	const uint64_t lost = spills ? gone : unsafe > again ? unsafe - again : 0;
	char line[200];

	e->taker[BS_TAKER_ARCHIVE]->counted = !spills;
	if (lost == 0)
		return;
	if (!spills) {
		atomic_fetch_sub(&r->handed, lost);
		atomic_fetch_add(&r->lost, lost);
	}
	bs_emit_undelivered(e, newest_session(e), lost);
	(void)snprintf(line, sizeof(line),
		       "archive: %llu images that were in its connection when that broke are not "
		       "kept any more: they may not have arrived",
		       (unsigned long long)lost);
	bs_emit_say(e, BS_EVENT_LIMIT, 0, line);
}

void bs_front_count(struct emit *e, uint32_t taker)
{
	struct bs_taker_record *r = bs_emit_record(e, taker);
	const uint64_t ready = atomic_load(&line_of(e)->ready);
	const uint64_t tail = atomic_load(&e->env->shm.image_ring->tail);
	const uint64_t next = bs_front_next(e, taker);

	atomic_store(&r->taken, atomic_load(&r->handed) + atomic_load(&r->failed) +
					atomic_load(&r->shed) + atomic_load(&r->lost) +
					atomic_load(&r->behind) + bs_emit_in_hand(r) +
					images_from(e, next > tail ? next : tail, ready));
}

/*
 * Settles a predecessor's image in hand that the store has lost. It is lost if no slot has it. If
 * the taker had it already, it is not lost; for a sink only the files tell.
 */
static void inherit_gone(struct emit *e, uint32_t taker)
{
	struct bs_taker_record *r = bs_emit_record(e, taker);

	if (atomic_load(&r->hand_gone) == 0 || bs_emit_in_hand(r))
		return;
	if (atomic_load(&r->hand) == 0 && taker != BS_TAKER_ARCHIVE)
		atomic_fetch_sub(&r->lost, 1);
	else
		bs_emit_undelivered(e, newest_session(e), 1);
	atomic_store(&r->hand_gone, 0);
}

static void inherit(struct emit *e, uint32_t taker)
{
	struct bs_taker_record *r = bs_emit_record(e, taker);
	uint64_t hand;

	if (taker == BS_TAKER_VIEWERS && atomic_load(&r->hand_at) < atomic_load(&line_of(e)->ready))
		bs_front_drop(e, taker); /* the image's message is made */
	hand = atomic_load(&r->hand);
	if (bs_emit_in_hand(r) && bs_front_next(e, taker) == atomic_load(&r->hand_at))
		/* the predecessor ended between taking the image and moving the cursor */
		set_next(e, taker, atomic_load(&r->hand_at) + 1);
	if (hand != 0) {
		atomic_fetch_add(&r->blame, atomic_load(&e->env->me->killed) ? 1u : BS_EMIT_BLAME);
		atomic_fetch_add(&e->env->shm.s->totals.repeated, 1);
	}
	atomic_store(&r->since_ns, hand != 0 ? bs_now_ns() : 0);
	if (taker == BS_TAKER_VIEWERS)
		return;
	inherit_gone(e, taker);
	if (taker == BS_TAKER_ARCHIVE)
		bs_front_rewind(e);
	bs_front_count(e, taker); /* the predecessor may have ended between two counters */
}

void bs_front_open(struct emit *e)
{
	for (uint32_t i = 0; i < BS_TAKERS; i++)
		if (e->taker[i] != NULL || i == BS_TAKER_VIEWERS)
			inherit(e, i);
	atomic_store(&line_of(e)->begun, 1);
}
