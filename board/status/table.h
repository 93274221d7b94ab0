/*
 * board/status/table.h - what the status says: a row for each value, whoever prints it
 *
 * The document (document.c), the terminal (lines.c), the metrics (metrics.c) and the table of
 * board/doc/STATUS.md (fields.c) are made from these rows and nothing else. A row is a value, or
 * has rows of its own: an object; a list of objects; a list of values, whose one row is named "";
 * without a name further members of the object that it is in, or a list that only metrics have.
 * The compiler takes a value's type, place and size from the field that its row names (rows.h).
 * What is computed is a field of a view, a structure that a function of the row above fills.
 * Read-only data; any thread. Test: test/unit/board/test_status.c, test_metrics.c
 */
#ifndef BS_BOARD_STATUS_TABLE_H
#define BS_BOARD_STATUS_TABLE_H

#include "core/date.h"
#include "ipc/shm/shm.h"

enum bs_type {
	BS_TYPE_NONE,
	BS_TYPE_COUNT, /* unsigned integer of 4 or 8 bytes */
	BS_TYPE_SIGNED,
	BS_TYPE_BOOL,
	BS_TYPE_REAL,
	BS_TYPE_CHARS,  /* array of char, perhaps without a terminator */
	BS_TYPE_STRING, /* pointer to a text */
	BS_TYPE_HIST,
	BS_TYPE_HIST_AT, /* pointer to a histogram */
	/* The types below take the histogram that the row above names. */
	BS_TYPE_HIST_COUNT,
	BS_TYPE_QUANTILE
};

/* An integer with a unit of time counts nanoseconds; a real number is in its unit. */
enum bs_unit {
	BS_NO_UNIT,
	BS_BYTES,
	BS_S,
	BS_MS,
	BS_US,
	BS_MS_GIVEN, /* ms, with as many decimals as the site file has */
	BS_US_OF_MS, /* us, from a real number in ms */
	BS_US_WHOLE, /* us, from an integer in us */
	BS_YES,      /* yes, unless the integer is 0 */
	BS_UTC,      /* seconds since 1970 */
	BS_UTC_NS,
	BS_SESSION,
	BS_UNITS
};

enum bs_from { BS_FROM_SHARED, BS_FROM_VIEW, BS_FROM_PLACE, BS_FROM_FIXED };
enum bs_metric { BS_NO_METRIC, BS_GAUGE, BS_COUNTER, BS_TIMES };

struct bs_item;
struct bs_row {
	const char *name; /* name of the document's member; NULL: not in the document */
	const char *help; /* one plain line; NULL: the value appears in terminal lines alone */
	enum bs_from from;
	enum bs_type type;
	enum bs_unit unit;
	/* step: bytes from item to item, of each list around the value */
	size_t at, bytes, step[2];
	const void *fixed;
	/* The document shows the word for a number, a metric the number itself. */
	const char *(*word)(uint32_t);
	const char *const *words; /* words for 0, 1, ...; the last is NULL */
	/*
	 * While this row's value is 0 or "", the row with `when` has no value, and an item is
	 * absent.
	 */
	const struct bs_row *when;
	bool only;     /* together with `when`: the member is then absent */
	bool less_one; /* 1 is subtracted from the value if it is not 0 */
	uint32_t is;   /* number for which the value is yes; 0: the value is shown as it is */
	double q;      /* quantile, between 0 and 1 */
	enum bs_metric metric;
	const char *as;    /* metric's name after "boreside_"; NULL: made from group and member */
	const char *label; /* label of this item's metrics */
	/* pass in which the metric appears; of a group: added to its rows' passes */
	unsigned pass;
	/* The members below are for rows that have rows of their own. */
	/* the last has neither type nor rows; NULL: this row is a value */
	const struct bs_row *rows;
	/* makes the item's view; returns false where the item is not there */
	bool (*view)(struct bs_item *x);
	/* terminal's text: once above all items, and for each (lines.c) */
	const char *heading, *line;
	const char *prefix; /* prefix of the names of its metrics */
	bool rounded;       /* integers of its metrics are printed with nine digits */
	uint32_t most;      /* most items of a list; 0: the row is no list */
	/* offset of the number of items in struct bs_shared, uint32_t; 0: `most` items */
	size_t number;
	size_t ring;     /* offset of the number ever added, uint64_t: item i lies at i % places */
	uint32_t places; /* length of the ring; the newest items are shown, the last one last */
};

#define BS_VIEW_BYTES 512u
#define BS_DEPTH      2u /* most lists within each other */

struct bs_item {
	const struct bs_shm *m;
	const struct bs_item *up; /* item that this one belongs to */
	const struct bs_row *row;
	/* index in each list around the item, and the number of such lists */
	uint32_t at[BS_DEPTH], depth;
	const struct bs_hist *of; /* histogram that the group's row names */
	_Alignas(16) unsigned char view[BS_VIEW_BYTES];
};

struct bs_value {
	enum { BS_IS_COUNT, BS_IS_SIGNED, BS_IS_REAL, BS_IS_YES, BS_IS_TEXT } is;
	uint64_t n;           /* value of every type but real numbers and texts */
	double real, seconds; /* real number in its row's unit, and in seconds */
	const char *text;     /* text, and its most bytes */
	size_t max;
	char room[BS_UTC_BYTES];
};

static inline bool bs_row_ends(const struct bs_row *r)
{
	return r->type == BS_TYPE_NONE && r->rows == NULL;
}
static inline bool bs_row_lists(const struct bs_row *r)
{
	return r->rows != NULL && r->most > 0;
}
/* True if the row's own rows are members of the object that the row is in. */
static inline bool bs_row_joins(const struct bs_row *r)
{
	return r->rows != NULL && r->name == NULL && r->most == 0;
}
/* Reads a value; v stays in place while its text is used. False: the value is 0 or "". */
bool bs_row_value(struct bs_value *v, const struct bs_row *r, const struct bs_item *x);
const char *bs_unit_name(const struct bs_row *r);
/* Returns the histogram that a row names. */
const struct bs_hist *bs_row_hist(const struct bs_row *r, const struct bs_item *x);
/* Makes an item of the document as a whole, at the group `top`. */
void bs_item_top(struct bs_item *x, const struct bs_shm *m, const struct bs_row *top);
/* The items of a row's list are numbered from *first to the returned number - 1. */
uint64_t bs_items(const struct bs_item *up, const struct bs_row *r, uint64_t *first);
/* Opens item number n of a row's list. False: this item is absent. */
bool bs_item_open(struct bs_item *x, const struct bs_item *up, const struct bs_row *r, uint64_t n);

/* Top rows of the whole document, and of boreside status --latency. */
extern const struct bs_row bs_status_top, bs_latency_top;
/* Groups of the document; the quantiles of any histogram, and the canaries' rows. */
extern const struct bs_row bs_status_protocols[], bs_status_machine[], bs_status_scans[],
	bs_status_log[], bs_status_latency[], bs_status_takers[], bs_quantiles[], bs_canary_rows[];

#endif
