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

#include "ipc/shm/shm.h"

enum bs_type {
	BS_TYPE_NONE,
	BS_TYPE_COUNT, /* of 4 or 8 bytes, as the next */
	BS_TYPE_SIGNED,
	BS_TYPE_BOOL,
	BS_TYPE_REAL,
	BS_TYPE_CHARS,  /* an array, perhaps not terminated */
	BS_TYPE_STRING, /* a pointer */
	BS_TYPE_HIST,
	BS_TYPE_HIST_AT, /* a pointer */
	/* of the histogram that the row above names: */
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
	BS_MS_GIVEN, /* ms, with the decimals that the site file has */
	BS_US_OF_MS, /* of a real number in ms */
	BS_US_WHOLE, /* of an integer in us */
	BS_YES,      /* not 0: yes */
	BS_UTC,      /* seconds since 1970 */
	BS_UTC_NS,
	BS_SESSION,
	BS_UNITS
};

enum bs_from { BS_FROM_SHARED, BS_FROM_VIEW, BS_FROM_PLACE, BS_FROM_FIXED };
enum bs_metric { BS_NO_METRIC, BS_GAUGE, BS_COUNTER, BS_TIMES };

struct bs_item;
struct bs_row {
	const char *name; /* of the document's member; NULL: there is none */
	const char *help; /* one plain line; NULL: only lines of the terminal have the value */
	enum bs_from from;
	enum bs_type type;
	enum bs_unit unit;
	size_t at, bytes, step[2]; /* step: from an item to the next, of the lists it is in */
	const void *fixed;
	/* the document has the word for a number, a metric the number itself */
	const char *(*word)(uint32_t);
	const char *const *words; /* of 0, 1, ...; NULL-ended */
	/* while this row's value is 0 or "", the value is 0 or "", too, and an item is absent */
	const struct bs_row *when;
	bool only;     /* with `when`: the member is absent then */
	bool less_one; /* 1 is subtracted from the value if it is not 0 */
	uint32_t is;   /* not 0: the value is yes if it equals this number */
	double q;      /* of a quantile */
	enum bs_metric metric;
	const char *as;    /* its name behind "boreside_"; NULL: by what it is in, and its own */
	const char *label; /* of the metrics of this item */
	unsigned turn;     /* of its metric, or of all of its rows': added up; they come in turns */
	/* with rows of its own */
	const struct bs_row *rows;       /* ended by one without type and rows; NULL: a value */
	bool (*view)(struct bs_item *x); /* false: the item is not there */
	const char *heading, *line;      /* of the terminal: above all items, of each (lines.c) */
	const char *prefix;              /* of its metrics */
	bool rounded;                    /* integers of its metrics are printed with nine digits */
	uint32_t most;                   /* most items of a list; 0: the row is no list */
	size_t number;   /* where struct bs_shared has how many there are, uint32_t; 0: most */
	size_t ring;     /* where it has how many there ever were, uint64_t; number i is in place */
	uint32_t places; /* i modulo this; the newest are shown, the newest last */
};

#define BS_VIEW_BYTES 512u
#define BS_DEPTH      2u /* lists in one another */

struct bs_item {
	const struct bs_shm *m;
	const struct bs_item *up; /* that it belongs to */
	const struct bs_row *row;
	uint32_t at[BS_DEPTH], depth; /* places in the lists that it is in, and how many */
	const struct bs_hist *of;     /* the histogram that its group's row names */
	_Alignas(16) unsigned char view[BS_VIEW_BYTES];
};

struct bs_value {
	enum { BS_IS_COUNT, BS_IS_SIGNED, BS_IS_REAL, BS_IS_YES, BS_IS_TEXT } is;
	uint64_t n;           /* but of a real number and a text that is no word */
	double real, seconds; /* of a real number, in its unit */
	const char *text;     /* at most so many bytes */
	size_t max;
	char room[32];
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
/* v must stay where it is while its text is used. False: it is 0, or an empty text. */
bool bs_row_value(struct bs_value *v, const struct bs_row *r, const struct bs_item *x);
const char *bs_unit_name(const struct bs_row *r);
/* Returns the histogram that a row names. */
const struct bs_hist *bs_row_hist(const struct bs_row *r, const struct bs_item *x);
/* The document as a whole, of some group. */
void bs_item_top(struct bs_item *x, const struct bs_shm *m, const struct bs_row *top);
/* The items of a row's list are numbered from *first to the returned number - 1. */
uint64_t bs_items(const struct bs_item *up, const struct bs_row *r, uint64_t *first);
/* Opens item number n of a row's list. False: this item is absent. */
bool bs_item_open(struct bs_item *x, const struct bs_item *up, const struct bs_row *r, uint64_t n);

/* The whole document, and boreside status --latency's. */
extern const struct bs_row bs_status_top, bs_latency_top;
/* Its parts; those of any histogram, and of the canaries. */
extern const struct bs_row bs_status_protocols[], bs_status_machine[], bs_status_scans[],
	bs_status_log[], bs_status_latency[], bs_status_takers[], bs_quantiles[], bs_canary_rows[];

#endif
