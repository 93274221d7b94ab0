/* board/ingest/order.c - see order.h */
#include "board/ingest/order.h"

int bs_item_check(struct bs_item *item, const struct bs_wire *w, const unsigned char *payload,
		  struct bs_fail *why)
{
	if (w->kind == BS_WIRE_CLOSE)
		return bs_wire_get_u64(&item->count, payload, (size_t)w->payload_len, why);
	return w->kind != BS_WIRE_OPEN
		       ? 0
		       : bs_fail(why, BS_ERR_STATE, "a second header, number %llu, within the scan",
				 (unsigned long long)w->seq);
}

int bs_item_closes(const struct bs_item *close, uint64_t acqs, uint64_t gaps, struct bs_fail *why)
{
	return close->count == acqs || gaps > 0
		       ? 0
		       : bs_fail(why, BS_ERR_SEQUENCE,
				 "CLOSE says that %llu acquisitions were sent, %llu came",
				 (unsigned long long)close->count, (unsigned long long)acqs);
}

static bool is_held(const struct bs_order *o, uint64_t seq)
{
	const struct bs_item *place = &o->held[seq % BS_HELD_MAX];

	return place->kind != 0 && place->seq == seq;
}

static bool in_gap(const struct bs_order *o, uint64_t seq)
{
	for (uint32_t i = 0; i < o->gaps; i++)
		if (seq - o->gap[i].first < o->gap[i].count)
			return true;
	return false;
}

static void take_out(struct bs_order *o, struct bs_item *place, struct bs_item *item)
{
	*item = *place;
	place->kind = 0;
	o->held_count--;
}

void bs_order_start(struct bs_order *o, uint64_t next)
{
	o->next = next;
	o->over = 0;
	o->gaps = 0;
}

enum bs_number bs_order_look(const struct bs_order *o, uint64_t seq)
{
	if (seq < o->next)
		return in_gap(o, seq) ? BS_NUMBER_LATE : BS_NUMBER_DUPLICATE;
	if (seq - o->next >= BS_JUMP_MAX)
		return BS_NUMBER_ABSURD;
	return is_held(o, seq) ? BS_NUMBER_DUPLICATE : BS_NUMBER_NEW;
}

bool bs_order_beyond(const struct bs_order *o, uint64_t seq)
{
	return seq - o->next >= o->window && seq != o->next;
}

bool bs_order_full(const struct bs_order *o, uint64_t seq)
{
	return seq != o->next && (seq - o->next >= BS_HELD_MAX || o->held_count >= o->room);
}

void bs_order_hold(struct bs_order *o, const struct bs_item *item, int64_t now_ns)
{
	if (!bs_order_lacks(o))
		o->gap_since_ns = now_ns;
	o->held[item->seq % BS_HELD_MAX] = *item;
	o->held_count++;
}

void bs_order_pass_over(struct bs_order *o, uint64_t seq, int64_t now_ns)
{
	if (!bs_order_lacks(o))
		o->gap_since_ns = now_ns;
	if (o->over <= o->next || seq < o->over)
		o->over = seq;
}

bool bs_order_next(struct bs_order *o, struct bs_item *item)
{
	if (!is_held(o, o->next))
		return false;
	take_out(o, &o->held[o->next % BS_HELD_MAX], item);
	return true;
}

uint64_t bs_order_give_up(struct bs_order *o, uint64_t seq)
{
	uint64_t first = o->next;

	if (o->over > first && o->over < seq)
		seq = o->over;
	if (o->held_count == 0)
		o->next = seq;
	/* one message is held, at most BS_HELD_MAX ahead */
	while (o->next != seq && !is_held(o, o->next))
		o->next++;
	if (o->gaps < BS_GAPS_MAX) {
		o->gap[o->gaps].first = first;
		o->gap[o->gaps++].count = o->next - first;
	}
	return o->next - first;
}

bool bs_order_drop(struct bs_order *o, struct bs_item *item)
{
	for (uint32_t i = 0; o->held_count > 0 && i < BS_HELD_MAX; i++)
		if (o->held[i].kind != 0) {
			take_out(o, &o->held[i], item);
			return true;
		}
	return false;
}
