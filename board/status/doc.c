/* board/status/doc.c - see doc.h */
#include "board/status/doc.h"

#include <stdarg.h>
#include <string.h>

#include "core/err.h"

/* Writes what stands before a member: a comma after an earlier one, and the name. */
static void begin_member(struct bs_doc *d, const char *name)
{
	if (d->open > 0) {
		bool line = !d->wide || d->level[d->open - 1].line;

		if (d->level[d->open - 1].begun)
			bs_text_put(&d->text, line ? "," : ",\n");
		d->level[d->open - 1].begun = true;
	}
	if (name != NULL)
		bs_text_put(&d->text, "\"%s\":", name);
}

static void open_level(struct bs_doc *d, const char *name, char bracket, bool line)
{
	begin_member(d, name);
	bs_text_put(&d->text, "%c", bracket);
	d->level[d->open].end = bracket == '{' ? '}' : ']';
	d->level[d->open].line = line;
	d->level[d->open++].begun = false;
}

void bs_doc_begin(struct bs_doc *d, char *out, size_t cap)
{
	memset(d, 0, sizeof(*d));
	d->text = (struct bs_text){ out, cap, 0, cap == 0 };
	bs_doc_open(d, NULL, '{');
}

int bs_doc_end(struct bs_doc *d)
{
	bs_text_put(&d->text, d->wide ? "\n" : "");
	bs_doc_close(d);
	bs_text_put(&d->text, "\n");
	return d->text.full ? BS_ERR_NOMEM : (int)d->text.len;
}

void bs_doc_open(struct bs_doc *d, const char *name, char bracket)
{
	open_level(d, name, bracket, false);
}

void bs_doc_line(struct bs_doc *d, const char *name)
{
	open_level(d, name, '{', true);
}

void bs_doc_close(struct bs_doc *d)
{
	bs_text_put(&d->text, "%c", d->level[--d->open].end);
}

void bs_doc_value(struct bs_doc *d, const char *name, const char *format, ...)
{
	va_list args;

	begin_member(d, name);
	va_start(args, format);
	bs_text_vput(&d->text, format, args);
	va_end(args);
}

void bs_doc_number(struct bs_doc *d, const char *name, uint64_t value)
{
	bs_doc_value(d, name, "%llu", (unsigned long long)value);
}

void bs_doc_real(struct bs_doc *d, const char *name, double value)
{
	bs_doc_value(d, name, "%.3f", value);
}

void bs_doc_flag(struct bs_doc *d, const char *name, bool value)
{
	bs_doc_value(d, name, value ? "true" : "false");
}

void bs_doc_text(struct bs_doc *d, const char *name, const char *s)
{
	bs_doc_chars(d, name, s, SIZE_MAX);
}

void bs_doc_chars(struct bs_doc *d, const char *name, const char *s, size_t max)
{
	begin_member(d, name);
	bs_text_put(&d->text, "\"");
	bs_text_json(&d->text, s, max);
	bs_text_put(&d->text, "\"");
}
