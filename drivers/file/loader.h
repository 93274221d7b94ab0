/*
 * drivers/file/loader.h - what a file holds that a site names, from a process of its own
 *
 * ask -> take* -> end. ask starts this very program as `boreside loader WHAT`, which is one of its
 * tools (drivers/tool/load/load.h), gives it the protocol and waits until the file has been read
 * and checked. take then fills arrays:
 *   traj  k, step1, step2 of core/traj/traj.h; size: readouts (at most the protocol's), keyed
 *   weights, maps, field  the values as core/engine.h has them
 *   w     start, col, value of core/solve/csr.h; size: rows, columns, entries, 1 if complex
 * A file on which a library crashes, or comes to no end, ends that process alone.
 * Blocks; at start only. Test: test/unit/drivers/test_tables.c
 */
#ifndef BS_DRIVERS_FILE_LOADER_H
#define BS_DRIVERS_FILE_LOADER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "core/protocol.h"

enum bs_load { BS_LOAD_TRAJ, BS_LOAD_WEIGHTS, BS_LOAD_MAPS, BS_LOAD_FIELD, BS_LOAD_W, BS_LOADS };
extern const char *const bs_load_words[BS_LOADS];

/* What the process says before the arrays. */
struct bs_load_answer {
	struct bs_fail why; /* code 0: the file was read, and the arrays follow */
	uint64_t size[4];
};

struct bs_loader {
	pid_t pid;
	int from;
	bool cut; /* the process ended before all was said */
	struct bs_load_answer answer;
};

/* Returns 0, or why the file was not read; then nothing is to be ended. */
int bs_loader_ask(struct bs_loader *l, enum bs_load what, const struct bs_protocol *p,
		  struct bs_fail *why);
void bs_loader_take(struct bs_loader *l, void *to, size_t bytes);
/* Returns rc where it is not 0; else 0 if all was taken, or BS_ERR_IO. */
int bs_loader_end(struct bs_loader *l, int rc, struct bs_fail *why);

#endif
