/*
 * core/xmltext.h - XML written into a buffer of the caller's
 *
 * Starts as { buffer, its bytes, 0, false }. Each put appends, always NUL-terminated within cap
 * (cap > 0); once something did not fit, full stays set and the caller gives the text up.
 * Allocates nothing. Users: core/frame/attributes.c, drivers/source/scanxml.c (and their tests).
 */
#ifndef BS_CORE_XMLTEXT_H
#define BS_CORE_XMLTEXT_H

#include <stdbool.h>
#include <stddef.h>

struct bs_xmltext {
	char *out;
	size_t cap, len;
	bool full;
};

void bs_xmltext_put(struct bs_xmltext *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Character data: <, > and & as entities. */
void bs_xmltext_escaped(struct bs_xmltext *t, const char *s);

#endif
