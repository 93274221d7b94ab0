/* core/text.c - see text.h */
#include "core/text.h"

#include <stdio.h>
#include <math.h>
#include <stdlib.h>

size_t bs_text_stem(const char *name, const char *tail)
{
	const size_t len = strlen(name);
	const size_t n = strlen(tail);

	return len > n && strcmp(name + len - n, tail) == 0 ? len - n : 0;
}

void bs_text_vput(struct bs_text *t, const char *fmt, va_list args)
{
	int n;

	if (t->full)
		return;
	n = vsnprintf(t->out + t->len, t->cap - t->len, fmt, args);
	if (n < 0 || (size_t)n >= t->cap - t->len)
		t->full = true;
	else
		t->len += (size_t)n;
}

void bs_text_put(struct bs_text *t, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	bs_text_vput(t, fmt, args);
	va_end(args);
}

void bs_text_json(struct bs_text *t, const char *s, size_t max)
{
	for (size_t i = 0; i < max && s[i] != '\0'; i++) {
		const unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			bs_text_put(t, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f) /* the program's own words are ASCII */
			bs_text_put(t, "\\u%04x", c);
		else
			bs_text_put(t, "%c", c);
	}
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

/* Ends a word of a list, and the list, which has one byte more. */
static void end_word(struct bs_text *t)
{
	t->full = t->full || t->len + 2 > t->cap;
	if (!t->full)
		t->out[++t->len] = '\0';
}

void bs_text_pair(struct bs_text *t, const char *name, const char *fmt, ...)
{
	va_list args;

	bs_text_put(t, "%s", name);
	end_word(t);
	va_start(args, fmt);
	bs_text_vput(t, fmt, args);
	va_end(args);
	end_word(t);
}

size_t bs_text_pairs(const char *list, bs_pair_each *each, void *arg)
{
	const char *name = "";
	const char *value;
	const char *at = list;
	unsigned index = 0;

	for (; *at != '\0'; at = value + strlen(value) + 1) {
		value = at + strlen(at) + 1;
		index = strcmp(at, "+") == 0 ? index + 1 : 0;
		name = index > 0 ? name : at;
		each(arg, name, value, index);
	}
	return (size_t)(at - list);
}

size_t bs_text_cut(const char *s, size_t n, size_t max)
{
	if (n <= max)
		return n;
	while (max > 0 && ((unsigned char)s[max] & 0xc0) == 0x80)
		max--;
	return max;
}

bool bs_text_number(const char *text, double *v)
{
	char *end;

	if (text[0] == '\0' || text[strspn(text, "+-.0123456789eE")] != '\0')
		return false;
	*v = strtod(text, &end);
	return *end == '\0';
}

bool bs_text_whole(const char *text, double *v)
{
	double d;

	if (!bs_text_number(text, &d))
		return false;
	*v = round(d);
	return fabs(d - *v) <= 1e-3;
}
