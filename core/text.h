/*
 * core/text.h - text written into a buffer of the caller's
 *
 * Starts as { buffer, its bytes, 0, false }. Each put appends, always NUL-terminated within cap
 * (cap > 0). When something does not fit, it is left out and full stays set: the caller then gives
 * the text up. Allocates nothing. Users: core/frame/attributes.c, ipc/wire/xml.c,
 * drivers/tool/phantom/scanxml.c, board/status/doc.h (and their tests).
 */
#ifndef BS_CORE_TEXT_H
#define BS_CORE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct bs_text {
	char *out;
	size_t cap, len;
	bool full;
};

void bs_text_put(struct bs_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bs_text_vput(struct bs_text *t, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
/* What stands before one more of several, where some stand there: "; ". */
static inline const char *bs_text_between(const struct bs_text *t)
{
	return t->len > 0 ? "; " : "";
}

/* The s of a word that counts n things. */
static inline const char *bs_text_s(unsigned long long n)
{
	return n == 1 ? "" : "s";
}

/* JSON's: quotes and backslashes escaped, what is not printable ASCII as \\u00XX; at most max bytes
 * of s, which may then not be terminated. */
void bs_text_json(struct bs_text *t, const char *s, size_t max);
/* XML's character data: <, > and & as entities. */
void bs_text_xml(struct bs_text *t, const char *s);
/* The most of these n bytes of UTF-8 that are max at most and end with a whole character. */
size_t bs_text_cut(const char *s, size_t n, size_t max);
/* xs:double in decimal, and nothing behind it; strtod takes hexadecimal and "nan(...)", too. */
bool bs_text_number(const char *text, double *v);
/* A whole number: some write "64.0", or what a calculation left of one, "35.9996". */
bool bs_text_whole(const char *text, double *v);

#endif
