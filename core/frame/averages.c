/* core/frame/averages.c - see averages.h */
#include "core/frame/averages.h"

#include <string.h>

#define NONE UINT32_MAX

/* A kept readout; next: the row's next one, in the order of averages. */
struct item {
	uint32_t next;
	uint16_t average;
};

struct row {
	uint32_t first; /* index of the row's first item; NONE: there is none */
	uint16_t count;
	bool calibrates;
};

struct frame {
	struct item *item; /* [rows]: the kept readouts of each row, as a list */
	struct row *row;   /* [rows] list of each row */
	float *data;       /* [item][coil][samples] complex: data of kept readouts */
	uint32_t free;     /* index of the first item of the list of free ones */
	/* number of items in use; the last item is for the readout that completes a row */
	uint32_t kept;
	uint32_t at; /* rows before this one are empty, once the frame is over */
};

struct bs_averages {
	const struct bs_protocol *p;
	struct frame *frame;
	float *mean; /* [coil][samples] complex: the mean that was made last */
	uint32_t rows, items, expected;
};

static uint64_t items_of(const struct bs_protocol *p)
{
	return p->averages > 1 ? (uint64_t)p->readouts * (p->averages - 1) + 1 : 0;
}

static uint64_t line_bytes(const struct bs_protocol *p)
{
	return (uint64_t)p->samples * p->coils * 8;
}

int bs_averages_need(const struct bs_protocol *p, uint32_t rows, struct bs_need *need)
{
	const uint64_t frames = bs_protocol_frames(p);

	if (!bs_plan_has(&p->plan, BS_PLAN_AVERAGE))
		return 0;
	bs_need_add(need, "averages", 1, sizeof(struct bs_averages));
	bs_need_add(need, "their mean", 1, line_bytes(p));
	bs_need_add(need, "averages' frames", 1, frames * sizeof(struct frame));
	bs_need_add(need, "averages' rows", frames, rows * sizeof(struct row));
	bs_need_add(need, "averages' numbers", frames, items_of(p) * sizeof(struct item));
	bs_need_add(need, "averages that wait", frames, items_of(p) * line_bytes(p));
	return 0;
}

int bs_averages_arm(struct bs_averages **out, const struct bs_protocol *p, uint32_t rows,
		    struct bs_arena *arena, struct bs_fail *why)
{
	const uint32_t frames = bs_protocol_frames(p);
	struct bs_averages *a;
	bool full;

	*out = NULL;
	if (!bs_plan_has(&p->plan, BS_PLAN_AVERAGE))
		return 0;
	a = bs_arena_take(arena, sizeof(*a), BS_ALIGN);
	full = a == NULL;
	if (!full) {
		*a = (struct bs_averages){ .p = p,
					   .rows = rows,
					   .items = (uint32_t)items_of(p),
					   .expected = p->averages };
		a->mean = bs_arena_take(arena, (size_t)line_bytes(p), BS_ALIGN);
		a->frame = bs_arena_take(arena, frames * sizeof(*a->frame), BS_ALIGN);
		full = a->mean == NULL || a->frame == NULL;
	}
	for (int piece = 0; piece < 3; piece++)
		for (uint32_t i = 0; !full && i < frames; i++) {
			struct frame *f = &a->frame[i];
			const size_t bytes[3] = { rows * sizeof(*f->row),
						  a->items * sizeof(*f->item),
						  a->items * (size_t)line_bytes(p) };
			void *at = bs_arena_take(arena, bytes[piece], BS_ALIGN);

			full = at == NULL;
			if (piece == 0)
				f->row = at;
			else if (piece == 1)
				f->item = at;
			else
				f->data = at;
		}
	if (full)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': averages", p->name);
	*out = a;
	return 0;
}

void bs_averages_scan(struct bs_averages *a, uint32_t expected)
{
	a->expected = expected;
}

static void give_item(struct frame *f, uint32_t item)
{
	f->item[item].next = f->free;
	f->free = item;
	f->kept--;
}

void bs_averages_begin(struct bs_averages *a, uint32_t frame)
{
	struct frame *f = &a->frame[frame];

	for (uint32_t r = 0; r < a->rows; r++)
		f->row[r] = (struct row){ .first = NONE };
	f->free = NONE;
	f->kept = a->items;
	for (uint32_t i = 0; i < a->items; i++)
		give_item(f, i);
	f->at = 0;
}

static float *samples_of(const struct bs_averages *a, const struct frame *f, uint32_t item)
{
	return f->data + 2 * (size_t)item * a->p->samples * a->p->coils;
}

/* Makes the mean of the row's items, and frees them. */
static void make_mean(struct bs_averages *a, struct frame *f, uint32_t row, struct bs_mean *mean)
{
	const size_t values = 2 * (size_t)a->p->samples * a->p->coils;
	struct row *r = &f->row[row];
	const float by = 1.0f / (float)r->count;
	float *restrict to = a->mean;
	uint32_t item = r->first;

	memcpy(to, samples_of(a, f, item), values * sizeof(*to));
	for (uint32_t next = f->item[item].next; next != NONE; next = f->item[item].next) {
		const float *restrict from = samples_of(a, f, next);

		give_item(f, item);
		item = next;
		for (size_t i = 0; i < values; i++)
			to[i] += from[i];
	}
	give_item(f, item);
	for (size_t i = 0; i < values; i++)
		to[i] *= by;
	*mean = (struct bs_mean){ to, row, r->count, r->calibrates };
	*r = (struct row){ .first = NONE };
}

/* Adds an item to the row, at its place among the others. */
static void take_item(struct frame *f, struct row *r, uint32_t *link, uint16_t average)
{
	const uint32_t item = f->free;

	f->free = f->item[item].next;
	f->kept++;
	f->item[item] = (struct item){ *link, average };
	*link = item;
	r->count++;
}

int bs_averages_put(struct bs_averages *a, uint32_t frame, uint32_t row,
		    const struct bs_mrd_acq *head, const float *data, size_t coil_stride,
		    struct bs_mean *mean, struct bs_fail *why)
{
	const uint16_t average = head->idx.average;
	const size_t line = 2 * (size_t)a->p->samples;
	struct frame *f = &a->frame[frame];
	struct row *r = &f->row[row];
	uint32_t *link = &r->first;
	bool again;

	while (*link != NONE && f->item[*link].average < average)
		link = &f->item[*link].next;
	again = *link != NONE && f->item[*link].average == average;
	if (!again && f->kept + 1 == a->items && r->count + 1u < a->expected)
		return bs_fail(why, BS_ERR_INDEX,
			       "acquisition %u: averages of more than the %u readouts of a frame "
			       "of protocol '%s'",
			       head->scan_counter, a->p->readouts, a->p->name);
	if (!again)
		take_item(f, r, link, average);
	for (size_t c = 0; c < a->p->coils; c++)
		memcpy(samples_of(a, f, *link) + c * line, data + 2 * c * coil_stride,
		       line * sizeof(*data));
	r->calibrates |= (head->flags & (BS_MRD_IS_CALIBRATION | BS_MRD_IS_CALIBRATION_TOO)) != 0;
	if (again)
		return BS_AVERAGES_AGAIN;
	if (r->count < a->expected)
		return 0;
	make_mean(a, f, row, mean);
	return 1;
}

bool bs_averages_wait(const struct bs_averages *a, uint32_t frame)
{
	return a->frame[frame].kept > 0;
}

bool bs_averages_next(struct bs_averages *a, uint32_t frame, struct bs_mean *mean)
{
	struct frame *f = &a->frame[frame];

	while (f->at < a->rows && f->row[f->at].count == 0)
		f->at++;
	if (f->at == a->rows)
		return false;
	make_mean(a, f, f->at, mean);
	return true;
}
