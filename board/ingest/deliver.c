/* board/ingest/deliver.c - messages that are next, and when they came; see ingest.h */
#include "board/ingest/ingest.h"
#include "core/thread/clock.h"

/* ---- the sender's clock ---- */

#define CLOCK_MOST (INT64_MAX / 4)      /* ns: largest value of a sender's stamp that is believed */
#define SAME_NS    INT64_C(10000000000) /* a stamp older than this is not from this host's clock */

static bool is_sane(int64_t sent_ns)
{
	return sent_ns > -CLOCK_MOST && sent_ns < CLOCK_MOST;
}

int64_t bs_ingest_receipt(struct ingest *in, struct bs_ingest_scan *scan, int64_t sent_ns,
			  int64_t taken_ns)
{
	const bool sane = is_sane(sent_ns);
	const int64_t apart = sane ? taken_ns - sent_ns : INT64_MAX;
	int64_t came_ns;

	scan->apart_ns = apart < scan->apart_ns ? apart : scan->apart_ns;
	if (!sane || taken_ns - in->empty_ns <= BS_AWAY_NS)
		return taken_ns;
	came_ns = sent_ns + scan->apart_ns;
	return came_ns > in->empty_ns ? came_ns : in->empty_ns;
}

int64_t bs_ingest_first_receipt(const struct bs_ingest_scan *scan, int64_t sent_ns, int64_t now_ns)
{
	const bool known = scan->apart_ns != INT64_MAX && is_sane(sent_ns);

	return known && sent_ns + scan->apart_ns < now_ns ? sent_ns + scan->apart_ns : now_ns;
}

static bool just_before(int64_t sent_ns, int64_t received_ns)
{
	return sent_ns <= received_ns && received_ns - sent_ns < SAME_NS;
}

/* UTC minus the monotonic clock: the least of three, since a delay between two reads adds to it. */
static int64_t utc_ahead(void)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 3; i++) {
		const int64_t now = bs_now_ns();
		const int64_t ahead = bs_utc_ns() - now;

		least = ahead < least ? ahead : least;
	}
	return least;
}

/* Finds out which of this host's clocks the stamp of the scan's first readout was read from. */
static void tell_clock(struct ingest *in, struct bs_ingest_scan *scan, int64_t sent_ns,
		       int64_t received_ns)
{
	struct bs_kspace_record *k = &in->env->shm.s->kspace;
	const int64_t ahead_ns = utc_ahead();

	scan->clock = BS_CLOCK_OTHER;
	scan->clock_ahead_ns = 0;
	if (is_sane(sent_ns) && just_before(sent_ns, received_ns)) {
		scan->clock = BS_CLOCK_MONOTONIC;
	} else if (is_sane(sent_ns) && just_before(sent_ns, received_ns + ahead_ns)) {
		scan->clock = BS_CLOCK_REALTIME;
		scan->clock_ahead_ns = ahead_ns;
	}
	atomic_store(&k->clock, (uint32_t)scan->clock);
}

void bs_ingest_note_sent(struct ingest *in, struct bs_ingest_scan *scan,
			 const struct bs_acq_meta *m)
{
	int64_t ns;

	if (m->logged)
		return;
	if (scan->clock == BS_CLOCK_UNKNOWN)
		tell_clock(in, scan, m->sender_ns, m->received_ns);
	if (scan->clock == BS_CLOCK_OTHER || !is_sane(m->sender_ns))
		return;
	ns = m->received_ns + scan->clock_ahead_ns - m->sender_ns;
	if (ns >= 0)
		bs_hist_add(bs_shm_hist(&in->env->shm, scan->record->protocol, BS_STAGE_SEND), ns);
}

/* ---- what is next ---- */

struct bs_intake bs_ingest_intake(struct ingest *in, struct bs_ingest_scan *scan)
{
	struct bs_scan_record *s = scan->record;

	return (struct bs_intake){ .p = in->env->record_bytes != 0 ? NULL : scan->p,
				   .table = scan->has_table ? &scan->table : NULL,
				   .info = &s->info,
				   .noise = &s->noise,
				   .scan = &s->study,
				   .study = in->env->shm.study,
				   .sums_noise = in->keeps_noise,
				   .room = in->env->shm.s->pools.acq_bytes };
}

/*
 * Adds a noise readout to the sum. The noise must be complete before the first other readout that
 * is used. False: the readout shows that the scan lacks what its protocol needs; the scan ends.
 */
static bool goes_on(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_item *item)
{
	const struct bs_shm *shm = &in->env->shm;
	const struct bs_mrd_acq *head = &shm->acq_meta[item->slot].head;
	const struct bs_intake k = bs_ingest_intake(in, scan);
	struct bs_fail why;

	if (bs_intake_sums(&k, head))
		bs_ingest_add_noise(in, scan, item);
	if (bs_intake_fits(&k, head, &why) == 0)
		return true;
	scan->so_far.fault = why; /* the outcome tells why the scan ended, not an earlier fault */
	bs_pool_give(shm->acq_pool, item->slot);
	bs_ingest_drain(in, scan, BS_ON_FAULT);
	return false;
}

static void hand_to_recon(struct ingest *in, struct bs_ingest_scan *scan, uint32_t slot)
{
	struct bs_shm *shm = &in->env->shm;
	struct bs_acq_meta *m = &shm->acq_meta[slot];
	const enum bs_kind kind = bs_mrd_kind(m->head.flags);

	scan->so_far.count.acquisitions++;
	if (bs_scan_uses(scan->p, &scan->record->info, kind, m->head.idx.average) ||
	    bs_kind_answered(scan->p, kind))
		scan->so_far.count.kind_used[kind]++;
	else
		scan->so_far.count.kind_unused[kind]++;
	m->lost = bs_ingest_lost(scan, m->seq);
	m->handed_ns = bs_now_ns();
	bs_ingest_note_sent(in, scan, m);
	bs_hist_add(bs_shm_hist(shm, scan->record->protocol, BS_STAGE_RECEIVE),
		    m->handed_ns - m->received_ns);
	bs_ingest_commit(in, scan, bs_entry(BS_ENTRY_ACQ, scan->id, slot));
}

static void note_lost(struct bs_ingest_scan *scan, uint64_t seq)
{
	if (scan->so_far.count.lost == 0)
		scan->so_far.count.lost = seq;
	atomic_store(&scan->record->lost, scan->so_far.count.lost);
}

void bs_ingest_deliver(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_item *item)
{
	bs_order_passed(&scan->order, item->seq);
	scan->so_far.ack_time_ns = item->time_ns;
	scan->ack_due = ++scan->unacked >= scan->order.window / 4 || scan->ack_due;
	scan->so_far.acqs += item->kind == BS_WIRE_ACQ;
	scan->so_far.count.waveforms += item->kind == BS_WIRE_WAVEFORM;
	scan->so_far.count.rejected += !item->used;
	if (!item->used)
		note_lost(scan, item->seq);
	if (item->kind == BS_WIRE_ACQ && item->used) {
		if (!goes_on(in, scan, item))
			return;
		if (scan->p->answers.count > 0)
			bs_ingest_answer(in, scan, item->slot); /* before recon has the slot */
		hand_to_recon(in, scan, item->slot);
	} else if (item->kind == BS_WIRE_CLOSE && item->used) {
		bs_ingest_close(in, scan, item);
	} else {
		bs_ingest_commit(in, scan, 0);
	}
}

void bs_ingest_deliver_held(struct ingest *in, struct bs_ingest_scan *scan)
{
	struct bs_item item;

	while (scan->state == BS_STATE_SCANNING && bs_order_next(&scan->order, &item))
		bs_ingest_deliver(in, scan, &item);
	/* the wait for the next number begins, if missing */
	scan->order.gap_since_ns = bs_now_ns();
}

void bs_ingest_give_up_gap(struct ingest *in, struct bs_ingest_scan *scan, uint64_t seq)
{
	uint64_t first = scan->order.next;
	uint64_t n = bs_order_give_up(&scan->order, seq);
	struct bs_fail why;

	(void)bs_fail(&why, BS_ERR_SEQUENCE, "%llu messages from sequence number %llu on %s",
		      (unsigned long long)n, (unsigned long long)first,
		      first < scan->heard_from ? "are not in the log, and did not come again"
					       : "never came");
	scan->so_far.count.gaps += n;
	note_lost(scan, first);
	bs_count(&in->totals->gaps, n);
	bs_worker_say(in->env, BS_EVENT_GAP, why.code, (const uint64_t[3]){ scan->id, first, n },
		      NULL);
	bs_ingest_fault(scan, &why);
	bs_ingest_commit(in, scan, 0);
	bs_ingest_deliver_held(in, scan);
	scan->ack_due = true;
}

void bs_ingest_abort(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_fail *why,
		     enum bs_happening on)
{
	scan->so_far.fault = *why; /* the outcome tells why the scan ended, not an earlier fault */
	/* held messages are good, and the close may be among them; while recon is fed from the log
	 * they are not used, since they would come before readouts that recon gets again */
	while (in->feed == NULL && scan->state == BS_STATE_SCANNING && scan->order.held_count > 0)
		bs_ingest_give_up_gap(in, scan, BS_NUMBER_NONE);
	if (scan->state == BS_STATE_SCANNING)
		bs_ingest_drain(in, scan, on);
}
