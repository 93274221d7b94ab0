/* core/frame/open.c - see open.h */
#include "core/frame/open.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t promised(const struct bs_limit *limit)
{
	return limit->given ? (uint64_t)limit->max + 1 : 1;
}

const char *bs_open_words(char *out, size_t cap, const struct bs_protocol *p,
			  const struct bs_scan_info *info)
{
	const uint32_t lanes = bs_protocol_lanes(p);
	const uint64_t averages =
		bs_plan_has(&p->plan, BS_PLAN_AVERAGE) ? 1 : promised(&info->average);
	const uint64_t frames[2] = { promised(&info->phase), promised(&info->set) };

	out[0] = '\0';
	if (p->frame_step == 0 && (frames[0] > lanes || frames[1] > lanes || averages > lanes ||
				   frames[0] * frames[1] * averages > lanes))
		(void)snprintf(
			out, cap,
			"the header promises %llu phases x %llu sets x %llu averages, and %u "
			"frames of a slice and contrast may be open (phases x sets x "
			"repetitions): if more come in turns, images are partial",
			(unsigned long long)frames[0], (unsigned long long)frames[1],
			(unsigned long long)averages, lanes);
	return out;
}

int bs_opens_make(struct bs_opens *o, uint32_t pairs, uint32_t lanes, uint32_t rows)
{
	const size_t places = (size_t)pairs * lanes;

	*o = (struct bs_opens){ .pairs = pairs, .lanes = lanes, .rows = rows };
	o->at = calloc(places, sizeof(*o->at));
	o->rows_of = calloc(places, rows);
	if (o->at == NULL || o->rows_of == NULL)
		return BS_ERR_NOMEM;
	for (size_t i = 0; i < places; i++)
		o->at[i].row = o->rows_of + i * rows;
	return 0;
}

void bs_opens_free(struct bs_opens *o)
{
	free(o->at);
	free(o->rows_of);
	o->at = NULL;
	o->rows_of = NULL;
}

void bs_opens_scan(struct bs_opens *o, const struct bs_protocol *p, const struct bs_scan_info *info,
		   const struct bs_lines *lines)
{
	o->p = p;
	o->lines = lines;
	o->exact = info->calibration == BS_CALIBRATION_SEPARATE ||
		   info->calibration == BS_CALIBRATION_EXTERNAL ||
		   info->calibration == BS_CALIBRATION_INTERLEAVED;
	o->lost = o->crowded = false;
	o->line = o->ended = 0;
	o->over = 0;
	o->beyond = 0;
	for (uint32_t i = 0; i < o->pairs * o->lanes; i++) {
		o->at[i].state = BS_OPEN_EMPTY;
		o->at[i].whole.have = 0;
	}
}

int64_t bs_open_later(const struct bs_mrd_idx *a, const struct bs_mrd_idx *b)
{
	return (int64_t)(int16_t)(b->repetition - a->repetition) * 65536 + b->average - a->average;
}

bool bs_open_alike(const struct bs_mrd_idx *a, const struct bs_mrd_idx *b)
{
	return a->set == b->set && a->phase == b->phase && a->user[7] == b->user[7];
}

bool bs_open_same(const struct bs_protocol *p, const struct bs_mrd_idx *a,
		  const struct bs_mrd_idx *b)
{
	return bs_open_alike(a, b) && a->repetition == b->repetition &&
	       (bs_plan_has(&p->plan, BS_PLAN_AVERAGE) || a->average == b->average);
}

uint32_t bs_opens_find(const struct bs_opens *o, uint32_t pair, const struct bs_mrd_idx *idx)
{
	for (uint32_t slot = pair * o->lanes; slot < (pair + 1) * o->lanes; slot++)
		if (o->at[slot].state == BS_OPEN_FILLING &&
		    bs_open_same(o->p, &o->at[slot].idx, idx))
			return slot;
	return BS_OPEN_NONE;
}

void bs_opens_end(struct bs_opens *o, uint32_t slot)
{
	o->at[slot].state = BS_OPEN_OVER;
	o->at[slot].ended = ++o->ended;
	o->over++;
}

void bs_opens_wait(struct bs_opens *o, uint32_t slot, bool waits, bool urged)
{
	struct bs_open *f = &o->at[slot];

	o->over += f->waits;
	o->over -= waits;
	f->waits = waits;
	f->urged = f->urged || urged;
}

void bs_opens_empty(struct bs_opens *o, uint32_t slot)
{
	o->over -= o->at[slot].state == BS_OPEN_OVER && !o->at[slot].waits;
	o->at[slot].state = BS_OPEN_EMPTY;
}

uint32_t bs_opens_place(struct bs_opens *o, uint32_t pair, const struct bs_mrd_idx *idx)
{
	const uint32_t open = bs_opens_find(o, pair, idx);
	uint32_t empty = BS_OPEN_NONE;
	uint32_t oldest = pair * o->lanes;
	bool over = false;

	if (open != BS_OPEN_NONE)
		return open;
	for (uint32_t slot = pair * o->lanes; slot < (pair + 1) * o->lanes; slot++) {
		const struct bs_open *f = &o->at[slot];

		over = over || (f->state == BS_OPEN_OVER && !f->waits);
		if (f->state == BS_OPEN_EMPTY && empty == BS_OPEN_NONE)
			empty = slot;
		if (f->touched < o->at[oldest].touched)
			oldest = slot;
	}
	if (over)
		return BS_OPEN_NONE;
	if (empty == BS_OPEN_NONE && o->at[oldest].waits) {
		bs_opens_wait(o, oldest, false, true);
	} else if (empty == BS_OPEN_NONE) {
		o->crowded = true;
		bs_opens_end(o, oldest);
	}
	return empty;
}

void bs_opens_begin(struct bs_opens *o, uint32_t slot, const struct bs_mrd_idx *idx)
{
	struct bs_open *f = &o->at[slot];

	memset(f->row, 0, o->rows);
	f->state = BS_OPEN_FILLING;
	f->idx = *idx;
	f->have = f->inside = f->lacked = 0;
	f->own = f->again = f->within = f->waits = f->urged = false;
	for (uint32_t i = slot / o->lanes * o->lanes; i < (slot / o->lanes + 1) * o->lanes; i++) {
		const struct bs_open *before = &o->at[i];

		if (before->whole.have == 0 || !bs_open_same(o->p, &before->whole.idx, idx))
			continue;
		f->again = true;
		f->within = before->whole.have == before->whole.inside;
	}
	f->began = f->touched = o->line + 1;
}

void bs_opens_row(struct bs_opens *o, uint32_t slot, uint32_t row)
{
	struct bs_open *f = &o->at[slot];
	const bool inside = o->lines != NULL && bs_lines_inside(o->lines, row);

	f->row[row] = BS_ROW_IN;
	f->have++;
	f->inside += inside;
	o->beyond += f->within && !inside;
}

uint32_t bs_opens_missing(const struct bs_opens *o, uint32_t slot, uint32_t readouts,
			  uint32_t *shutter)
{
	const struct bs_open *f = &o->at[slot];
	uint32_t missing;

	*shutter = 0;
	if (!o->p->by_header || o->lines == NULL)
		return o->p->readouts > readouts ? o->p->readouts - readouts : 0;
	missing = bs_lines_missing(o->lines, f->row, o->rows, NULL);
	if (missing == 0 || o->lost || !bs_lines_shutter(o->lines, f->row, o->rows))
		return missing;
	*shutter = missing;
	return 0;
}

/* Returns true if a line of the frame is known to be missing. */
static bool lacks(const struct bs_opens *o, uint32_t slot)
{
	uint32_t shutter;

	return bs_opens_missing(o, slot, o->at[slot].have, &shutter) > 0;
}

/* Returns the number of lines of the whole frame of its kind before; 0: there was none. */
static uint32_t as_many(const struct bs_opens *o, uint32_t slot)
{
	const struct bs_open *f = &o->at[slot];
	const uint32_t first = slot / o->lanes * o->lanes;

	for (uint32_t i = first; i < first + o->lanes; i++)
		if (o->at[i].whole.have > 0 && bs_open_alike(&o->at[i].whole.idx, &f->idx))
			return o->at[i].whole.have;
	return 0;
}

static bool is_whole(const struct bs_opens *o, uint32_t slot)
{
	const struct bs_open *f = &o->at[slot];
	const uint32_t before = as_many(o, slot);

	if (!o->p->by_header || o->lines == NULL)
		return f->have == o->p->readouts;
	if (f->inside > 0 && f->inside == bs_lines_full(o->lines))
		return true;
	if (o->exact && f->have >= bs_lines_least(o->lines) &&
	    bs_lines_missing(o->lines, f->row, o->rows, NULL) == 0)
		return true;
	return before > 0 && f->have >= before && !lacks(o, slot);
}

/* Most lines that may still come, out of order, after the line that is flagged as the last. */
#define LATE_MOST 16u

/*
 * The frame ends by this line's flag, or by a remembered flag of an earlier line. With all lines of
 * the grid, or a shutter, no flag is remembered: the frame is whole, or some line of it may come
 * yet.
 */
static bool ends_by_flag(struct bs_opens *o, uint32_t slot, bool last)
{
	struct bs_open *f = &o->at[slot];
	const uint32_t before = f->lacked;
	uint32_t shutter;
	uint32_t total;
	uint32_t missing;

	if (!last && before == 0)
		return false;
	missing = bs_opens_missing(o, slot, f->have, &shutter);
	if (last && missing == 0)
		return true;
	f->lacked = 0;
	if (shutter > 0 || o->lines == NULL || bs_lines_full(o->lines) > 0 || missing > LATE_MOST ||
	    (!last && missing >= before))
		return false;
	(void)bs_lines_missing(o->lines, f->row, o->rows, &total);
	f->lacked = f->have + missing > total ? missing : 0;
	return missing == 0 && f->have > total;
}

static void end_whole(struct bs_opens *o, uint32_t slot)
{
	struct bs_open *f = &o->at[slot];
	const uint32_t first = slot / o->lanes * o->lanes;

	/* only the last whole frame of each kind is kept */
	for (uint32_t i = first; i < first + o->lanes; i++)
		if (bs_open_alike(&o->at[i].whole.idx, &f->idx))
			o->at[i].whole.have = 0;
	f->whole.idx = f->idx;
	f->whole.have = f->have;
	f->whole.inside = f->inside;
	bs_opens_end(o, slot);
}

/*
 * Ends frames of the same kind that this one leaves behind. Call it after a line of this frame, or
 * when it is whole.
 */
static bool end_earlier(struct bs_opens *o, uint32_t slot, bool whole)
{
	const struct bs_open *g = &o->at[slot];
	const uint32_t first = slot / o->lanes * o->lanes;

	for (uint32_t i = first; i < first + o->lanes; i++) {
		struct bs_open *f = &o->at[i];

		if (f->state != BS_OPEN_FILLING || !bs_open_alike(&f->idx, &g->idx) ||
		    bs_open_later(&f->idx, &g->idx) <= 0 || f->touched >= g->began ||
		    (!whole && g->have < f->have))
			continue;
		if (o->p->by_header && !lacks(o, i)) {
			end_whole(o, i);
			whole = whole || !lacks(o, slot);
		} else if (whole) {
			bs_opens_end(o, i);
		}
	}
	return whole;
}

void bs_opens_line(struct bs_opens *o, uint32_t slot, uint64_t flags, bool waits)
{
	struct bs_open *f = &o->at[slot];
	const bool last = o->p->by_header && (flags & BS_MRD_LAST) != 0;
	bool whole;

	f->touched = ++o->line;
	whole = is_whole(o, slot) || (!waits && ends_by_flag(o, slot, last));
	whole = end_earlier(o, slot, whole);
	if (!whole)
		return;
	f->own = true;
	end_whole(o, slot);
}

void bs_opens_close(struct bs_opens *o)
{
	for (uint32_t pair = 0; pair < o->pairs; pair++)
		for (;;) {
			uint32_t first = BS_OPEN_NONE;

			for (uint32_t i = pair * o->lanes; i < (pair + 1) * o->lanes; i++)
				if (o->at[i].state == BS_OPEN_FILLING &&
				    (first == BS_OPEN_NONE || o->at[i].began < o->at[first].began))
					first = i;
			if (first == BS_OPEN_NONE)
				break;
			bs_opens_end(o, first);
		}
}

uint32_t bs_opens_over(const struct bs_opens *o)
{
	uint32_t first = BS_OPEN_NONE;

	for (uint32_t i = 0; o->over > 0 && i < o->pairs * o->lanes; i++)
		if (o->at[i].state == BS_OPEN_OVER && !o->at[i].waits &&
		    (first == BS_OPEN_NONE || o->at[i].ended < o->at[first].ended))
			first = i;
	return first;
}

/* ---- echoes that no counter tells ---- */

void bs_echo_scan(struct bs_echo *e, const struct bs_scan_info *info, uint32_t contrasts)
{
	const bool untold = contrasts > 1 && contrasts <= info->echoes &&
			    (!info->contrast.given || info->contrast.max == 0);

	e->state = untold ? BS_ECHO_NONE : BS_ECHO_BY_COUNTER;
}

/* Returns true if the counters that identify a line are those of the line before. */
static bool is_same(const struct bs_echo *e, const struct bs_mrd_idx *idx)
{
	return memcmp(idx, &e->last, offsetof(struct bs_mrd_idx, segment)) == 0;
}

void bs_echo_decide(struct bs_echo *e, const struct bs_mrd_idx *idx)
{
	if (e->state <= BS_ECHO_FIRST && idx->contrast > 0)
		e->state = BS_ECHO_BY_COUNTER;
	if (e->state == BS_ECHO_FIRST)
		e->state = is_same(e, idx) ? BS_ECHO_BY_ORDER : BS_ECHO_BY_COUNTER;
}

uint16_t bs_echo_next(const struct bs_echo *e, const struct bs_mrd_idx *idx, uint32_t contrasts)
{
	return e->state == BS_ECHO_BY_ORDER && is_same(e, idx)
		       ? (uint16_t)((e->contrast + 1u) % contrasts)
		       : idx->contrast;
}

bool bs_echo_breaks(const struct bs_echo *e, const struct bs_mrd_idx *idx, uint32_t contrasts)
{
	return e->state == BS_ECHO_BY_ORDER && e->contrast + 1u != contrasts &&
	       (idx == NULL || !is_same(e, idx));
}

void bs_echo_came(struct bs_echo *e, const struct bs_mrd_idx *idx, uint16_t contrast)
{
	e->state = e->state == BS_ECHO_NONE ? BS_ECHO_FIRST : e->state;
	e->last = *idx;
	e->contrast = contrast;
}
