/* board/emit/emit.c - see emit.h */
#include "board/emit/emit.h"

#include "core/thread/clock.h"
#include "core/thread/thread.h"

#define BACK_NS INT64_C(1000000000) /* an archive connects again within this time */

void bs_emit_say(struct emit *e, enum bs_event_number number, int code, const char *text)
{
	(void)pthread_mutex_lock(&e->lock);
	bs_worker_say(e->env, number, code, NULL, text);
	(void)pthread_mutex_unlock(&e->lock);
}

void bs_emit_fault(struct emit *e, const struct bs_fail *why)
{
	atomic_fetch_add(&e->env->shm.s->totals.sink_faults, 1);
	bs_emit_say(e, BS_EVENT_FAULT, why->code, why->text);
}

void bs_emit_undelivered(struct emit *e, uint64_t session, uint64_t times)
{
	struct bs_scan_record *scan = &e->env->shm.s->scan;

	if (session == atomic_load(&e->session) && atomic_load(&e->scan) == atomic_load(&scan->id))
		atomic_fetch_add_explicit(&scan->undelivered, times, memory_order_relaxed);
}

void bs_emit_note_scan(struct emit *e, uint64_t scan, uint64_t session)
{
	if (atomic_load(&e->scan) == scan)
		return;
	atomic_store(&e->scan, 0); /* so that no thread sees the one with the other's */
	atomic_store(&e->session, session);
	atomic_store(&e->scan, scan);
}

void bs_emit_init(struct emit *e, struct bs_worker_env *env)
{
	const struct bs_scan_record *scan = &env->shm.s->scan;

	e->env = env;
	e->archive.socket = e->viewers.socket = -1;
	bs_lock_init(&e->lock, &e->wake);
	if (atomic_load(&env->shm.s->taker[BS_TAKER_ARCHIVE].there))
		atomic_store(&e->back_by_ns, bs_now_ns() + BACK_NS);
	if (atomic_load(&scan->open)) /* a predecessor's */
		bs_emit_note_scan(e, atomic_load(&scan->id), scan->session);
}

int bs_emit_to_archive(struct emit *e, const unsigned char *msg, size_t len, struct bs_fail *why)
{
	int rc = bs_endpoint_send(&e->archive, msg, len, NULL, 0, 0, why);

	if (rc == 0)
		atomic_store(&e->archived_ns, bs_now_ns());
	return rc;
}

bool bs_emit_has_archive(struct emit *e)
{
	bool there = bs_endpoint_connections_now(&e->archive) != 0;

	if (there)
		atomic_store(&e->back_by_ns, 0);
	else
		there = bs_now_ns() < atomic_load(&e->back_by_ns);
	atomic_store(&e->env->shm.s->taker[BS_TAKER_ARCHIVE].there, there);
	return there;
}

void bs_emit_give_up(struct emit *e, struct bs_image_meta *m)
{
	uint32_t done = atomic_fetch_or(&m->done, BS_EMIT_FAILED);
	uint32_t left = (e->archive.socket >= 0 && !(done & BS_EMIT_SENT)) +
			(e->images != NULL && !(done & BS_EMIT_STORED));

	for (uint32_t i = 0; i < e->env->site.sinks; i++)
		left += !(done >> i & 1);
	bs_emit_undelivered(e, m->session, left);
}

bool bs_emit_begin(struct emit *e, struct bs_image_meta *m)
{
	struct bs_totals *totals = &e->env->shm.s->totals;
	struct bs_fail why;
	uint32_t blame;

	if (atomic_load(&m->done) & BS_EMIT_FAILED)
		return false;
	if (atomic_exchange(&m->inside, 1) == 0)
		return true;
	atomic_fetch_add(&totals->repeated, 1);
	blame = atomic_load(&e->env->me->killed) ? 1 : BS_EMIT_BLAME;
	if (atomic_fetch_add(&m->tries, blame) + blame < BS_EMIT_MOST)
		return true;
	bs_emit_give_up(e, m);
	atomic_fetch_add(&totals->lost, 1);
	(void)bs_fail(&why, BS_ERR_ABORTED,
		      "image %llu of scan %llu was in hand whenever emit ended: it is given up",
		      (unsigned long long)m->image.number, (unsigned long long)m->scan);
	bs_emit_fault(e, &why);
	return false;
}

void bs_emit_end(struct bs_image_meta *m)
{
	atomic_store(&m->inside, 0);
}

struct bs_message bs_emit_message(const struct emit *e, uint32_t slot)
{
	const struct bs_image_meta *m = &e->env->shm.image_meta[slot];

	return bs_message_of(m, &e->env->site.protocol[m->protocol],
			     bs_shm_image(&e->env->shm, slot) + BS_POOLS_PIXELS);
}

bool bs_emit_is_image(const struct emit *e, uint64_t entry, uint32_t *slot)
{
	*slot = bs_entry_slot(entry);
	return bs_entry_kind(entry) == BS_ENTRY_IMAGE && *slot < e->env->shm.image_pool->slots &&
	       e->env->shm.image_meta[*slot].protocol < e->env->site.protocols;
}
