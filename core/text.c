/* core/text.c - see text.h */
#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>

void bs_text_put(struct bs_text *t, const char *fmt, ...)
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

void bs_text_xml(struct bs_text *t, const char *s)
{
	for (; *s != '\0'; s++)
		switch (*s) {
		case '<':
			bs_text_put(t, "&lt;");
			break;
		case '>':
			bs_text_put(t, "&gt;");
			break;
		case '&':
			bs_text_put(t, "&amp;");
			break;
		default:
			bs_text_put(t, "%c", *s);
		}
}
