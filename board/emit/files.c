/* board/emit/files.c - see files.h */
#include "board/emit/files.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "board/emit/images.h"
#include "board/emit/sinks.h"
#include "board/emit/takers.h"
#include "board/service/realtime.h"
#include "core/thread/clock.h"
#include "core/thread/thread.h"

#define NAP_NS        INT64_C(20000000)
#define LOOK_NS       INT64_C(2000000)
#define AWAIT_NS      INT64_C(5000000000)  /* so long an outcome waits for the takers */
#define FILE_CLOCK_NS INT64_C(20000000)    /* a file's time may be so much behind the clock */
#define STUCK_NS      INT64_C(10000000000) /* one file takes at most this, or emit is replaced */

/* A process before this one ended with the image in hand, and had filed it already. */
static bool is_filed(struct emit *e, const struct bs_image_meta *m, uint32_t sink)
{
	struct timespec now = { 0 };

	if (atomic_load(&m->tries) == 0)
		return false;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return e->sink[sink].type->has(e->sink[sink].self, &m->image.head,
				       (int64_t)now.tv_sec * 1000000000 + now.tv_nsec -
					       (bs_now_ns() - m->handed_ns) - FILE_CLOCK_NS);
}

/* Written by this thread: the policy is "wait". */
static void write_file(struct emit *e, struct bs_image_meta *m, const unsigned char *pixels,
		       uint32_t sink)
{
	struct bs_taker_record *r = &e->env->shm.s->taker[sink];
	uint32_t n = m->attributes_len <= BS_POOLS_ATTRIBUTES ? m->attributes_len : 0;
	struct bs_fail why = { 0 };

	bs_count(&r->taken, 1);
	atomic_store(&r->since_ns, bs_now_ns());
	atomic_store(&e->file_since_ns, bs_now_ns());
	if (bs_sinks_open(e, sink, &why) == 0 &&
	    (is_filed(e, m, sink) ||
	     bs_sinks_put(e, sink, &m->image.head, pixels - n, n, pixels, &why) == 0)) {
		bs_count(&r->handed, 1);
		atomic_fetch_add(&m->takers, 1);
	} else {
		bs_count(&r->failed, 1);
		if (e->unwritten.code == 0)
			e->unwritten = why;
		bs_emit_undelivered(e, m->session, 1);
		bs_emit_fault(e, &why);
	}
	atomic_store(&e->file_since_ns, 0);
	atomic_store(&r->since_ns, 0);
}

static void give_to_sinks(struct emit *e, struct bs_image_meta *m, uint32_t slot)
{
	struct bs_message msg = bs_emit_message(e, slot);

	if (e->images != NULL && !(atomic_load(&m->done) & BS_EMIT_STORED)) {
		atomic_store(&e->file_since_ns, bs_now_ns());
		if (bs_images_put(e->images, &msg))
			atomic_fetch_add(&m->takers, 1);
		atomic_fetch_or(&m->done, BS_EMIT_STORED);
		atomic_store(&e->file_since_ns, 0);
	}
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

	if (e->images != NULL) {
		atomic_store(&e->file_since_ns, bs_now_ns());
		bs_images_ready(e->images);
		atomic_store(&e->file_since_ns, 0);
	}
	if (bs_emit_begin(e, m))
		give_to_sinks(e, m, slot);
	bs_emit_end(m);
	if (!m->image.preview)
		bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_SINKS),
			    bs_now_ns() - m->handed_ns);
	if (m->scan != atomic_load(&scan->id) || m->image.preview)
		return; /* an earlier scan's, or a preview: only the totals count it */
	bs_count(atomic_load(&m->takers) > 0 ? &scan->images_left : &scan->images_unsent, 1);
}

/*
 * The sender gets the scan's outcome when the takers have had all of its images. A taker that is
 * stuck or has more work than AWAIT_NS allows is not waited for, nor is any when the service ends;
 * what is in its queue stays there.
 */
static void await_takers(struct emit *e)
{
	const int64_t until = bs_now_ns() + AWAIT_NS;

	while (!bs_takers_quiet(e) && !atomic_load(&e->quit) && !bs_worker_stop(e->env) &&
	       bs_now_ns() < until)
		bs_sleep_ns(LOOK_NS);
}

static void end_scan(struct emit *e, uint64_t entry)
{
	struct bs_scan_record *scan = &e->env->shm.s->scan;
	uint64_t id = atomic_load(&scan->id);

	await_takers(e);
	const uint64_t unsent = atomic_load(&scan->images_unsent);
	const struct bs_fail first = e->unwritten;

	e->unwritten.code = 0;
	if (!bs_entry_of(entry, id))
		return;
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

static void finish_entry(struct emit *e, uint64_t entry)
{
	struct bs_shm *shm = &e->env->shm;
	uint32_t slot;
	bool image = bs_emit_is_image(e, entry, &slot);

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
	(void)pthread_mutex_lock(&e->lock);
	if (atomic_load(&e->sent) == atomic_load(&e->env->shm.image_ring->tail) &&
	    !atomic_load(&e->quit))
		bs_lock_wait(&e->lock, &e->wake, bs_now_ns() + NAP_NS);
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

int bs_files_start(struct emit *e, struct bs_fail *why)
{
	int rc;

	atomic_store(&e->sent, atomic_load(&e->env->shm.image_ring->tail));
	rc = bs_thread_start(&e->files, files_main, e);
	e->has_files = rc == 0;
	return rc == 0 ? 0 : bs_fail(why, BS_ERR_NOMEM, "the files' thread: %s", strerror(rc));
}

void bs_files_stop(struct emit *e)
{
	(void)pthread_mutex_lock(&e->lock);
	atomic_store(&e->quit, true);
	(void)pthread_cond_signal(&e->wake);
	(void)pthread_mutex_unlock(&e->lock);
	if (e->has_files)
		(void)pthread_join(e->files, NULL);
}

bool bs_files_stuck(struct emit *e, int64_t now_ns)
{
	int64_t since_ns = atomic_load(&e->file_since_ns);

	return since_ns != 0 && now_ns - since_ns > STUCK_NS;
}
