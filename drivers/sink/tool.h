/*
 * drivers/sink/tool.h - runs another program for a sink, with a limit of time
 *
 * The program is found by PATH, gets neither input nor any of this process's open files, and runs
 * in the given folder. It ends when it has run for limit_ms: it is killed then.
 * Blocks; any thread; safe in a process of many threads (posix_spawn).
 * Test: test/unit/drivers/test_dicomstore.c
 */
#ifndef BS_DRIVERS_SINK_TOOL_H
#define BS_DRIVERS_SINK_TOOL_H

#include <stddef.h>

#include "core/err.h"

/* BS_ERR_UNSUPPORTED: nothing of that name in PATH that may be run; package: what has it. */
int bs_tool_there(const char *name, const char *package, struct bs_fail *why);

/*
 * argv ends with NULL. Its exit status, 0 to 255 but for 127; BS_ERR_IO: it could not be run, or
 * said so itself (127), or a signal ended it; BS_ERR_TIMEOUT: it took too long. said: the first
 * words of what it wrote on its standard output and error, on one line.
 */
int bs_tool_run(const char *const argv[], const char *folder, int limit_ms, char *said, size_t cap,
		struct bs_fail *why);

#endif
