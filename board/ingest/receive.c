/* board/ingest/receive.c - a message from its peer to its place in the scan; see ingest.h */
#include <string.h>

#include "board/ingest/ingest.h"
#include "core/frame/recon.h"
#include "core/thread/clock.h"
#include "ipc/wire/mrd.h"

/* The payload lies in the gate's buffer: nothing points to it when the message is done with. */
struct message {
	struct bs_wire w;
	const unsigned char *payload;
	int64_t received_ns;
};

/* What has happened to a message. */
enum fate { DONE, LATER /* it waits for a slot, or for recon */, LINED /* it waits in in->line */ };

/* ---- messages that are in order ---- */

/* A readout of noise that is summed: its slot holds its Gram matrix. Else it is only counted. */
static bool holds_noise(const struct ingest *in, const struct bs_mrd_acq *head)
{
	return in->keeps_noise && bs_mrd_kind(head->flags) == BS_KIND_NOISE &&
	       bs_noise_fits(head) &&
	       (uint64_t)head->active_channels * head->active_channels * sizeof(double) <=
		       in->env->shm.s->pools.acq_bytes;
}

/* Checks a readout that is used (and no noise) against what the scan takes from earlier scans. */
static int fits(struct ingest *in, const struct bs_mrd_acq *head, struct bs_fail *why)
{
	struct bs_scan_record *s = in->scan;
	int rc = bs_scan_noise_freeze(&s->noise, in->p, &s->info, why);

	if (rc == 0)
		rc = bs_admit_dwell(in->p, head, why);
	return rc != 0 ? rc
		       : bs_scan_study_line(&s->study, in->env->shm.study, in->p, &s->noise.noise,
					    head, why);
}

/*
 * Sums noise. Before the first other readout that is used, the noise must be complete. False: the
 * readout shows that the scan lacks what its protocol needs, and the scan ends.
 */
static bool goes_on(struct ingest *in, const struct bs_item *item)
{
	const struct bs_shm *shm = &in->env->shm;
	const struct bs_mrd_acq *head = &shm->acq_meta[item->slot].head;
	const enum bs_kind kind = bs_mrd_kind(head->flags);
	struct bs_fail why;

	if (holds_noise(in, head))
		bs_ingest_add_noise(in, item);
	if (kind == BS_KIND_NOISE || !bs_protocol_uses(in->p, kind) || fits(in, head, &why) == 0)
		return true;
	in->fault = why; /* it is what ended the scan, whatever was before */
	bs_pool_give(shm->acq_pool, item->slot);
	bs_ingest_drain(in, BS_ON_FAULT);
	return false;
}

static void hand_to_recon(struct ingest *in, uint32_t slot)
{
	struct bs_shm *shm = &in->env->shm;
	struct bs_acq_meta *m = &shm->acq_meta[slot];
	const enum bs_kind kind = bs_mrd_kind(m->head.flags);

	in->count.acquisitions++;
	if (bs_scan_uses(in->p, &in->scan->info, kind, m->head.idx.average))
		in->count.kind_used[kind]++;
	else
		in->count.kind_unused[kind]++;
	m->handed_ns = bs_now_ns();
	bs_ingest_note_sent(in, m);
	bs_hist_add(bs_shm_hist(shm, in->scan->protocol, BS_STAGE_RECEIVE),
		    m->handed_ns - m->received_ns);
	bs_ingest_commit(in, bs_entry(BS_ENTRY_ACQ, in->id, slot));
}

static void deliver(struct ingest *in, const struct bs_item *item)
{
	bs_order_passed(&in->order, item->seq);
	in->ack_time_ns = item->time_ns;
	in->ack_due = ++in->unacked >= in->order.window / 4 || in->ack_due;
	in->acqs += item->kind == BS_WIRE_ACQ;
	in->count.waveforms += item->kind == BS_WIRE_WAVEFORM;
	in->count.rejected += !item->used;
	if (item->kind == BS_WIRE_ACQ && item->used) {
		if (goes_on(in, item))
			hand_to_recon(in, item->slot);
	} else if (item->kind == BS_WIRE_CLOSE && item->used) {
		bs_ingest_close(in, item);
	} else {
		bs_ingest_commit(in, 0);
	}
}

static void deliver_held(struct ingest *in)
{
	struct bs_item item;

	while (in->state == BS_STATE_SCANNING && bs_order_next(&in->order, &item))
		deliver(in, &item);
	in->order.gap_since_ns = bs_now_ns(); /* of the next number, where that is missing */
}

void bs_ingest_give_up_gap(struct ingest *in, uint64_t seq)
{
	uint64_t first = in->order.next;
	uint64_t n = bs_order_give_up(&in->order, seq);
	struct bs_fail why;

	(void)bs_fail(&why, BS_ERR_SEQUENCE, "%llu messages from sequence number %llu on %s",
		      (unsigned long long)n, (unsigned long long)first,
		      first < in->heard_from ? "are not in the log, and did not come again"
					     : "never came");
	in->count.gaps += n;
	bs_count(&in->totals->gaps, n);
	bs_worker_say(in->env, BS_EVENT_GAP, why.code, (const uint64_t[3]){ in->id, first, n },
		      NULL);
	bs_ingest_fault(in, &why);
	bs_ingest_commit(in, 0);
	deliver_held(in);
	in->ack_due = true;
}

void bs_ingest_abort(struct ingest *in, const struct bs_fail *why, enum bs_happening on)
{
	in->fault = *why; /* the outcome tells why the scan ended, not an earlier fault */
	/* what came is good, and may hold the close; but none of it before what recon gets again */
	while (in->feed == NULL && in->state == BS_STATE_SCANNING && in->order.held_count > 0)
		bs_ingest_give_up_gap(in, BS_NUMBER_NONE);
	if (in->state == BS_STATE_SCANNING)
		bs_ingest_drain(in, on);
}

/* ---- a readout ---- */

/* False: the readout is only counted, and its slot holds no samples. */
static bool used(const struct ingest *in, const struct bs_mrd_acq *head)
{
	return bs_protocol_uses(in->p, bs_mrd_kind(head->flags));
}

/* The samples go to the slot's start, aligned: the one copy between the kernel and the engine. */
static void fill_slot(struct ingest *in, uint32_t slot, const struct bs_mrd_acq *head, uint32_t row,
		      size_t traj_at, size_t data_at, const struct message *m)
{
	const unsigned char *data = m->payload + data_at;
	struct bs_acq_meta *meta = &in->env->shm.acq_meta[slot];

	meta->head = *head;
	meta->row = row;
	meta->received_ns = m->received_ns;
	meta->seq = m->w.seq;
	meta->sender_ns = m->w.time_ns;
	if (holds_noise(in, head)) {
		bs_noise_gram((double *)bs_shm_samples(&in->env->shm, slot), head, data);
	} else if (used(in, head)) {
		float *samples = bs_shm_samples(&in->env->shm, slot);

		memcpy(samples, data, (size_t)head->number_of_samples * head->active_channels * 8);
		bs_admit_turn(in->p, &meta->head, samples);
		if (bs_protocol_streams(in->p) && row != BS_ROW_NONE)
			bs_admit_path(in->p, &in->scan->info, &meta->head, m->payload + traj_at,
				      samples + bs_path_at(head));
	}
}

static int check_acq(struct ingest *in, const struct message *m, struct bs_mrd_acq *head,
		     uint32_t *row, size_t *traj_at, size_t *data_at, struct bs_fail *why)
{
	int rc =
		bs_mrd_parse_acq(head, traj_at, data_at, m->payload, (size_t)m->w.payload_len, why);

	if (rc == 0)
		rc = bs_admit_acq(in->p, in->has_table ? &in->table : NULL, &in->scan->info, head,
				  m->payload + *traj_at, m->payload + *data_at, row, why);
	if (rc == 0 && used(in, head) && !holds_noise(in, head) &&
	    (bs_path_at(head) + bs_protocol_path(in->p)) * sizeof(float) >
		    in->env->shm.s->pools.acq_bytes)
		rc = bs_fail(why, BS_ERR_SIZE,
			     "acquisition %u: %u samples with the discarded ones, protocol '%s' "
			     "allows for %u + %u",
			     head->scan_counter, head->number_of_samples, in->p->name,
			     in->p->samples, in->p->discard);
	return rc;
}

/* A message that is refused uses up its number: sent again, it would be refused again. */
static void refuse(struct ingest *in, struct bs_item *item, const struct bs_fail *why)
{
	const struct bs_wire w = { .session = in->session, .seq = item->seq };

	item->used = false;
	bs_ingest_reject(in, &w, why);
	bs_ingest_fault(in, why);
}

static enum fate take_acq(struct ingest *in, const struct message *m, struct bs_item *item)
{
	struct bs_mrd_acq head;
	struct bs_fail why = { 0 };
	size_t traj_at = 0;
	size_t data_at = 0;
	uint32_t row = 0;

	if (check_acq(in, m, &head, &row, &traj_at, &data_at, &why) != 0) {
		refuse(in, item, &why);
		return DONE;
	}
	if (!bs_pool_take(in->env->shm.acq_pool, BS_OWNER_INGEST, &item->slot))
		return LATER;
	fill_slot(in, item->slot, &head, row, traj_at, data_at, m);
	return DONE;
}

bool bs_ingest_again(struct ingest *in, const unsigned char *msg, size_t len)
{
	struct message m;
	struct bs_mrd_acq head;
	struct bs_fail why;
	size_t traj_at;
	size_t data_at;
	uint32_t row;
	uint32_t slot;

	if (bs_wire_decode(&m.w, msg, len, &m.payload, &why) != 0 ||
	    check_acq(in, &m, &head, &row, &traj_at, &data_at, &why) != 0)
		return true;
	if (bs_mrd_kind(head.flags) != BS_KIND_NOISE && used(in, &head) && fits(in, &head, &why))
		return true; /* it ended the scan */
	if (!bs_pool_take(in->env->shm.acq_pool, BS_OWNER_INGEST, &slot))
		return false;
	m.received_ns = bs_ingest_first_receipt(in, m.w.time_ns, bs_now_ns());
	fill_slot(in, slot, &head, row, traj_at, data_at, &m);
	in->env->shm.acq_meta[slot].handed_ns = bs_now_ns();
	(void)bs_ring_push(in->env->shm.acq_ring, bs_entry(BS_ENTRY_ACQ, in->id, slot));
	bs_shm_ring_bell(&in->env->shm, BS_WORKER_RECON);
	return true;
}

/* ---- numbered messages of the scan in flight ---- */

/* Not below resumed_at: those are sent again because the replaced process did not acknowledge. */
static void count_duplicate(struct ingest *in, uint64_t seq)
{
	if (seq < in->resumed_at)
		return;
	in->count.duplicates++;
	bs_count(&in->totals->duplicates, 1);
	bs_ingest_commit(in, 0);
}

static void count_late(struct ingest *in)
{
	in->count.late++;
	bs_count(&in->totals->late, 1);
	bs_ingest_commit(in, 0);
}

/* A message that uses up no number. */
static void reject(struct ingest *in, const struct bs_wire *w, const struct bs_fail *why)
{
	bs_ingest_reject(in, w, why);
	if (in->state != BS_STATE_SCANNING || in->from != in->peer)
		return;
	in->count.rejected++;
	bs_ingest_commit(in, 0);
}

/* A number that is not the next one. False: it was counted and is done with. */
static bool wanted(struct ingest *in, uint64_t seq)
{
	struct bs_fail why;

	switch (bs_order_look(&in->order, seq)) {
	case BS_NUMBER_DUPLICATE:
		in->ack_due = true; /* the sender does not know how far we are */
		count_duplicate(in, seq);
		return false;
	case BS_NUMBER_LATE:
		in->ack_due = true;
		count_late(in);
		(void)bs_fail(&why, BS_ERR_SEQUENCE,
			      "sequence number %llu came after it was given up as missing; it is "
			      "not used",
			      (unsigned long long)seq);
		bs_worker_say(in->env, BS_EVENT_REJECTED, why.code, (const uint64_t[3]){ in->id },
			      why.text);
		return false;
	case BS_NUMBER_ABSURD:
		(void)bs_fail(&why, BS_ERR_SEQUENCE, "sequence number %llu is absurd: %llu is next",
			      (unsigned long long)seq, (unsigned long long)in->order.next);
		reject(in, &(struct bs_wire){ .session = in->session, .seq = seq }, &why);
		return false;
	default:
		break;
	}
	while (in->state == BS_STATE_SCANNING && bs_order_beyond(&in->order, seq))
		bs_ingest_give_up_gap(in, seq);
	if (bs_order_full(&in->order, seq)) {
		bs_order_pass_over(&in->order, seq, bs_now_ns());
		in->ack_due = true;
		return false;
	}
	return in->state == BS_STATE_SCANNING; /* the close may have been among what was held */
}

static enum fate take_numbered(struct ingest *in, const struct message *m)
{
	struct bs_item item = {
		.seq = m->w.seq, .time_ns = m->w.time_ns, .kind = m->w.kind, .used = true
	};
	struct bs_fail why = { 0 };

	if (m->w.seq != in->order.next && !wanted(in, m->w.seq))
		return DONE;
	switch (m->w.kind) {
	case BS_WIRE_ACQ:
		if (take_acq(in, m, &item) == LATER)
			return LATER; /* what is held fills half of the pool: slots come back */
		break;
	case BS_WIRE_CLOSE:
		if (bs_wire_get_u64(&item.count, m->payload, (size_t)m->w.payload_len, &why) != 0)
			refuse(in, &item, &why);
		break;
	case BS_WIRE_OPEN:
		(void)bs_fail(&why, BS_ERR_STATE, "a second header, number %llu, within the scan",
			      (unsigned long long)m->w.seq);
		refuse(in, &item, &why);
		break;
	default:
		break;
	}
	if (item.used)
		bs_ingest_log_put(in, m->w.seq, m->payload - BS_WIRE_BYTES,
				  BS_WIRE_BYTES + (size_t)m->w.payload_len);
	if (item.seq == in->order.next) {
		deliver(in, &item);
		if (bs_order_lacks(&in->order))
			deliver_held(in);
	} else {
		bs_order_hold(&in->order, &item, bs_now_ns());
		in->ack_due = true; /* says how far we are: the sender may resend at once */
	}
	return DONE;
}

bool bs_ingest_take_logged(struct ingest *in, const unsigned char *msg, size_t len)
{
	struct message m = { .received_ns = bs_now_ns() };

	if (bs_wire_decode(&m.w, msg, len, &m.payload, NULL) != 0)
		return true;
	in->from = in->peer;
	while (in->state == BS_STATE_SCANNING && bs_order_full(&in->order, m.w.seq))
		bs_ingest_give_up_gap(in, m.w.seq); /* the log does not have what is missing */
	return in->state != BS_STATE_SCANNING || take_numbered(in, &m) == DONE;
}

/* From its sender. */
static enum fate take_new(struct ingest *in, const struct message *m)
{
	/* recon is not where its predecessor was, or the log is not read to its end */
	if (in->feed != NULL)
		return LATER;
	/* a log that has its end takes no more: neither does its scan, which is about to end */
	return bs_ingest_log_sealed(in) ? LATER : take_numbered(in, m);
}

/* ---- which message goes where ---- */

/* The place of its outcome, where it is one of the last scans'; -1: it is not. */
static int ended_at(const struct ingest *in, uint64_t session)
{
	for (int i = 0; i < 2; i++)
		if (atomic_load(&in->outcome[i].end->known) != 0 &&
		    in->outcome[i].end->session == session)
			return i;
	return -1;
}

static enum fate take_open(struct ingest *in, const struct message *m)
{
	const int ended = ended_at(in, m->w.session);

	if (bs_ingest_in_scan(in) && m->w.session == in->session) { /* sent again */
		count_duplicate(in, 0);
		in->accept_due = in->state == BS_STATE_SCANNING;
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
	if (in->state == BS_STATE_SCANNING && bs_ingest_gives_way(in, in->from))
		bs_ingest_end_for(in, m->w.session);
	if (in->lined > 0 || !bs_ingest_may_open(in, false))
		return bs_ingest_line_up(in, &m->w, m->payload, false) ? LINED : DONE;
	if (bs_ingest_open(in, &m->w, m->payload) == BS_INGEST_ALONE)
		return bs_ingest_line_up(in, &m->w, m->payload, true) ? LINED : DONE;
	return DONE;
}

/* A message of another session than the scan's. */
static void out_of_turn(struct ingest *in, const struct bs_wire *w)
{
	const int i = ended_at(in, w->session);
	struct bs_fail why;

	if (i >= 0) { /* what was on its way when the scan ended: told so, once */
		if (w->kind == BS_WIRE_CLOSE || in->from != in->outcome[i].peer ||
		    bs_now_ns() - in->outcome[i].said_ns > BS_OUTCOME_NS)
			in->outcome[i].due = true;
		in->outcome[i].peer = in->from;
		return;
	}
	(void)bs_fail(&why, BS_ERR_STATE,
		      "message of kind %u, number %llu: session %016llx is not open", w->kind,
		      (unsigned long long)w->seq, (unsigned long long)w->session);
	reject(in, w, &why);
}

/* A message of the scan while its last images are made: a duplicate, or too late. */
static void come_late(struct ingest *in, const struct bs_wire *w)
{
	if (w->kind != BS_WIRE_CLOSE && w->seq < in->order.next) /* that comes until OUTCOME does */
		count_duplicate(in, w->seq);
	else if (w->kind != BS_WIRE_CLOSE)
		count_late(in);
}

/* A message of the scan: its sender may be on another connection than before. */
static void follow(struct ingest *in)
{
	if (in->from == in->peer)
		return;
	in->ack_due = true; /* it may not know how far we are */
	if (in->turned) {
		in->peer = in->from;
		return;
	}
	if (in->waiting != NULL) { /* was not acknowledged, and comes again */
		bs_gate_release(&in->gate, in->waiting_peer);
		in->waiting = NULL;
	}
	bs_ingest_follow(in, in->from);
	if (in->state == BS_STATE_SCANNING && in->order.next == 1)
		in->accept_due = true; /* it may not have heard that, and asks no more */
	bs_ingest_reopen_heard(in);
}

static enum fate take_decoded(struct ingest *in, struct message *m)
{
	const bool ours = bs_ingest_in_scan(in) && m->w.session == in->session;
	const int ended = ended_at(in, m->w.session);
	struct bs_fail why;

	if (ours) {
		follow(in);
		if (m->w.kind <= BS_WIRE_CLOSE && m->w.seq < in->heard_from &&
		    in->order.next < in->heard_from)
			in->heard_from = m->w.seq; /* it was told of no number beyond that */
		in->heard_ns = m->received_ns;
		m->received_ns = bs_ingest_receipt(in, m->w.time_ns, m->received_ns);
	}
	switch (m->w.kind) {
	case BS_WIRE_HEARTBEAT:
		if (!ours && ended >= 0 && in->from != in->outcome[ended].peer)
			out_of_turn(in, &m->w); /* it was away when the scan ended */
		return DONE;
	case BS_WIRE_OPEN:
		if (m->w.seq == 0 || !ours || in->state != BS_STATE_SCANNING)
			return take_open(in, m);
		return take_new(in, m);
	case BS_WIRE_ACQ:
	case BS_WIRE_WAVEFORM:
	case BS_WIRE_CLOSE:
		if (ours && in->state == BS_STATE_SCANNING)
			return take_new(in, m);
		if (ours)
			come_late(in, &m->w);
		else
			out_of_turn(in, &m->w);
		return DONE;
	default:
		(void)bs_fail(&why, BS_ERR_KIND,
			      "message of kind %u: the service says that, not a sender", m->w.kind);
		reject(in, &m->w, &why);
		return DONE;
	}
}

static enum fate take_message(struct ingest *in, const unsigned char *msg, size_t len,
			      int64_t received_ns)
{
	struct message m = { .received_ns = received_ns };
	struct bs_fail why = { 0 };
	enum fate fate;

	if (bs_wire_decode(&m.w, msg, len, &m.payload, &why) != 0) {
		if (why.code != BS_ERR_VERSION || !bs_wire_is_previous(&m.w, msg, len))
			m.w = (struct bs_wire){ .session = in->state == BS_STATE_SCANNING &&
									   in->from == in->peer
								   ? in->session
								   : 0 };
		reject(in, &m.w, &why);
		return DONE;
	}
	if (m.w.kind != BS_WIRE_HEARTBEAT && bs_ingest_reopen_due(in, m.w.session))
		return bs_worker_stop(in->env) ? DONE
					       : LATER; /* it comes again, to the next start */
	if (in->before.id == 0 || m.w.session != in->before.session)
		return take_decoded(in, &m);
	bs_ingest_turn(in);
	fate = take_decoded(in, &m);
	bs_ingest_turn(in);
	return fate;
}

static void settle(struct ingest *in, const unsigned char *msg, size_t len, int64_t received_ns)
{
	const bool waited = msg == in->waiting;
	_Atomic uint32_t *in_hand = &in->scan->in_hand; /* an OPEN may bring another scan */
	enum fate fate;

	if (waited) /* it is in hand: nothing that it brings about may release it, too */
		in->waiting = NULL;
	atomic_store_explicit(in_hand, 1, memory_order_relaxed);
	fate = take_message(in, msg, len, received_ns);
	atomic_store_explicit(in_hand, 0, memory_order_relaxed);
	if (fate == DONE)
		bs_gate_release(&in->gate, in->from);
	if (fate != LATER)
		return;
	if (in->waiting != NULL) /* its sender is on another connection */
		bs_gate_release(&in->gate, in->waiting_peer);
	else if (!waited)
		bs_count(&in->env->me->waits, 1);
	in->waiting = msg;
	in->waiting_len = len;
	in->waiting_peer = in->from;
}

/* Its envelope alone is here. */
static void too_long(struct ingest *in, const struct bs_gate_message *m)
{
	struct bs_wire w;
	struct bs_fail why;

	(void)bs_fail(&why, BS_ERR_LENGTH, "a message of %llu bytes: at most %zu are taken",
		      (unsigned long long)m->len, in->gate.message_max);
	if (!bs_wire_is_ours(&w, m->msg, m->len))
		w = (struct bs_wire){ .session = 0 };
	reject(in, &w, &why);
	bs_gate_release(&in->gate, m->peer);
}

bool bs_ingest_receive(struct ingest *in)
{
	bool any = in->feed != NULL && bs_ingest_feed(in);

	if (in->waiting != NULL) {
		in->from = in->waiting_peer;
		settle(in, in->waiting, in->waiting_len, bs_now_ns());
	}
	for (int i = 0; i < 64; i++) {
		struct bs_gate_message m;
		int64_t now;

		if (!bs_gate_take(&in->gate, &m)) {
			if (in->waiting == NULL) /* its sender is not looked at meanwhile */
				in->empty_ns = bs_now_ns();
			break;
		}
		bs_count(&in->totals->messages, 1);
		bs_count(&in->totals->bytes, m.len);
		now = bs_now_ns();
		in->from = m.peer;
		if (m.whole)
			settle(in, m.msg, (size_t)m.len, now);
		else
			too_long(in, &m);
		bs_worker_beat(in->env);
		any = true;
		if (in->ack_due)
			(void)bs_ingest_flush(in);
	}
	if (!any && in->unacked > 0)
		in->ack_due = true; /* caught up */
	return any;
}
