/* board/command/options.c - see options.h */
#include "board/command/options.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/hint/near.h"

#define HELP_AT 26   /* column where an option's help begins */
#define RUN     (-1) /* the command may run */
#define WIDTH   96   /* columns of the text of --help */

static const struct bs_command *running;

__attribute__((format(printf, 1, 0))) static void complain(const char *fmt, va_list ap)
{
	(void)fprintf(stderr, "boreside %s: ", running->name);
	(void)vfprintf(stderr, fmt, ap);
}

int bs_options_wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap);
	va_end(ap);
	(void)fprintf(stderr, "; see 'boreside %s --help'\n", running->name);
	return 2;
}

int bs_command_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
	return 1;
}

/* Writes the option as it is typed: "-c", or "--config" where it has no letter. */
static const char *spelled(const struct bs_option *o, char out[40])
{
	if (o->letter != 0)
		(void)snprintf(out, 40, "-%c", o->letter);
	else
		(void)snprintf(out, 40, "--%s", o->name);
	return out;
}

/* Reads the number that text begins with, and finds where it ends. false: none, or infinite. */
static bool real(const char *text, char **end, double *value)
{
	*value = strtod(text, end);
	return *end != text && isfinite(*value);
}

static bool as_u64(const char *text, char **end, uint64_t *value)
{
	bool hex = text[0] == '0' && text[1] == 'x';

	errno = 0;
	*value = strtoull(text, end, hex ? 16 : 10);
	return text[0] >= '0' && text[0] <= '9' && errno == 0;
}

static bool within(const struct bs_option *o, double value)
{
	return value >= o->min && (o->max == 0.0 || value <= o->max);
}

static bool read_pair(double pair[2], const char *text)
{
	char *end;

	return real(text, &end, &pair[0]) && (*end == ',' || *end == ':') &&
	       real(end + 1, &end, &pair[1]) && *end == '\0' && pair[0] > 0.0 && pair[1] > 0.0;
}

static bool read_sizes(const struct bs_option *o, struct bs_sizes *s, const char *text)
{
	*s = (struct bs_sizes){ .size = { 1, 1, 1 } };
	for (;; text++) {
		uint64_t n;
		char *end;

		if (s->axes == 3 || !as_u64(text, &end, &n) || !within(o, (double)n) ||
		    n > UINT32_MAX)
			return false;
		s->size[s->axes++] = (uint32_t)n;
		text = end;
		if (*text == '\0')
			return s->axes >= 2;
		if (*text != ',' && *text != 'x')
			return false;
	}
}

/* Puts the value's text into its field. */
static bool take_value(const struct bs_option *o, void *to, const char *text, struct bs_fail *why)
{
	uint64_t n = 0;
	double x = 0.0;
	char *end;

	switch (o->kind) {
	case BS_OPTION_FLAG:
		*(bool *)to = true;
		return true;
	case BS_OPTION_TEXT:
	case BS_OPERAND:
		*(const char **)to = text;
		return true;
	case BS_OPTION_U32:
		if (!as_u64(text, &end, &n) || *end != '\0' || !within(o, (double)n) ||
		    n > UINT32_MAX)
			return false;
		*(uint32_t *)to = (uint32_t)n;
		return true;
	case BS_OPTION_U64:
		return as_u64(text, &end, to) && *end == '\0' && within(o, (double)*(uint64_t *)to);
	case BS_OPTION_REAL:
	case BS_OPTION_POSITIVE:
		if (!real(text, &end, &x) || *end != '\0' || !within(o, x) ||
		    (o->kind == BS_OPTION_POSITIVE && x <= 0.0))
			return false;
		*(double *)to = x;
		return true;
	case BS_OPTION_PAIR:
		return read_pair(to, text);
	case BS_OPTION_SIZES:
		return read_sizes(o, to, text);
	case BS_OPTION_OWN:
		return o->read(to, text, why) == 0;
	default:
		return false;
	}
}

/* Writes what the kind and range ask for, such as "a whole number from 1 to 64". */
static void describe(const struct bs_option *o, char *out, size_t size)
{
	const bool is_whole = o->kind == BS_OPTION_U32 || o->kind == BS_OPTION_U64;
	const char *what = is_whole ? "a whole number" : "a number";
	const int digits = is_whole ? 20 : 6;

	if (o->kind == BS_OPTION_PAIR)
		(void)snprintf(out, size, "two numbers above 0, as %s", o->value);
	else if (o->kind == BS_OPTION_SIZES)
		(void)snprintf(out, size, "whole numbers from %.0f to %.0f, as %s", o->min,
			       o->max > 0.0 ? o->max : (double)UINT32_MAX, o->value);
	else if (o->kind == BS_OPTION_POSITIVE && o->max == 0.0)
		(void)snprintf(out, size, "a number above 0");
	else if (o->kind == BS_OPTION_POSITIVE)
		(void)snprintf(out, size, "a number above 0, to %g", o->max);
	else if (o->max == 0.0)
		(void)snprintf(out, size, "%s of at least %.*g", what, digits, o->min);
	else
		(void)snprintf(out, size, "%s from %.*g to %.*g", what, digits, o->min, digits,
			       o->max);
}

static int wrong_value(const struct bs_option *o, const char *text, const struct bs_fail *why)
{
	char name[40];
	char want[80];

	if (o->kind == BS_OPTION_OWN)
		return bs_options_wrong("%s %s: %s", spelled(o, name), text, why->text);
	describe(o, want, sizeof(want));
	return bs_options_wrong("%s %s: not %s", spelled(o, name), text, want);
}

/*
 * Returns the row of "-cVALUE" or "--name=VALUE"; *value: what follows in the word, NULL: nothing.
 */
static const struct bs_option *find_option(const struct bs_option *o, const char *word,
					   const char **value)
{
	const bool is_long = word[1] == '-';
	const size_t n = is_long ? strcspn(word + 2, "=") : 0;

	for (; o != NULL && o->help != NULL; o++)
		if (o->name != NULL &&
		    (is_long ? strlen(o->name) == n && strncmp(word + 2, o->name, n) == 0
			     : o->letter == word[1])) {
			word += 2 + n;
			*value = *word == '\0' ? NULL : word + is_long;
			return o;
		}
	return NULL;
}

static int no_option(const char *word)
{
	char given[BS_NEAR_MAX];
	char name[BS_NEAR_MAX];
	char hint[BS_NEAR_HINT];
	struct bs_near near;

	(void)snprintf(given, sizeof(given), "%.*s", (int)strcspn(word, "="), word);
	bs_near_begin(&near, strlen(given) > 3 ? given : "");
	for (const struct bs_option *o = running->options; o != NULL && o->help != NULL; o++)
		if (o->name != NULL) {
			(void)snprintf(name, sizeof(name), "--%s", o->name);
			bs_near_offer(&near, name);
		}
	bs_near_offer(&near, "--help");
	return bs_options_wrong("no option '%s'%s", word, bs_near_hint(&near, hint));
}

/* Returns the option at argv[*i], with its value, which may be the next word: *i is then that. */
static int read_option(void *request, char **argv, int *i, bool given[])
{
	const char *text;
	const struct bs_option *o = find_option(running->options, argv[*i], &text);
	struct bs_fail why = { 0 };
	char name[40];

	if (o == NULL)
		return no_option(argv[*i]);
	if (o->kind == BS_OPTION_FLAG && text != NULL)
		return bs_options_wrong("%s takes no value", spelled(o, name));
	if (o->kind != BS_OPTION_FLAG && text == NULL)
		text = argv[++*i];
	if (o->kind != BS_OPTION_FLAG && text == NULL)
		return bs_options_wrong("%s needs %s", spelled(o, name), o->value);
	if (o->kind != BS_OPTION_FLAG && o->kind != BS_OPTION_OWN && given[o - running->options])
		return bs_options_wrong("%s is given twice", spelled(o, name));
	if (!take_value(o, (char *)request + o->to, text, &why))
		return wrong_value(o, text, &why);
	given[o - running->options] = true;
	while (o > running->options && o->kind != BS_OPTION_GROUP)
		o--;
	if (o->kind == BS_OPTION_GROUP && o->to != 0)
		*(bool *)((char *)request + o->to) = true;
	return RUN;
}

/* Checks that what is required was given, and puts the operands into their fields;
 * word ends with NULL. */
static int read_operands(void *request, char **word, const bool given[])
{
	char name[40];

	for (const struct bs_option *o = running->options; o != NULL && o->help != NULL; o++) {
		void *to = (char *)request + o->to;

		if (o->kind < BS_OPERAND) {
			if (o->required && !given[o - running->options])
				return bs_options_wrong("%s %s is missing", spelled(o, name),
							o->value);
		} else if (*word == NULL) {
			if (o->required)
				return bs_options_wrong("%s is missing", o->value);
		} else if (o->kind == BS_OPERANDS) {
			*(char ***)to = word;
			return RUN;
		} else {
			*(char **)to = *word++;
		}
	}
	return *word == NULL ? RUN : bs_options_wrong("unexpected '%s'", *word);
}

/* RUN, or the exit status. */
static int read_words(void *request, int argc, char **argv)
{
	bool given[BS_OPTIONS_MAX] = { false };
	bool ended = false; /* "--" has ended the options */
	int words = 0;

	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		int status = RUN;

		if (ended || word[0] != '-' || word[1] == '\0')
			argv[words++] = argv[i];
		else if (strcmp(word, "--") == 0)
			ended = true;
		else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
			return bs_options_help(running);
		else
			status = read_option(request, argv, &i, given);
		if (status != RUN)
			return status;
	}
	argv[words] = NULL;
	return read_operands(request, argv, given);
}

int bs_options_run(const struct bs_command *c, int argc, char **argv)
{
	int status;

	running = c;
	status = read_words(c->request, argc, argv);
	return status == RUN ? c->run(c->request) : status;
}

/* text in lines of WIDTH columns, all but the first behind `at` blanks. */
static void print_text(const char *text, size_t at)
{
	for (size_t used = at; *text != '\0';) {
		size_t n = strcspn(text, " ");

		if (used > at && used + 1 + n > WIDTH) {
			(void)printf("\n%*s", (int)at, "");
			used = at;
		}
		used += (size_t)printf("%s%.*s", used > at ? " " : "", (int)n, text);
		text += n + (text[n] == ' ');
	}
	(void)putchar('\n');
}

static void print_usage(const struct bs_command *c)
{
	bool more = false;
	char name[40];

	(void)printf("usage: boreside %s", c->name);
	for (const struct bs_option *o = c->options; o != NULL && o->help != NULL; o++)
		if (o->kind < BS_OPERAND && o->required)
			(void)printf(" %s %s", spelled(o, name), o->value);
		else if (o->kind < BS_OPERAND)
			more = true;
	if (more)
		(void)printf(" [options]");
	for (const struct bs_option *o = c->options; o != NULL && o->help != NULL; o++)
		if (o->kind >= BS_OPERAND)
			(void)printf(o->required ? " %s%s" : " [%s%s]", o->value,
				     o->kind == BS_OPERANDS && strstr(o->value, "...") == NULL
					     ? "..."
					     : "");
	(void)putchar('\n');
	print_text(c->summary, 0);
}

int bs_options_help(const struct bs_command *c)
{
	print_usage(c);
	if (c->notes != NULL)
		print_text(c->notes, 0);
	for (const struct bs_option *o = c->options; o != NULL && o->help != NULL; o++) {
		char left[80];
		int n = 0;

		if (o->kind == BS_OPTION_GROUP) {
			(void)printf("%s\n", o->help);
			continue;
		}
		if (o->letter != 0)
			n = snprintf(left, sizeof(left), "-%c, ", o->letter);
		(void)snprintf(left + n, sizeof(left) - (size_t)n, "%s%s%s%s",
			       o->name != NULL ? "--" : "", o->name != NULL ? o->name : "",
			       o->name != NULL && o->value != NULL ? " " : "",
			       o->value != NULL ? o->value : "");
		if (strlen(left) > HELP_AT - 3)
			(void)printf("  %s\n%*s", left, HELP_AT, "");
		else
			(void)printf("  %-*s", HELP_AT - 2, left);
		print_text(o->help, HELP_AT);
	}
	if (c->after != NULL)
		print_text(c->after, 0);
	return 0;
}
