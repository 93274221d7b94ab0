/* board/ingest/ingest.c - the receiving process: its loop; see ingest.h */
#include <time.h>

#include "board/ingest/ingest.h"
#include "board/service/realtime.h"
#include "board/service/usage.h"
#include "core/thread/clock.h"

/*
 * Returns why the scan has to end: recon lacks what the protocol needs, emit has handed on a late
 * image of a protocol that ends the scan then, or a recorder's disk has failed. NULL: it goes on.
 */
static const char *ends(const struct ingest *in, int *code)
{
	const struct bs_scan_record *s = in->now.record;
	const struct bs_log_record *log = &in->env->shm.s->log;
	const uint64_t id = atomic_load(&s->id);

	if (in->now.state != BS_STATE_SCANNING)
		return NULL;
	*code = BS_ERR_IO;
	if (in->log != NULL && bs_keeper_broken(in->log))
		return atomic_load(&log->failed) != 0 ? log->fault : "its log lacks messages";
	*code = atomic_load(&s->lacking) == id ? BS_ERR_CALIBRATION : BS_ERR_BUDGET;
	if (*code == BS_ERR_CALIBRATION)
		return s->recon_text;
	return atomic_load(&s->over_budget) == id ? s->emit_text : NULL;
}

/* Acts on a new or ready recon, on workers that end the scan, and on scans with all images made. */
static void watch_others(struct ingest *in)
{
	struct bs_shared *s = in->env->shm.s;
	struct bs_worker_state *recon = &s->worker[BS_WORKER_RECON];
	uint32_t epoch = atomic_load(&recon->epoch);
	bool ready = atomic_load(&recon->phase) == BS_PHASE_READY;
	const char *text;
	int code;

	if (bs_ingest_is_over(&in->before))
		bs_ingest_end(in, &in->before, BS_ON_DONE);
	if ((in->now.state != BS_STATE_STARTING || in->before.id != 0) &&
	    epoch != in->recon_epoch && in->feed == NULL) {
		if (in->before.id != 0 ||
		    (bs_ingest_in_scan(&in->now) && !bs_ingest_is_over(&in->now))) {
			bs_ingest_feed_begin(in);
		} else if (!bs_ingest_in_scan(&in->now)) {
			in->recon_epoch = epoch;
			bs_ingest_step(in, &in->now, BS_ON_LOST, 0);
		}
	}
	if (in->now.state == BS_STATE_STARTING && in->before.id == 0 && ready &&
	    atomic_load(&recon->epoch) == epoch && !bs_ingest_held(in)) {
		in->recon_epoch = epoch;
		bs_ingest_step(in, &in->now, BS_ON_READY, 0);
	}
	text = in->feed == NULL ? ends(in, &code) : NULL;
	if (text != NULL) {
		struct bs_fail why;

		(void)bs_fail(&why, code, "%s", text);
		bs_ingest_abort(in, &in->now, &why, BS_ON_FAULT);
	}
	/* the log is sealed after the scan's end: a new start would not know of a scan
	 * whose log is sealed */
	if (bs_ingest_is_over(&in->now))
		bs_ingest_log_end(in, &in->now);
	if (bs_ingest_is_over(&in->now) && bs_ingest_log_ended(in, &in->now)) {
		bs_ingest_feed_end(in);
		bs_ingest_end(in, &in->now, BS_ON_DONE);
	}
}

static void watch_time(struct ingest *in, int64_t now)
{
	struct bs_fail why;

	if (in->now.state == BS_STATE_SCANNING && !bs_ingest_reopen_waits(in, now)) {
		/* while one waits, missing messages may lie in the socket */
		if (bs_ingest_waits(in, in->now.session))
			in->now.heard_ns = in->now.order.gap_since_ns = now;
		if (bs_order_lacks(&in->now.order) && now - in->now.order.gap_since_ns >= BS_GAP_NS)
			bs_ingest_give_up_gap(in, &in->now, BS_NUMBER_NONE);
	}
	if (in->now.state == BS_STATE_SCANNING &&
	    now - in->now.heard_ns > bs_ns_of_ms(in->now.p->silence_ms)) {
		if (in->now.order.held_count > 0) { /* the close may be held beyond a gap */
			in->now.heard_ns = now;
			bs_ingest_give_up_gap(in, &in->now, BS_NUMBER_NONE);
		} else {
			(void)bs_fail(&why, BS_ERR_TIMEOUT,
				      "nothing came from the sender for %.0f ms, after number %llu",
				      in->now.p->silence_ms,
				      (unsigned long long)(in->now.order.next - 1));
			bs_ingest_abort(in, &in->now, &why, BS_ON_SILENCE);
		}
	}
	bs_ingest_heartbeat(in, now);
}

/* Returns true if the process may end. */
static bool watch_stop(struct ingest *in, int64_t now)
{
	struct bs_fail why;

	if (!bs_worker_stop(in->env))
		return false;
	if (in->now.state == BS_STATE_SCANNING && now > atomic_load(&in->env->shm.s->stop_by_ns)) {
		(void)bs_fail(&why, BS_ERR_ABORTED, "the service was told to end");
		bs_ingest_abort(in, &in->now, &why, BS_ON_STOP);
	}
	if (in->now.state == BS_STATE_IDLE ||
	    (in->now.state == BS_STATE_STARTING && in->before.id == 0))
		bs_ingest_step(in, &in->now, BS_ON_STOP, 0);
	return in->now.state == BS_STATE_STOPPED && !bs_ingest_waits(in, 0) && in->lined == 0;
}

/* Takes up a changed site. False: it cannot; only a new process helps. */
static bool watch_site(struct ingest *in)
{
	struct bs_fail why;

	if (bs_ingest_reload(in, &why))
		return true;
	bs_worker_say(in->env, BS_EVENT_FAULT, why.code, NULL, why.text);
	return false;
}

bool bs_ingest_has_work(const struct ingest *in)
{
	const struct bs_shared *s = in->env->shm.s;
	const struct bs_worker_state *recon = &s->worker[BS_WORKER_RECON];

	if (bs_ingest_reloads(in) || bs_ingest_is_over(&in->before) || bs_ingest_steps_said(in))
		return true;
	if (in->now.state == BS_STATE_STARTING && in->before.id == 0)
		return atomic_load(&recon->phase) == BS_PHASE_READY && !bs_ingest_held(in);
	if (bs_ingest_log_has_work(in) ||
	    (bs_ingest_is_over(&in->now) &&
	     (atomic_load(&s->log.end) == 0 || bs_ingest_log_ended(in, &in->now))))
		return true;
	if (in->feed != NULL)
		return bs_ingest_feed_has_work(in);
	int code;

	if ((atomic_load(&recon->epoch) != in->recon_epoch && !bs_ingest_is_over(&in->now)) ||
	    ends(in, &code) != NULL || atomic_load(&s->unused.count) != in->refusals)
		return true;
	if (in->now.state == BS_STATE_DRAINING || in->now.state == BS_STATE_ABORTING)
		return false;
	if (in->now.state == BS_STATE_IDLE &&
	    (bs_ingest_waits(in, 0) || (in->lined > 0 && !bs_ingest_reopen_first(in))))
		return true;
	/* true if a message waits for a place and a place is free */
	return in->now.state == BS_STATE_SCANNING && bs_ingest_waits(in, in->now.session) &&
	       !bs_ingest_log_full(in) &&
	       bs_pool_in_use(in->env->shm.acq_pool) < in->env->shm.acq_pool->slots;
}

static void publish(struct ingest *in)
{
	struct bs_kspace_record *k = &in->env->shm.s->kspace;

	atomic_store_explicit(&k->peers, bs_gate_peers(&in->gate), memory_order_relaxed);
	atomic_store_explicit(&k->waiting, in->lined, memory_order_relaxed);
	atomic_store_explicit(&k->line_ns, in->lined > 0 ? in->line[0].since_ns : 0,
			      memory_order_relaxed);
	atomic_store_explicit(&k->heard_ns, in->now.heard_ns, memory_order_relaxed);
	atomic_store_explicit(&k->connected, in->gate.connected, memory_order_relaxed);
	atomic_store_explicit(&k->let_go, in->gate.let_go, memory_order_relaxed);
	atomic_store_explicit(&k->nonsense, in->gate.nonsense, memory_order_relaxed);
	atomic_store_explicit(&k->here, bs_gate_here(&in->gate, in->now.peer),
			      memory_order_relaxed);
	atomic_store_explicit(&k->before_here,
			      in->before.id != 0 && bs_gate_here(&in->gate, in->before.peer),
			      memory_order_relaxed);
	atomic_store_explicit(&k->before_same, in->before.peer == in->now.peer,
			      memory_order_relaxed);
}

/* Does the work of ingest. Returns 0, or the exit status that asks for a new process. */
static int work(struct ingest *in)
{
	struct bs_worker_env *env = in->env;

	for (;;) {
		bool any = in->feed != NULL && bs_ingest_feed(in);

		any = bs_ingest_receive(in) || any;
		if (!any && in->now.unacked > 0)
			in->now.ack_due = true; /* all messages in the socket are taken */
		const int64_t now = bs_now_ns();

		bs_ingest_refusals(in);
		if (bs_ingest_steps_said(in))
			bs_ingest_answer_steps(in);
		watch_others(in);
		if (!watch_site(in))
			return BS_EXIT_REPLACE;
		bs_ingest_log_watch(in, now);
		bs_ingest_serve_line(in);
		bs_ingest_reopen(in);
		watch_time(in, now);
		if (watch_stop(in, now))
			return 0;
		bs_ingest_flush(in);
		publish(in);
		if (any || (in->now.state == BS_STATE_SCANNING && env->polls)) {
			bs_worker_beat(env);
			bs_usage_publish(&env->shm, BS_THREAD_INGEST, now);
			if (!any)
				bs_pause();
			continue;
		}
		struct pollfd fd = { in->gate.fd, POLLIN, 0 };

		int64_t due = bs_ingest_log_due(in);

		if (in->now.state == BS_STATE_SCANNING && now + BS_LOOK_NS < due)
			due = now + BS_LOOK_NS;
		bs_bell_announce(&env->me->bell);
		bs_worker_sleep(env, &fd, 1, bs_ingest_has_work(in) ? 0 : due);
	}
}

/*
 * Waits until the senders have hung up, at most 200 ms: a sender hangs up when it has the outcome.
 * If this side hung up first, a library might lose the outcome.
 */
static void say_goodbye(struct ingest *in)
{
	const struct timespec moment = { 0, 5000000 };
	const int64_t until = bs_now_ns() + 200000000;
	struct bs_gate_message m;

	while ((bs_gate_here(&in->gate, in->outcome[0].peer) ||
		bs_gate_here(&in->gate, in->outcome[1].peer)) &&
	       bs_now_ns() < until) {
		for (int i = 0; i < 64 && bs_gate_take(&in->gate, &m); i++)
			bs_gate_release(&in->gate, m.peer);
		bs_ingest_flush(in);
		(void)nanosleep(&moment, NULL);
		bs_worker_beat(in->env);
	}
}

/* Counts deaths with a message in hand. A message that ends each process that handles it would do
 * so for ever: its scan is aborted. */
static void suspect(struct ingest *in)
{
	struct bs_fail why;

	if (atomic_exchange(&in->now.record->in_hand, 0) == 0)
		return;
	in->now.so_far.deaths =
		in->now.so_far.died_at == in->now.order.next ? in->now.so_far.deaths + 1 : 1;
	in->now.so_far.died_at = in->now.order.next;
	bs_ingest_commit(in, &in->now, 0);
	if (in->now.so_far.deaths < BS_DEATHS_MAX || in->now.state != BS_STATE_SCANNING)
		return;
	(void)bs_fail(&why, BS_ERR_ABORTED,
		      "the receiving process ended %u times (%s) with a message in hand, number "
		      "%llu or one beyond",
		      in->now.so_far.deaths, in->env->me->last_end,
		      (unsigned long long)in->now.order.next);
	bs_ingest_abort(in, &in->now, &why, BS_ON_FAULT);
}

void bs_ingest_resume(struct ingest *in)
{
	if (!bs_ingest_restore(in) || (!bs_ingest_in_scan(&in->now) && in->before.id == 0))
		return;
	in->now.accept_due = in->now.state == BS_STATE_SCANNING && in->now.order.next == 1;
	bs_worker_tell(in->env, BS_EVENT_NOTE, 0, in->now.id,
		       "the receiving process ended (%s) and was replaced: the scan goes on at "
		       "number %llu",
		       in->env->me->last_end, (unsigned long long)in->now.order.next);
	bs_ingest_feed_resume(in);
	suspect(in);
}

static int open_gate(struct ingest *in, struct bs_fail *why)
{
	static struct bs_seal_keys keys;
	const struct bs_site *site = &in->env->site;
	struct bs_gate_spec spec = { .endpoint = "kspace",
				     .roles = BS_ROLE_SCANNER,
				     .record = &in->env->shm.s->seal[BS_SEAL_KSPACE] };
	int rc = 0;

	if (bs_site_seals(site, site->kspace_url)) {
		rc = bs_seal_keys_load(&keys, &site->keys, why);
		spec.keys = &keys;
		atomic_store(&spec.record->on, 1);
	}
	return rc == 0 ? bs_gate_open(&in->gate, site->kspace_url, in->message_max, &spec, why)
		       : rc;
}

int bs_worker_ingest(struct bs_worker_env *env)
{
	static struct ingest in;
	struct bs_fail why = { 0 };
	uint32_t slots = env->shm.acq_pool->slots;

	in.env = env;
	in.now.record = env->shm.s->scan;
	in.totals = &env->shm.s->totals;
	for (int i = 0; i < 2; i++)
		in.outcome[i].end = &env->shm.s->ended[i];
	in.keeps_noise = bs_ingest_sums_noise(&env->site);
	in.message_max = bs_wire_kspace_max(env->shm.s->pools.acq_bytes);
	if (in.message_max < env->record_bytes)
		in.message_max = env->record_bytes;
	/* Held messages take half of the pool at most: slots are left for the missing messages. */
	in.now.order.room = slots / 2 < BS_HELD_MAX ? slots / 2 : BS_HELD_MAX;
	in.now.order.window = env->shm.log != NULL ? BS_WINDOW_LOG : in.now.order.room;
	bs_worker_phase(env, BS_PHASE_ARMING);
	bs_rt_enter(env, BS_THREAD_INGEST);
	bs_rt_polls(env);
	bs_rt_lock(env, true);
	if (bs_ingest_log_start(&in, &why) != 0 || open_gate(&in, &why) != 0) {
		if (in.log != NULL)
			bs_keeper_stop(in.log); /* the keeper's threads use the shared memory */
		bs_worker_say(env, BS_EVENT_FAULT, why.code, NULL, why.text);
		return BS_EXIT_HOPELESS;
	}
	in.steps = atomic_load(&env->shm.s->said.count);
	in.refusals = atomic_load(&env->shm.s->unused.count);
	in.recon_epoch = atomic_load(&env->shm.s->worker[BS_WORKER_RECON].epoch);
	bs_ingest_resume(&in);
	bs_ingest_reopen_start(&in);
	bs_worker_phase(env, BS_PHASE_READY);
	int status = work(&in);

	say_goodbye(&in);
	bs_gate_close(&in.gate);
	if (in.log != NULL)
		bs_keeper_stop(in.log);
	return status;
}
