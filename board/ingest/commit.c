/* board/ingest/commit.c - what has been done of a scan, as one step; see ingest.h */
#include "board/ingest/ingest.h"

#include <string.h>

#include "core/thread/clock.h"

static void gather(const struct ingest *in, const struct bs_ingest_scan *scan, uint64_t entry,
		   struct bs_scan_step *t)
{
	t->id = scan->id;
	t->state = (uint32_t)scan->state;
	t->epoch = in->recon_epoch;
	t->entries = atomic_load(&in->env->shm.acq_ring->head) + (entry != 0);
	t->entry = entry;
	t->next = scan->order.next;
	t->heard_from = scan->heard_from;
	t->gaps = scan->order.gaps;
	memcpy(t->gap, scan->order.gap, sizeof(t->gap));
	t->so_far = scan->so_far;
}

/* Copies the step to the fields that other processes read. */
static void publish(struct bs_scan_record *s, const struct bs_scan_step *t)
{
	const struct bs_scan_counts *c = &t->so_far.count;
	const struct {
		_Atomic uint64_t *to;
		uint64_t value;
	} all[] = { { &s->acquisitions, c->acquisitions },
		    { &s->waveforms, c->waveforms },
		    { &s->gaps, c->gaps },
		    { &s->duplicates, c->duplicates },
		    { &s->rejected, c->rejected },
		    { &s->late, c->late },
		    { &s->next_seq, t->next } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		atomic_store_explicit(all[i].to, all[i].value, memory_order_relaxed);
	for (int i = 0; i < BS_KINDS; i++) {
		atomic_store_explicit(&s->kind_used[i], c->kind_used[i], memory_order_relaxed);
		atomic_store_explicit(&s->kind_unused[i], c->kind_unused[i], memory_order_relaxed);
	}
	atomic_store(&s->id, t->id);
	atomic_store(&s->state, t->state);
	atomic_store(&s->open, t->state == BS_STATE_SCANNING || t->state == BS_STATE_DRAINING ||
				       t->state == BS_STATE_ABORTING);
}

/* Publishes a valid step, and pushes its entry unless recon's ring has it. May be repeated. */
static void finish(struct ingest *in, struct bs_scan_record *s, const struct bs_scan_step *t)
{
	struct bs_shm *shm = &in->env->shm;

	publish(s, t);
	if (t->entries <= atomic_load(&shm->acq_ring->head))
		return;
	(void)bs_ring_push(shm->acq_ring, t->entry);
	bs_shm_ring_bell(shm, BS_WORKER_RECON);
}

void bs_ingest_commit(struct ingest *in, struct bs_ingest_scan *scan, uint64_t entry)
{
	const uint32_t other = ~atomic_load(&scan->record->step_at) & 1;
	struct bs_scan_step *t = &scan->record->step[other];

	gather(in, scan, entry, t);
	atomic_store(&scan->record->step_at, other);
	atomic_signal_fence(memory_order_seq_cst); /* nothing below may move above the store */
	finish(in, scan->record, t);
}

void bs_ingest_add_noise(struct ingest *in, struct bs_ingest_scan *scan, const struct bs_item *item)
{
	const struct bs_shm *shm = &in->env->shm;
	struct bs_scan_record *s = scan->record;

	atomic_store(&s->noise_number, 0);
	bs_scan_noise_copy(&s->noise_before, &s->noise);
	atomic_store(&s->noise_number, item->seq);
	atomic_signal_fence(memory_order_seq_cst);
	(void)bs_scan_noise_add(&s->noise, &s->info, &shm->acq_meta[item->slot].head,
				(const double *)bs_shm_samples(shm, item->slot));
}

static const struct bs_scan_step *valid_step(const struct bs_scan_record *s)
{
	return &s->step[atomic_load(&s->step_at) & 1];
}

/* Fills in *scan from its record, as the record's last step left it. */
static void restore(struct ingest *in, struct bs_ingest_scan *scan, struct bs_scan_record *s)
{
	const struct bs_scan_step *t = valid_step(s);

	scan->record = s;
	scan->id = t->id;
	scan->state = (enum bs_state)t->state;
	in->recon_epoch = t->epoch;
	scan->session = s->session;
	bs_order_start(&scan->order, t->next);
	memcpy(scan->order.gap, t->gap, sizeof(t->gap));
	scan->order.gaps = t->gaps;
	scan->heard_from = t->heard_from;
	scan->so_far = t->so_far;
	scan->apart_ns = INT64_MAX;
	scan->clock = BS_CLOCK_UNKNOWN;
	scan->resumed_at = scan->order.next + scan->order.window;
	scan->heard_ns = bs_now_ns();
	if (bs_ingest_in_scan(scan) && atomic_load(&s->noise_number) == t->next)
		/* undoes the unfinished addition */
		bs_scan_noise_copy(&s->noise, &s->noise_before);
	finish(in, s, t);
	if (!bs_ingest_in_scan(scan))
		return;
	scan->p = &in->env->site.protocol[s->protocol];
	scan->has_table = bs_shm_table(&in->env->shm, s->protocol, &scan->table);
	scan->ack_due = true;
}

static bool is_closed(const struct bs_scan_record *s)
{
	const enum bs_state state = (enum bs_state)valid_step(s)->state;

	return state == BS_STATE_DRAINING || state == BS_STATE_ABORTING;
}

bool bs_ingest_restore(struct ingest *in)
{
	struct bs_scan_record *s = in->env->shm.s->scan;
	const uint32_t last = valid_step(&s[1])->id > valid_step(&s[0])->id;

	if (valid_step(&s[last])->id == 0)
		return false;
	if (is_closed(&s[1 - last])) {
		restore(in, &in->now, &s[1 - last]);
		in->before = in->now;
	} else if (valid_step(&s[1 - last])->id != 0) {
		finish(in, &s[1 - last], valid_step(&s[1 - last])); /* the scan before has ended */
	}
	restore(in, &in->now, &s[last]);
	return true;
}
