/* core/frame/lines.c - see lines.h */
#include "core/frame/lines.h"

#include "core/plan/plan.h"
#include "core/text.h"

/* Where the limits say one line of many, they are not filled in. */
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
	if (first > last) /* off the grid: its readouts will be refused one by one */
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

/*
 * Patterns are looked at in two ways: inner 0, lines begin where they like in each of the pattern's
 * partitions; inner 1, partitions do along each of its lines. So shifts of either kind fit one.
 */
static bool is_present(const struct bs_lines *l, const uint8_t *present, uint32_t rows, int inner,
		       uint32_t at, uint32_t outer)
{
	const uint64_t row =
		inner == 0 ? at + (uint64_t)l->size[0] * outer : outer + (uint64_t)l->size[0] * at;

	return row < rows && present[row] != 0;
}

/* Of the inner residue that most have: those between the limits that have come, and all. */
static uint32_t along(const struct bs_lines *l, const uint8_t *present, uint32_t rows, int inner,
		      uint32_t outer, uint32_t *total)
{
	uint32_t best = 0;

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
		}
	}
	return best;
}

static uint32_t pattern(const struct bs_lines *l, const uint8_t *present, uint32_t rows, int inner,
			uint32_t *total)
{
	const int outer = 1 - inner;
	uint32_t best = 0;

	*total = 0;
	for (uint32_t residue = 0; residue < l->step[outer]; residue++) {
		uint32_t come = 0;
		uint32_t all = 0;

		for (uint32_t at = l->first[outer] + residue; at <= l->last[outer];
		     at += l->step[outer]) {
			uint32_t here;

			come += along(l, present, rows, inner, at, &here);
			all += here;
		}
		if (residue == 0 || come > best) {
			best = come;
			*total = all;
		}
	}
	return best;
}

uint32_t bs_lines_missing(const struct bs_lines *l, const uint8_t *present, uint32_t rows,
			  uint32_t *total)
{
	uint32_t all[2];
	const uint32_t come[2] = { pattern(l, present, rows, 0, &all[0]),
				   pattern(l, present, rows, 1, &all[1]) };
	const int way = come[1] > come[0] || (come[1] == come[0] && all[1] > all[0]);

	if (total != NULL)
		*total = all[way];
	return all[way] - come[way];
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

/*
 * Of size, only first to last were measured; about the center, or much more on one side: partial,
 * NULL where the protocol completes that.
 */
static void put_outside(struct bs_text *t, const char *what, uint32_t size, uint32_t first,
			uint32_t last, const char *partial)
{
	const uint32_t before = first;
	const uint32_t behind = size - 1 - last;
	const bool sided = before > behind + 1 || behind > before + 1;

	if ((before == 0 && behind == 0) || (sided && partial == NULL))
		return;
	also(t);
	bs_text_put(t, before + behind == 1 ? "%s" : "%ss", what);
	if (before > 0)
		put_range(t, 0, first - 1);
	if (before > 0 && behind > 0)
		bs_text_put(t, " and");
	if (behind > 0)
		put_range(t, last + 1, size - 1);
	bs_text_put(t, " of %u were not measured (%s)", size, sided ? partial : "lower resolution");
}

static bool completes(const struct bs_protocol *p)
{
	return p->partial_fourier == BS_PARTIAL_FOURIER_POCS;
}

/* NULL: the protocol completes the axis. */
static const char *partial_of(const struct bs_protocol *p, const struct bs_held *h, int axis)
{
	return completes(p) && !(h->unknown >> axis & 1u) ? NULL : "partial Fourier";
}

static void put_lines(struct bs_text *t, const struct bs_protocol *p, const struct bs_held *h)
{
	const struct bs_lines *l = h->lines;
	char words[BS_LACKS_WORDS];
	uint32_t total;
	uint32_t absent = bs_lines_missing(l, h->present, h->rows, &total);

	if (absent > h->missing) {
		also(t);
		bs_text_put(t, "%u of %u lines were not measured", absent - h->missing, total);
	}
	put_outside(t, "line", l->size[0], l->first[0], l->last[0], partial_of(p, h, 0));
	put_outside(t, "partition", l->size[1], l->first[1], l->last[1], partial_of(p, h, 1));
	if (h->unknown == 0)
		return;
	also(t);
	bs_text_put(t, "%s",
		    bs_center_unknown_words(words, sizeof(words), h->center, l->size, h->unknown,
					    h->strongest));
}

/* Every line of the grid has come, whatever the header says. */
static bool is_whole(const struct bs_held *h)
{
	const uint64_t all = h->lines != NULL ? (uint64_t)h->lines->size[0] * h->lines->size[1] : 0;

	return h->lines != NULL && h->readouts >= all;
}

/* What is left out appears as folds in its images. */
static bool folds(const struct bs_protocol *p)
{
	const struct bs_plan plan = bs_plan_of(p);

	return !plan.accelerated && !plan.joint;
}

const char *bs_lacks_words(char *out, size_t cap, const struct bs_protocol *p,
			   const struct bs_scan_info *info, const struct bs_held *h)
{
	struct bs_text t = { out, cap, 0, cap == 0 };

	if (cap > 0)
		out[0] = '\0';
	if (bs_plan_of(p).encode == BS_ENCODE_NOTHING)
		return out;
	if (bs_held_absent(h) > 0)
		bs_text_put(&t, "%u of %u readouts did not come", bs_held_absent(h),
			    (h->missing + h->readouts) * (h->averages > 1 ? h->averages : 1));
	if ((info->acceleration[0] > 1 || info->acceleration[1] > 1) && folds(p) && !is_whole(h)) {
		also(&t);
		bs_text_put(&t, "accelerated %u x %u, and this protocol does not unfold it",
			    info->acceleration[0] > 1 ? info->acceleration[0] : 1,
			    info->acceleration[1] > 1 ? info->acceleration[1] : 1);
	}
	if (h->lines != NULL && !is_whole(h))
		put_lines(&t, p, h);
	if (h->lines != NULL && p->samples < p->encoded[0])
		put_outside(&t, "sample", p->encoded[0], p->encoded[0] - p->samples,
			    p->encoded[0] - 1, completes(p) ? NULL : "asymmetric echo");
	return out;
}
