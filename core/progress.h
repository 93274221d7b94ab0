/*
 * core/progress.h - how far a command has come with work that takes longer than a second
 *
 * use -> { begin -> at* -> end }*. Without use (the service never calls it) nothing is written.
 * A piece of work that begins within another one writes nothing.
 * On a terminal one line of standard error is rewritten, at most five times a second, and end wipes
 * it; elsewhere a line is written every BS_PROGRESS_PLAIN_NS. Nothing is written in the first
 * second. at is cheap (it reads the clock); end may follow begin at once. what, unit and p are kept
 * by pointer. Allocates nothing; one thread.
 * Test: test/unit/board/tool/init/test_terminal.c
 */
#ifndef BS_CORE_PROGRESS_H
#define BS_CORE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define BS_PROGRESS_FIRST_NS INT64_C(1000000000)
#define BS_PROGRESS_AGAIN_NS INT64_C(200000000)  /* shortest time between two lines on a terminal */
#define BS_PROGRESS_PLAIN_NS INT64_C(5000000000) /* shortest time between two lines elsewhere */

struct bs_progress {
	const char *what, *unit;
	uint64_t of;
	int64_t begun_ns, told_ns;
	bool told;
};

/* Makes this process write its progress to standard error from now on. */
void bs_progress_use(void);
/*
 * Begins a progress. of: last value that `at` will get; 0: not known. unit: "readouts"; "": parts
 * of a whole, in percent.
 */
void bs_progress_begin(struct bs_progress *p, const char *what, uint64_t of, const char *unit);
void bs_progress_at(struct bs_progress *p, uint64_t done);
/* Wipes the progress line, so that a result can be written; the next at writes it again. */
void bs_progress_hide(struct bs_progress *p);
void bs_progress_end(struct bs_progress *p);
/*
 * Works as at does, with done from 0 to 1: for gpu/exact/exact.h and gpu/toeplitz/q.h. arg: a
 * struct bs_progress that was begun with of = BS_PROGRESS_WHOLE and no unit.
 */
#define BS_PROGRESS_WHOLE 1000u
void bs_progress_part(void *arg, double done);

#endif
