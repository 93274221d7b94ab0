/*
 * board/worker_emit.c - the process that hands images on: viewers first (never blocks), then the
 * archive (waits, within bounds, while one is connected), then the files. Its own thread answers
 * status requests. It may allocate and block; recon does not wait for it until the image pool is
 * full.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/folder.h"
#include "board/status.h"
#include "board/worker.h"
#include "core/attributes.h"
#include "core/clock.h"
#include "drivers/sink.h"
#include "ipc/endpoint.h"
#include "ipc/mrd.h"
#include "ipc/wire.h"

#define ARCHIVE_WAIT_NS                                                                            \
	1000000000      /* a connected archive that takes nothing for so long loses one */
#define TRIES        2u /* an image that ended this process twice is given up */
#define DONE_VIEWERS (1u << 30)
#define DONE_ARCHIVE (1u << 31)

struct emit {
	struct bs_worker_env *env;
	struct bs_endpoint archive, viewers; /* socket -1: off */
	struct {
		const struct bs_sink *type;
		void *self;
	} sink[BS_SINKS_MAX];
	char attributes[BS_POOLS_ATTRIBUTES];
};

/* The image as one message in its slot, its head right before its pixels. */
struct message {
	unsigned char *at;
	size_t len;
};

static int make_message(struct emit *e, uint32_t slot, struct message *msg, int64_t latency_ns)
{
	struct bs_image_meta *m = &e->env->shm.image_meta[slot];
	const struct bs_protocol *p = &e->env->site.protocol[m->protocol];
	const struct bs_scan_record *scan = &e->env->shm.s->scan;
	struct bs_image_timing timing = { .latency_ns = latency_ns,
					  .gaps = atomic_load(&scan->gaps),
					  .duplicates = atomic_load(&scan->duplicates),
					  .rejected = atomic_load(&scan->rejected) };
	unsigned char *pixels = bs_shm_image(&e->env->shm, slot) + BS_POOLS_PIXELS;
	struct bs_wire w = { .kind = BS_WIRE_IMAGE,
			     .session = m->session,
			     .seq = m->image.head.image_index,
			     .time_ns = bs_now_ns() };
	int n = bs_attributes_write(e->attributes, sizeof(e->attributes), p, m->engine, &m->image,
				    &timing);

	if (n < 0)
		return n;
	m->image.head.attribute_string_len = (uint32_t)n;
	msg->at = pixels - (BS_WIRE_BYTES + BS_MRD_IMAGE_BYTES + 8 + (size_t)n);
	msg->len = (size_t)(pixels - msg->at) + (size_t)bs_protocol_image_bytes(p);
	unsigned char *payload = msg->at + BS_WIRE_BYTES;

	bs_mrd_put_image(payload, &m->image.head);
	bs_wire_put_u64(payload + BS_MRD_IMAGE_BYTES, (uint64_t)n);
	memcpy(payload + BS_MRD_IMAGE_BYTES + 8, e->attributes, (size_t)n);
	bs_wire_encode(msg->at, &w, payload, msg->len - BS_WIRE_BYTES);
	return 0;
}

/* For the scan in flight; images of one that was given up count in the totals alone. */
static void count_of(struct emit *e, const struct bs_image_meta *m, _Atomic uint64_t *c)
{
	if (m->scan == atomic_load(&e->env->shm.s->scan.id))
		bs_count(c, 1);
}

static void fault(struct emit *e, const struct bs_fail *why)
{
	bs_count(&e->env->shm.s->totals.sink_faults, 1);
	bs_worker_say(e->env, BS_EVENT_FAULT, why->code, NULL, why->text);
}

/* True: the archive has it. Waits as long as one is connected, at most ARCHIVE_WAIT_NS. */
static bool to_archive(struct emit *e, const struct message *msg)
{
	struct bs_totals *t = &e->env->shm.s->totals;
	int64_t until = bs_now_ns() + ARCHIVE_WAIT_NS;
	struct bs_fail why;

	for (;;) {
		int rc = bs_endpoint_send(&e->archive, msg->at, msg->len, NULL, 0, 0, &why);

		if (rc == 0) {
			bs_count(&t->archived, 1);
			return true;
		}
		if (rc < 0)
			fault(e, &why);
		if (rc < 0 || bs_endpoint_connections_now(&e->archive) == 0 || bs_now_ns() > until)
			break;
		struct pollfd writable = { e->archive.send_fd, POLLIN, 0 };

		bs_worker_sleep(e->env, &writable, 1, until);
	}
	bs_count(&t->archive_shed, 1);
	return false;
}

static bool to_sink(struct emit *e, uint32_t i, uint32_t slot, const struct message *msg)
{
	const struct bs_image_meta *m = &e->env->shm.image_meta[slot];
	const void *pixels = bs_shm_image(&e->env->shm, slot) + BS_POOLS_PIXELS;
	struct bs_fail why = { 0 };

	(void)msg;
	if (e->sink[i].type->put(e->sink[i].self, &m->image.head, e->attributes, pixels, &why) !=
	    0) {
		fault(e, &why);
		return false;
	}
	bs_count(&e->env->shm.s->totals.filed, 1);
	return true;
}

/* The number of takers; an image that has none did not leave. */
static uint32_t hand_on(struct emit *e, uint32_t slot, const struct message *msg)
{
	struct bs_image_meta *m = &e->env->shm.image_meta[slot];
	struct bs_totals *t = &e->env->shm.s->totals;
	uint32_t done = atomic_load(&m->done); /* what a predecessor did before it died */
	uint32_t takers = (uint32_t)__builtin_popcount(done);

	if (e->viewers.socket >= 0 && !(done & DONE_VIEWERS)) {
		takers += bs_endpoint_send(&e->viewers, msg->at, msg->len, NULL, 0, 0, NULL) == 0 &&
			  bs_endpoint_connections_now(&e->viewers) != 0;
		bs_count(&t->published, 1);
		atomic_fetch_or(&m->done, DONE_VIEWERS);
	}
	if (e->archive.socket >= 0 && !(done & DONE_ARCHIVE)) {
		takers += to_archive(e, msg);
		atomic_fetch_or(&m->done, DONE_ARCHIVE);
	}
	for (uint32_t i = 0; i < e->env->site.sinks; i++) {
		if (done & (1u << i))
			continue;
		takers += to_sink(e, i, slot, msg);
		atomic_fetch_or(&m->done, 1u << i);
		bs_worker_beat(e->env);
	}
	return takers;
}

static void emit_image(struct emit *e, uint32_t slot)
{
	struct bs_shm *shm = &e->env->shm;
	struct bs_image_meta *m = &shm->image_meta[slot];
	struct bs_scan_record *scan = &shm->s->scan;
	const struct bs_protocol *p = &e->env->site.protocol[m->protocol];
	int64_t taken = bs_now_ns();
	struct message msg;

	if (make_message(e, slot, &msg, taken - m->image.last_ns) != 0) {
		fault(e, &(struct bs_fail){ BS_ERR_NOMEM, "an image's attributes do not fit" });
		count_of(e, m, &scan->images_unsent);
		return;
	}
	int64_t handed = bs_now_ns();
	uint32_t takers = hand_on(e, slot, &msg);

	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_PASS), taken - m->made_ns);
	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_HAND), handed - taken);
	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_IMAGE), handed - m->image.last_ns);
	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_SINKS), bs_now_ns() - handed);
	count_of(e, m, takers > 0 ? &scan->images_left : &scan->images_unsent);
	if (p->image_ms > 0.0 && (double)(taken - m->image.last_ns) > p->image_ms * 1e6)
		count_of(e, m, &scan->images_late);
}

static void take_image(struct emit *e, uint32_t slot)
{
	struct bs_shm *shm = &e->env->shm;
	struct bs_image_meta *m = &shm->image_meta[slot];
	uint32_t tries;

	if (slot >= shm->image_pool->slots)
		return;
	bs_pool_claim(shm->image_pool, slot, BS_OWNER_EMIT);
	tries = atomic_fetch_add(&m->tries, 1);
	if (tries >= TRIES || m->protocol >= e->env->site.protocols) {
		struct bs_fail why;

		(void)bs_fail(&why, BS_ERR_ABORTED,
			      "image %u of scan %llu ended emit %u times: it is given up",
			      m->image.head.image_index, (unsigned long long)m->scan, tries);
		bs_count(&shm->s->totals.lost, 1);
		count_of(e, m, &shm->s->scan.images_unsent);
		fault(e, &why);
		return;
	}
	bs_count(&shm->s->totals.repeated, tries != 0);
	emit_image(e, slot);
}

static void end_scan(struct emit *e, uint64_t entry)
{
	struct bs_scan_record *scan = &e->env->shm.s->scan;
	uint64_t id = atomic_load(&scan->id);
	uint64_t unsent = atomic_load(&scan->images_unsent);

	if (!bs_entry_of(entry, id))
		return;
	if (unsent != 0) {
		scan->emit_code = BS_ERR_IO;
		(void)snprintf(scan->emit_text, sizeof(scan->emit_text),
			       "%llu images found nobody to take them (no archive, viewer or file)",
			       (unsigned long long)unsent);
	}
	atomic_store(&scan->ended, id);
	bs_shm_ring_bell(&e->env->shm, BS_WORKER_INGEST);
}

static void take_entry(struct emit *e, uint64_t entry)
{
	struct bs_shm *shm = &e->env->shm;

	switch (bs_entry_kind(entry)) {
	case BS_ENTRY_IMAGE:
		take_image(e, bs_entry_slot(entry));
		bs_ring_advance(shm->image_ring); /* before the slot can hold another image */
		if (bs_entry_slot(entry) < shm->image_pool->slots)
			bs_pool_give(shm->image_pool, bs_entry_slot(entry));
		bs_shm_ring_bell(shm, BS_WORKER_RECON);
		return;
	case BS_ENTRY_END:
		end_scan(e, entry);
		break;
	default:
		break;
	}
	bs_ring_advance(shm->image_ring);
}

static int open_outlets(struct emit *e, struct bs_fail *why)
{
	const struct bs_site *site = &e->env->site;
	size_t message_max = (size_t)e->env->shm.s->pools.image_bytes;
	int rc = 0;

	e->archive.socket = e->viewers.socket = -1;
	if (site->archive_url[0] != '\0')
		rc = bs_endpoint_bind(&e->archive, BS_ENDPOINT_ARCHIVE_OUT, site->archive_url,
				      message_max, why);
	if (rc == 0 && site->viewers_url[0] != '\0')
		rc = bs_endpoint_bind(&e->viewers, BS_ENDPOINT_VIEWERS_OUT, site->viewers_url,
				      message_max, why);
	for (uint32_t i = 0; rc == 0 && i < site->sinks; i++) {
		e->sink[i].type = bs_sink_find(site->sink[i].type);
		if (e->sink[i].type == NULL)
			return bs_fail(why, BS_ERR_UNSUPPORTED, "sink %u: no type '%s'", i + 1,
				       site->sink[i].type);
		rc = bs_folder_make(site->sink[i].dir, 0755, why);
		if (rc == 0)
			rc = e->sink[i].type->open(&e->sink[i].self, site->sink[i].dir, why);
	}
	return rc;
}

static void close_outlets(struct emit *e)
{
	struct bs_fail why = { 0 };

	for (uint32_t i = 0; i < e->env->site.sinks; i++)
		if (e->sink[i].self != NULL && e->sink[i].type->close(e->sink[i].self, &why) != 0)
			fault(e, &why);
	bs_endpoint_close(&e->archive);
	bs_endpoint_close(&e->viewers);
}

static void work(struct emit *e)
{
	struct bs_worker_env *env = e->env;
	uint64_t entry;

	for (;;) {
		if (bs_ring_peek(env->shm.image_ring, &entry)) {
			take_entry(e, entry);
			bs_worker_beat(env);
			continue;
		}
		if (bs_worker_stop(env))
			return;
		bs_bell_announce(&env->me->bell);
		if (bs_ring_count(env->shm.image_ring) == 0)
			bs_worker_sleep(env, NULL, 0, INT64_MAX);
		else
			bs_bell_awake(&env->me->bell, env->shm.bell_fd[env->who]);
	}
}

int bs_worker_emit(struct bs_worker_env *env)
{
	static struct emit e;
	struct bs_status_server *status = NULL;
	struct bs_fail why = { 0 };
	int rc;

	e.env = env;
	bs_worker_phase(env, BS_PHASE_ARMING);
	bs_endpoint_tune_malloc((size_t)env->shm.s->pools.image_bytes);
	rc = open_outlets(&e, &why);
	if (rc == 0)
		rc = bs_status_serve(&status, &env->shm, env->site.status_url, &why);
	if (rc != 0) {
		bs_worker_say(env, BS_EVENT_FAULT, rc, NULL, why.text);
		return BS_EXIT_HOPELESS;
	}
	bs_worker_phase(env, BS_PHASE_READY);
	work(&e);
	bs_status_stop(status);
	close_outlets(&e);
	return 0;
}
