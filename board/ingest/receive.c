/* board/ingest/receive.c - a message from its peer to its place in the scan; see ingest.h */
#include "board/ingest/ingest.h"
#include "core/thread/clock.h"
#include "ipc/wire/mrd.h"

/* A message. Its payload lies in the gate's buffer; no pointer to it outlives the handling. */
struct message {
	struct bs_wire w;
	const unsigned char *payload;
	int64_t received_ns;
};

#define LATE_SAID 8u /* late messages of a scan that are reported one by one */

/* Fate of a message. */
enum fate { DONE, LATER /* waits for a slot or recon */, LINED /* waits in in->line */ };

/* ---- a readout ---- */

/* A readout that was admitted. */
struct readout {
	struct bs_mrd_acq head;
	uint32_t row;
	const unsigned char *traj, *data;
};

static int admit_readout(const struct bs_intake *k, const struct message *m, struct readout *r,
			 struct bs_fail *why)
{
	size_t traj_at = 0;
	size_t data_at = 0;
	const int rc = bs_mrd_parse_acq(&r->head, &traj_at, &data_at, m->payload,
					(size_t)m->w.payload_len, why);

	r->traj = m->payload + traj_at;
	r->data = m->payload + data_at;
	r->row = BS_ROW_NONE;
	return rc == 0 && k->p != NULL ? bs_admit_acq(k, &r->head, r->traj, r->data, &r->row, why)
				       : rc;
}

/* Copies the samples to the slot's start, aligned: the only copy between kernel and engine. */
static struct bs_acq_meta *fill_slot(struct ingest *in, const struct bs_intake *k, uint32_t slot,
				     const struct readout *r, const struct message *m)
{
	struct bs_acq_meta *meta = &in->env->shm.acq_meta[slot];

	meta->head = r->head;
	meta->row = r->row;
	meta->received_ns = m->received_ns;
	meta->seq = m->w.seq;
	meta->sender_ns = m->w.time_ns;
	meta->logged = in->feed != NULL;
	bs_intake_put(k, &meta->head, r->row, r->traj, r->data,
		      bs_shm_samples(&in->env->shm, slot));
	return meta;
}

/* Refuses a message and uses up its number: sent again, it would be refused again. */
static void refuse(struct ingest *in, struct bs_ingest_scan *scan, struct bs_item *item,
		   const struct bs_fail *why)
{
	const struct bs_wire w = { .session = scan->session, .seq = item->seq };

	item->used = false;
	bs_ingest_reject(in, scan, &w, why);
	bs_ingest_fault(scan, why);
}

static enum fate take_acq(struct ingest *in, struct bs_ingest_scan *scan, const struct message *m,
			  struct bs_item *item)
{
	const struct bs_intake k = bs_ingest_intake(in, scan);
	struct bs_fail why = { 0 };
	struct readout r;

	if (admit_readout(&k, m, &r, &why) != 0) {
		refuse(in, scan, item, &why);
		return DONE;
	}
	if (!bs_pool_take(in->env->shm.acq_pool, BS_OWNER_INGEST, &item->slot))
		return LATER;
	(void)fill_slot(in, &k, item->slot, &r, m);
	return DONE;
}

bool bs_ingest_again(struct ingest *in, struct bs_ingest_scan *scan, const unsigned char *msg,
		     size_t len)
{
	const struct bs_intake k = bs_ingest_intake(in, scan);
	struct bs_acq_meta *meta;
	struct message m;
	struct readout r;
	struct bs_fail why;
	uint32_t slot;

	if (bs_wire_decode(&m.w, msg, len, &m.payload, &why) != 0 ||
	    admit_readout(&k, &m, &r, &why) != 0)
		return true;
	if (bs_intake_fits(&k, &r.head, &why) != 0)
		return true; /* this readout ended the scan */
	if (!bs_pool_take(in->env->shm.acq_pool, BS_OWNER_INGEST, &slot))
		return false;
	m.received_ns = bs_ingest_first_receipt(scan, m.w.time_ns, bs_now_ns());
	meta = fill_slot(in, &k, slot, &r, &m);
	meta->lost = bs_ingest_lost(scan, m.w.seq);
	meta->handed_ns = bs_now_ns();
	(void)bs_ring_push(in->env->shm.acq_ring, bs_entry(BS_ENTRY_ACQ, scan->id, slot));
	bs_shm_ring_bell(&in->env->shm, BS_WORKER_RECON);
	return true;
}

/* ---- numbered messages of the scan in flight ---- */

/* Numbers below resumed_at do not count: they come again because a dead process did not ACK. */
static void count_duplicate(struct ingest *in, struct bs_ingest_scan *scan, uint64_t seq)
{
	if (seq < scan->resumed_at)
		return;
	scan->so_far.count.duplicates++;
	bs_count(&in->totals->duplicates, 1);
	bs_ingest_commit(in, scan, 0);
}

static void count_late(struct ingest *in, struct bs_ingest_scan *scan)
{
	scan->so_far.count.late++;
	bs_count(&in->totals->late, 1);
	bs_ingest_commit(in, scan, 0);
}

/* Rejects a message that uses up no number. */
static void reject(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_wire *w,
		   const struct bs_fail *why)
{
	bs_ingest_reject(in, scan, w, why);
	if (scan->state != BS_STATE_SCANNING || in->from != scan->peer)
		return;
	scan->so_far.count.rejected++;
	bs_ingest_commit(in, scan, 0);
}

/* Judges a number that is not the next one. False: it was counted, and the message is done. */
static bool wanted(struct ingest *in, struct bs_ingest_scan *scan, uint64_t seq)
{
	struct bs_fail why;

	switch (bs_order_look(&scan->order, seq)) {
	case BS_NUMBER_DUPLICATE:
		scan->ack_due = true; /* the sender does not know which messages have come */
		count_duplicate(in, scan, seq);
		return false;
	case BS_NUMBER_LATE:
		scan->ack_due = true;
		count_late(in, scan);
		if (scan->so_far.count.late <= LATE_SAID)
			bs_worker_tell(
				in->env, BS_EVENT_REJECTED, BS_ERR_SEQUENCE, scan->id,
				"sequence number %llu came after it was given up as missing; it is "
				"not used%s",
				(unsigned long long)seq,
				scan->so_far.count.late == LATE_SAID ? "; others are counted" : "");
		return false;
	case BS_NUMBER_ABSURD:
		(void)bs_fail(&why, BS_ERR_SEQUENCE, "sequence number %llu is absurd: %llu is next",
			      (unsigned long long)seq, (unsigned long long)scan->order.next);
		reject(in, scan, &(struct bs_wire){ .session = scan->session, .seq = seq }, &why);
		return false;
	case BS_NUMBER_NEW:
		break;
	}
	while (scan->state == BS_STATE_SCANNING && bs_order_beyond(&scan->order, seq))
		bs_ingest_give_up_gap(in, scan, seq);
	if (bs_order_full(&scan->order, seq)) {
		bs_order_pass_over(&scan->order, seq, bs_now_ns());
		scan->ack_due = true;
		return false;
	}
	/* the close may have been among the held messages */
	return scan->state == BS_STATE_SCANNING;
}

static enum fate take_numbered(struct ingest *in, struct bs_ingest_scan *scan,
			       const struct message *m)
{
	struct bs_item item = {
		.seq = m->w.seq, .time_ns = m->w.time_ns, .kind = m->w.kind, .used = true
	};
	struct bs_fail why = { 0 };

	if (m->w.seq != scan->order.next && !wanted(in, scan, m->w.seq))
		return DONE;
	if (m->w.kind == BS_WIRE_ACQ) {
		if (take_acq(in, scan, m, &item) == LATER)
			return LATER; /* held messages fill half of the pool at most */
	} else if (bs_item_check(&item, &m->w, m->payload, &why) != 0) {
		refuse(in, scan, &item, &why);
	}
	if (item.used && in->log != NULL)
		bs_ingest_log_put(in, scan, m->w.seq, m->payload - BS_WIRE_BYTES,
				  BS_WIRE_BYTES + (size_t)m->w.payload_len);
	if (item.seq == scan->order.next) {
		bs_ingest_deliver(in, scan, &item);
		if (bs_order_lacks(&scan->order))
			bs_ingest_deliver_held(in, scan);
	} else {
		bs_order_hold(&scan->order, &item, bs_now_ns());
		scan->ack_due = true; /* the ACK shows the gap: the sender may resend at once */
	}
	return DONE;
}

bool bs_ingest_take_logged(struct ingest *in, struct bs_ingest_scan *scan, const unsigned char *msg,
			   size_t len)
{
	struct message m = { .received_ns = bs_now_ns() };

	if (bs_wire_decode(&m.w, msg, len, &m.payload, NULL) != 0)
		return true;
	in->from = scan->peer;
	while (scan->state == BS_STATE_SCANNING && bs_order_full(&scan->order, m.w.seq))
		bs_ingest_give_up_gap(in, scan, m.w.seq); /* the log lacks the missing messages */
	return scan->state != BS_STATE_SCANNING || take_numbered(in, scan, &m) == DONE;
}

/* Takes a message of the scan from its sender. */
static enum fate take_new(struct ingest *in, struct bs_ingest_scan *scan, const struct message *m)
{
	/* recon is still fed from a log, or a recorder's disk is behind: new messages wait */
	if (in->feed != NULL || bs_ingest_log_full(in))
		return LATER;
	/* a sealed log takes no more messages; its scan does not either, and is about to end */
	return bs_ingest_may_reopen(in) && bs_ingest_log_sealed(in, scan)
		       ? LATER
		       : take_numbered(in, scan, m);
}

/* ---- which message goes where ---- */

/* Index in in->outcome if the session is of the two scans that ended last; -1: it is not. */
static int ended_at(const struct ingest *in, uint64_t session)
{
	for (int i = 0; i < 2; i++)
		if (atomic_load(&in->outcome[i].end->known) != 0 &&
		    in->outcome[i].end->session == session)
			return i;
	return -1;
}

static enum fate take_open(struct ingest *in, struct bs_ingest_scan *scan, const struct message *m)
{
	const int ended = ended_at(in, m->w.session);

	/* the header was sent again */
	if (bs_ingest_in_scan(scan) && m->w.session == scan->session) {
		count_duplicate(in, scan, 0);
		scan->accept_due = scan->state == BS_STATE_SCANNING;
		return DONE;
	}
	if (ended >= 0) {
		in->outcome[ended].peer = in->from;
		in->outcome[ended].due = true;
		return DONE;
	}
	if (bs_worker_stop(in->env)) {
		bs_ingest_refuse_draining(in, m->w.session);
		return DONE;
	}
	if (in->now.state == BS_STATE_SCANNING && bs_ingest_gives_way(in, in->from))
		bs_ingest_end_for(in, m->w.session);
	if (m->w.payload_len >= BS_WIRE_OPEN_NAME && /* a shorter header is refused at once */
	    (in->lined > 0 || !bs_ingest_may_open(in, false)))
		return bs_ingest_line_up(in, &m->w, m->payload, false) ? LINED : DONE;
	if (bs_ingest_open(in, &m->w, m->payload) == BS_INGEST_ALONE)
		return bs_ingest_line_up(in, &m->w, m->payload, true) ? LINED : DONE;
	return DONE;
}

/* Handles a message whose session is not open. */
static void out_of_turn(struct ingest *in, const struct bs_wire *w)
{
	const int i = ended_at(in, w->session);
	struct bs_fail why;

	if (i >= 0) { /* the scan has ended: its sender is told the outcome, once in a while */
		if (w->kind == BS_WIRE_CLOSE || in->from != in->outcome[i].peer ||
		    bs_now_ns() - in->outcome[i].said_ns > BS_OUTCOME_NS)
			in->outcome[i].due = true;
		in->outcome[i].peer = in->from;
		return;
	}
	(void)bs_fail(&why, BS_ERR_STATE,
		      "message of kind %u, number %llu: session %016llx is not open", w->kind,
		      (unsigned long long)w->seq, (unsigned long long)w->session);
	reject(in, &in->now, w, &why);
}

/* Counts a message that comes while the scan's last images are made: a duplicate, or too late. */
static void come_late(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_wire *w)
{
	if (w->kind != BS_WIRE_CLOSE &&
	    w->seq < scan->order.next) /* CLOSE is not counted: it is resent until OUTCOME */
		count_duplicate(in, scan, w->seq);
	else if (w->kind != BS_WIRE_CLOSE)
		count_late(in, scan);
}

/* Drops a session's waiting message: it was not acknowledged, and comes again. */
static void drop_waiting(struct ingest *in, uint64_t session)
{
	for (uint32_t i = 0; i < BS_WAITING_MAX; i++) {
		if (!bs_ingest_waits_at(&in->waiting[i], session))
			continue;
		bs_gate_release(&in->gate, in->waiting[i].peer);
		in->waiting[i].msg = NULL;
	}
}

/* Follows the scan's sender to the connection that its message came on. */
static void follow(struct ingest *in, struct bs_ingest_scan *scan)
{
	if (in->from == scan->peer)
		return;
	scan->ack_due = true; /* the sender may not know which messages have come */
	if (scan == &in->before) {
		scan->peer = in->from;
		return;
	}
	drop_waiting(in, scan->session);
	bs_ingest_follow(in, in->from);
	if (scan->state == BS_STATE_SCANNING && scan->order.next == 1)
		/* the sender may not have heard ACCEPT, and does not ask */
		scan->accept_due = true;
	bs_ingest_reopen_heard(in);
}

static enum fate take_decoded(struct ingest *in, struct bs_ingest_scan *scan, struct message *m)
{
	const bool ours = bs_ingest_in_scan(scan) && m->w.session == scan->session;
	const int ended = ended_at(in, m->w.session);
	struct bs_fail why;

	if (ours) {
		follow(in, scan);
		if (m->w.kind <= BS_WIRE_CLOSE && m->w.seq < scan->heard_from &&
		    scan->order.next < scan->heard_from)
			scan->heard_from = m->w.seq; /* no ACK has gone beyond this number */
		scan->heard_ns = m->received_ns;
		m->received_ns = bs_ingest_receipt(in, scan, m->w.time_ns, m->received_ns);
	}
	switch (m->w.kind) {
	case BS_WIRE_HEARTBEAT:
		if (!ours && ended >= 0 && in->from != in->outcome[ended].peer)
			out_of_turn(in, &m->w); /* the sender was away when the scan ended */
		return DONE;
	case BS_WIRE_OPEN:
		if (m->w.seq == 0 || !ours || scan->state != BS_STATE_SCANNING)
			return take_open(in, scan, m);
		return take_new(in, scan, m);
	case BS_WIRE_ACQ:
	case BS_WIRE_WAVEFORM:
	case BS_WIRE_CLOSE:
		if (ours && scan->state == BS_STATE_SCANNING)
			return take_new(in, scan, m);
		if (ours)
			come_late(in, scan, &m->w);
		else
			out_of_turn(in, &m->w);
		return DONE;
	case BS_WIRE_ACCEPT:
	case BS_WIRE_REFUSE:
	case BS_WIRE_ACK:
	case BS_WIRE_OUTCOME:
	case BS_WIRE_ANSWER:
	case BS_WIRE_IMAGE:
	case BS_WIRE_NEXT:
	case BS_WIRE_STORED:
	case BS_WIRE_NONE:
		(void)bs_fail(&why, BS_ERR_KIND,
			      "message of kind %u: the service says that, not a sender", m->w.kind);
		reject(in, scan, &m->w, &why);
	}
	return DONE;
}

static enum fate take_message(struct ingest *in, const unsigned char *msg, size_t len,
			      int64_t received_ns)
{
	struct message m = { .received_ns = received_ns };
	struct bs_fail why = { 0 };

	if (bs_wire_decode(&m.w, msg, len, &m.payload, &why) != 0) {
		if (why.code != BS_ERR_VERSION || !bs_wire_is_previous(&m.w, msg, len))
			m.w = (struct bs_wire){ .session = in->now.state == BS_STATE_SCANNING &&
									   in->from == in->now.peer
								   ? in->now.session
								   : 0 };
		reject(in, &in->now, &m.w, &why);
		return DONE;
	}
	if (m.w.kind != BS_WIRE_HEARTBEAT && bs_ingest_may_reopen(in) &&
	    bs_ingest_reopen_due(in, m.w.session))
		/* DONE: the sender sends it again to the next start */
		return bs_worker_stop(in->env) ? DONE : LATER;
	return take_decoded(in,
			    in->before.id != 0 && m.w.session == in->before.session ? &in->before
										    : &in->now,
			    &m);
}

/* Keeps a message that waits; it replaces an earlier one of its session. */
static void wait_with(struct ingest *in, const unsigned char *msg, size_t len)
{
	struct bs_waiting *m = in->waiting;

	/* the waiting message's sender has changed connections */
	drop_waiting(in, bs_wire_session(msg));
	if (m->msg != NULL && (++m)->msg != NULL) /* no third session waits */
		drop_waiting(in, bs_wire_session(m->msg));
	*m = (struct bs_waiting){ msg, len, in->from, m->said_ns };
}

/* waited: the message has waited before. */
static void settle(struct ingest *in, const unsigned char *msg, size_t len, int64_t received_ns,
		   bool waited)
{
	_Atomic uint32_t *in_hand = &in->now.record->in_hand; /* an OPEN may bring another scan */
	enum fate fate;

	atomic_store_explicit(in_hand, 1, memory_order_relaxed);
	fate = take_message(in, msg, len, received_ns);
	atomic_store_explicit(in_hand, 0, memory_order_relaxed);
	if (fate == DONE)
		bs_gate_release(&in->gate, in->from);
	if (fate != LATER)
		return;
	if (!waited)
		bs_count(&in->env->me->waits, 1);
	wait_with(in, msg, len);
}

static void settle_waiting(struct ingest *in)
{
	for (uint32_t i = 0; i < BS_WAITING_MAX; i++) {
		const struct bs_waiting m = in->waiting[i];

		if (m.msg == NULL)
			continue;
		in->waiting[i].msg = NULL; /* nothing else may release it now */
		in->from = m.peer;
		settle(in, m.msg, m.len, bs_now_ns(), true);
	}
}

/* Rejects a message that is too long; only its envelope was received. */
static void too_long(struct ingest *in, const struct bs_gate_message *m)
{
	struct bs_wire w;
	struct bs_fail why;

	(void)bs_fail(&why, BS_ERR_LENGTH, "a message of %llu bytes: at most %zu are taken",
		      (unsigned long long)m->len, in->gate.message_max);
	if (!bs_wire_is_ours(&w, m->msg, m->len))
		w = (struct bs_wire){ .session = 0 };
	reject(in, &in->now, &w, &why);
	bs_gate_release(&in->gate, m->peer);
}

bool bs_ingest_receive(struct ingest *in)
{
	bool any = false;

	settle_waiting(in);
	for (int i = 0; i < 64; i++) {
		struct bs_gate_message m;
		int64_t now;

		if (!bs_gate_take(&in->gate, &m)) {
			if (!bs_ingest_waits(in, 0)) /* a waiting message's sender is not read */
				in->empty_ns = bs_now_ns();
			break;
		}
		bs_count(&in->totals->messages, 1);
		bs_count(&in->totals->bytes, m.len);
		now = bs_now_ns();
		in->from = m.peer;
		if (m.whole)
			settle(in, m.msg, (size_t)m.len, now, false);
		else
			too_long(in, &m);
		bs_worker_beat(in->env);
		any = true;
		if (in->now.ack_due)
			bs_ingest_flush(in);
	}
	return any;
}
