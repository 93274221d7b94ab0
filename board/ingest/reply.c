/* board/ingest/reply.c - what the service says on the k-space socket; see ingest.h */
#include <stdio.h>
#include <string.h>

#include "board/ingest/ingest.h"
#include "core/thread/clock.h"
#include "ipc/endpoint.h"

/* False: the peer has yet to read what it was told before; to be tried again. A peer that is gone
 * asks again when it comes back. */
static bool say_as(struct ingest *in, uint64_t peer, struct bs_wire w, const void *payload,
		   size_t len)
{
	unsigned char envelope[BS_WIRE_BYTES];
	int rc;

	bs_wire_encode(envelope, &w, payload, len);
	rc = bs_gate_send(&in->gate, peer, envelope, sizeof(envelope), payload, len);
	if (rc == 0 && peer == in->peer)
		in->said_ns = bs_now_ns();
	return rc != BS_ENDPOINT_TIMEOUT;
}

static bool say(struct ingest *in, uint64_t peer, enum bs_wire_kind kind, uint64_t session,
		int64_t time_ns, const void *payload, size_t len)
{
	return say_as(
		in, peer,
		(struct bs_wire){ .kind = (uint16_t)kind, .session = session, .time_ns = time_ns },
		payload, len);
}

void bs_ingest_follow(struct ingest *in, uint64_t peer)
{
	struct bs_kspace_record *k = &in->env->shm.s->kspace;

	in->peer = peer;
	bs_gate_favor(&in->gate, peer);
	bs_gate_name(&in->gate, peer, k->sender, sizeof(k->sender));
}

/* w: of the message that is answered. */
static bool say_answer(struct ingest *in, uint64_t peer, struct bs_wire w, int code,
		       uint32_t window, const char *text)
{
	unsigned char payload[BS_WIRE_ANSWER_BYTES];
	struct bs_wire_answer v = { .code = code, .window = window };

	(void)snprintf(v.text, sizeof(v.text), "%s", text);
	bs_wire_put_answer(payload, &v);
	w.time_ns = bs_now_ns();
	return say_as(in, peer, w, payload, sizeof(payload));
}

/* w: of the message that is refused. Only the scan's own sender is waited for until it reads. */
static void refuse(struct ingest *in, const struct bs_wire *w, const struct bs_fail *why)
{
	uint32_t at = (in->refuse_first + in->refuses) % BS_REFUSES_MAX;

	if (in->from != in->peer) {
		(void)say_answer(in, in->from,
				 (struct bs_wire){ .kind = BS_WIRE_REFUSE,
						   .session = w->session,
						   .seq = w->seq,
						   .version = w->version },
				 why->code, 0, why->text);
		return;
	}
	if (in->refuses == BS_REFUSES_MAX) { /* the oldest makes room */
		in->refuse_first = (in->refuse_first + 1) % BS_REFUSES_MAX;
		in->refuses--;
	}
	in->refuse[at].peer = in->from;
	in->refuse[at].session = w->session;
	in->refuse[at].seq = w->seq;
	in->refuse[at].version = w->version;
	in->refuse[at].code = why->code;
	(void)snprintf(in->refuse[at].text, sizeof(in->refuse[at].text), "%s", why->text);
	in->refuses++;
}

void bs_ingest_reject(struct ingest *in, const struct bs_wire *w, const struct bs_fail *why)
{
	const bool scanning = in->state == BS_STATE_SCANNING && in->from == in->peer;

	bs_count(&in->totals->rejected, 1);
	bs_worker_say(in->env, BS_EVENT_REJECTED, why->code,
		      (const uint64_t[3]){ scanning ? in->id : 0 }, why->text);
	refuse(in, w, why);
}

void bs_ingest_refusals(struct ingest *in)
{
	const struct bs_scan_record *s = in->scan;
	const uint64_t end = atomic_load(&s->refusals);

	in->from = in->peer;
	if (end - in->refusals > BS_UNUSED_KEPT)
		in->refusals = end - BS_UNUSED_KEPT;
	for (; in->refusals != end; in->refusals++) {
		const struct bs_unused u = s->refusal[in->refusals % BS_UNUSED_KEPT];
		struct bs_fail why;

		if (atomic_load(&s->refusals) - in->refusals >= BS_UNUSED_KEPT ||
		    u.scan != in->id || u.code == BS_ERR_STATE)
			continue; /* written over; another scan's; one that would end this one */
		(void)bs_fail(&why, u.code, "%.*s", (int)sizeof(u.text), u.text);
		refuse(in, &(struct bs_wire){ .session = in->session, .seq = u.seq }, &why);
	}
}

void bs_ingest_refuse_open(struct ingest *in, uint64_t session, const struct bs_fail *why)
{
	bs_count(&in->totals->refused, 1);
	bs_worker_say(in->env, BS_EVENT_REFUSED, why->code, NULL, why->text);
	refuse(in, &(struct bs_wire){ .session = session }, why);
}

static bool flush_refuses(struct ingest *in)
{
	while (in->refuses > 0) {
		uint32_t at = in->refuse_first;
		const struct bs_wire w = { .kind = BS_WIRE_REFUSE,
					   .session = in->refuse[at].session,
					   .seq = in->refuse[at].seq,
					   .version = in->refuse[at].version };

		if (!say_answer(in, in->refuse[at].peer, w, in->refuse[at].code, 0,
				in->refuse[at].text))
			return false;
		in->refuse_first = (at + 1) % BS_REFUSES_MAX;
		in->refuses--;
	}
	return true;
}

static bool flush_ack(struct ingest *in)
{
	unsigned char payload[BS_WIRE_ACK_BYTES];
	struct bs_wire_ack ack;

	if (!bs_ingest_log_ack(in, &ack))
		return true; /* later: a log that was taken up does not go on yet */
	bs_wire_put_ack(payload, &ack);
	if (!say(in, in->peer, BS_WIRE_ACK, in->session, in->ack_time_ns, payload, sizeof(payload)))
		return false;
	in->ack_due = false;
	in->durable_said = ack.durable;
	in->unacked = 0;
	return true;
}

/* An OPEN on its way to the disk is accepted once it is there: log.c rings. */
static bool flush_accept(struct ingest *in)
{
	struct bs_wire_ack ack;
	char text[96];

	if (bs_ingest_log_apart(in) || !bs_ingest_log_ack(in, &ack))
		return true;
	(void)snprintf(text, sizeof(text), "protocol '%s'", in->p->name);
	if (!say_answer(in, in->peer,
			(struct bs_wire){ .kind = BS_WIRE_ACCEPT, .session = in->session }, 0,
			in->order.window, text))
		return false;
	in->accept_due = false;
	return true;
}

static bool flush_outcome(struct ingest *in)
{
	if (!say(in, in->ended_peer, BS_WIRE_OUTCOME, in->ended->session, bs_now_ns(),
		 in->ended->outcome, BS_WIRE_OUTCOME_BYTES))
		return false;
	in->outcome_due = false;
	in->outcome_said_ns = bs_now_ns();
	return true;
}

/* A scan's outcome goes after its last ACK, and before the next scan's ACCEPT to the same peer. */
bool bs_ingest_flush(struct ingest *in)
{
	if (in->accept_due && !(in->outcome_due && in->ended_peer == in->peer) && !flush_accept(in))
		return false;
	if (!flush_refuses(in))
		return false;
	if (in->ack_due && !in->accept_due && !bs_ingest_log_apart(in) && !flush_ack(in))
		return false;
	if (in->outcome_due && !flush_outcome(in))
		return false;
	return !in->accept_due || in->outcome_due || flush_accept(in);
}

void bs_ingest_heartbeat(struct ingest *in, int64_t now_ns)
{
	const int64_t beat_ns = bs_ns_of_ms(in->env->site.heartbeat_ms);

	if (bs_ingest_in_scan(in) && now_ns - in->said_ns >= beat_ns) {
		in->said_ns = now_ns; /* told or not: not at every turn of the loop */
		(void)say(in, in->peer, BS_WIRE_HEARTBEAT, in->session, now_ns, NULL, 0);
	}
	if (in->waiting != NULL && !bs_ingest_in_scan(in) && now_ns - in->said_ns >= beat_ns) {
		in->said_ns = now_ns; /* of a scan that will go on from its log */
		(void)say(in, in->waiting_peer, BS_WIRE_HEARTBEAT, in->scan->reopened.session,
			  now_ns, NULL, 0);
	}
	for (uint32_t i = 0; i < in->lined; i++) {
		struct bs_line *l = &in->line[i];

		if (now_ns - l->said_ns < beat_ns)
			continue;
		l->said_ns = now_ns;
		(void)say(in, l->peer, BS_WIRE_HEARTBEAT, l->session, now_ns, NULL, 0);
	}
}
