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

#define BS_OPTIONS_MAX 80u /* rows of a command */

enum bs_option_kind {
	BS_OPTION_GROUP,    /* a heading in --help; bool, or to 0: an option below was given */
	BS_OPTION_FLAG,     /* bool: it was given */
	BS_OPTION_TEXT,     /* const char * */
	BS_OPTION_U32,      /* uint32_t, min to max; also 0x... */
	BS_OPTION_U64,      /* uint64_t, the same */
	BS_OPTION_REAL,     /* double, min to max */
	BS_OPTION_POSITIVE, /* double, above 0, to max */
	BS_OPTION_PAIR,     /* double[2], both above 0, with ',' or ':' between them */
	BS_OPTION_SIZES,    /* struct bs_sizes, each from min to max, ',' or 'x' between them */
	BS_OPTION_OWN,      /* what the row's read makes of the text; it alone may be given again */
	BS_OPERAND,         /* const char *: the next word that is no option */
	BS_OPERANDS,        /* char **, NULL at the end: all that are left; the last row */
};

struct bs_sizes {
	uint32_t axes; /* 2 or 3; 0: not given */
	uint32_t size[3];
};

struct bs_option {
	enum bs_option_kind kind;
	char letter;       /* 'c' for -c; 0: none */
	const char *name;  /* "config" for --config; NULL: an operand or a heading */
	const char *value; /* what --help calls the value: "FILE"; NULL: there is none */
	size_t to;         /* offset of the field in the command's request */
	const char *help;
	double min, max; /* both included; max 0: no upper bound */
	bool required;
	int (*read)(void *to, const char *text, struct bs_fail *why);
};

struct bs_command {
	const char *name, *summary;
	const char *notes; /* for --help, between usage line and options; NULL: nothing */
	const char *after; /* for --help, below the options; NULL: nothing */
	const struct bs_option *options; /* up to a row without help; NULL: takes none */
	/* argv[0] is the command's own name. Returns the exit status: 0 done, 1 failed, 2 usage. */
	int (*run)(int argc, char **argv);
};

#define BS_OPTIONS_RUN (-1)

/*
 * Fills request, which holds the defaults. BS_OPTIONS_RUN: the command may run; else the exit
 * status: 0 when help was asked for, 2 after a usage error.
 */
int bs_options_read(const struct bs_command *c, void *request, int argc, char **argv);
/* Prints the text of --help; returns 0. */
int bs_options_help(const struct bs_command *c);
/* A usage error that the rows cannot express: one line; returns 2. */
__attribute__((format(printf, 2, 3))) int bs_options_wrong(const struct bs_command *c,
							   const char *fmt, ...);

#endif
