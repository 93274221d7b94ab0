/* board/emit/worker.c - emit's first thread: images to viewers and archive; see emit.h */
#include <stdio.h>

#include "board/emit/files.h"
#include "board/emit/images.h"
#include "board/emit/sinks.h"
#include "board/emit/takers.h"
#include "board/service/realtime.h"
#include "board/service/usage.h"
#include "board/status/status.h"
#include "core/thread/clock.h"
#include "ipc/wire/wire.h"

#define READS_NS        INT64_C(1000000000) /* an archive that reads takes an image in this time */
#define ARCHIVE_WAIT_NS INT64_C(1000000000) /* then a connected archive loses the image */

static int make_message(struct emit *e, uint32_t slot, int64_t taken_ns)
{
	const struct bs_scan_record *scan = &e->env->shm.s->scan;
	struct bs_image_meta *m = &e->env->shm.image_meta[slot];
	struct bs_message_env env = { .p = &e->env->site.protocol[m->protocol],
				      .gaps = atomic_load(&scan->gaps),
				      .duplicates = atomic_load(&scan->duplicates),
				      .rejected = atomic_load(&scan->rejected),
				      .now = bs_now_ns };

	return bs_message_make(m, &env, bs_shm_image(&e->env->shm, slot) + BS_POOLS_PIXELS,
			       taken_ns);
}

static void say_unarchived(struct emit *e)
{
	const struct bs_taker_record *r = &e->env->shm.s->taker[BS_TAKER_ARCHIVE];
	bool absent = bs_endpoint_connections_now(&e->archive) == 0;
	char line[BS_SHED_LINE];

	if (bs_shed_due(&e->unarchived, "archive", absent, atomic_load(&r->shed), line))
		bs_emit_say(e, BS_EVENT_LIMIT, 0, line);
}

/* An image that the archive did not take in time. */
static void unarchived(struct emit *e, const struct bs_message *msg)
{
	bs_count(&e->env->shm.s->taker[BS_TAKER_ARCHIVE].shed, 1);
	bs_emit_undelivered(e, bs_wire_session(msg->at), 1);
	e->unarchived.count++;
	say_unarchived(e);
}

/* True: the archive has it. Waits while one is connected, at most ARCHIVE_WAIT_NS. */
static bool wait_for_archive(struct emit *e, const struct bs_message *msg)
{
	struct bs_taker_record *r = &e->env->shm.s->taker[BS_TAKER_ARCHIVE];
	int64_t until = bs_now_ns() + ARCHIVE_WAIT_NS;
	struct bs_fail why;

	bs_count(&r->taken, 1);
	for (;;) {
		int rc = bs_emit_to_archive(e, msg->at, msg->len, &why);

		if (rc == 0) {
			bs_count(&r->handed, 1);
			return true;
		}
		if (rc < 0)
			bs_emit_fault(e, &why);
		if (rc < 0 || !bs_emit_has_archive(e) || bs_now_ns() > until)
			break;
		struct pollfd writable = { e->archive.send_fd, POLLIN, 0 };

		bs_worker_sleep(e->env, &writable, 1, until);
	}
	unarchived(e, msg);
	return false;
}

/* True: the archive has the image, or its queue has. Without an archive keep_newest keeps none. */
static bool to_archive(struct emit *e, const struct bs_message *msg)
{
	struct bs_taker *taker = e->taker[BS_TAKER_ARCHIVE];

	if (taker == NULL)
		return wait_for_archive(e, msg);
	if (e->env->site.overload.archive == BS_POLICY_KEEP_NEWEST && !bs_emit_has_archive(e)) {
		bs_taker_pass(taker, msg->at, msg->len);
		return false;
	}
	return bs_taker_push(taker, msg->at, msg->len);
}

static void send_image(struct emit *e, struct bs_image_meta *m, const struct bs_message *msg)
{
	struct bs_shared *s = e->env->shm.s;

	if (e->viewers.socket >= 0) {
		bool sent = bs_endpoint_send(&e->viewers, msg->at, msg->len, NULL, 0, 0, NULL) == 0;

		/* a viewer keeps nothing: it counts where the site names no other taker */
		if (sent && e->archive.socket < 0 && e->images == NULL && e->env->site.sinks == 0 &&
		    bs_endpoint_connections_now(&e->viewers) != 0)
			atomic_fetch_add(&m->takers, 1);
		bs_count(&s->totals.published, 1);
		bs_count(&s->taker[BS_TAKER_VIEWERS].taken, 1);
		bs_count(sent ? &s->taker[BS_TAKER_VIEWERS].handed
			      : &s->taker[BS_TAKER_VIEWERS].failed,
			 1);
	}
	if (e->archive.socket >= 0 && to_archive(e, msg))
		atomic_fetch_add(&m->takers, 1);
	atomic_fetch_or(&m->done, BS_EMIT_SENT);
}

/* Counts a missed image, and whether it had been in time without the stalls of the machine. */
static void count_miss(struct emit *e, const struct bs_image_meta *m, int64_t handed_ns)
{
	struct bs_shared *s = e->env->shm.s;
	struct bs_misses *miss = &s->misses[m->protocol];
	int64_t budget_ns = bs_ns_of_ms(
		bs_budget_image_ms(&e->env->site.protocol[m->protocol], &m->image.report));

	bs_count(&miss->raw, 1);
	if (bs_canary_explains(s->canary, atomic_load(&s->canaries), m->from_ns, handed_ns,
			       budget_ns, bs_now_ns()))
		bs_count(&miss->explained, 1);
}

/* on_miss stop: the late image has been sent, and now its scan ends with the reason. */
static void stop_scan(struct emit *e, const struct bs_image_meta *m, const struct bs_protocol *p,
		      int64_t latency_ns)
{
	struct bs_shared *s = e->env->shm.s;

	if (atomic_load(&s->scan.over_budget) == m->scan)
		return;
	if (s->scan.emit_code == 0) {
		(void)snprintf(s->scan.emit_text, sizeof(s->scan.emit_text),
			       "image %llu was late, %.3f ms of %g, and protocol '%s' stops then",
			       (unsigned long long)m->image.number, (double)latency_ns * 1e-6,
			       bs_budget_image_ms(p, &m->image.report), p->name);
		s->scan.emit_code = BS_ERR_BUDGET;
	}
	bs_count(&s->budget[m->protocol].stopped, 1);
	atomic_store(&s->scan.over_budget, m->scan); /* last: ingest reads the reason after it */
	bs_shm_ring_bell(&e->env->shm, BS_WORKER_INGEST);
}

/* Counts whether the image and each of its stages were in time, and tells recon's ladder. */
static void judge(struct emit *e, const struct bs_image_meta *m, const struct bs_protocol *p)
{
	struct bs_shared *s = e->env->shm.s;
	struct bs_budget_record *b = &s->budget[m->protocol];
	int64_t latency_ns = m->handed_ns - m->from_ns;
	bool missed = bs_budget_missed(p, &m->image.report, latency_ns);
	bool current = m->scan == atomic_load(&s->scan.id);
	uint64_t n = atomic_load(&b->results);
	uint32_t stages = bs_message_stages_missed(m, p, m->handed_ns);

	for (int i = 0; i < BS_BUDGET_STAGES; i++)
		bs_count(&b->stage_missed[i], stages >> i & 1);
	bs_count(&b->handed, 1);
	bs_count(&b->missed, missed);
	atomic_store(&b->result[n % BS_RESULTS_KEPT],
		     bs_result_pack(m->scan, m->rung,
				    missed                          ? BS_RESULT_MISSED
				    : m->image.report.deadline_stop ? BS_RESULT_TIGHT
								    : BS_RESULT_MET,
				    m->handed_ns - m->made_ns));
	atomic_store(&b->results, n + 1);
	if (missed)
		count_miss(e, m, m->handed_ns);
	if (missed && current) {
		bs_count(&s->scan.images_late, 1);
		if (p->on_miss == BS_MISS_STOP)
			stop_scan(e, m, p, latency_ns);
	}
}

static void take_image(struct emit *e, uint32_t slot)
{
	struct bs_shm *shm = &e->env->shm;
	struct bs_image_meta *m = &shm->image_meta[slot];
	const struct bs_protocol *p = &e->env->site.protocol[m->protocol];
	int64_t taken = bs_now_ns();
	struct bs_message msg;

	bs_pool_claim(shm->image_pool, slot, BS_OWNER_EMIT);
	if (m->scan == atomic_load(&shm->s->scan.id))
		bs_emit_note_scan(e, m->scan, m->session);
	if ((atomic_load(&m->done) & BS_EMIT_SENT) || !bs_emit_begin(e, m))
		return; /* a predecessor sent it */
	if (make_message(e, slot, taken) != 0) {
		bs_emit_fault(
			e, &(struct bs_fail){ BS_ERR_NOMEM, "an image's attributes do not fit" });
		bs_emit_give_up(e, m);
		bs_emit_end(m);
		return;
	}
	msg = bs_emit_message(e, slot);
	send_image(e, m, &msg);
	bs_emit_end(m);
	if (m->image.preview)
		return; /* its time is not the protocol's latency */
	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_PASS), taken - m->made_ns);
	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_HAND), m->handed_ns - taken);
	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_IMAGE), m->handed_ns - m->from_ns);
	judge(e, m, p);
}

static void take_entry(struct emit *e, uint64_t entry)
{
	uint32_t slot;

	if (bs_emit_is_image(e, entry, &slot)) {
		take_image(e, slot);
	} else if (bs_entry_kind(entry) == BS_ENTRY_END && e->unarchived.count > 0) {
		e->unarchived.said_ns = 0; /* at the end of a scan, whatever was said before */
		say_unarchived(e);
	}
	(void)pthread_mutex_lock(&e->lock);
	atomic_fetch_add(&e->sent, 1);
	(void)pthread_cond_signal(&e->wake);
	(void)pthread_mutex_unlock(&e->lock);
}

static int open_sockets(struct emit *e, struct bs_fail *why)
{
	const struct bs_site *site = &e->env->site;
	size_t message_max = (size_t)e->env->shm.s->pools.image_bytes;
	int rc = 0;

	bs_endpoint_tune_malloc(message_max);
	if (site->archive_url[0] != '\0')
		rc = bs_endpoint_bind(&e->archive, BS_ENDPOINT_ARCHIVE_OUT, site->archive_url,
				      message_max, why);
	if (rc == 0 && site->viewers_url[0] != '\0')
		rc = bs_endpoint_bind(&e->viewers, BS_ENDPOINT_VIEWERS_OUT, site->viewers_url,
				      message_max, why);
	return rc;
}

static void work(struct emit *e)
{
	struct bs_worker_env *env = e->env;
	struct bs_ring *r = env->shm.image_ring;
	uint64_t entry;

	for (;;) {
		/* a file that hangs: this process will be replaced */
		atomic_store(&env->stuck, bs_files_stuck(e, bs_now_ns()));
		if (bs_ring_look(r, atomic_load(&e->sent), &entry)) {
			take_entry(e, entry);
			bs_worker_beat(env);
			bs_usage_publish(&env->shm, BS_THREAD_EMIT, bs_now_ns());
			continue;
		}
		if (bs_worker_stop(env) && bs_ring_count(r) == 0)
			return;
		(void)bs_worker_renew(env); /* no image waits: its protocol is nobody's now */
		if (e->archive.socket >= 0)
			(void)bs_emit_has_archive(e);
		bs_bell_announce(&env->me->bell);
		if (!bs_ring_look(r, atomic_load(&e->sent), &entry))
			bs_worker_sleep(env, NULL, 0, INT64_MAX);
		else
			bs_bell_awake(&env->me->bell, env->shm.bell_fd[env->who]);
	}
}

static int open_all(struct emit *e, struct bs_status_server **status, struct bs_fail *why)
{
	int rc = open_sockets(e, why);

	if (rc == 0)
		rc = bs_sinks_open_all(e, why);
	if (rc == 0)
		rc = bs_takers_open(e, why);
	if (rc == 0 && e->env->site.images_url[0] != '\0')
		rc = bs_images_start(&e->images, e, why);
	if (rc == 0)
		rc = bs_status_serve(status, &e->env->shm, e->env->site.status_url, why);
	if (rc == 0)
		rc = bs_files_start(e, why);
	return rc;
}

/*
 * Closing would drop what lies in the archive's connection, and what its socket has read ahead: it
 * is waited for while it reads on, and then as long as it may take for one image more.
 */
static void finish_archive(struct emit *e)
{
	int64_t since_ns = atomic_load(&e->archived_ns);
	uint64_t before = 0;

	while (e->archive.socket >= 0 && bs_endpoint_connections_now(&e->archive) != 0 &&
	       bs_now_ns() < atomic_load(&e->env->shm.s->end_by_ns)) {
		const uint64_t unsent = bs_endpoint_unsent(&e->archive);
		const int64_t now = bs_now_ns();

		if (unsent != before)
			since_ns = now;
		before = unsent;
		if (now - since_ns > READS_NS)
			return;
		bs_sleep_ns(5000000);
		bs_worker_beat(e->env);
	}
}

/* What waits for takers that are there is handed on, as long as the stop allows. */
static void finish_takers(struct emit *e)
{
	while (!bs_takers_quiet(e) && bs_now_ns() < atomic_load(&e->env->shm.s->end_by_ns)) {
		bs_sleep_ns(2000000);
		bs_worker_beat(e->env);
	}
}

/* Every other thread ends before what it uses is closed. */
static void close_all(struct emit *e, struct bs_status_server *status)
{
	bs_files_stop(e);
	bs_images_stop(e->images);
	bs_takers_close(e);
	bs_sinks_close_all(e);
	bs_status_stop(status);
	bs_endpoint_close(&e->archive);
	bs_endpoint_close(&e->viewers);
}

int bs_worker_emit(struct bs_worker_env *env)
{
	static struct emit e;
	struct bs_status_server *status = NULL;
	struct bs_fail why = { 0 };
	int rc;

	bs_emit_init(&e, env);
	bs_worker_phase(env, BS_PHASE_ARMING);
	bs_rt_enter(env, BS_THREAD_EMIT); /* before the sockets: nanomsg's threads inherit it */
	bs_rt_lock(env, true);
	rc = open_all(&e, &status, &why);
	if (rc != 0) {
		close_all(&e, status);
		bs_worker_say(env, BS_EVENT_FAULT, rc, NULL, why.text); /* alone again */
		return BS_EXIT_HOPELESS;
	}
	(void)pthread_mutex_lock(&e.lock); /* the takers may have something to say, too */
	bs_worker_phase(env, BS_PHASE_READY);
	(void)pthread_mutex_unlock(&e.lock);
	work(&e);
	finish_takers(&e);
	finish_archive(&e);
	close_all(&e, status);
	return 0;
}
