/* board/status/document.c - the table's values as a JSON document; see table.h, status.h */
#include <inttypes.h>

#include "board/status/doc.h"
#include "board/status/status.h"
#include "board/status/table.h"

static void put_value(struct bs_doc *d, const char *name, const struct bs_row *r,
		      const struct bs_item *x)
{
	struct bs_value v;

	(void)bs_row_value(&v, r, x);
	switch (v.is) {
	case BS_IS_COUNT:
		bs_doc_number(d, name, v.n);
		break;
	case BS_IS_SIGNED:
		bs_doc_value(d, name, "%" PRId64, (int64_t)v.n);
		break;
	case BS_IS_YES:
		bs_doc_flag(d, name, v.n != 0);
		break;
	case BS_IS_TEXT:
		bs_doc_chars(d, name, v.text, v.max);
		break;
	case BS_IS_REAL:
		if (r->unit == BS_MS_GIVEN)
			bs_doc_value(d, name, "%.6g", v.real);
		else
			bs_doc_real(d, name, v.real);
		break;
	}
}

static void put_group(struct bs_doc *d, const struct bs_item *up, const struct bs_row *r);

static void put_rows(struct bs_doc *d, const struct bs_item *x)
{
	struct bs_value v;

	for (const struct bs_row *r = x->row->rows; !bs_row_ends(r); r++)
		if (r->only && !bs_row_value(&v, r->when, x))
			continue;
		else if (bs_row_joins(r) || (r->rows != NULL && r->name != NULL && r->help != NULL))
			put_group(d, x, r);
		else if (r->rows == NULL && r->name != NULL && r->help != NULL)
			put_value(d, r->name[0] != '\0' ? r->name : NULL, r, x);
}

static void put_group(struct bs_doc *d, const struct bs_item *up, const struct bs_row *r)
{
	const bool list = r->most > 0;
	const char *value = r->rows[0].name; /* an empty name: the items are values, not objects */
	const bool object = !bs_row_joins(r) && (value == NULL || value[0] != '\0');
	struct bs_item x;
	uint64_t n;
	const uint64_t end = bs_items(up, r, &n);

	if (list)
		bs_doc_open(d, r->name, '[');
	for (; n < end; n++) {
		if (!bs_item_open(&x, up, r, n))
			continue;
		if (object)
			bs_doc_open(d, list ? NULL : r->name, '{');
		put_rows(d, &x);
		if (object)
			bs_doc_close(d);
	}
	if (list)
		bs_doc_close(d);
}

static int put_document(char *out, size_t cap, const struct bs_shm *shm, const struct bs_row *top)
{
	struct bs_item x;
	struct bs_doc d;

	bs_item_top(&x, shm, top);
	bs_doc_begin(&d, out, cap);
	put_rows(&d, &x);
	return bs_doc_end(&d);
}

int bs_status_json(char *out, size_t cap, const struct bs_shm *shm)
{
	return put_document(out, cap, shm, &bs_status_top);
}

int bs_status_latency_json(char *out, size_t cap, const struct bs_shm *shm)
{
	return put_document(out, cap, shm, &bs_latency_top);
}
