/*
 * board/command/options.h - a command and its options, as one table
 *
 * One row says everything about an option: its letter and name, the kind and range of its value,
 * the field that it fills, and what it does. Parsing, checks, usage errors and --help all come from
 * the rows. A usage error is one line on standard error that names the option and the value.
 * Options may stand before, between and after the operands; "--" ends them. Reading moves
 * the operands to the front of argv. Allocates nothing. Test: test/unit/board/usage.sh
 */
#ifndef BS_BOARD_COMMAND_OPTIONS_H
#define BS_BOARD_COMMAND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define BS_OPTIONS_MAX 80u /* most rows of a command */

enum bs_option_kind {
	/* a heading in --help; the field is bool, or there is none: an option below was given */
	BS_OPTION_GROUP,
	BS_OPTION_FLAG,     /* the field is bool: the option was given */
	BS_OPTION_TEXT,     /* the field is const char * */
	BS_OPTION_U32,      /* the field is uint32_t, min to max; 0x... is allowed */
	BS_OPTION_U64,      /* the field is uint64_t, min to max; 0x... is allowed */
	BS_OPTION_REAL,     /* the field is double, min to max */
	BS_OPTION_POSITIVE, /* the field is double, above 0, to max */
	BS_OPTION_PAIR,     /* the field is double[2], both above 0, with ',' or ':' between them */
	/* the field is struct bs_sizes, each from min to max, with ',' or 'x' between them */
	BS_OPTION_SIZES,
	/* the row's read makes the field from the text; only such an option may be given again */
	BS_OPTION_OWN,
	BS_OPERAND, /* the field is const char *: the next word that is no option */
	/* the field is char **, NULL at the end: all words that are left; the last row */
	BS_OPERANDS,
};

struct bs_sizes {
	uint32_t axes; /* number of axes given, 2 or 3; 0: not given */
	uint32_t size[3];
};

struct bs_option {
	enum bs_option_kind kind;
	char letter; /* letter of the option, 'c' for -c; 0: none */
	/* name of the option, "config" for --config; NULL: an operand or a heading */
	const char *name;
	/* name of the value in --help, such as "FILE"; NULL: the option has no value */
	const char *value;
	size_t to; /* offset of the field in the command's request */
	const char *help;
	double min, max; /* smallest and largest value; max 0: no upper bound */
	bool required;
	int (*read)(void *to, const char *text, struct bs_fail *why);
};

struct bs_command {
	const char *name, *summary;
	const char *notes; /* text of --help between usage line and options; NULL: none */
	const char *after; /* text of --help below the options; NULL: none */
	const struct bs_option *options; /* up to a row without help; NULL: takes none */
	void *request; /* what options fill; it holds the defaults. NULL: takes none */
	/* Returns the exit status: 0 done, 1 failed, 2 usage. */
	int (*run)(void *request);
};

/*
 * Fills the command's request, and runs it; argv[0] is its own name. Returns the exit status: the
 * command's, 0 when help was asked for, 2 after a usage error. A process runs one command: this
 * one, which the messages below name.
 */
int bs_options_run(const struct bs_command *c, int argc, char **argv);
/* Prints the text of --help; returns 0. */
int bs_options_help(const struct bs_command *c);
/* A usage error that the rows cannot express: one line; returns 2. */
__attribute__((format(printf, 1, 2))) int bs_options_wrong(const char *fmt, ...);
/* Prints "boreside NAME: ..." on standard error. Returns 1, the exit status. */
__attribute__((format(printf, 1, 2))) int bs_command_fail(const char *fmt, ...);

#endif
