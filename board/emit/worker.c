/* board/emit/worker.c - emit's first thread: images to viewers and archive; see emit.h */
#include <stdio.h>

#include "board/emit/archive.h"
#include "board/emit/flight.h"
#include "board/emit/front.h"
#include "board/emit/images.h"
#include "board/emit/sinks.h"
#include "board/emit/steps.h"
#include "board/service/realtime.h"
#include "board/service/usage.h"
#include "board/status/status.h"
#include "core/thread/clock.h"

#define LOOK_NS INT64_C(20000000) /* time between two looks at what a hanging taker delays */
#define SPIN_NS INT64_C(500000)   /* time of polling between two looks at everything else */

static int make_message(struct emit *e, uint32_t slot, int64_t taken_ns)
{
	struct bs_image_meta *m = &e->env->shm.image_meta[slot];
	const struct bs_scan_record *scan = &e->env->shm.s->scan[m->scan & 1];
	struct bs_message_env env = { .p = &e->env->site.protocol[m->protocol],
				      .gaps = atomic_load(&scan->gaps),
				      .duplicates = atomic_load(&scan->duplicates),
				      .rejected = atomic_load(&scan->rejected),
				      .about = scan->info.about,
				      .unsent = e->unsent,
				      .now = bs_now_ns };

	return bs_message_make(m, &env, bs_shm_leaving(&e->env->shm, slot) + BS_POOLS_PIXELS,
			       taken_ns);
}

/* Sends an image to the viewers, which keep none: they count as takers if the site has no other. */
static void send_image(struct emit *e, struct bs_image_meta *m, const struct bs_message *msg)
{
	struct bs_taker_record *r = bs_emit_record(e, BS_TAKER_VIEWERS);
	bool only = true;
	bool sent;

	if (!bs_endpoint_is_open(&e->viewers))
		return;
	for (uint32_t i = 0; i < BS_TAKERS; i++)
		only = only && e->taker[i] == NULL;
	sent = bs_endpoint_send(&e->viewers, msg->at, msg->len, NULL, 0, 0, NULL) == 0;
	if (sent && only && bs_endpoint_connections_now(&e->viewers) != 0)
		atomic_fetch_add(&m->takers, 1);
	bs_count(&e->env->shm.s->totals.published, 1);
	bs_count(&r->taken, 1);
	bs_count(sent ? &r->handed : &r->failed, 1);
}

/* Counts a late image, and whether it would have been in time without the machine's stalls. */
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

/* Under on_miss stop: ends the scan of a late image, which has been sent, and gives the reason. */
static void stop_scan(struct emit *e, const struct bs_image_meta *m, const struct bs_protocol *p,
		      int64_t latency_ns)
{
	struct bs_shared *s = e->env->shm.s;
	struct bs_scan_record *scan = &s->scan[m->scan & 1];

	if (atomic_load(&scan->over_budget) == m->scan)
		return;
	if (scan->emit_code == 0) {
		(void)snprintf(scan->emit_text, sizeof(scan->emit_text),
			       "image %llu was late, %.3f ms of %g, and protocol '%s' stops then",
			       (unsigned long long)m->image.number, (double)latency_ns * 1e-6,
			       bs_budget_image_ms(p, &m->image.report), p->name);
		scan->emit_code = BS_ERR_BUDGET;
	}
	bs_count(&s->budget[m->protocol].stopped, 1);
	/* the scan's number is stored last: ingest then reads the reason */
	atomic_store(&scan->over_budget, m->scan);
	bs_shm_ring_bell(&e->env->shm, BS_WORKER_INGEST);
}

/* Counts whether the image and each of its stages were in time, and tells recon's ladder. */
static void judge(struct emit *e, const struct bs_image_meta *m, const struct bs_protocol *p)
{
	struct bs_shared *s = e->env->shm.s;
	struct bs_budget_record *b = &s->budget[m->protocol];
	int64_t latency_ns = m->handed_ns - m->from_ns;
	bool missed = bs_budget_missed(p, &m->image.report, latency_ns);
	struct bs_scan_record *scan = &s->scan[m->scan & 1];
	bool current = m->scan == atomic_load(&scan->id);
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
	if (!m->image.report.again) /* how long ago its readouts came says nothing of the ladder */
		atomic_store(&b->results, n + 1);
	if (missed)
		count_miss(e, m, m->handed_ns);
	if (missed && current) {
		bs_count(&scan->images_late, 1);
		if (p->on_miss == BS_MISS_STOP)
			stop_scan(e, m, p, latency_ns);
	}
}

/* Gives up an image that cannot be made a message, or that ended emit too often: nobody gets it. */
static void give_up(struct emit *e, struct bs_image_meta *m, const struct bs_fail *why)
{
	uint64_t takers = 0;

	for (uint32_t i = 0; i < BS_TAKERS; i++)
		takers += e->taker[i] != NULL;
	atomic_store(&m->failed, 1);
	bs_emit_undelivered(e, m->session, takers);
	bs_emit_fault(e, why);
}

static void take_image(struct emit *e, uint32_t slot)
{
	struct bs_shm *shm = &e->env->shm;
	struct bs_image_meta *m = &shm->image_meta[slot];
	struct bs_taker_record *r = bs_emit_record(e, BS_TAKER_VIEWERS);
	const struct bs_protocol *p = &e->env->site.protocol[m->protocol];
	int64_t taken = bs_now_ns();
	struct bs_fail why = { BS_ERR_NOMEM, "an image's attributes do not fit" };
	struct bs_message msg;

	bs_pool_claim(shm->image_pool, slot, BS_OWNER_EMIT);
	if (m->scan == atomic_load(&shm->s->scan[m->scan & 1].id))
		bs_emit_note_scan(e, m->scan, m->session);
	atomic_store(&r->hand_at, atomic_load(&shm->s->images.ready));
	/* the image is noted as in hand: one whose message ends emit too often is given up */
	atomic_store(&r->hand, slot + UINT64_C(1));
	if (shm->log != NULL)
		bs_emit_file_solved(e, m);
	if (p->step.at > 0 && !m->image.preview)
		bs_emit_steps_run(e, slot);
	if (bs_emit_blamed(e, r, &why) || make_message(e, slot, taken) != 0) {
		give_up(e, m, &why);
		return;
	}
	msg = bs_emit_message(e, slot);
	send_image(e, m, &msg);
	if (m->image.preview)
		return; /* a preview's time is no latency of the protocol */
	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_PASS), taken - m->made_ns);
	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_HAND), m->handed_ns - taken);
	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_IMAGE), m->handed_ns - m->from_ns);
	judge(e, m, p);
}

static void take_entry(struct emit *e, uint64_t entry)
{
	const uint32_t slot = bs_entry_slot(entry);
	struct bs_taker *archive = e->taker[BS_TAKER_ARCHIVE];
	bool image = bs_entry_kind(entry) == BS_ENTRY_IMAGE &&
		     slot < e->env->shm.image_pool->slots &&
		     e->env->shm.image_meta[slot].protocol < e->env->site.protocols;

	if (image)
		take_image(e, slot);
	(void)pthread_mutex_lock(&e->lock);
	bs_front_ready(e, image);
	bs_front_drop(e, BS_TAKER_VIEWERS);
	if (archive != NULL)
		bs_push_absent(archive);
	if (archive != NULL && image)
		bs_taker_offered(archive);
	(void)bs_front_trim(e);
	(void)pthread_cond_broadcast(&e->change);
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

/* Closes entries and frees slots again, which a hanging taker may have delayed. */
static void look_again(struct emit *e)
{
	(void)pthread_mutex_lock(&e->lock);
	if (e->taker[BS_TAKER_ARCHIVE] != NULL)
		bs_push_absent(e->taker[BS_TAKER_ARCHIVE]);
	(void)bs_front_trim(e);
	(void)pthread_cond_broadcast(&e->change);
	(void)pthread_mutex_unlock(&e->lock);
}

static bool scan_runs(const struct emit *e)
{
	const struct bs_scan_record *s = e->env->shm.s->scan;

	return atomic_load_explicit(&s[0].open, memory_order_relaxed) ||
	       atomic_load_explicit(&s[1].open, memory_order_relaxed);
}

/* Polls for an image during a scan, if the site wants polling; else sleeps until one may come. */
static void rest(struct emit *e)
{
	struct bs_worker_env *env = e->env;
	uint64_t entry;

	if (env->polls && scan_runs(e)) {
		const int64_t until_ns = bs_now_ns() + SPIN_NS;

		while (!bs_front_look(e, &entry) && bs_now_ns() < until_ns)
			bs_pause();
		bs_worker_beat(env);
		bs_usage_publish(&env->shm, BS_THREAD_EMIT, bs_now_ns());
		return;
	}
	bs_bell_announce(&env->me->bell);
	if (!bs_front_look(e, &entry))
		bs_worker_sleep(env, NULL, 0,
				bs_front_empty(e) ? INT64_MAX : bs_now_ns() + LOOK_NS);
	else
		bs_bell_awake(&env->me->bell, env->shm.bell_fd[env->who]);
}

static void work(struct emit *e)
{
	struct bs_worker_env *env = e->env;
	uint64_t entry;

	for (;;) {
		/* if a file hangs, the supervisor replaces this process */
		atomic_store(&env->stuck, bs_sinks_stuck(e));
		if (e->door != NULL)
			bs_emit_steps_look(e);
		if (bs_front_look(e, &entry)) {
			take_entry(e, entry);
			bs_worker_beat(env);
			bs_usage_publish(&env->shm, BS_THREAD_EMIT, bs_now_ns());
			continue;
		}
		if (!bs_front_empty(e))
			look_again(e);
		else if (bs_worker_stop(env))
			return;
		(void)bs_worker_renew(env); /* no image waits, so no protocol is in use */
		if (bs_endpoint_is_open(&e->archive))
			(void)bs_emit_has_archive(e);
		if (e->door == NULL || scan_runs(e) || !bs_emit_steps_try(e))
			rest(e);
	}
}

static bool messages_unasked(const struct emit *e)
{
	bool none = e->images == NULL && !bs_endpoint_is_open(&e->archive) &&
		    !bs_endpoint_is_open(&e->viewers);

	for (uint32_t i = 0; i < e->env->site.sinks; i++)
		none = none && e->sink[i].type->put_pairs != NULL;
	return none;
}

/* Opens everything; the store first, since takers that spill find their cursors in it. */
static int open_all(struct emit *e, struct bs_status_server **status, struct bs_fail *why)
{
	static int (*const parts[])(struct emit *, struct bs_fail *) = {
		open_sockets, bs_images_open, bs_sinks_make_all, bs_push_make, bs_emit_steps_open
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		rc = parts[i](e, why);
	if (rc != 0)
		return rc;
	bs_images_forget(e);
	bs_images_find_kept(e);
	e->unsent = messages_unasked(e);
	if (bs_endpoint_is_open(&e->viewers)) {
		struct bs_taker_record *r = bs_emit_record(e, BS_TAKER_VIEWERS);

		(void)snprintf(r->name, sizeof(r->name), "viewers");
		r->policy = BS_POLICY_KEEP_NEWEST;
		r->queue = e->env->site.overload.queue;
	}
	bs_front_open(e); /* the front is open before the status server tells its counts */
	rc = bs_status_serve(status, &e->env->shm, e->env->site.status_url, why);
	for (uint32_t i = 0; rc == 0 && i < BS_TAKERS; i++)
		if (e->taker[i] != NULL)
			rc = bs_taker_start(e->taker[i], why);
	return rc == 0 ? bs_images_serve(e->images, why) : rc;
}

static bool quiet(struct emit *e)
{
	bool all = true;

	(void)pthread_mutex_lock(&e->lock);
	for (uint32_t i = 0; i < BS_TAKERS; i++)
		all = all && (e->taker[i] == NULL || bs_front_quiet(e->taker[i]));
	(void)pthread_mutex_unlock(&e->lock);
	return all;
}

/*
 * Waits for the archive, since closing would drop the images in its connection and in its socket.
 * The wait lasts while the archive reads, and then as long as one more image may take.
 */
static void finish_archive(struct emit *e)
{
	int64_t since_ns = atomic_load(&e->archived_ns);
	uint64_t before = 0;

	while (bs_endpoint_is_open(&e->archive) && bs_endpoint_connections_now(&e->archive) != 0 &&
	       bs_now_ns() < atomic_load(&e->env->shm.s->end_by_ns)) {
		const uint64_t unsent = bs_endpoint_unsent(&e->archive);
		const int64_t now = bs_now_ns();

		if (unsent != before)
			since_ns = now;
		before = unsent;
		if (now - since_ns > BS_FLIGHT_READS_NS)
			return;
		bs_sleep_ns(5000000);
		bs_worker_beat(e->env);
	}
}

/* Hands on the images that wait for connected takers, as long as the stop allows. */
static void finish_takers(struct emit *e)
{
	while (!quiet(e) && bs_now_ns() < atomic_load(&e->env->shm.s->end_by_ns)) {
		bs_sleep_ns(2000000);
		bs_worker_beat(e->env);
	}
}

/* Ends every other thread, then closes what the threads used. */
static void close_all(struct emit *e, struct bs_status_server *status)
{
	(void)pthread_mutex_lock(&e->lock);
	atomic_store(&e->quit, true);
	(void)pthread_cond_broadcast(&e->change);
	(void)pthread_mutex_unlock(&e->lock);
	bs_images_stop(e->images);
	for (uint32_t i = 0; i < BS_TAKERS; i++)
		if (e->taker[i] != NULL)
			bs_taker_stop(e->taker[i]);
	bs_images_close(e);
	for (uint32_t i = 0; i < BS_TAKERS; i++)
		bs_taker_free(e->taker[i]);
	bs_sinks_close_all(e);
	bs_emit_steps_close(e);
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
	/* the priority is set before the sockets, so that nanomsg's threads inherit it */
	bs_rt_enter(env, BS_THREAD_EMIT);
	bs_rt_polls(env);
	bs_rt_lock(env, true);
	rc = open_all(&e, &status, &why);
	if (rc != 0) {
		close_all(&e, status);
		bs_worker_say(env, BS_EVENT_FAULT, rc, NULL, why.text); /* no other thread runs */
		return BS_EXIT_HOPELESS;
	}
	(void)pthread_mutex_lock(&e.words); /* the takers' threads report events, too */
	bs_worker_phase(env, BS_PHASE_READY);
	(void)pthread_mutex_unlock(&e.words);
	work(&e);
	finish_takers(&e);
	finish_archive(&e);
	bs_images_finish(e.images);
	close_all(&e, status);
	return 0;
}
