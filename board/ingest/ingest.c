/* board/ingest/ingest.c - the receiving process: its loop, and which message goes where */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "board/ingest/ingest.h"
#include "board/service/realtime.h"
#include "core/thread/clock.h"
#include "core/log.h"

/* An XML header of ten times the legal size is still read, so that it can be refused in words. */
#define MESSAGE_MAX ((size_t)12 << 20)

void bs_ingest_step(struct ingest *in, enum bs_happening on)
{
	bool known;
	enum bs_state before = in->state;

	in->state = bs_state_next(before, on, &known);
	atomic_store(&in->scan->state, (uint32_t)in->state);
	bs_worker_say(in->env, BS_EVENT_STATE, 0,
		      (const uint64_t[3]){ (uint64_t)before, (uint64_t)on, (uint64_t)in->state },
		      NULL);
}

void bs_ingest_reject(struct ingest *in, uint64_t session, const struct bs_fail *why)
{
	bool scanning = in->state == BS_STATE_SCANNING;

	bs_count(&in->totals->rejected, 1);
	if (scanning)
		bs_count(&in->scan->rejected, 1);
	bs_worker_say(in->env, BS_EVENT_REJECTED, why->code,
		      (const uint64_t[3]){ scanning ? atomic_load(&in->scan->id) : 0 }, why->text);
	bs_ingest_refuse(in, session, why);
}

static bool in_scan(const struct ingest *in)
{
	return in->state == BS_STATE_SCANNING || in->state == BS_STATE_DRAINING ||
	       in->state == BS_STATE_ABORTING;
}

static bool is_ended(const struct ingest *in, uint64_t session)
{
	return atomic_load(&in->ended->known) != 0 && in->ended->session == session;
}

/* A header while no scan can begin: it waits, or ends the scan before it. True: it waits. */
static bool open_waits(struct ingest *in, const struct bs_wire *w, int64_t now)
{
	struct bs_fail why;

	if (in->state == BS_STATE_SCANNING) {
		(void)bs_fail(&why, BS_ERR_STATE,
			      "another header (session %016llx) came before the scan was closed",
			      (unsigned long long)w->session);
		bs_ingest_fault(in, &why, BS_ON_FAULT);
		return true;
	}
	if (in->state == BS_STATE_IDLE)
		return false;
	if (in->state == BS_STATE_STOPPED)
		(void)bs_fail(&why, BS_ERR_ABORTED, "the service is ending");
	else if (in->waiting != NULL && now - in->waiting_since > BS_OPEN_NS)
		(void)bs_fail(&why, BS_ERR_STATE, "the service is still %s after %d s",
			      bs_state_name(in->state), (int)(BS_OPEN_NS / 1000000000));
	else
		return true;
	bs_count(&in->totals->refused, 1);
	bs_worker_say(in->env, BS_EVENT_REFUSED, why.code, NULL, why.text);
	bs_ingest_refuse(in, w->session, &why);
	return false;
}

static int take_open(struct ingest *in, const struct bs_wire *w, const unsigned char *payload)
{
	int64_t now = bs_now_ns();

	if (in_scan(in) && w->session == in->session) { /* sent again */
		bs_count(&in->scan->duplicates, 1);
		in->accept_due = in->state == BS_STATE_SCANNING;
		return 0;
	}
	if (!in_scan(in) && is_ended(in, w->session)) {
		in->outcome_due = true;
		return 0;
	}
	in->waiting_session = w->session;
	if (open_waits(in, w, now))
		return BS_INGEST_LATER;
	if (in->state == BS_STATE_IDLE)
		(void)bs_ingest_open(in, w, payload);
	return 0;
}

/* A numbered message of the scan in flight. */
static int take_numbered(struct ingest *in, const struct bs_wire *w, const unsigned char *payload,
			 int64_t received_ns)
{
	struct bs_item item = {
		.seq = w->seq, .time_ns = w->time_ns, .kind = w->kind, .used = true
	};
	struct bs_fail why = { 0 };

	if (!bs_ingest_wanted(in, w))
		return 0;
	switch (w->kind) {
	case BS_WIRE_ACQ:
		if (bs_ingest_acq(in, w, payload, received_ns, &item) != 0) {
			/* what is held beyond a gap may be what fills the pool */
			if (in->held_count > 0 && w->seq != in->next)
				bs_ingest_give_up_gap(in, 0, true);
			return BS_INGEST_LATER;
		}
		break;
	case BS_WIRE_CLOSE:
		if (bs_wire_get_u64(&item.count, payload, (size_t)w->payload_len, &why) != 0) {
			item.used = false; /* it closes, but its count is not believed */
			bs_ingest_reject(in, in->session, &why);
			bs_ingest_fault(in, &why, BS_HAPPENINGS);
		}
		break;
	case BS_WIRE_OPEN:
		(void)bs_fail(&why, BS_ERR_STATE, "a second header, number %llu, within the scan",
			      (unsigned long long)w->seq);
		bs_ingest_reject(in, in->session, &why);
		bs_ingest_fault(in, &why, BS_HAPPENINGS);
		item.used = false;
		break;
	default:
		break;
	}
	bs_ingest_put(in, &item);
	return 0;
}

static void out_of_turn(struct ingest *in, const struct bs_wire *w)
{
	struct bs_fail why;

	if (is_ended(in, w->session)) { /* what was under way when it ended is not news; once is
					   enough */
		if (w->kind == BS_WIRE_CLOSE || bs_now_ns() - in->outcome_said_ns > BS_OUTCOME_NS)
			in->outcome_due = true;
		return;
	}
	(void)bs_fail(&why, BS_ERR_STATE,
		      "message of kind %u, number %llu: session %016llx is not open", w->kind,
		      (unsigned long long)w->seq, (unsigned long long)w->session);
	bs_ingest_reject(in, w->session, &why);
}

/* While the last images are made: sent again, or the scan was ended before its sender closed it. */
static void come_late(struct ingest *in, const struct bs_wire *w)
{
	bool again = w->seq < in->next;

	if (!again && w->kind == BS_WIRE_CLOSE)
		return; /* nothing of it is lost: the end has its reason */
	bs_count(again ? &in->scan->duplicates : &in->scan->late, 1);
	bs_count(again ? &in->totals->duplicates : &in->totals->late, 1);
}

/* 0: done with the message. BS_INGEST_LATER: it must wait. */
static int take_message(struct ingest *in, const unsigned char *msg, size_t len,
			int64_t received_ns)
{
	const unsigned char *payload = NULL;
	struct bs_wire w;
	struct bs_fail why = { 0 };

	if (bs_wire_decode(&w, msg, len, &payload, &why) != 0) {
		bs_ingest_reject(in, in->state == BS_STATE_SCANNING ? in->session : 0, &why);
		return 0;
	}
	if (w.session == in->session && in_scan(in))
		in->heard_ns = received_ns;
	switch (w.kind) {
	case BS_WIRE_HEARTBEAT:
		return 0;
	case BS_WIRE_OPEN:
		if (w.seq != 0 && in->state == BS_STATE_SCANNING && w.session == in->session)
			return take_numbered(in, &w, payload, received_ns);
		return take_open(in, &w, payload);
	case BS_WIRE_ACQ:
	case BS_WIRE_WAVEFORM:
	case BS_WIRE_CLOSE:
		if (in->state == BS_STATE_SCANNING && w.session == in->session)
			return take_numbered(in, &w, payload, received_ns);
		if (in_scan(in) && w.session == in->session) {
			come_late(in, &w);
			return 0;
		}
		out_of_turn(in, &w);
		return 0;
	default:
		(void)bs_fail(&why, BS_ERR_KIND,
			      "message of kind %u: the service says that, not a sender", w.kind);
		bs_ingest_reject(in, w.session, &why);
		return 0;
	}
}

static void settle(struct ingest *in, const unsigned char *msg, size_t len, int64_t received_ns)
{
	if (take_message(in, msg, len, received_ns) == BS_INGEST_LATER) {
		if (in->waiting == NULL) {
			in->waiting_since = received_ns;
			bs_count(&in->env->me->waits, 1);
		}
		in->waiting = msg;
		in->waiting_len = len;
		return;
	}
	in->waiting = NULL;
	bs_endpoint_release(msg);
}

/* Takes what is there, a bounded number so that time and replies get their turn. True: some. */
static bool receive(struct ingest *in)
{
	bool any = false;

	if (in->waiting != NULL)
		settle(in, in->waiting, in->waiting_len, bs_now_ns());
	for (int i = 0; i < 64 && in->waiting == NULL; i++) {
		const unsigned char *msg;
		size_t len;

		if (bs_endpoint_take(&in->socket, &msg, &len, NULL) != 0)
			break;
		bs_count(&in->totals->messages, 1);
		bs_count(&in->totals->bytes, len);
		in->message_ns = bs_now_ns();
		settle(in, msg, len, in->message_ns);
		bs_worker_beat(in->env);
		any = true;
		if (in->ack_due)
			(void)bs_ingest_flush(in);
	}
	if (!any && in->unacked > 0)
		in->ack_due = true; /* caught up */
	return any;
}

/* Emit has handed on a late image of a protocol that stops then. */
static bool over_budget(const struct ingest *in)
{
	return in->state == BS_STATE_SCANNING &&
	       atomic_load(&in->scan->over_budget) == atomic_load(&in->scan->id);
}

/* What became of recon and of the scan's last images. */
static void watch_others(struct ingest *in)
{
	struct bs_shared *s = in->env->shm.s;
	struct bs_worker_state *recon = &s->worker[BS_WORKER_RECON];
	uint32_t epoch = atomic_load(&recon->epoch);
	bool ready = atomic_load(&recon->phase) == BS_PHASE_READY;

	if (in->state != BS_STATE_STARTING && epoch != in->recon_epoch) {
		struct bs_fail why;
		bool scan = in_scan(in);

		in->recon_epoch = epoch;
		(void)bs_fail(
			&why, BS_ERR_ABORTED,
			"the reconstruction process ended (%s) and was replaced; what it held of "
			"the scan is lost",
			recon->obituary);
		if (scan) {
			in->fault = why; /* it is what ended the scan, whatever was before */
			bs_ingest_end(in, BS_ON_LOST);
		} else {
			bs_ingest_step(in, BS_ON_LOST);
		}
	}
	if (in->state == BS_STATE_STARTING && ready && atomic_load(&recon->epoch) == epoch) {
		in->recon_epoch = epoch;
		bs_ingest_step(in, BS_ON_READY);
	}
	if (over_budget(in)) {
		struct bs_fail why;

		(void)bs_fail(&why, BS_ERR_BUDGET, "%s", in->scan->emit_text);
		bs_ingest_fault(in, &why, BS_ON_FAULT);
	}
	if ((in->state == BS_STATE_DRAINING || in->state == BS_STATE_ABORTING) &&
	    atomic_load(&in->scan->ended) == atomic_load(&in->scan->id))
		bs_ingest_end(in, BS_ON_DONE);
}

static void watch_time(struct ingest *in, int64_t now)
{
	struct bs_fail why;

	if (in->state == BS_STATE_SCANNING) {
		if (in->waiting != NULL)
			in->heard_ns = now; /* it is we who do not listen */
		bs_ingest_give_up_gap(in, now, false);
	}
	if (in->state == BS_STATE_SCANNING && now - in->heard_ns > bs_ns_of_ms(in->p->silence_ms)) {
		if (in->held_count >
		    0) { /* what is missing is not coming; what came may hold the close */
			in->heard_ns = now;
			bs_ingest_give_up_gap(in, now, true);
		} else {
			(void)bs_fail(&why, BS_ERR_TIMEOUT,
				      "nothing came from the sender for %.0f ms, after number %llu",
				      in->p->silence_ms, (unsigned long long)(in->next - 1));
			bs_ingest_fault(in, &why, BS_ON_SILENCE);
		}
	}
	bs_ingest_heartbeat(in, now);
}

/* True: the process may end. */
static bool watch_stop(struct ingest *in, int64_t now)
{
	struct bs_fail why;

	if (!bs_worker_stop(in->env))
		return false;
	if (in->state == BS_STATE_SCANNING && now > atomic_load(&in->env->shm.s->stop_by_ns)) {
		(void)bs_fail(&why, BS_ERR_ABORTED, "the service was told to end");
		bs_ingest_fault(in, &why, BS_ON_STOP);
	}
	if (in->state == BS_STATE_IDLE || in->state == BS_STATE_STARTING)
		bs_ingest_step(in, BS_ON_STOP);
	return in->state == BS_STATE_STOPPED && in->waiting == NULL;
}

/* False: the socket is lost, and only a new process helps. */
static bool watch_socket(struct ingest *in, int64_t now)
{
	struct bs_fail why;

	if (now - in->watched_ns < BS_WATCH_NS)
		return true;
	in->watched_ns = now;
	if (!bs_endpoint_wedged(&in->socket, &in->watch, in->message_ns, now))
		return true;
	bs_worker_say(in->env, BS_EVENT_FAULT, BS_ERR_IO, NULL,
		      "the k-space socket hangs up on every sender: it is made anew");
	bs_endpoint_close(&in->socket);
	in->watch = (struct bs_endpoint_watch){ 0 };
	if (bs_endpoint_bind(&in->socket, BS_ENDPOINT_KSPACE, in->env->site.kspace_url,
			     in->message_max, &why) == 0)
		return true;
	bs_worker_say(in->env, BS_EVENT_FAULT, why.code, NULL, why.text);
	return false;
}

bool bs_ingest_has_work(const struct ingest *in)
{
	const struct bs_shared *s = in->env->shm.s;
	const struct bs_worker_state *recon = &s->worker[BS_WORKER_RECON];

	if (in->state == BS_STATE_STARTING)
		return atomic_load(&recon->phase) == BS_PHASE_READY;
	if (atomic_load(&recon->epoch) != in->recon_epoch || over_budget(in))
		return true;
	if (in->state == BS_STATE_DRAINING || in->state == BS_STATE_ABORTING)
		return atomic_load(&in->scan->ended) == atomic_load(&in->scan->id);
	if (in->waiting != NULL && in->state == BS_STATE_IDLE)
		return true;
	/* a message waits for a slot, and there is one */
	return in->state == BS_STATE_SCANNING && in->waiting != NULL &&
	       bs_pool_in_use(in->env->shm.acq_pool) < in->env->shm.acq_pool->slots;
}

/* 0, or the exit status that asks for a new process. */
static int work(struct ingest *in)
{
	struct bs_worker_env *env = in->env;

	for (;;) {
		bool any = receive(in);
		int64_t now = bs_now_ns();

		watch_others(in);
		watch_time(in, now);
		if (watch_stop(in, now))
			return 0;
		if (!any && !watch_socket(in, now))
			return BS_EXIT_REPLACE;
		bool said = bs_ingest_flush(in);

		if (any) {
			bs_worker_beat(env);
			bs_rt_publish(env, BS_THREAD_INGEST, now);
			continue;
		}
		struct pollfd fds[2];
		unsigned n = 0;

		if (in->waiting == NULL)
			fds[n++] = (struct pollfd){ in->socket.receive_fd, POLLIN, 0 };
		if (!said && bs_endpoint_connections_now(&in->socket) != 0)
			fds[n++] = (struct pollfd){ in->socket.send_fd, POLLIN, 0 };
		bs_bell_announce(&env->me->bell);
		bs_worker_sleep(env, fds, n, bs_ingest_has_work(in) ? 0 : INT64_MAX);
	}
}

/* The outcome must reach the sender before the socket goes: nanomsg does not linger. */
static void say_goodbye(struct ingest *in)
{
	const struct timespec moment = { 0, 20000000 };
	int64_t until = bs_now_ns() + 200000000;

	if (!atomic_load(&in->ended->known))
		return;
	while (!bs_ingest_flush(in) && bs_now_ns() < until) {
		(void)nanosleep(&moment, NULL);
		bs_worker_beat(in->env);
	}
	for (int i = 0; i < 5; i++) { /* the library's thread is still writing */
		(void)nanosleep(&moment, NULL);
		bs_worker_beat(in->env);
	}
}

int bs_worker_ingest(struct bs_worker_env *env)
{
	static struct ingest in;
	struct bs_fail why = { 0 };
	uint32_t slots = env->shm.acq_pool->slots;

	in.env = env;
	in.scan = &env->shm.s->scan;
	in.totals = &env->shm.s->totals;
	in.ended = &env->shm.s->ended;
	in.message_max = (size_t)env->shm.s->pools.acq_bytes + BS_WIRE_BYTES + BS_MRD_ACQ_BYTES;
	/* Half of the pool: what is held beyond a gap never keeps the missing message out. */
	in.window = slots / 2 < BS_HELD_MAX ? slots / 2 : BS_HELD_MAX;
	bs_worker_phase(env, BS_PHASE_ARMING);
	if (in.message_max < MESSAGE_MAX)
		in.message_max = MESSAGE_MAX;
	bs_endpoint_tune_malloc(in.message_max);
	bs_rt_enter(env, BS_THREAD_INGEST); /* before the sockets: nanomsg's threads inherit it */
	bs_rt_lock(env, true);
	if (bs_endpoint_bind(&in.socket, BS_ENDPOINT_KSPACE, env->site.kspace_url, in.message_max,
			     &why) != 0) {
		bs_worker_say(env, BS_EVENT_FAULT, why.code, NULL, why.text);
		return BS_EXIT_HOPELESS;
	}
	atomic_store(&in.scan->state, BS_STATE_STARTING);
	in.recon_epoch = atomic_load(&env->shm.s->worker[BS_WORKER_RECON].epoch);
	bs_ingest_resume(&in);
	bs_worker_phase(env, BS_PHASE_READY);
	int status = work(&in);

	say_goodbye(&in);
	bs_endpoint_close(&in.socket);
	return status;
}
