/* board/emit/emit.c - see emit.h */
#include "board/emit/emit.h"

#include "core/thread/clock.h"
#include "core/thread/thread.h"

#define BACK_NS INT64_C(1000000000) /* time for an archive to reconnect */

void bs_emit_say(struct emit *e, enum bs_event_number number, int code, const char *text)
{
	(void)pthread_mutex_lock(&e->words);
	bs_worker_say(e->env, number, code, NULL, text);
	(void)pthread_mutex_unlock(&e->words);
}

void bs_emit_fault(struct emit *e, const struct bs_fail *why)
{
	atomic_fetch_add(&e->env->shm.s->totals.sink_faults, 1);
	bs_emit_say(e, BS_EVENT_FAULT, why->code, why->text);
}

void bs_emit_undelivered(struct emit *e, uint64_t session, uint64_t times)
{
	for (int i = 0; i < 2; i++) {
		struct bs_scan_record *scan = &e->env->shm.s->scan[i];

		if (session == atomic_load(&e->scan[i].session) &&
		    atomic_load(&e->scan[i].scan) == atomic_load(&scan->id))
			atomic_fetch_add_explicit(&scan->undelivered, times, memory_order_relaxed);
	}
}

void bs_emit_note_scan(struct emit *e, uint64_t scan, uint64_t session)
{
	const uint32_t at = scan & 1;

	if (atomic_load(&e->scan[at].scan) == scan)
		return;
	atomic_store(&e->scan[at].scan, 0); /* no thread sees a scan with another's session */
	atomic_store(&e->swept[at], false);
	atomic_store(&e->scan[at].session, session);
	atomic_store(&e->scan[at].scan, scan);
}

void bs_emit_init(struct emit *e, struct bs_worker_env *env)
{
	const struct bs_scan_record *scan = env->shm.s->scan;

	e->env = env;
	e->archive.socket = e->viewers.socket = e->solved.fd = -1;
	bs_lock_init(&e->lock, &e->change);
	(void)pthread_mutex_init(&e->words, NULL);
	if (atomic_load(&env->shm.s->taker[BS_TAKER_ARCHIVE].there))
		atomic_store(&e->back_by_ns, bs_now_ns() + BACK_NS);
	for (int i = 0; i < 2; i++)
		if (atomic_load(&scan[i].open)) /* opened before this process began */
			bs_emit_note_scan(e, atomic_load(&scan[i].id), scan[i].session);
}

bool bs_emit_has_archive(struct emit *e)
{
	bool there = bs_endpoint_connections_now(&e->archive) != 0;

	if (there)
		atomic_store(&e->back_by_ns, 0);
	else
		there = bs_now_ns() < atomic_load(&e->back_by_ns);
	atomic_store(&bs_emit_record(e, BS_TAKER_ARCHIVE)->there, there);
	return there;
}

bool bs_emit_blamed(struct emit *e, const struct bs_taker_record *r, struct bs_fail *why)
{
	if (atomic_load(&r->blame) < BS_EMIT_MOST)
		return false;
	atomic_fetch_add(&e->env->shm.s->totals.lost, 1);
	(void)bs_fail(why, BS_ERR_ABORTED,
		      "%.64s: its image was in hand whenever emit ended: it is given up", r->name);
	return true;
}

struct bs_message bs_emit_message(const struct emit *e, uint32_t slot)
{
	return bs_message_of(&e->env->shm.image_meta[slot],
			     bs_shm_leaving(&e->env->shm, slot) + BS_POOLS_PIXELS);
}

uint64_t bs_emit_before(const struct emit *e, uint32_t taker)
{
	const struct bs_taker_record *r = bs_emit_record(e, taker);
	const uint64_t had = atomic_load(&r->had);
	const uint64_t before = bs_emit_base(e) + atomic_load(&r->hand_at);

	return bs_emit_in_hand(r) && before < had ? before : had;
}
