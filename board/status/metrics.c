/* board/status/metrics.c - the table's metrics as Prometheus reads them; see table.h, status.h */
#include <stdio.h>

#include "board/status/prom.h"
#include "board/status/status.h"
#include "board/status/table.h"

#define PASSES 21u /* most passes over the metrics, plus 1 */
#define DEPTH  6   /* most groups within each other */
#define LABELS 4

/* One metric, and the rows that lead to it from the whole document. */
struct family {
	struct bs_text *t;
	const struct bs_shm *m;
	const struct bs_row *path[DEPTH], *row;
	int depth;
	unsigned pass;
	char name[64];
	struct bs_label label[LABELS];
	struct bs_value value[LABELS]; /* values of the labels */
};

static const struct bs_row *row_at(const struct family *f, int depth)
{
	return depth > 0 ? f->path[depth - 1] : &bs_status_top;
}

/* Adds the item's labels to those already there. Returns their number. */
static int put_labels(struct family *f, const struct bs_item *x, int labels)
{
	for (const struct bs_row *r = x->row->rows; !bs_row_ends(r); r++) {
		struct bs_value *v = &f->value[labels];

		if (r->label == NULL)
			continue;
		(void)bs_row_value(v, r, x);
		if (v->is != BS_IS_TEXT) {
			(void)snprintf(v->room, sizeof(v->room), "%lld", (long long)v->n);
			v->text = v->room;
			v->max = sizeof(v->room);
		}
		f->label[labels++] = (struct bs_label){ r->label, v->text, v->max };
	}
	f->label[labels] = (struct bs_label){ 0 };
	return labels;
}

static void put_value(struct family *f, const struct bs_item *x)
{
	const struct bs_row *r = f->row;
	struct bs_value v;

	if (r->metric == BS_TIMES) {
		bs_prom_times(f->t, f->name, f->label, bs_row_hist(r, x));
		return;
	}
	const bool set = bs_row_value(&v, r, x);

	if (v.is == BS_IS_REAL)
		bs_prom_real(f->t, f->name, f->label, v.seconds);
	else if (v.is == BS_IS_TEXT && r->word == NULL && r->words == NULL)
		bs_prom_count(f->t, f->name, f->label, set);
	else if (x->row->rounded)
		bs_prom_real(f->t, f->name, f->label, (double)v.n);
	else
		bs_prom_count(f->t, f->name, f->label, v.n);
}

/* Puts the metric's values of every item that the path leads to from here. */
static void put_values(struct family *f, const struct bs_item *x, int at, int labels)
{
	struct bs_item y;
	uint64_t n;

	labels = put_labels(f, x, labels);
	if (at == f->depth) {
		put_value(f, x);
		return;
	}
	for (const uint64_t end = bs_items(x, f->path[at], &n); n < end; n++)
		if (bs_item_open(&y, x, f->path[at], n))
			put_values(f, &y, at + 1, labels);
}

static void put_family(struct family *f)
{
	static const char *const kinds[] = { "", "gauge", "counter", "histogram" };
	static const char *const ends[] = { "", "", "_total", "_seconds" };
	const struct bs_row *r = f->row;
	struct bs_item x;

	if (r->as != NULL)
		(void)snprintf(f->name, sizeof(f->name), "boreside_%s", r->as);
	else
		(void)snprintf(f->name, sizeof(f->name), "boreside_%s%s%s",
			       row_at(f, f->depth)->prefix, r->name, ends[r->metric]);
	bs_prom_family(f->t, f->name, kinds[r->metric], r->help);
	bs_item_top(&x, f->m, &bs_status_top);
	put_values(f, &x, 0, 0);
}

/*
 * Puts the metrics of this pass. x: the item. It is NULL within a list, whose metrics are declared
 * without an item; metrics of an absent object are left out.
 */
static void walk(struct family *f, const struct bs_item *x, unsigned pass)
{
	for (const struct bs_row *r = row_at(f, f->depth)->rows; !bs_row_ends(r); r++) {
		const bool item = x != NULL && !bs_row_lists(r);
		struct bs_item y;

		f->row = r;
		if (r->metric != BS_NO_METRIC && pass + r->pass == f->pass)
			put_family(f);
		if (r->rows == NULL || (item && !bs_item_open(&y, x, r, 0)))
			continue;
		f->path[f->depth++] = r;
		walk(f, item ? &y : NULL, pass + r->pass);
		f->depth--;
	}
}

int bs_status_metrics(char *out, size_t cap, const struct bs_shm *shm)
{
	struct bs_text t = { out, cap, 0, cap == 0 };
	struct family f = { .t = &t, .m = shm };
	struct bs_item x;

	bs_item_top(&x, shm, &bs_status_top);
	for (; f.pass < PASSES; f.pass++)
		walk(&f, &x, 0);
	return t.full ? BS_ERR_NOMEM : (int)t.len;
}
