/*
 * core/text.h - text written into a buffer of the caller's
 *
 * The struct starts as { buffer, its bytes, 0, false }. Each put appends, always NUL-terminated
 * within cap (cap > 0). Text that does not fit is left out and full stays set; the caller then
 * gives the text up. Allocates nothing. Users: core/frame/attributes.c, ipc/wire/about.c,
 * drivers/tool/phantom/scanxml.c, board/status/doc.h (and their tests).
 */
#ifndef BS_CORE_TEXT_H
#define BS_CORE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bs_text {
	char *out;
	size_t cap, len;
	bool full;
};

/* Returns a text that appends to the string at there, in a buffer of cap bytes. */
static inline struct bs_text bs_text_behind(char *there, size_t cap)
{
	return (struct bs_text){ there, cap, strlen(there), false };
}
void bs_text_put(struct bs_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void bs_text_vput(struct bs_text *t, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Returns the separator before one more item: "; ", or "" before the first. */
static inline const char *bs_text_between(const struct bs_text *t)
{
	return t->len > 0 ? "; " : "";
}

/* The plural s of a word that counts n things, or "". */
static inline const char *bs_text_s(unsigned long long n)
{
	return n == 1 ? "" : "s";
}

/*
 * Puts at most max bytes of s as JSON: quotes and backslashes escaped, bytes other than printable
 * ASCII as \\u00XX. s need not be NUL-terminated within max.
 */
void bs_text_json(struct bs_text *t, const char *s, size_t max);
/* Puts s as XML character data: <, > and & as entities. */
void bs_text_xml(struct bs_text *t, const char *s);
/*
 * A list of pairs: name NUL value NUL, again and again; an empty name ends it. The name "+": one
 * more value of the name before. pair appends one, and the list's end. pairs calls each in their
 * order (index: 0 for the first of a name's values), and returns the list's bytes.
 */
typedef void bs_pair_each(void *arg, const char *name, const char *value, unsigned index);
void bs_text_pair(struct bs_text *t, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
size_t bs_text_pairs(const char *list, bs_pair_each *each, void *arg);
/* Returns the bytes of the name before this tail. 0: it has another one, or nothing before it. */
size_t bs_text_stem(const char *name, const char *tail);
/*
 * The largest number of the n bytes of UTF-8 at s that is at most max and ends with a whole
 * character.
 */
size_t bs_text_cut(const char *s, size_t n, size_t max);
/*
 * Reads a decimal xs:double with nothing behind it; strtod would accept hexadecimal and "nan(...)",
 * too.
 */
bool bs_text_number(const char *text, double *v);
/*
 * Reads a whole number. Some tools write "64.0", or the rest of a calculation, "35.9996"; both are
 * accepted.
 */
bool bs_text_whole(const char *text, double *v);

#endif
