/*
 * board/status/lines.c - the table's values as lines for a terminal; see table.h, status.h
 *
 * The line of a row that has rows is put for each item, then the lines within it. In a line
 *	{name:width.decimals}	is the value of the row of that name: of the item, or of what it is
 *				in; {object.name}: of a row within an object. width < 0: to the
 *				left. An s behind: seconds.
 *	[name|name?text]	is there when one of these values is not 0, and no empty text
 *	[!name?text]		is there when none is
 * and may stand within others. A name that no row has gives the whole answer up.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "board/status/status.h"
#include "board/status/table.h"
#include "core/text.h"

struct name {
	const char *s;
	size_t len;
};

static bool is_name(const char *name, struct name n)
{
	return name != NULL && strlen(name) == n.len && memcmp(name, n.s, n.len) == 0;
}

static struct name name_at(const char *p, const char *ends)
{
	return (struct name){ p, strcspn(p, ends) };
}

/* Puts a value in its form; form NULL: puts nothing. False: the value is 0 or an empty text. */
static bool put_value(struct bs_text *t, const struct bs_row *r, const struct bs_item *x,
		      const char *form)
{
	struct bs_value v;
	const bool set = bs_row_value(&v, r, x);
	char *rest = NULL;
	int width;
	int decimals = -1;

	if (form == NULL)
		return set;
	width = (int)strtol(form, &rest, 10);
	if (*rest == '.')
		decimals = (int)strtol(rest + 1, &rest, 10);
	switch (v.is) {
	case BS_IS_TEXT:
		if (decimals < 0 || (size_t)decimals > v.max)
			decimals = v.max < INT32_MAX ? (int)v.max : -1;
		bs_text_put(t, "%*.*s", width, decimals, v.text);
		break;
	case BS_IS_REAL:
		if (r->unit == BS_MS_GIVEN)
			bs_text_put(t, "%*g", width, v.real);
		else
			bs_text_put(t, "%*.*f", width, decimals, *rest == 's' ? v.seconds : v.real);
		break;
	case BS_IS_SIGNED:
		bs_text_put(t, "%*" PRId64, width, (int64_t)v.n);
		break;
	case BS_IS_COUNT:
	case BS_IS_YES:
		bs_text_put(t, "%*" PRIu64, width, v.n);
		break;
	}
	return set;
}

/* Puts the value of the row of that name. False: the item has no such row, or the value is 0. */
static bool put_named(struct bs_text *t, const struct bs_item *x, struct name n, const char *form,
		      bool *set)
{
	const struct name head = name_at(n.s, ".:?}");
	const struct name tail = { n.s + head.len + 1, n.len - head.len - 1 };
	const bool whole = head.len >= n.len;

	for (const struct bs_row *r = x->row->rows; !bs_row_ends(r); r++) {
		struct bs_item y;

		if (r->rows == NULL && is_name(r->name, n)) {
			*set = put_value(t, r, x, form);
			return true;
		}
		if (r->rows == NULL || (!bs_row_joins(r) && (whole || !is_name(r->name, head))))
			continue;
		if (bs_item_open(&y, x, r, 0) &&
		    put_named(t, &y, bs_row_joins(r) ? n : tail, form, set))
			return true;
	}
	return false;
}

static bool find_value(struct bs_text *t, const struct bs_item *x, struct name n, const char *form)
{
	bool set = false;

	while (x != NULL && !put_named(t, x, n, form, &set))
		x = x->up;
	t->full |= x == NULL;
	return set;
}

/* True if one of the names before the ? is set; with a !, if none is. *p moves behind the ?. */
static bool holds(struct bs_text *t, const struct bs_item *x, const char **p)
{
	const bool none = **p == '!';
	bool set = false;

	do {
		const struct name n = name_at(*p + (**p == '!' || **p == '|'), "|?");

		set |= find_value(t, x, n, NULL);
		*p = n.s + n.len;
	} while (**p == '|');
	*p += 1;
	return set != none;
}

/* Puts the line up to its end, or up to the ] that closes this part. shown: false skips it. */
static const char *put_line(struct bs_text *t, const struct bs_item *x, const char *p, bool shown)
{
	while (*p != '\0' && *p != ']') {
		const size_t plain = strcspn(p, "{[]");

		if (shown)
			bs_text_put(t, "%.*s", (int)plain, p);
		p += plain;
		if (*p == '{') {
			const struct name n = name_at(p + 1, ":}");

			if (shown)
				(void)find_value(t, x, n, n.s + n.len + (n.s[n.len] == ':'));
			p += strcspn(p, "}") + 1;
		} else if (*p == '[') {
			p++;
			const bool there = holds(t, x, &p);

			p = put_line(t, x, p, shown && there) + 1;
		}
	}
	return p;
}

static void put_item(struct bs_text *t, const struct bs_item *x);

/* Puts the rows that have rows of their own: all of them, or the one named only. */
static void put_groups(struct bs_text *t, const struct bs_item *up, const char *only)
{
	for (const struct bs_row *r = up->row->rows; !bs_row_ends(r); r++) {
		const bool joins = bs_row_joins(r);
		struct bs_item x;
		uint64_t n;

		if (r->rows == NULL ||
		    (only != NULL && !joins && (r->name == NULL || strcmp(r->name, only) != 0)))
			continue;
		bs_text_put(t, "%s", r->heading != NULL ? r->heading : "");
		for (const uint64_t end = bs_items(up, r, &n); n < end; n++)
			if (!bs_item_open(&x, up, r, n))
				continue;
			else if (only != NULL && joins)
				put_groups(t, &x, only);
			else
				put_item(t, &x);
	}
}

static void put_item(struct bs_text *t, const struct bs_item *x)
{
	if (x->row->line != NULL)
		(void)put_line(t, x, x->row->line, true);
	put_groups(t, x, NULL);
}

int bs_status_text(char *out, size_t cap, const struct bs_shm *shm)
{
	static const char *const order[] = { "site",      "workers",   "bridges",  "steps",
					     "protocols", "refusals",  "realtime", "canary",
					     "pools",     "kspace",    "sealed",   "scan",
					     "log",       "consumers", "latency",  "errors" };
	struct bs_text t = { out, cap, 0, cap == 0 };
	struct bs_item x;

	bs_item_top(&x, shm, &bs_status_top);
	(void)put_line(&t, &x, bs_status_top.line, true);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		put_groups(&t, &x, order[i]);
	return t.full ? BS_ERR_NOMEM : (int)t.len;
}

int bs_status_latency_text(char *out, size_t cap, const struct bs_shm *shm)
{
	struct bs_text t = { out, cap, 0, cap == 0 };
	struct bs_item x;

	bs_item_top(&x, shm, &bs_latency_top);
	put_item(&t, &x);
	return t.full ? BS_ERR_NOMEM : (int)t.len;
}
