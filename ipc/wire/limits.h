/*
 * ipc/wire/limits.h - encodingLimits of an MRD header, as tools write them
 *
 * Not every tool writes what the standard says: limits may be negative, or 0 throughout; the center
 * or all of them may be missing. put keeps them as they are written; take makes info's limits of
 * them once the header is read. Impossible limits count as not given: counters then count from 0,
 * and the center is in the middle of the grid. info->remark says what was written, and what was
 * taken.
 * No state; any thread. Test: test/unit/ipc/test_limits.c
 */
#ifndef BS_IPC_WIRE_LIMITS_H
#define BS_IPC_WIRE_LIMITS_H

#include <stdbool.h>

#include "core/mrd.h"

#define BS_LIMITS 8 /* number of limits that are read; steps 1 and 2 come first */

struct bs_limits {
	struct bs_limits_written {
		int64_t value[3]; /* minimum, maximum, center; 0: not in the header */
		bool there[3];
	} of[BS_LIMITS];
};

/*
 * Keeps one number of a limit. false: no limit has such a name ("slice"), or such a part
 * ("minimum").
 */
bool bs_limits_put(struct bs_limits *l, const char *name, const char *part, int64_t value);
void bs_limits_take(const struct bs_limits *l, struct bs_scan_info *info);

#endif
