/* board/ingest/deliver.c - messages that are next: used, counted, committed; see ingest.h */
#include "board/ingest/ingest.h"
#include "core/frame/recon.h"
#include "core/thread/clock.h"

bool bs_ingest_holds_noise(const struct ingest *in, const struct bs_mrd_acq *head)
{
	return in->keeps_noise && bs_mrd_kind(head->flags) == BS_KIND_NOISE &&
	       bs_noise_fits(head) &&
	       (uint64_t)head->active_channels * head->active_channels * sizeof(double) <=
		       in->env->shm.s->pools.acq_bytes;
}

int bs_ingest_fits(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_mrd_acq *head,
		   struct bs_fail *why)
{
	struct bs_scan_record *s = scan->record;
	int rc = s->noise.frozen ? 0 : bs_scan_noise_freeze(&s->noise, scan->p, &s->info, why);

	if (rc == 0)
		rc = bs_admit_dwell(scan->p, head, why);
	return rc != 0 || bs_scan_study_posed(&s->study, head->idx.slice)
		       ? rc
		       : bs_scan_study_line(&s->study, in->env->shm.study, scan->p, &s->noise.noise,
					    head, why);
}

/*
 * Sums noise. Before the first other readout that is used, the noise must be complete. False: the
 * readout shows that the scan lacks what its protocol needs, and the scan ends.
 */
static bool goes_on(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_item *item)
{
	const struct bs_shm *shm = &in->env->shm;
	const struct bs_mrd_acq *head = &shm->acq_meta[item->slot].head;
	const enum bs_kind kind = bs_mrd_kind(head->flags);
	struct bs_fail why;

	if (bs_ingest_holds_noise(in, head))
		bs_ingest_add_noise(in, scan, item);
	if (kind == BS_KIND_NOISE || !bs_kind_used(scan->p, kind) ||
	    bs_ingest_fits(in, scan, head, &why) == 0)
		return true;
	scan->fault = why; /* it is what ended the scan, whatever was before */
	bs_pool_give(shm->acq_pool, item->slot);
	bs_ingest_drain(in, scan, BS_ON_FAULT);
	return false;
}

static void hand_to_recon(struct ingest *in, struct bs_ingest_scan *scan, uint32_t slot)
{
	struct bs_shm *shm = &in->env->shm;
	struct bs_acq_meta *m = &shm->acq_meta[slot];
	const enum bs_kind kind = bs_mrd_kind(m->head.flags);

	scan->count.acquisitions++;
	if (bs_scan_uses(scan->p, &scan->record->info, kind, m->head.idx.average))
		scan->count.kind_used[kind]++;
	else
		scan->count.kind_unused[kind]++;
	m->lost = bs_ingest_lost(scan, m->seq);
	m->handed_ns = bs_now_ns();
	bs_ingest_note_sent(in, scan, m);
	bs_hist_add(bs_shm_hist(shm, scan->record->protocol, BS_STAGE_RECEIVE),
		    m->handed_ns - m->received_ns);
	bs_ingest_commit(in, scan, bs_entry(BS_ENTRY_ACQ, scan->id, slot));
}

static void note_lost(struct bs_ingest_scan *scan, uint64_t seq)
{
	if (scan->count.lost == 0)
		scan->count.lost = seq;
	atomic_store(&scan->record->lost, scan->count.lost);
}

void bs_ingest_deliver(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_item *item)
{
	bs_order_passed(&scan->order, item->seq);
	scan->ack_time_ns = item->time_ns;
	scan->ack_due = ++scan->unacked >= scan->order.window / 4 || scan->ack_due;
	scan->acqs += item->kind == BS_WIRE_ACQ;
	scan->count.waveforms += item->kind == BS_WIRE_WAVEFORM;
	scan->count.rejected += !item->used;
	if (!item->used)
		note_lost(scan, item->seq);
	if (item->kind == BS_WIRE_ACQ && item->used) {
		if (goes_on(in, scan, item))
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
	scan->order.gap_since_ns = bs_now_ns(); /* of the next number, where that is missing */
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
	scan->count.gaps += n;
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
	scan->fault = *why; /* the outcome tells why the scan ended, not an earlier fault */
	/* what came is good, and may hold the close; but none of it before what recon gets again */
	while (in->feed == NULL && scan->state == BS_STATE_SCANNING && scan->order.held_count > 0)
		bs_ingest_give_up_gap(in, scan, BS_NUMBER_NONE);
	if (scan->state == BS_STATE_SCANNING)
		bs_ingest_drain(in, scan, on);
}
