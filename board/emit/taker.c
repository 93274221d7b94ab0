/* board/emit/taker.c - see taker.h */
#include "board/emit/taker.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/emit/flight.h"
#include "board/emit/front.h"
#include "board/service/realtime.h"
#include "core/thread/clock.h"
#include "core/thread/thread.h"

#define RETRY_NS INT64_C(200000000)
#define BACK_NS  INT64_C(20000000) /* time between two looks for an archive that is away */

/* ---- one image ---- */

static bool may_pass(const struct bs_taker *t, int rc)
{
	return t->r->policy == BS_POLICY_SPILL && (rc == BS_ERR_IO || rc == BS_ERR_NOMEM);
}

/* Tells the takers that an image is lost: the store refused it, and its slot is gone. */
static void unstored(const struct bs_taker *store, uint64_t session)
{
	struct emit *e = store->e;
	const uint64_t at = atomic_load(&store->r->hand_at);

	for (uint32_t i = 0; at < atomic_load(&e->env->shm.image_ring->tail) && i < BS_TAKERS; i++)
		if (e->taker[i] != NULL && e->taker[i]->cursor[0] != '\0')
			bs_front_gone(e->taker[i], session, bs_emit_base(e) + at + 1);
}

/* Counts and reports why the taker does not get the image in hand. */
static void count_refusal(struct bs_taker *t, uint64_t session, int rc, const struct bs_fail *why,
			  bool again)
{
	if (rc < 0 && t->id == BS_TAKER_IMAGES)
		unstored(t, session);
	if (rc == BS_ERR_TIMEOUT) { /* the taker was absent or too slow: the image is shed */
		bs_front_missed(t, session);
		return;
	}
	atomic_fetch_add(rc == BS_ERR_ABORTED ? &t->r->lost : &t->r->failed, 1);
	bs_emit_undelivered(t->e, session, 1);
	if (!again)
		bs_emit_fault(t->e, why);
	if (t->e->unwritten.code == 0)
		t->e->unwritten = *why;
}

/*
 * Settles an image in hand that the store has lost, and that counts as lost so far. An image that
 * was read from the store cannot be read again if the taker does not take it now.
 */
static void settle_gone(struct bs_taker *t, const struct bs_offer *o, int rc)
{
	const bool later = t->retry_ns != 0;

	if (atomic_load(&t->r->hand_gone) != o->number || (later && o->m != NULL))
		return;
	atomic_store(&t->r->hand_gone, 0);
	if (later) {
		bs_emit_undelivered(t->e, o->session, 1);
	} else if (rc != 0 || t->id != BS_TAKER_ARCHIVE || bs_flight_gone(t, o->number)) {
		atomic_fetch_sub(&t->r->lost, 1);
	}
}

/*
 * Settles what became of the image in hand. An image that the taker does not get is counted before
 * the cursor moves beyond it: none is forgotten whenever this process ends. With the lock held.
 */
static void settle(struct bs_taker *t, const struct bs_offer *o, int rc, const struct bs_fail *why)
{
	struct bs_taker_record *r = t->r;

	if (rc == BS_ENDPOINT_TIMEOUT || (rc != BS_ERR_ABORTED && may_pass(t, rc))) {
		if (rc < 0 && !t->refused)
			bs_emit_say(t->e, BS_EVENT_LIMIT, rc, why->text);
		t->refused = rc < 0;
		t->retry_ns = bs_now_ns() + (rc < 0 ? RETRY_NS : BACK_NS);
		settle_gone(t, o, rc);
		return;
	}
	bool again = rc < 0 && t->refused && t->id == BS_TAKER_IMAGES;

	t->refused = rc < 0;
	t->retry_ns = 0;
	if (rc != 0)
		count_refusal(t, o->session, rc, why, again);
	if (o->m != NULL)
		atomic_fetch_add(&o->m->takers, rc == 0);
	else
		atomic_store(&r->had, o->number);
	bs_front_drop(t->e, t->id);
	if (o->m == NULL && atomic_load(&r->hand_gone) != o->number)
		bs_front_no_more_behind(t);
	if (rc == 0) {
		t->nobody = false;
		/* the image is counted before flight, since rewind subtracts sent images */
		atomic_fetch_add(&r->handed, 1);
		if (t->id == BS_TAKER_ARCHIVE)
			bs_flight_sent(t, o);
	}
	settle_gone(t, o, rc);
}

/* Gives the taker its image in hand. With the lock held, released meanwhile. */
static void give(struct bs_taker *t, const struct bs_offer *o)
{
	struct bs_fail why = { 0 };
	int rc;

	(void)pthread_mutex_unlock(&t->e->lock);
	rc = bs_emit_blamed(t->e, t->r, &why) ? BS_ERR_ABORTED : t->deliver(t, o, &why);
	(void)pthread_mutex_lock(&t->e->lock);
	settle(t, o, rc, &why);
}

/* The image in hand, in its slot. */
static struct bs_offer offer_of(const struct bs_taker *t, uint32_t slot)
{
	const struct bs_message msg = bs_emit_message(t->e, slot);
	struct bs_image_meta *m = &t->e->env->shm.image_meta[slot];

	return (struct bs_offer){ msg.at, msg.len,
				  bs_emit_base(t->e) + atomic_load(&t->r->hand_at) + 1, m->session,
				  m };
}

/*
 * Counts the images that wait for the taker in the store, after a predecessor's end or when images
 * are sent again. With the lock held, released meanwhile.
 */
static void count_stored(struct bs_taker *t, struct bs_store *store)
{
	const struct bs_taker_record *its = bs_emit_record(t->e, BS_TAKER_IMAGES);
	const uint64_t had = atomic_load(&t->r->had);
	const uint64_t first = bs_front_first(t->e);
	const uint64_t hand = atomic_load(&its->hand);
	const uint64_t hand_at = atomic_load(&its->hand_at);
	const uint64_t losses = t->losses;
	uint64_t n;

	(void)pthread_mutex_unlock(&t->e->lock);
	n = first > had ? bs_store_waiting(store, had, first) : 0;
	(void)pthread_mutex_lock(&t->e->lock);
	if (first != bs_front_first(t->e) || had != atomic_load(&t->r->had) ||
	    hand != atomic_load(&its->hand) || hand_at != atomic_load(&its->hand_at) ||
	    losses != t->losses || n == BS_STORE_UNKNOWN)
		return; /* something changed meanwhile: counted again later */
	n += hand != 0 && bs_emit_base(t->e) + hand_at >= had &&
	     bs_emit_base(t->e) + hand_at < first;
	atomic_store(&t->r->behind, n);
	t->counted = true;
	bs_front_count(t->e, t->id);
}

/*
 * Gives the taker its next image from the store, if the queue has it no more. An image that is
 * being stored is not skipped before it is known whether that succeeds. With the lock held,
 * released meanwhile. False: there was nothing to do.
 */
static bool give_stored(struct bs_taker *t)
{
	const struct bs_taker_record *its = bs_emit_record(t->e, BS_TAKER_IMAGES);
	struct bs_store *store = atomic_load(&t->e->store);
	const uint64_t had = atomic_load(&t->r->had);
	struct bs_offer o = { 0 };
	struct bs_fail why = { 0 };
	uint64_t limit = bs_front_first(t->e);
	size_t len = 0;
	struct bs_wire w;
	int rc = 0;

	if (atomic_load(&its->hand) != 0 && bs_emit_base(t->e) + atomic_load(&its->hand_at) < limit)
		limit = bs_emit_base(t->e) + atomic_load(&its->hand_at);
	if (store == NULL)
		return false;
	t->retry_ns = 0;
	(void)pthread_mutex_unlock(&t->e->lock);
	while (limit > had &&
	       (rc = bs_store_next(store, &t->reader, had, t->buffer, &len, &why)) < 0 &&
	       rc != BS_ERR_TIMEOUT)
		bs_emit_fault(t->e, &why); /* the image is gone; the store has told the taker */
	if (rc == 1 && bs_wire_is_ours(&w, t->buffer, len))
		o = (struct bs_offer){ t->buffer + BS_STORE_HEAD, len - BS_STORE_HEAD, w.seq,
				       bs_wire_session(t->buffer + BS_STORE_HEAD), NULL };
	(void)pthread_mutex_lock(&t->e->lock);
	if (rc == BS_ERR_TIMEOUT) {
		t->retry_ns = bs_now_ns() + RETRY_NS;
		return false;
	}
	if (o.number == 0 || o.number > limit) {
		if (limit > had)
			atomic_store(&t->r->had, limit);
		return limit > had;
	}
	atomic_store(&t->r->had, o.number - 1); /* numbers in between are gone for good */
	atomic_store(&t->r->hand_at, o.number);
	atomic_store(&t->r->hand, BS_HAND_STORED);
	t->read = true;
	atomic_store(&t->r->since_ns, bs_now_ns());
	give(t, &o);
	t->read = false;
	(void)pthread_mutex_unlock(&t->e->lock);
	bs_taker_ack(t, store);
	(void)pthread_mutex_lock(&t->e->lock);
	return true;
}

/* Does one loop iteration of a taker's thread. With the lock held. False: nothing to do now. */
static bool advance_taker(struct bs_taker *t)
{
	struct bs_offer o;
	uint32_t slot;

	if (t->id == BS_TAKER_ARCHIVE && bs_flight_look(t))
		bs_front_rewind(t->e);
	if (t->direct || bs_now_ns() < t->retry_ns)
		return false;
	if (!t->counted && atomic_load(&t->e->store) != NULL)
		count_stored(t, atomic_load(&t->e->store));
	const uint64_t hand = atomic_load(&t->r->hand);
	const bool in_hand = hand != 0 && hand != BS_HAND_STORED;

	if (!in_hand && bs_front_behind(t))
		return give_stored(t);
	if (!in_hand && !bs_front_take(t->e, t->id, &slot))
		return false;
	o = offer_of(t, (uint32_t)(atomic_load(&t->r->hand) - 1));
	give(t, &o);
	return true;
}

static void *serve(void *arg)
{
	struct bs_taker *t = arg;
	struct emit *e = t->e;

	bs_rt_leave();
	(void)pthread_mutex_lock(&e->lock);
	while (!atomic_load(&e->quit)) {
		bool done = advance_taker(t);

		/* without news, takers would wake one another for ever */
		if (bs_front_trim(e) || done)
			(void)pthread_cond_broadcast(&e->change);
		if (done)
			continue;
		int64_t until_ns = t->retry_ns;

		if (until_ns == 0 && bs_front_behind(t))
			until_ns = bs_now_ns() + RETRY_NS;
		if (until_ns == 0 && t->id == BS_TAKER_ARCHIVE)
			until_ns = bs_flight_due();
		bs_lock_wait(&e->lock, &e->change, until_ns);
	}
	(void)pthread_mutex_unlock(&e->lock);
	return NULL;
}

void bs_taker_offered(struct bs_taker *t)
{
	uint32_t slot;

	if (t->direct || atomic_load(&t->r->hand) != 0 || bs_front_behind(t) ||
	    bs_front_next(t->e, t->id) + 1 != atomic_load(&t->e->env->shm.s->images.ready) ||
	    !bs_front_take(t->e, t->id, &slot))
		return;
	const struct bs_offer o = offer_of(t, slot);
	int rc;

	t->direct = true; /* the taker's thread does nothing meanwhile */
	(void)pthread_mutex_unlock(&t->e->lock);
	rc = bs_flight_send(t, &o, NULL);
	(void)pthread_mutex_lock(&t->e->lock);
	t->direct = false;
	if (rc == 0)
		settle(t, &o, 0, NULL);
}

void bs_taker_ack(struct bs_taker *t, struct bs_store *store)
{
	struct bs_taker_record *r = t->r;
	struct bs_fail why = { 0 };
	uint64_t number;

	if (t->cursor[0] == '\0')
		return;
	(void)pthread_mutex_lock(&t->e->lock);
	number = bs_emit_before(t->e, t->id);
	if (t->id == BS_TAKER_ARCHIVE && atomic_load(&r->safe) < number)
		number = atomic_load(&r->safe);
	(void)pthread_mutex_unlock(&t->e->lock);
	if (bs_store_ack(store, t->cursor, number, &why) != 0)
		bs_emit_fault(t->e, &why);
}

/* ---- start and stop ---- */

/*
 * Sets a taker's cursor in the first process of a service, from the store if the taker spills. The
 * store then knows the taker before it has an image for it.
 */
static void begin(struct bs_taker *t)
{
	uint64_t number = bs_emit_base(t->e);
	struct bs_fail why;

	if (t->cursor[0] != '\0') {
		struct bs_store *store = atomic_load(&t->e->store);

		number = bs_store_cursor(store, t->cursor, number);
		if (bs_store_ack(store, t->cursor, number, &why) != 0)
			bs_emit_fault(t->e, &why);
	}
	atomic_store(&t->r->had, number);
	atomic_store(&t->r->safe, number);
}

int bs_taker_make(struct emit *e, uint32_t id, const char *name, const char *cursor,
		  enum bs_policy policy, bs_deliver *deliver, struct bs_fail *why)
{
	struct bs_taker *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "%s", name);
	e->taker[id] = t;
	t->e = e;
	t->id = id;
	t->r = bs_emit_record(e, id);
	t->deliver = deliver;
	t->reader.fd = -1;
	t->r->policy = policy;
	t->r->queue = policy == BS_POLICY_WAIT ? 0 : e->env->site.overload.queue;
	(void)snprintf(t->r->name, sizeof(t->r->name), "%s", name);
	t->counted = policy != BS_POLICY_SPILL;
	if (policy == BS_POLICY_SPILL) {
		const size_t cap = bs_store_answer_max((size_t)e->env->shm.s->pools.image_bytes);

		(void)snprintf(t->cursor, sizeof(t->cursor), "%s", cursor);
		t->buffer = malloc(cap);
		if (t->buffer == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "%s: an image of %zu bytes", name, cap);
	}
	if (!bs_emit_succeeds(e))
		begin(t);
	return 0;
}

int bs_taker_start(struct bs_taker *t, struct bs_fail *why)
{
	int rc = bs_thread_start(&t->thread, serve, t);

	t->has_thread = rc == 0;
	return rc == 0 ? 0
		       : bs_fail(why, BS_ERR_NOMEM, "%s: its thread: %s", t->r->name, strerror(rc));
}

void bs_taker_stop(struct bs_taker *t)
{
	if (t->has_thread)
		(void)pthread_join(t->thread, NULL);
	t->has_thread = false;
	bs_front_say_shed(t, true);
}

void bs_taker_free(struct bs_taker *t)
{
	if (t == NULL)
		return;
	if (t->reader.fd >= 0)
		(void)close(t->reader.fd);
	free(t->buffer);
	free(t);
}
