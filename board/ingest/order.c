/* board/ingest/order.c - messages into the order of their numbers; see ingest.h */
#include <stdio.h>
#include <string.h>

#include "board/ingest/ingest.h"
#include "core/thread/clock.h"

static struct bs_item *place_of(struct ingest *in, uint64_t seq)
{
	return &in->held[seq % BS_HELD_MAX];
}

static bool in_gap(const struct ingest *in, uint64_t seq)
{
	for (uint32_t i = 0; i < in->gaps; i++)
		if (seq - in->gap[i].first < in->gap[i].count)
			return true;
	return false;
}

/* A number that was passed: a duplicate, or what a gap was declared for. */
static void drop_old(struct ingest *in, const struct bs_wire *w)
{
	struct bs_fail why;

	in->ack_due = true; /* the sender does not know how far we are */
	if (!in_gap(in, w->seq)) {
		bs_count(&in->scan->duplicates, 1);
		bs_count(&in->totals->duplicates, 1);
		return;
	}
	(void)bs_fail(&why, BS_ERR_SEQUENCE,
		      "sequence number %llu came after it was given up as missing; it is not used",
		      (unsigned long long)w->seq);
	bs_count(&in->scan->late, 1);
	bs_count(&in->totals->late, 1);
	bs_worker_say(in->env, BS_EVENT_REJECTED, why.code,
		      (const uint64_t[3]){ atomic_load(&in->scan->id) }, why.text);
}

bool bs_ingest_wanted(struct ingest *in, const struct bs_wire *w)
{
	if (w->seq < in->next) {
		drop_old(in, w);
		return false;
	}
	if (w->seq - in->next >= BS_JUMP_MAX) {
		struct bs_fail why;

		(void)bs_fail(&why, BS_ERR_SEQUENCE, "sequence number %llu is absurd: %llu is next",
			      (unsigned long long)w->seq, (unsigned long long)in->next);
		bs_ingest_reject(in, in->session, &why);
		return false;
	}
	if (place_of(in, w->seq)->kind != 0 && place_of(in, w->seq)->seq == w->seq) {
		bs_count(&in->scan->duplicates, 1);
		bs_count(&in->totals->duplicates, 1);
		in->ack_due = true;
		return false;
	}
	/* More, or further ahead, than the window allows: what is missing will not come any more.
	 */
	while (in->held_count > 0 && in->state == BS_STATE_SCANNING && w->seq != in->next &&
	       (w->seq - in->next >= BS_HELD_MAX || in->held_count >= in->window))
		bs_ingest_give_up_gap(in, 0, true);
	return in->state == BS_STATE_SCANNING; /* the close may have been among what was held */
}

static void deliver(struct ingest *in, const struct bs_item *item)
{
	in->next = item->seq + 1;
	in->ack_time_ns = item->time_ns;
	in->ack_due = ++in->unacked >= in->window / 4 || in->ack_due;
	atomic_store(&in->scan->next_seq, in->next);
	bs_ingest_deliver(in, item);
}

static void deliver_held(struct ingest *in)
{
	while (in->held_count > 0 && in->state == BS_STATE_SCANNING) {
		struct bs_item *h = place_of(in, in->next);
		struct bs_item item = *h;

		if (h->kind == 0 || h->seq != in->next)
			break;
		h->kind = 0;
		in->held_count--;
		deliver(in, &item);
	}
	in->gap_since = in->held_count > 0 ? bs_now_ns() : 0;
}

static void declare_gap(struct ingest *in, uint64_t until)
{
	uint64_t n = until - in->next;
	struct bs_fail why;

	(void)bs_fail(&why, BS_ERR_SEQUENCE,
		      "%llu messages from sequence number %llu on never came",
		      (unsigned long long)n, (unsigned long long)in->next);
	bs_count(&in->scan->gaps, n);
	bs_count(&in->totals->gaps, n);
	if (in->gaps < BS_GAPS_MAX) {
		in->gap[in->gaps].first = in->next;
		in->gap[in->gaps++].count = n;
	}
	bs_worker_say(in->env, BS_EVENT_GAP, why.code,
		      (const uint64_t[3]){ atomic_load(&in->scan->id), in->next, n }, NULL);
	bs_ingest_fault(in, &why, BS_HAPPENINGS);
	in->next = until;
}

void bs_ingest_put(struct ingest *in, const struct bs_item *item)
{
	if (item->seq - in->next >= BS_HELD_MAX)
		declare_gap(in, item->seq);
	if (item->seq == in->next) {
		deliver(in, item);
		if (in->held_count > 0)
			deliver_held(in);
		return;
	}
	*place_of(in, item->seq) = *item;
	if (in->held_count++ == 0)
		in->gap_since = bs_now_ns();
	in->ack_due = true; /* says again how far we are: the sender may resend at once */
}

void bs_ingest_give_up_gap(struct ingest *in, int64_t now_ns, bool now)
{
	uint64_t seq = in->next;

	if (in->held_count == 0 || in->state != BS_STATE_SCANNING ||
	    (!now && now_ns - in->gap_since < BS_GAP_NS))
		return;
	while (place_of(in, seq)->kind == 0 || place_of(in, seq)->seq != seq)
		seq++; /* one is held, at most BS_HELD_MAX ahead */
	declare_gap(in, seq);
	deliver_held(in);
	in->ack_due = true;
}

void bs_ingest_drop_held(struct ingest *in)
{
	struct bs_fail why;

	if (in->held_count > 0) {
		(void)bs_fail(&why, BS_ERR_SEQUENCE,
			      "%u messages that were held, their numbers beyond %llu, are dropped: "
			      "the scan is over",
			      in->held_count, (unsigned long long)in->next);
		bs_count(&in->scan->late, in->held_count);
		bs_count(&in->totals->late, in->held_count);
		bs_worker_say(in->env, BS_EVENT_REJECTED, why.code,
			      (const uint64_t[3]){ atomic_load(&in->scan->id) }, why.text);
	}
	for (uint32_t i = 0; i < BS_HELD_MAX; i++) {
		if (in->held[i].kind == BS_WIRE_ACQ && in->held[i].used)
			bs_pool_give(in->env->shm.acq_pool, in->held[i].slot);
		in->held[i].kind = 0;
	}
	in->held_count = 0;
	in->gap_since = 0;
}
