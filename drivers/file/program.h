/*
 * drivers/file/program.h - starts another program, or this one again; runs one to its end
 *
 * It gets the descriptors that are named and no others, no signal blocked or ignored. Any thread;
 * safe in a process of many threads (posix_spawn), which waits until the program runs.
 * Test: test/unit/drivers/test_dicomstore.c
 */
#ifndef BS_DRIVERS_FILE_PROGRAM_H
#define BS_DRIVERS_FILE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/err.h"

#define BS_PROGRAM_SELF "/proc/self/exe" /* path of this program, also once it was replaced */

struct bs_program {
	const char *path; /* NULL: argv[0], found by PATH */
	const char *const *argv;
	const char *folder; /* where it runs; NULL: here */
	const int *fd;      /* its descriptors 0, 1, ...; -1: /dev/null, to read */
	int fds;
	bool ordinary; /* without this process's real-time priority */
	bool group;    /* first of a process group of its own */
};

/* Returns 0 or errno's number. */
int bs_program_start(pid_t *pid, const struct bs_program *p);

/* BS_ERR_UNSUPPORTED: PATH has no such program; the reason names the package that has it. */
int bs_program_there(const char *name, const char *package, struct bs_fail *why);

/*
 * Runs a program of PATH in a folder; argv ends with NULL. It gets no input, and is killed when it
 * has run for limit_ms. Blocks. Returns the program's exit status, 0 to 255 except 127.
 * BS_ERR_IO: the program could not be run, or its status is 127, or a signal ended it.
 * BS_ERR_TIMEOUT: it took too long. said: the beginning of its standard output and error, on one
 * line.
 */
int bs_program_run(const char *const argv[], const char *folder, int limit_ms, char *said,
		   size_t cap, struct bs_fail *why);

#endif
