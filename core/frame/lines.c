/* core/frame/lines.c - see lines.h */
#include "core/frame/lines.h"

#include "core/text.h"

/* Sets the range of measured lines. Limits that give one line of many are taken as not given. */
static void span(struct bs_lines *l, int axis, const struct bs_limit *limit, uint32_t center)
{
	const int64_t size = l->size[axis];
	const int64_t shift = size / 2 - (int64_t)center;
	int64_t first = limit->min + shift;
	int64_t last = limit->max + shift;

	l->first[axis] = 0;
	l->last[axis] = (uint32_t)(size - 1);
	if (!limit->given || limit->max <= limit->min)
		return;
	first = first < 0 ? 0 : first;
	last = last >= size ? size - 1 : last;
	if (first > last) /* the limits are off the grid: readouts will be refused one by one */
		return;
	l->first[axis] = (uint32_t)first;
	l->last[axis] = (uint32_t)last;
}

void bs_lines_about(struct bs_lines *l, const struct bs_protocol *p,
		    const struct bs_scan_info *info, const struct bs_center *c)
{
	for (int a = 0; a < 2; a++) {
		l->size[a] = p->encoded[1 + a] > 0 ? p->encoded[1 + a] : 1;
		l->step[a] = info->acceleration[a] > 1 && info->acceleration[a] < l->size[a]
				     ? info->acceleration[a]
				     : 1;
	}
	span(l, 0, &info->step1, c->line[0]);
	span(l, 1, &info->step2, c->line[1]);
}

void bs_lines_of(struct bs_lines *l, const struct bs_protocol *p, const struct bs_scan_info *info)
{
	struct bs_center c;

	bs_center_of(&c, &p->encoded[1], info, NULL);
	bs_lines_about(l, p, info, &c);
}

static uint32_t length(const struct bs_lines *l, int axis)
{
	return l->last[axis] - l->first[axis] + 1;
}

int bs_lines_admit(const struct bs_protocol *p, const struct bs_scan_info *info,
		   struct bs_fail *why)
{
	uint32_t lines = 1;
	struct bs_lines l;

	bs_lines_of(&l, p, info);
	for (int a = 0; a < 2; a++)
		lines *= (length(&l, a) + l.step[a] - 1) / l.step[a];
	return lines <= p->readouts
		       ? 0
		       : bs_fail(why, BS_ERR_SIZE,
				 "the header promises %u lines a frame, readouts_max of protocol "
				 "'%s' is %u",
				 lines, p->name, p->readouts);
}

uint32_t bs_lines_full(const struct bs_lines *l)
{
	return l->step[0] == 1 && l->step[1] == 1 ? length(l, 0) * length(l, 1) : 0;
}

uint32_t bs_lines_least(const struct bs_lines *l)
{
	return (length(l, 0) / l->step[0]) * (length(l, 1) / l->step[1]);
}

/*
 * A pattern is tried in two ways. inner 0: lines have a beginning of their own in each of the
 * pattern's partitions. inner 1: partitions have one along each of its lines. So shifts of either
 * kind fit one way.
 */
static bool is_present(const struct bs_lines *l, const uint8_t *present, uint32_t rows, int inner,
		       uint32_t at, uint32_t outer)
{
	const uint64_t row =
		inner == 0 ? at + (uint64_t)l->size[0] * outer : outer + (uint64_t)l->size[0] * at;

	return row < rows && present[row] != 0;
}

/*
 * Finds the residue of the inner index that most lines have. Returns the number of its lines that
 * have come; *total: all its lines between the limits; *which: the residue.
 */
static uint32_t along(const struct bs_lines *l, const uint8_t *present, uint32_t rows, int inner,
		      uint32_t outer, uint32_t *total, uint32_t *which)
{
	uint32_t best = 0;

	*which = 0;
	*total = length(l, inner) / l->step[inner];
	for (uint32_t residue = 0; residue < l->step[inner]; residue++) {
		uint32_t come = 0;
		uint32_t all = 0;

		for (uint32_t at = l->first[inner] + residue; at <= l->last[inner];
		     at += l->step[inner]) {
			come += is_present(l, present, rows, inner, at, outer);
			all++;
		}
		if (come > best) {
			best = come;
			*total = all;
			*which = residue;
		}
	}
	return best;
}

static uint32_t pattern(const struct bs_lines *l, const uint8_t *present, uint32_t rows, int inner,
			uint32_t *total, uint32_t *which)
{
	const int outer = 1 - inner;
	uint32_t best = 0;
	uint32_t of_line;

	*total = *which = 0;
	for (uint32_t residue = 0; residue < l->step[outer]; residue++) {
		uint32_t come = 0;
		uint32_t all = 0;

		for (uint32_t at = l->first[outer] + residue; at <= l->last[outer];
		     at += l->step[outer]) {
			uint32_t here;

			come += along(l, present, rows, inner, at, &here, &of_line);
			all += here;
		}
		if (residue == 0 || come > best) {
			best = come;
			*total = all;
			*which = residue;
		}
	}
	return best;
}

/* Chooses inner 0 or 1, which more lines fit. *which: where the pattern's lines begin. */
static int way_of(const struct bs_lines *l, const uint8_t *present, uint32_t rows, uint32_t *come,
		  uint32_t *total, uint32_t *which)
{
	uint32_t all[2];
	uint32_t at[2];
	const uint32_t of[2] = { pattern(l, present, rows, 0, &all[0], &at[0]),
				 pattern(l, present, rows, 1, &all[1], &at[1]) };
	const int way = of[1] > of[0] || (of[1] == of[0] && all[1] > all[0]);

	*come = of[way];
	*total = all[way];
	*which = at[way];
	return way;
}

uint32_t bs_lines_missing(const struct bs_lines *l, const uint8_t *present, uint32_t rows,
			  uint32_t *total)
{
	uint32_t come;
	uint32_t all;
	uint32_t which;

	(void)way_of(l, present, rows, &come, &all, &which);
	if (total != NULL)
		*total = all;
	return all - come;
}

/* ---- an elliptical shutter ---- */

#define AXIS_MOST 1024u

/*
 * The reach of the pattern's lines with one outer coordinate: how far out any came, how near the
 * center any is missing.
 */
struct reach {
	/* half lines from the center; in < 0: none came, out < 0: all came */
	double outer, in, out;
};

/*
 * The distance from the center in half lines. shift 1: the center lies half a line beside the
 * grid's.
 */
static double away(const struct bs_lines *l, int axis, uint32_t at, int shift)
{
	const int64_t x = 2 * ((int64_t)at - l->size[axis] / 2) + shift;

	return (double)(x < 0 ? -x : x);
}

static struct reach reach_of(const struct bs_lines *l, const uint8_t *present, uint32_t rows,
			     int inner, uint32_t outer, const int shift[2])
{
	struct reach r = { away(l, 1 - inner, outer, shift[1 - inner]), -1.0, -1.0 };
	uint32_t total;
	uint32_t which;
	const bool any = along(l, present, rows, inner, outer, &total, &which) > 0;

	/* the lines' beginning is not known: the one that fits an ellipse best is taken */
	if (!any && l->step[inner] > 1) {
		r.out = (double)l->step[inner];
		return r;
	}
	for (uint32_t at = l->first[inner] + which; at <= l->last[inner]; at += l->step[inner]) {
		const double x = away(l, inner, at, shift[inner]);

		if (is_present(l, present, rows, inner, at, outer))
			r.in = x > r.in ? x : r.in;
		else
			r.out = r.out < 0.0 || x < r.out ? x : r.out;
	}
	return r;
}

/*
 * With m the largest inner^2 + t outer^2 of lines that came: how far beyond m are the missing
 * lines, and the axes' ends? The result is concave in t; where it is above 0 there is an ellipse.
 */
static double margin_of(const struct reach *r, uint32_t n, const double end2[2], double t)
{
	double most = 0.0;
	double least = end2[0] < t * end2[1] ? end2[0] : t * end2[1];

	for (uint32_t i = 0; i < n; i++) {
		const double outer = t * r[i].outer * r[i].outer;

		if (r[i].in >= 0.0 && r[i].in * r[i].in + outer > most)
			most = r[i].in * r[i].in + outer;
		if (r[i].out >= 0.0 && r[i].out * r[i].out + outer < least)
			least = r[i].out * r[i].out + outer;
	}
	return least - most * (1.0 + 1e-9);
}

static bool is_ellipse(const struct bs_lines *l, const struct reach *r, uint32_t n, int inner,
		       const int shift[2])
{
	double reached[2] = { 0.0, 0.0 }; /* largest distance of lines that came: inner, outer */
	double end2[2];
	double low = 0.0;
	double high;

	for (uint32_t i = 0; i < n; i++) {
		reached[0] = r[i].in > reached[0] ? r[i].in : reached[0];
		if (r[i].in >= 0.0 && r[i].outer > reached[1])
			reached[1] = r[i].outer;
	}
	for (int i = 0; i < 2; i++) {
		const int axis = i == 0 ? inner : 1 - inner;
		const double first = away(l, axis, l->first[axis], shift[axis]);
		const double last = away(l, axis, l->last[axis], shift[axis]);
		const double end = first > last ? first : last;
		const double line = 2.0 * l->step[axis];

		if (reached[i] < end - line || end < 2.0 * line)
			return false;
		end2[i] = (end + line) * (end + line);
	}
	high = 4.0 * end2[0];
	for (int i = 0; i < 200; i++) {
		const double a = low + (high - low) / 3.0;
		const double b = high - (high - low) / 3.0;

		if (margin_of(r, n, end2, a) < margin_of(r, n, end2, b))
			low = a;
		else
			high = b;
	}
	return margin_of(r, n, end2, low) > 0.0 || margin_of(r, n, end2, high) > 0.0;
}

bool bs_lines_shutter(const struct bs_lines *l, const uint8_t *present, uint32_t rows)
{
	static const int shifts[4][2] = { { 0, 0 }, { 1, 1 }, { 1, 0 }, { 0, 1 } };
	struct reach reach[AXIS_MOST];
	uint32_t come;
	uint32_t total;
	uint32_t which;
	const int inner = way_of(l, present, rows, &come, &total, &which);
	const int outer = 1 - inner;

	if (l->size[outer] > AXIS_MOST || length(l, 0) < 4 || length(l, 1) < 4 || 2 * come < total)
		return false;
	for (int i = 0; i < 4; i++) {
		uint32_t n = 0;

		for (uint32_t at = l->first[outer] + which; at <= l->last[outer];
		     at += l->step[outer])
			reach[n++] = reach_of(l, present, rows, inner, at, shifts[i]);
		if (is_ellipse(l, reach, n, inner, shifts[i]))
			return true;
	}
	return false;
}

/* ---- words ---- */

static void also(struct bs_text *t)
{
	if (t->len > 0)
		bs_text_put(t, "; ");
}

static void put_range(struct bs_text *t, uint32_t first, uint32_t last)
{
	bs_text_put(t, first == last ? " %u" : " %u to %u", first, last);
}

enum outside { NOWHERE, BOTH_SIDES, ONE_SIDE };

/*
 * Tells which of size lines were not measured, where only first to last were: none, on both sides
 * alike, or much more on one side.
 */
static enum outside outside_of(uint32_t size, uint32_t first, uint32_t last)
{
	const uint32_t before = first;
	const uint32_t behind = size - 1 - last;

	if (before == 0 && behind == 0)
		return NOWHERE;
	return before > behind + 1 || behind > before + 1 ? ONE_SIDE : BOTH_SIDES;
}

static void put_outside(struct bs_text *t, const char *what, uint32_t size, uint32_t first,
			uint32_t last, const char *why)
{
	const uint32_t before = first;
	const uint32_t behind = size - 1 - last;

	also(t);
	bs_text_put(t, before + behind == 1 ? "%s" : "%ss", what);
	if (before > 0)
		put_range(t, 0, first - 1);
	if (before > 0 && behind > 0)
		bs_text_put(t, " and");
	if (behind > 0)
		put_range(t, last + 1, size - 1);
	bs_text_put(t, " of %u were not measured (%s)", size, why);
}

static const char *const axis_lines[2] = { "line", "partition" };

/*
 * Returns true where lines that an accelerated scan leaves out appear as folds in the images.
 * Method sense on a grid solves as if all had come: Q is made when the protocol is armed.
 */
static bool folds(const struct bs_protocol *p)
{
	const struct bs_plan *plan = &p->plan;

	return !plan->accelerated && (!plan->joint || plan->on_grid);
}

/* Returns true if every line of the grid has come, whatever the header says. */
static bool is_whole(const struct bs_held *h)
{
	const uint64_t all = h->lines != NULL ? (uint64_t)h->lines->size[0] * h->lines->size[1] : 0;

	return h->lines != NULL && h->readouts >= all;
}

static void put_lines(struct bs_text *t, const struct bs_protocol *p, const struct bs_held *h)
{
	const struct bs_lines *l = h->lines;
	char words[BS_LACKS_WORDS];
	uint32_t total;
	uint32_t absent = bs_lines_missing(l, h->present, h->rows, &total) - h->shutter;

	if (absent > h->missing && (p->by_header || folds(p))) {
		also(t);
		bs_text_put(t, "%u of %u lines were not measured", absent - h->missing, total);
	}
	for (int a = 0; a < 2; a++)
		if ((h->unknown >> a & 1u) != 0 &&
		    outside_of(l->size[a], l->first[a], l->last[a]) == ONE_SIDE)
			put_outside(t, axis_lines[a], l->size[a], l->first[a], l->last[a],
				    "partial Fourier");
	if (h->unknown == 0)
		return;
	also(t);
	bs_text_put(t, "%s",
		    bs_center_unknown_words(words, sizeof(words), h->center, l->size, h->unknown,
					    h->strongest));
}

const char *bs_lacks_words(char *out, size_t cap, const struct bs_protocol *p,
			   const struct bs_scan_info *info, const struct bs_held *h)
{
	struct bs_text t = { out, cap, 0, cap == 0 };

	if (cap > 0)
		out[0] = '\0';
	if (p->plan.encode == BS_ENCODE_NOTHING)
		return out;
	if (bs_held_absent(h) > 0)
		bs_text_put(&t, "%u of %u readouts %s", bs_held_absent(h),
			    (h->missing + h->readouts) * (h->averages > 1 ? h->averages : 1),
			    h->how != NULL ? h->how : "did not come");
	if ((info->acceleration[0] > 1 || info->acceleration[1] > 1) && folds(p) && !is_whole(h)) {
		also(&t);
		bs_text_put(&t, "accelerated %u x %u, and this protocol does not unfold it",
			    info->acceleration[0] > 1 ? info->acceleration[0] : 1,
			    info->acceleration[1] > 1 ? info->acceleration[1] : 1);
	}
	if (h->lines != NULL && !is_whole(h))
		put_lines(&t, p, h);
	return out;
}

static void put_zeros(struct bs_text *t, const struct bs_protocol *p, const char *what,
		      uint32_t size, uint32_t first, uint32_t last, const char *sided)
{
	const enum outside o = outside_of(size, first, last);

	if (o == NOWHERE || (o == ONE_SIDE && bs_plan_has(&p->plan, BS_PLAN_POCS)))
		return;
	put_outside(t, what, size, first, last, o == ONE_SIDE ? sided : "lower resolution");
	bs_text_put(t, " and are zeros");
}

/*
 * The range measured along an axis: between the header's limits, and beyond them where lines came.
 */
static void measured(const struct bs_held *h, int axis, uint32_t span[2])
{
	const struct bs_lines *l = h->lines;

	span[0] = l->first[axis];
	span[1] = l->last[axis];
	for (uint32_t row = 0; row < h->rows; row++) {
		const uint32_t at = axis == 0 ? row % l->size[0] : row / l->size[0];

		if (h->present[row] == 0)
			continue;
		if (at < span[0])
			span[0] = at;
		if (at > span[1]) /* includes what the pattern leaves out behind that line */
			span[1] = at + l->step[axis] <= l->size[axis] ? at + l->step[axis] - 1
								      : l->size[axis] - 1;
	}
}

const char *bs_zeros_words(char *out, size_t cap, const struct bs_protocol *p,
			   const struct bs_held *h)
{
	struct bs_text t = { out, cap, 0, cap == 0 };
	const struct bs_lines *l = h->lines;
	uint32_t span[2];

	if (cap > 0)
		out[0] = '\0';
	if (p->plan.encode == BS_ENCODE_NOTHING || l == NULL)
		return out;
	for (int a = 0; a < 2 && !is_whole(h); a++) {
		measured(h, a, span);
		put_zeros(&t, p, axis_lines[a], l->size[a], span[0], span[1], "partial Fourier");
	}
	if (p->samples < p->encoded[0])
		put_zeros(&t, p, "sample", p->encoded[0], p->encoded[0] - p->samples,
			  p->encoded[0] - 1, "asymmetric echo");
	else if (h->measured[1] > 0 &&
		 outside_of(p->encoded[0], h->measured[0], h->measured[1] - 1) != NOWHERE) {
		put_outside(&t, "sample", p->encoded[0], h->measured[0], h->measured[1] - 1,
			    "asymmetric echo");
		bs_text_put(&t, " and are zeros");
	}
	if (h->shutter > 0) {
		also(&t);
		bs_text_put(&t,
			    "%u lines outside of an ellipse were not measured, which is taken for "
			    "an elliptical shutter",
			    h->shutter);
	}
	return out;
}
