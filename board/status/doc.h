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

#define BS_DOC_DEPTH 8 /* most nested objects and arrays; no document has so many */

struct bs_doc {
	struct bs_text text;
	/* each member on its own line, but not within objects opened by bs_doc_line */
	bool wide;
	uint32_t open; /* number of open objects and arrays */
	struct {
		char end;
		bool line, begun; /* line: stands on one line; begun: has a member already */
	} level[BS_DOC_DEPTH];
};

/* Opens the document, an object. */
void bs_doc_begin(struct bs_doc *d, char *out, size_t cap);
/* Returns the length with a line feed at the end, or BS_ERR_NOMEM: the document did not fit. */
int bs_doc_end(struct bs_doc *d);

/* Opens an object or an array. bracket: '{' or '['. */
void bs_doc_open(struct bs_doc *d, const char *name, char bracket);
/* Opens an object that stands on one line within a wide document. */
void bs_doc_line(struct bs_doc *d, const char *name);
void bs_doc_close(struct bs_doc *d);

/* Writes a value that needs no quotes (a number, true, false); format as printf. */
void bs_doc_value(struct bs_doc *d, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void bs_doc_number(struct bs_doc *d, const char *name, uint64_t value);
/* writes a number with three decimals */
void bs_doc_real(struct bs_doc *d, const char *name, double value);
void bs_doc_flag(struct bs_doc *d, const char *name, bool value);
void bs_doc_text(struct bs_doc *d, const char *name, const char *s);
/* Writes a text of at most max bytes: one in shared memory may lack its terminator. */
void bs_doc_chars(struct bs_doc *d, const char *name, const char *s, size_t max);

#endif
