/* config/text.c - see text.h */
#include "config/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

int bs_text_read(struct bs_text *t, const char *path, struct bs_fail *why)
{
	struct stat st;
	FILE *in = NULL;
	int rc = BS_ERR_FORMAT;

	memset(t, 0, sizeof(*t));
	/* stat comes first, because opening a fifo would block */
	if (stat(path, &st) != 0)
		return bs_fail(why, BS_ERR_IO, "cannot be read: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return bs_fail(why, BS_ERR_FORMAT, "not a regular file");
	in = fopen(path, "rb");
	if (in == NULL)
		return bs_fail(why, BS_ERR_IO, "cannot be read: %s", strerror(errno));
	t->text = malloc(BS_TEXT_MAX + 2u);
	if (t->text == NULL) {
		rc = bs_fail(why, BS_ERR_NOMEM, "no memory to read it");
		goto out;
	}
	t->size = fread(t->text, 1, BS_TEXT_MAX + 1u, in);
	t->text[t->size] = '\0';
	if (ferror(in))
		rc = bs_fail(why, BS_ERR_IO, "cannot be read: %s", strerror(errno));
	else if (t->size > BS_TEXT_MAX)
		(void)bs_fail(why, rc, "larger than %u bytes: not a site file", BS_TEXT_MAX);
	else if (strlen(t->text) != t->size)
		(void)bs_fail(why, rc, "a NUL at byte %zu: not a text file", strlen(t->text));
	else if (t->text[strspn(t->text, " \t\r\n")] == '\0')
		(void)bs_fail(why, rc, "the file is empty");
	else
		rc = 0;
out:
	(void)fclose(in);
	if (rc != 0)
		bs_text_free(t);
	return rc;
}

/* Finds the bare word behind the '=' of a line. Returns its length; 0: there is none. */
static size_t bare_word(const char *line, const char **word)
{
	const size_t n = strcspn(line, "\n");
	const char *equals = memchr(line, '=', strcspn(line, "#\"\n"));
	size_t len;

	if (equals == NULL)
		return 0;
	*word = equals + 1 + strspn(equals + 1, " \t");
	if (!isalpha((unsigned char)**word) && **word != '/')
		return 0;
	len = strcspn(*word, " \t;,\n\r");
	if (*word + len > line + n || (len == 4 && strncasecmp(*word, "true", 4) == 0) ||
	    (len == 5 && strncasecmp(*word, "false", 5) == 0))
		return 0;
	return len < BS_TEXT_KEY_MAX ? len : 0;
}

const char *bs_text_hint(const struct bs_text *t, unsigned line, char out[BS_TEXT_KEY_MAX + 64])
{
	const char *above = NULL;
	const char *at = t->text;
	const char *word = NULL;
	size_t len;

	for (unsigned i = 1; i < line && *at != '\0'; i++) {
		above = at;
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	len = bare_word(at, &word);
	if (len == 0 && above != NULL)
		len = bare_word(above, &word);
	out[0] = '\0';
	if (len > 0)
		(void)snprintf(out, BS_TEXT_KEY_MAX + 64, " (a word stands in quotes: \"%.*s\")",
			       (int)len, word);
	else if (t->bracket != '\0' && t->bracket_line <= line)
		(void)snprintf(out, BS_TEXT_KEY_MAX + 64, " (the '%c' of line %u is not closed)",
			       t->bracket, t->bracket_line);
	return out;
}

void bs_text_free(struct bs_text *t)
{
	free(t->text);
	t->text = NULL;
}

/*
 * The last name that was read, and the last one before a '=' or ':', which is the key that a
 * literal belongs to.
 */
struct names {
	char last[BS_TEXT_KEY_MAX], key[BS_TEXT_KEY_MAX];
	unsigned last_line, key_line;
};

static void spot(struct bs_text *t, unsigned line, const struct names *at, const char *why,
		 const char *token)
{
	struct bs_text_spot *s = t->spot;

	if (t->spots++ >= BS_TEXT_SPOTS)
		return;
	s += t->spots - 1;
	s->line = line;
	s->key_line = at->key_line;
	(void)snprintf(s->key, sizeof(s->key), "%s", at->key);
	(void)snprintf(s->why, sizeof(s->why), "%.60s %s", token, why);
}

/*
 * Returns why libconfig would misread the number in token; NULL: it would not, or token is no
 * number.
 */
static const char *number_fault(const char *token)
{
	const char *digits = token + (*token == '-' || *token == '+');
	bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
	size_t body = hex ? 2 + strspn(digits + 2, "0123456789abcdefABCDEF")
			  : strspn(digits, "0123456789");
	bool wide = digits[body] == 'L';
	const char *tail = digits + body + (wide ? strspn(digits + body, "L") : 0);
	bool negative = *token == '-';

	if (!isdigit((unsigned char)digits[0]) && digits[0] != '.')
		return NULL;
	errno = 0;
	if (*tail == '\0') {
		unsigned long long v = strtoull(digits, NULL, hex ? 16 : 10);
		unsigned long long top = wide ? INT64_MAX : INT32_MAX;

		if (errno == ERANGE || v > top + negative)
			return wide ? "does not fit 64 bits"
				    : "does not fit 32 bits (a larger integer ends in L)";
		return NULL;
	}
	if (!hex) {
		double v = strtod(token, NULL);

		if (!isfinite(v) || errno == ERANGE)
			return "does not fit a double";
	}
	return NULL;
}

/*
 * Finds the end of a number's characters: digits, letters, dots, and a sign behind an exponent's e.
 */
static const char *number_end(const char *p)
{
	bool hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');

	p += *p == '-' || *p == '+';
	while (isalnum((unsigned char)*p) || *p == '.' ||
	       ((*p == '-' || *p == '+') && !hex && (p[-1] == 'e' || p[-1] == 'E')))
		p++;
	return p;
}

/* Returns the place behind the string that starts at p. Counts lines, and notes "\x00". */
static const char *string_end(struct bs_text *t, const char *p, unsigned *line,
			      const struct names *at)
{
	unsigned from = *line;

	for (p++; *p != '\0' && *p != '"'; p++) {
		if (*p == '\n')
			++*line;
		if (*p != '\\' || p[1] == '\0')
			continue;
		if ((p[1] == 'x' || p[1] == 'X') && p[2] == '0' && p[3] == '0')
			spot(t, *line, at, "ends a string early", "\\x00");
		p++;
		if (*p == '\n')
			++*line;
	}
	t->open = *p == '\0' ? from : t->open;
	return *p == '"' ? p + 1 : p;
}

static const char *comment_end(struct bs_text *t, const char *p, unsigned *line)
{
	unsigned from = *line;

	if (p[0] == '/' && p[1] == '*') {
		for (p += 2; *p != '\0' && !(p[0] == '*' && p[1] == '/'); p++)
			if (*p == '\n')
				++*line;
		t->open = *p == '\0' ? from : t->open;
		return *p == '\0' ? p : p + 2;
	}
	return p + strcspn(p, "\n");
}

/*
 * The line of an include. libconfig accepts one at the start of any line; it is refused even inside
 * a comment or string.
 */
static unsigned include_line(const char *text)
{
	unsigned line = 1;

	for (const char *p = text; p != NULL; line++) {
		p += strspn(p, " \t");
		if (strncmp(p, "@include", 8) == 0)
			return line;
		p = strchr(p, '\n');
		if (p != NULL)
			p++;
	}
	return 0;
}

struct brackets {
	char open[32];
	unsigned line[32], depth;
};

/*
 * Notes the first bracket that another kind of bracket, or the text's end ('\0'), closes. Brackets
 * nested deeper than in any site file are not tracked.
 */
static void bracket(struct bs_text *t, struct brackets *b, char c, unsigned line)
{
	const char opener = c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : '\0';

	if (c != '\0' && strchr("([{", c) != NULL) {
		if (b->depth < sizeof(b->open)) {
			b->open[b->depth] = c;
			b->line[b->depth] = line;
		}
		b->depth++;
	} else if (b->depth > 0 && --b->depth < sizeof(b->open) && t->bracket == '\0' &&
		   b->open[b->depth] != opener) {
		t->bracket = b->open[b->depth];
		t->bracket_line = b->line[b->depth];
	}
}

void bs_text_scan(struct bs_text *t)
{
	struct names at = { .key_line = 1 };
	struct brackets brackets = { .depth = 0 };
	unsigned line = 1;
	const char *p = t->text;

	t->include = include_line(t->text);
	while (*p != '\0') {
		const char *from = p;

		if (*p == '#' || (p[0] == '/' && (p[1] == '/' || p[1] == '*'))) {
			p = comment_end(t, p, &line);
		} else if (*p == '"') {
			p = string_end(t, p, &line, &at);
		} else if (isalpha((unsigned char)*p) || *p == '*') {
			while (isalnum((unsigned char)*p) || *p == '*' || *p == '_' || *p == '-')
				p++;
			(void)snprintf(at.last, sizeof(at.last), "%.*s", (int)(p - from), from);
			at.last_line = line;
		} else if (isdigit((unsigned char)*p) || *p == '.' || *p == '-' || *p == '+') {
			char token[512];
			const char *why = NULL;

			p = number_end(p);
			p += p == from;
			if ((size_t)(p - from) < sizeof(token)) {
				(void)snprintf(token, sizeof(token), "%.*s", (int)(p - from), from);
				why = number_fault(token);
			} else {
				(void)snprintf(token, sizeof(token), "%.40s...", from);
				why = "is too long for a number";
			}
			if (why != NULL)
				spot(t, line, &at, why, token);
		} else {
			if (*p == '=' || *p == ':') {
				memcpy(at.key, at.last, sizeof(at.key));
				at.key_line = at.last_line;
			} else if (*p != '\0' && strchr("([{)]}", *p) != NULL) {
				bracket(t, &brackets, *p, line);
			}
			line += *p == '\n';
			p++;
		}
	}
	bracket(t, &brackets, '\0', line);
}
