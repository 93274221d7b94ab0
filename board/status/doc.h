/*
 * board/status/doc.h - writing a JSON document or a table into a buffer of fixed size
 *
 * For the files of board/status alone, which share these words. A document that does not fit is full, and
 * whatever is put into it then goes nowhere. Strings are escaped; a comma stands where one must.
 */
#ifndef BS_BOARD_STATUS_DOC_H
#define BS_BOARD_STATUS_DOC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ipc/shm/shm.h"

struct doc {
	char *out;
	size_t cap, len;
	bool full, first; /* first: no comma before the next member */
};

__attribute__((format(printf, 2, 3))) static inline void put(struct doc *d, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (d->full)
		return;
	va_start(ap, fmt);
	n = vsnprintf(d->out + d->len, d->cap - d->len, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= d->cap - d->len)
		d->full = true;
	else
		d->len += (size_t)n;
}

static inline void key(struct doc *d, const char *name)
{
	put(d, "%s\"%s\":", d->first ? "" : ",", name);
	d->first = false;
}

/* A member without a name: of an array. */
static inline void next(struct doc *d)
{
	put(d, "%s", d->first ? "" : ",");
	d->first = false;
}

static inline void open_with(struct doc *d, const char *bracket)
{
	put(d, "%s", bracket);
	d->first = true;
}

static inline void close_with(struct doc *d, const char *bracket)
{
	put(d, "%s", bracket);
	d->first = false;
}

static inline void text(struct doc *d, const char *s, size_t max)
{
	put(d, "\"");
	for (size_t i = 0; i < max && s[i] != '\0'; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			put(d, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			put(d, "\\u%04x",
			    c); /* names and reasons are ASCII; a stray byte does no harm */
		else
			put(d, "%c", c);
	}
	put(d, "\"");
}

static inline void member(struct doc *d, const char *name, const char *s)
{
	key(d, name);
	text(d, s, 1024);
}

static inline void number(struct doc *d, const char *name, uint64_t v)
{
	key(d, name);
	put(d, "%llu", (unsigned long long)v);
}

static inline void real(struct doc *d, const char *name, double v)
{
	key(d, name);
	put(d, "%.3f", v);
}

/* realtime.c, takers.c: members of the document, and their lines in the table */
void bs_status_realtime(struct doc *d, const struct bs_shared *s);
void bs_status_canary(struct doc *d, const struct bs_shared *s);
void bs_status_takers(struct doc *d, const struct bs_shared *s);
void bs_status_takers_table(struct doc *d, const struct bs_shared *s);
void bs_status_realtime_table(struct doc *d, const struct bs_shared *s);
void bs_status_canary_table(struct doc *d, const struct bs_shared *s);

#endif
