/* board/emit/files.c - the thread that writes files and ends what emit has with an image; see
 * emit.h */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "board/emit/emit.h"
#include "board/emit/folder.h"
#include "board/service/realtime.h"
#include "core/thread/clock.h"

#define NAP_NS 20000000

int bs_emit_open_sink(struct emit *e, uint32_t sink, struct bs_fail *why)
{
	const char *dir = e->env->site.sink[sink].dir;
	int rc = bs_folder_make(dir, 0755, why);

	return rc != 0 ? rc : e->sink[sink].type->open(&e->sink[sink].self, dir, why);
}

int bs_emit_open_files(struct emit *e, struct bs_fail *why)
{
	const struct bs_site *site = &e->env->site;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < site->sinks; i++) {
		e->sink[i].type = bs_sink_find(site->sink[i].type);
		if (e->sink[i].type == NULL)
			return bs_fail(why, BS_ERR_UNSUPPORTED, "sink %u: no type '%s'", i + 1,
				       site->sink[i].type);
		/* a successor is wanted at once, whatever became of the disk: the taker opens it */
		if (!bs_emit_succeeds(e) || site->overload.sinks == BS_POLICY_WAIT)
			rc = bs_emit_open_sink(e, i, why);
	}
	return rc;
}

/* Written here and now: the policy is to wait. */
static void write_file(struct emit *e, struct bs_image_meta *m, const unsigned char *pixels,
		       uint32_t sink)
{
	struct bs_taker_record *r = &e->env->shm.s->taker[sink];
	char attributes[BS_POOLS_ATTRIBUTES + 1];
	uint32_t n = m->attributes_len <= BS_POOLS_ATTRIBUTES ? m->attributes_len : 0;
	struct bs_fail why = { 0 };

	memcpy(attributes, pixels - n, n);
	attributes[n] = '\0';
	bs_count(&r->taken, 1);
	atomic_store(&r->since_ns, bs_now_ns());
	atomic_store(&e->file_since_ns, bs_now_ns());
	if (e->sink[sink].type->put(e->sink[sink].self, &m->image.head, attributes, pixels, &why) ==
	    0) {
		bs_count(&r->handed, 1);
		atomic_fetch_add(&m->takers, 1);
	} else {
		bs_count(&r->failed, 1);
		bs_emit_undelivered(e, m->session, 1);
		bs_emit_fault(e, &why);
	}
	atomic_store(&e->file_since_ns, 0);
	atomic_store(&r->since_ns, 0);
}

static void give_to_sinks(struct emit *e, struct bs_image_meta *m, uint32_t slot)
{
	struct bs_message msg = bs_emit_message(e, slot);

	for (uint32_t i = 0; i < e->env->site.sinks; i++) {
		if (atomic_load(&m->done) & (1u << i))
			continue;
		if (e->taker[i] == NULL)
			write_file(e, m, bs_shm_image(&e->env->shm, slot) + BS_POOLS_PIXELS, i);
		else if (bs_taker_push(e->taker[i], msg.at, msg.len))
			atomic_fetch_add(&m->takers, 1);
		atomic_fetch_or(&m->done, 1u << i);
	}
}

static void finish_image(struct emit *e, uint32_t slot)
{
	struct bs_shm *shm = &e->env->shm;
	struct bs_image_meta *m = &shm->image_meta[slot];
	struct bs_scan_record *scan = &shm->s->scan;

	if (bs_emit_begin(e, m))
		give_to_sinks(e, m, slot);
	bs_emit_end(m);
	if (!m->image.preview)
		bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_SINKS),
			    bs_now_ns() - m->handed_ns);
	if (m->scan != atomic_load(&scan->id) || m->image.preview)
		return; /* a scan that was given up, or no image: the totals alone count it */
	bs_count(atomic_load(&m->takers) > 0 ? &scan->images_left : &scan->images_unsent, 1);
}

#define AWAIT_NS INT64_C(5000000000)

/*
 * The sender hears that all is done when all is: but for takers that are stuck, that have more on
 * disk than a few seconds' work, or whose service is to end. Their queues keep what they have.
 */
static void await_takers(struct emit *e)
{
	const struct timespec moment = { 0, 2000000 };
	const int64_t until = bs_now_ns() + AWAIT_NS;

	while (!bs_emit_takers_quiet(e) && !atomic_load(&e->quit) && !bs_worker_stop(e->env) &&
	       bs_now_ns() < until)
		(void)nanosleep(&moment, NULL);
}

static void end_scan(struct emit *e, uint64_t entry)
{
	struct bs_scan_record *scan = &e->env->shm.s->scan;
	uint64_t id = atomic_load(&scan->id);

	await_takers(e);
	uint64_t unsent = atomic_load(&scan->images_unsent);

	if (!bs_entry_of(entry, id))
		return;
	if (unsent != 0 && scan->emit_code == 0) {
		(void)snprintf(scan->emit_text, sizeof(scan->emit_text),
			       "%llu images found nobody to take them (no archive, viewer or file)",
			       (unsigned long long)unsent);
		scan->emit_code = BS_ERR_IO;
	}
	atomic_store(&scan->ended, id);
	bs_shm_ring_bell(&e->env->shm, BS_WORKER_INGEST);
}

static void finish_entry(struct emit *e, uint64_t entry)
{
	struct bs_shm *shm = &e->env->shm;
	uint32_t slot = bs_entry_slot(entry);
	bool image = bs_entry_kind(entry) == BS_ENTRY_IMAGE && slot < shm->image_pool->slots &&
		     shm->image_meta[slot].protocol < e->env->site.protocols;

	if (image)
		finish_image(e, slot);
	else if (bs_entry_kind(entry) == BS_ENTRY_END)
		end_scan(e, entry);
	bs_ring_advance(shm->image_ring); /* before the slot can hold another image */
	if (image) {
		bs_pool_give(shm->image_pool, slot);
		bs_shm_ring_bell(shm, BS_WORKER_RECON);
	}
}

static void nap(struct emit *e)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until); /* as bs_emit_init made wake */
	until.tv_nsec += NAP_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	(void)pthread_mutex_lock(&e->lock);
	if (atomic_load(&e->sent) == atomic_load(&e->env->shm.image_ring->tail) &&
	    !atomic_load(&e->quit))
		(void)pthread_cond_timedwait(&e->wake, &e->lock, &until);
	(void)pthread_mutex_unlock(&e->lock);
}

static void *files_main(void *arg)
{
	struct emit *e = arg;
	struct bs_ring *r = e->env->shm.image_ring;
	uint64_t entry;

	bs_rt_leave();
	for (;;) {
		if (atomic_load(&e->sent) != atomic_load(&r->tail) && bs_ring_peek(r, &entry))
			finish_entry(e, entry);
		else if (atomic_load(&e->quit))
			return NULL;
		else
			nap(e);
	}
}

int bs_emit_start_files(struct emit *e, struct bs_fail *why)
{
	sigset_t all, old;
	int rc;

	atomic_store(&e->sent, atomic_load(&e->env->shm.image_ring->tail));
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&e->files, NULL, files_main, e);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	e->has_files = rc == 0;
	return rc == 0 ? 0 : bs_fail(why, BS_ERR_NOMEM, "the files' thread: %s", strerror(rc));
}

void bs_emit_stop_files(struct emit *e)
{
	struct bs_fail why = { 0 };

	(void)pthread_mutex_lock(&e->lock);
	atomic_store(&e->quit, true);
	(void)pthread_cond_signal(&e->wake);
	(void)pthread_mutex_unlock(&e->lock);
	if (e->has_files)
		(void)pthread_join(e->files, NULL);
	bs_emit_close_takers(e);
	for (uint32_t i = 0; i < e->env->site.sinks; i++)
		if (e->sink[i].self != NULL && e->sink[i].type->close(e->sink[i].self, &why) != 0)
			bs_emit_fault(e, &why);
}
