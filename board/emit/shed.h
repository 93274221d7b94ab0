/*
 * board/emit/shed.h - images that a taker did not get, told in the log once a second at most
 *
 * One thread at a time. Test: test/unit/board/test_taker.c
 */
#ifndef BS_BOARD_EMIT_SHED_H
#define BS_BOARD_EMIT_SHED_H

#include <stdbool.h>
#include <stdint.h>

/* Images that were shed, and the log was not told of yet. */
struct bs_shed {
	uint64_t count;
	int64_t said_ns; /* the last line; 0: the next one is due at once */
};
#define BS_SHED_LINE 200
/* True: a line is due (one a second at most), and line is it. total: since the start. */
bool bs_shed_due(struct bs_shed *s, const char *name, bool absent, uint64_t total,
		 char line[BS_SHED_LINE]);

#endif
