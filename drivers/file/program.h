/*
 * drivers/file/program.h - starts another program, or this one again
 *
 * It gets the descriptors that are named and no others, no signal blocked or ignored. Any thread;
 * safe in a process of many threads (posix_spawn), which waits until the program runs.
 */
#ifndef BS_DRIVERS_FILE_PROGRAM_H
#define BS_DRIVERS_FILE_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#define BS_PROGRAM_SELF "/proc/self/exe" /* path of this program, also once it was replaced */

struct bs_program {
	const char *path; /* NULL: argv[0], found by PATH */
	const char *const *argv;
	const char *folder; /* where it runs; NULL: here */
	const int *fd;      /* its descriptors 0, 1, ...; -1: /dev/null, to read */
	int fds;
	bool ordinary; /* without this process's real-time priority */
};

/* Returns 0 or errno's number. */
int bs_program_start(pid_t *pid, const struct bs_program *p);

#endif
