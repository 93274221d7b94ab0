/*
 * core/progress.h - how far a command has come with what takes longer than a second
 *
 * use -> { begin -> at* -> end }*. Without use (the service never calls it) nothing is ever told.
 * What begins within another says nothing.
 * On a terminal one line of standard error is written anew, at most five times a second, and
 * wiped by end; elsewhere a line every BS_PROGRESS_PLAIN_NS. Nothing in the first second,
 * so what is short says nothing. at is cheap (it reads the clock); end may follow begin at once.
 * what, unit and p are kept by pointer. Allocates nothing; one thread.
 * Test: test/unit/board/tool/init/test_terminal.c
 */
#ifndef BS_CORE_PROGRESS_H
#define BS_CORE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define BS_PROGRESS_FIRST_NS INT64_C(1000000000)
#define BS_PROGRESS_AGAIN_NS INT64_C(200000000)  /* on a terminal */
#define BS_PROGRESS_PLAIN_NS INT64_C(5000000000) /* elsewhere */

struct bs_progress {
	const char *what, *unit;
	uint64_t of;
	int64_t begun_ns, told_ns;
	bool told;
};

/* This process tells how far it has come, on standard error. */
void bs_progress_use(void);
/* of: at's last value; 0: not known. unit: "readouts"; "": parts of a whole, told in percent. */
void bs_progress_begin(struct bs_progress *p, const char *what, uint64_t of, const char *unit);
void bs_progress_at(struct bs_progress *p, uint64_t done);
/* Wipes the line, for a line of results; the next at writes it again. */
void bs_progress_hide(struct bs_progress *p);
void bs_progress_end(struct bs_progress *p);
/*
 * As at, of a whole that is 1: for gpu/exact/exact.h and gpu/toeplitz/q.h. arg: a struct
 * bs_progress that was begun with of = BS_PROGRESS_WHOLE and no unit.
 */
#define BS_PROGRESS_WHOLE 1000u
void bs_progress_part(void *arg, double done);

#endif
