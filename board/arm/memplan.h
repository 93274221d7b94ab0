/*
 * board/arm/memplan.h - the memory that a site will take: shared pools, and each protocol's own
 *
 * make asks every protocol's engine what it needs, adds the tables that are loaded for it, and
 * holds the sum against node.memory_mib: in the order of the file, a protocol that does not fit
 * beside those before it is refused with its need, and the next ones are tried without it. All that
 * is wrong is told through report, one line each, "file: what: why". Allocates nothing; on a GPU
 * build it may start the CUDA runtime (gpu/engine/engines.h). Used by check, and by serve before it
 * lays anything out. Test: test/unit/board/test_memplan.c
 */
#ifndef BS_BOARD_ARM_MEMPLAN_H
#define BS_BOARD_ARM_MEMPLAN_H

#include <stdio.h>

#include "core/engine.h"
#include "core/memory/pools.h"

struct bs_memplan {
	struct bs_pools pools;
	struct bs_memplan_protocol {
		/* engine of the protocol; NULL: this build or machine has none */
		const struct bs_engine *engine;
		struct bs_need need;   /* host bytes that arm takes from its arena */
		struct bs_need device; /* GPU bytes that arm takes, without W */
		/* bytes of trajectory, weights, sensitivities, rows seen */
		struct bs_need tables;
		/* bytes of need, device and tables for each frame that may be open; 0: not known */
		uint64_t frame_bytes;
		/* code not 0: the protocol cannot be armed, by itself or beside the rest */
		struct bs_fail why;
	} protocol[BS_PROTOCOLS_MAX];
	uint32_t spilling;    /* number of takers that get images from the store */
	uint64_t total_bytes; /* bytes of the whole site, refused protocols included */
	int code;             /* error that forbids the pools themselves, or 0 */
};

/* Returns 0, or the first fault's code: BS_ERR_UNSUPPORTED, BS_ERR_NOMEM, or the engine's. */
int bs_memplan_make(struct bs_memplan *plan, const struct bs_site *site, bs_tell_line *report,
		    void *arg);
/* Prints every pool as slots x bytes; each line begins with prefix. */
void bs_memplan_print(FILE *to, const struct bs_memplan *plan, const struct bs_site *site,
		      const char *prefix);

#endif
