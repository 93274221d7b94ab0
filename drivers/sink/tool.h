/*
 * drivers/sink/tool.h - runs another program for a sink, with a limit of time
 *
 * The program is found by PATH, gets neither input nor any of this process's open files, and runs
 * in the given folder. It is killed when it has run for limit_ms.
 * Blocks; any thread; safe in a process of many threads (posix_spawn).
 * Test: test/unit/drivers/test_dicomstore.c
 */
#ifndef BS_DRIVERS_SINK_TOOL_H
#define BS_DRIVERS_SINK_TOOL_H

#include <stddef.h>

#include "core/err.h"

/* BS_ERR_UNSUPPORTED: PATH has no such program; the reason names the package that has it. */
int bs_tool_there(const char *name, const char *package, struct bs_fail *why);

/*
 * Runs a program; argv ends with NULL. Returns the program's exit status, 0 to 255 except 127.
 * BS_ERR_IO: the program could not be run, or its status is 127, or a signal ended it.
 * BS_ERR_TIMEOUT: it took too long. said: the beginning of its standard output and error, on one
 * line.
 */
int bs_tool_run(const char *const argv[], const char *folder, int limit_ms, char *said, size_t cap,
		struct bs_fail *why);

#endif
