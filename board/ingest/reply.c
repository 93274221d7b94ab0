/* board/ingest/reply.c - what the service says on the k-space socket; see ingest.h */
#include <stdio.h>
#include <string.h>

#include "board/ingest/ingest.h"
#include "core/frame/open.h"
#include "core/thread/clock.h"
#include "ipc/endpoint.h"
#include "ipc/wire/xml.h"

/*
 * Sends a message. 0: sent. BS_ENDPOINT_TIMEOUT: the peer has not read its earlier messages yet.
 * Else the peer is gone, and its replies stay due: the sender comes back under another peer number.
 */
static int say(struct ingest *in, struct bs_ingest_scan *scan, uint64_t peer, struct bs_wire w,
	       const void *payload, size_t len)
{
	unsigned char envelope[BS_WIRE_BYTES];
	int rc;

	bs_wire_encode(envelope, &w, payload, len);
	rc = bs_gate_send(&in->gate, peer, envelope, sizeof(envelope), payload, len);
	if (rc == 0 && peer == scan->peer)
		scan->said_ns = bs_now_ns();
	return rc;
}

void bs_ingest_follow(struct ingest *in, uint64_t peer)
{
	struct bs_kspace_record *k = &in->env->shm.s->kspace;

	in->now.peer = peer;
	bs_gate_favor(&in->gate, peer);
	in->now.pid = bs_gate_name(&in->gate, peer, k->sender, sizeof(k->sender));
}

/* w: envelope of the message that is answered. */
static int say_answer(struct ingest *in, uint64_t peer, struct bs_wire w, int code, uint32_t window,
		      const char *text)
{
	unsigned char payload[BS_WIRE_REPLY_BYTES];
	struct bs_wire_reply v = { .code = code, .window = window };

	(void)snprintf(v.text, sizeof(v.text), "%s", text);
	bs_wire_put_reply(payload, &v);
	w.time_ns = bs_now_ns();
	return say(in, &in->now, peer, w, payload, sizeof(payload));
}

/* Returns the open scan of this session; NULL: there is none. */
static const struct bs_ingest_scan *scan_of(const struct ingest *in, uint64_t session)
{
	if (bs_ingest_in_scan(&in->now) && session == in->now.session)
		return &in->now;
	return in->before.id != 0 && session == in->before.session ? &in->before : NULL;
}

/*
 * Refuses a message; w: its envelope. A refusal to a scan's own sender waits until that sender
 * reads; a refusal to any other peer is sent at once or lost.
 */
static void refuse(struct ingest *in, const struct bs_wire *w, const struct bs_fail *why)
{
	struct bs_refusal *r;

	if (in->from != in->now.peer && scan_of(in, w->session) == NULL) {
		(void)say_answer(in, in->from,
				 (struct bs_wire){ .kind = BS_WIRE_REFUSE,
						   .session = w->session,
						   .seq = w->seq,
						   .version = w->version },
				 why->code, 0, why->text);
		return;
	}
	if (in->refuses == BS_REFUSES_MAX) /* the oldest makes room */
		memmove(&in->refuse[0], &in->refuse[1], --in->refuses * sizeof(in->refuse[0]));
	r = &in->refuse[in->refuses++];
	r->peer = in->from;
	r->session = w->session;
	r->seq = w->seq;
	r->version = w->version;
	r->code = why->code;
	(void)snprintf(r->text, sizeof(r->text), "%s", why->text);
}

/* True if a message of a session that is not open was reported before: it is reported once. */
static bool is_logged(struct ingest *in, const struct bs_wire *w, const struct bs_fail *why)
{
	if (why->code != BS_ERR_STATE || scan_of(in, w->session) != NULL)
		return false;
	for (unsigned i = 0; i < in->losts && i < BS_LOST_MAX; i++)
		if (in->lost[i] == w->session)
			return true;
	in->lost[in->losts++ % BS_LOST_MAX] = w->session;
	return false;
}

/* Returns false if the answer waits for its sender to read. */
static bool tell(struct ingest *in, const struct bs_telling *t)
{
	struct bs_ingest_scan *scan =
		in->before.id != 0 && t->session == in->before.session ? &in->before : &in->now;
	struct bs_scan_record *s = scan->record;
	unsigned char payload[BS_WIRE_ANSWER_MAX];
	const size_t len = bs_wire_put_answer(payload, &t->answer);

	if (bs_now_ns() > t->answer.by_ns) {
		bs_count(&s->answers_late, 1);
		bs_count(&in->totals->answers_late, 1);
		return true;
	}
	if (say(in, scan, scan->peer,
		(struct bs_wire){
			.kind = BS_WIRE_ANSWER, .session = t->session, .time_ns = t->sender_ns },
		payload, len) != 0)
		return false;
	bs_hist_add(bs_shm_hist(&in->env->shm, s->protocol, BS_STAGE_ANSWER),
		    bs_now_ns() - t->answer.received_ns);
	bs_count(&s->answers, 1);
	bs_count(&in->totals->answers, 1);
	return true;
}

/* Answers go out in the order of their making; one that waits holds back those behind it. */
static void flush_answers(struct ingest *in)
{
	uint32_t left = 0;
	bool waits = false;

	for (uint32_t i = 0; i < in->tells; i++) {
		waits = waits && bs_now_ns() <= in->tell[i].answer.by_ns;
		waits = waits || !tell(in, &in->tell[i]);
		if (waits)
			in->tell[left++] = in->tell[i];
	}
	in->tells = left;
}

/* Drops the oldest answer, or all of a session, as if their time had passed. */
static void drop_answers(struct ingest *in, uint64_t session)
{
	for (uint32_t i = 0; i < in->tells; i++)
		if (session != 0 ? in->tell[i].session == session : i == 0)
			in->tell[i].answer.by_ns = INT64_MIN;
	flush_answers(in);
}

void bs_ingest_tell(struct ingest *in, const struct bs_telling *t)
{
	if (in->tells == BS_TELLS_MAX)
		drop_answers(in, 0);
	in->tell[in->tells++] = *t;
	flush_answers(in);
}

void bs_ingest_tell_end(struct ingest *in, const struct bs_ingest_scan *scan)
{
	drop_answers(in, scan->session);
}

void bs_ingest_reject(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_wire *w,
		      const struct bs_fail *why)
{
	const bool scanning = scan->state == BS_STATE_SCANNING && in->from == scan->peer;

	bs_count(&in->totals->rejected, 1);
	if (!is_logged(in, w, why))
		bs_worker_say(in->env, BS_EVENT_REJECTED, why->code,
			      (const uint64_t[3]){ scanning ? scan->id : 0 }, why->text);
	refuse(in, w, why);
}

void bs_ingest_refusals(struct ingest *in)
{
	const struct bs_unused *s = &in->env->shm.s->unused;
	const uint64_t end = atomic_load(&s->count);

	if (end - in->refusals > BS_UNUSED_KEPT)
		in->refusals = end - BS_UNUSED_KEPT;
	for (; in->refusals != end; in->refusals++) {
		struct bs_unused_readout r;
		struct bs_fail why;

		if (!bs_unused_get(s, in->refusals, &r) || r.code == BS_ERR_STATE)
			continue; /* overwritten, or BS_ERR_STATE, which would end the scan */
		const bool before = in->before.id != 0 && r.scan == in->before.id;

		if (r.scan != in->now.id && !before)
			continue;
		(void)bs_fail(&why, r.code, "%s", r.text);
		in->from = before ? in->before.peer : in->now.peer;
		refuse(in,
		       &(struct bs_wire){ .session = before ? in->before.session : in->now.session,
					  .seq = r.seq },
		       &why);
	}
}

void bs_ingest_refuse_open(struct ingest *in, uint64_t session, const struct bs_fail *why)
{
	struct bs_fail bare = *why; /* words for the service's log, status and page */

	if (bare.code == BS_ERR_XML)
		bare.text[bs_mrdxml_bare(bare.text)] = '\0';
	bs_count(&in->totals->refused, 1);
	bs_worker_say(in->env, BS_EVENT_REFUSED, bare.code, NULL, bare.text);
	refuse(in, &(struct bs_wire){ .session = session }, why);
}

/*
 * Sends the refusals that wait. A scan's refusal goes to the peer that its sender is now, and stays
 * if that sender does not read or is not connected. The newest scan's refusals wait for its ACCEPT:
 * a sender takes a REFUSE before ACCEPT as the end of its scan. reads: the newest scan's sender
 * reads its messages; returned updated.
 */
static bool flush_refuses(struct ingest *in, bool reads)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < in->refuses; i++) {
		const struct bs_refusal *r = &in->refuse[i];
		const struct bs_ingest_scan *scan = scan_of(in, r->session);
		const uint64_t peer = scan != NULL ? scan->peer : r->peer;
		const struct bs_wire w = { .kind = BS_WIRE_REFUSE,
					   .session = r->session,
					   .seq = r->seq,
					   .version = r->version };
		const bool newest = peer == in->now.peer;
		const bool waits = (newest && !reads) || (scan == &in->now && in->now.accept_due);
		const int rc =
			waits ? BS_ENDPOINT_TIMEOUT : say_answer(in, peer, w, r->code, 0, r->text);

		if (rc == BS_ENDPOINT_TIMEOUT && !waits && newest)
			reads = false;
		if ((rc == BS_ENDPOINT_TIMEOUT && newest) || (rc != 0 && scan != NULL))
			in->refuse[left++] = *r;
	}
	in->refuses = left;
	return reads;
}

static bool flush_ack(struct ingest *in, struct bs_ingest_scan *scan)
{
	unsigned char payload[BS_WIRE_ACK_BYTES];
	struct bs_wire_ack ack;
	int rc;

	/* no ACK yet: a reopened scan's log is not continued, or lacks messages that an earlier
	 * ACK may have called durable */
	if (scan->order.next < scan->heard_from || !bs_ingest_log_ack(in, scan, &ack))
		return true;
	bs_wire_put_ack(payload, &ack);
	rc = say(in, scan, scan->peer,
		 (struct bs_wire){ .kind = BS_WIRE_ACK,
				   .session = scan->session,
				   .time_ns = scan->so_far.ack_time_ns },
		 payload, sizeof(payload));
	if (rc != 0)
		return rc != BS_ENDPOINT_TIMEOUT;
	scan->ack_due = false;
	scan->durable_said = ack.durable;
	scan->unprotected_said = ack.unprotected;
	scan->unacked = 0;
	return true;
}

/* Sends ACCEPT once the OPEN is on the disk; log.c rings ingest's bell then. */
static bool flush_accept(struct ingest *in)
{
	struct bs_wire_ack ack;
	char words[BS_OPEN_WORDS];
	char text[BS_NAME_MAX + sizeof(words) + 16];
	int rc;

	if (bs_ingest_log_apart(in, &in->now) || !bs_ingest_log_ack(in, &in->now, &ack))
		return true;
	(void)bs_open_words(words, sizeof(words), in->now.p, &in->now.record->info);
	(void)snprintf(text, sizeof(text), "protocol '%s'%s%s", in->now.p->name,
		       words[0] != '\0' ? "; " : "", words);
	rc = say_answer(in, in->now.peer,
			(struct bs_wire){ .kind = BS_WIRE_ACCEPT, .session = in->now.session }, 0,
			in->now.order.window, text);
	in->now.accept_due = rc != 0;
	return rc != BS_ENDPOINT_TIMEOUT;
}

static bool flush_outcomes(struct ingest *in, bool reads)
{
	for (int i = 0; i < 2; i++) {
		const struct bs_scan_end *end = in->outcome[i].end;
		const bool newest = in->outcome[i].peer == in->now.peer;
		int rc;

		if (!in->outcome[i].due || (newest && !reads))
			continue;
		rc = say(in, &in->now, in->outcome[i].peer,
			 (struct bs_wire){ .kind = BS_WIRE_OUTCOME,
					   .session = end->session,
					   .time_ns = bs_now_ns() },
			 end->outcome, BS_WIRE_OUTCOME_BYTES);
		if (rc == BS_ENDPOINT_TIMEOUT && newest)
			reads = false;
		if (rc != 0)
			continue;
		in->outcome[i].due = false;
		in->outcome[i].said_ns = bs_now_ns();
	}
	return reads;
}

void bs_ingest_tell_outcomes(struct ingest *in)
{
	(void)flush_outcomes(in, true);
}

/* True if an outcome has to be sent to this peer before anything else. */
static bool owes_outcome(const struct ingest *in, uint64_t peer)
{
	return (in->outcome[0].due && in->outcome[0].peer == peer) ||
	       (in->outcome[1].due && in->outcome[1].peer == peer);
}

/*
 * A scan's outcome goes after its last ACK, and before the next scan's ACCEPT to the same peer. A
 * peer that does not read is skipped in this call, and delays no other peer.
 */
void bs_ingest_flush(struct ingest *in)
{
	bool reads = true; /* sender of the newest scan */

	flush_answers(in);
	if (in->now.accept_due && !owes_outcome(in, in->now.peer))
		reads = flush_accept(in);
	reads = flush_refuses(in, reads);
	if (in->before.id != 0 && in->before.ack_due)
		(void)flush_ack(in, &in->before);
	if (reads && in->now.ack_due && !in->now.accept_due && !bs_ingest_log_apart(in, &in->now))
		reads = flush_ack(in, &in->now);
	if (flush_outcomes(in, reads) && in->now.accept_due)
		(void)flush_accept(in);
}

/* Sends a heartbeat if it is time. A failed one is not repeated before the next is due. True: it
 * was time. */
static bool beat(struct ingest *in, uint64_t peer, uint64_t session, int64_t *said_ns,
		 int64_t now_ns)
{
	if (now_ns - *said_ns < bs_ns_of_ms(in->env->site.heartbeat_ms))
		return false;
	*said_ns = now_ns;
	(void)say(in, &in->now, peer,
		  (struct bs_wire){
			  .kind = BS_WIRE_HEARTBEAT, .session = session, .time_ns = now_ns },
		  NULL, 0);
	return true;
}

void bs_ingest_heartbeat(struct ingest *in, int64_t now_ns)
{
	if (bs_ingest_in_scan(&in->now) &&
	    beat(in, in->now.peer, in->now.session, &in->now.said_ns, now_ns) &&
	    in->now.state == BS_STATE_SCANNING && in->now.order.next == 1)
		/* ACCEPT may be lost, and a heartbeat does not replace it */
		in->now.accept_due = true;
	if (in->before.id != 0)
		(void)beat(in, in->before.peer, in->before.session, &in->before.said_ns, now_ns);
	for (uint32_t i = 0; i < BS_WAITING_MAX; i++) {
		struct bs_waiting *m = &in->waiting[i];

		if (m->msg != NULL && /* the message of a scan that will be reopened from its log */
		    (!bs_ingest_in_scan(&in->now) || bs_wire_session(m->msg) != in->now.session))
			(void)beat(in, m->peer, bs_wire_session(m->msg), &m->said_ns, now_ns);
	}
	for (uint32_t i = 0; i < in->lined; i++)
		(void)beat(in, in->line[i].peer, in->line[i].session, &in->line[i].said_ns, now_ns);
}
