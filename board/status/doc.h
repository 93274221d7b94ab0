/*
 * board/status/doc.h - writes a JSON document into a buffer of fixed size
 *
 * begin -> { members | open (an object or an array) -> members -> close }* -> end. The name of a
 * member of an array is NULL. Commas are set as needed, strings are escaped to ASCII.
 * Allocates nothing. Test: test/unit/board/test_doc.c
 */
#ifndef BS_BOARD_STATUS_DOC_H
#define BS_BOARD_STATUS_DOC_H

#include <stdint.h>

#include "core/text.h"

#define BS_DOC_DEPTH 8 /* objects and arrays in one another; no document has so many */

struct bs_doc {
	struct bs_text text;
	bool wide;     /* one member a line, but for those of objects opened by bs_doc_line */
	uint32_t open; /* objects and arrays */
	struct {
		char end;
		bool line, begun; /* line: on one line; begun: it has a member */
	} level[BS_DOC_DEPTH];
};

/* The document itself, an object. */
void bs_doc_begin(struct bs_doc *d, char *out, size_t cap);
/* Its length with a line feed behind it, or BS_ERR_NOMEM: it did not fit. */
int bs_doc_end(struct bs_doc *d);

/* bracket: '{' or '['. */
void bs_doc_open(struct bs_doc *d, const char *name, char bracket);
/* An object on one line of a document that is wide. */
void bs_doc_line(struct bs_doc *d, const char *name);
void bs_doc_close(struct bs_doc *d);

/* A value as printf writes it: a number, true, false. */
void bs_doc_value(struct bs_doc *d, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void bs_doc_number(struct bs_doc *d, const char *name, uint64_t value);
void bs_doc_real(struct bs_doc *d, const char *name, double value); /* three decimals */
void bs_doc_flag(struct bs_doc *d, const char *name, bool value);
void bs_doc_text(struct bs_doc *d, const char *name, const char *s);
/* max bytes at most: what lies in shared memory may not be terminated. */
void bs_doc_chars(struct bs_doc *d, const char *name, const char *s, size_t max);

#endif
