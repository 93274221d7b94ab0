/* core/xmltext.c - see xmltext.h */
#include "core/xmltext.h"

#include <stdarg.h>
#include <stdio.h>

void bs_xmltext_put(struct bs_xmltext *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->full)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->out + t->len, t->cap - t->len, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->cap - t->len)
		t->full = true;
	else
		t->len += (size_t)n;
}

void bs_xmltext_escaped(struct bs_xmltext *t, const char *s)
{
	for (; *s != '\0'; s++)
		switch (*s) {
		case '<':
			bs_xmltext_put(t, "&lt;");
			break;
		case '>':
			bs_xmltext_put(t, "&gt;");
			break;
		case '&':
			bs_xmltext_put(t, "&amp;");
			break;
		default:
			bs_xmltext_put(t, "%c", *s);
		}
}
