/*
 * board/spill.h - a folder that holds what a consumer cannot take now, in order, up to a bound
 *
 * open -> { put | take }* -> close. One file for each piece, "NAME-NUMBER.image", written under
 * another name first: a piece is whole or is not there. Pieces that an earlier process left are taken
 * up again. Nothing is flushed to the medium: what was put survives this process, not the machine.
 * put: BS_ERR_NOMEM when the piece would exceed the bound, BS_ERR_IO when the disk refuses it; then
 * nothing changed. take: the oldest; 1 and its length, 0 when there is none, BS_ERR_LENGTH or
 * BS_ERR_IO when it is gone or too long: it is given up. A taken piece stays on disk until drop.
 * Each function by one thread at a time; put beside take and drop is fine.
 * Allocates nothing but in open. Test: test/unit/test_spill.c
 */
#ifndef BS_BOARD_SPILL_H
#define BS_BOARD_SPILL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/protocol.h"

#define BS_SPILL_FIRST (UINT64_C(1) << 32) /* number of the first piece of an empty folder */

struct bs_spill {
	char dir[BS_PATH_MAX_];
	char name[32];
	uint64_t most_bytes;
	_Atomic uint64_t first, next; /* numbers: of the oldest, and of the one to come */
	_Atomic uint64_t bytes, pieces;
};

int bs_spill_open(struct bs_spill *s, const char *dir, const char *name, uint64_t most_bytes,
		  struct bs_fail *why);
int bs_spill_put(struct bs_spill *s, const void *piece, size_t len, struct bs_fail *why);
/* Before the oldest: a piece that was being delivered and is not. By the thread that takes. */
int bs_spill_put_back(struct bs_spill *s, const void *piece, size_t len, struct bs_fail *why);
int bs_spill_take(struct bs_spill *s, void *piece, size_t cap, size_t *len, struct bs_fail *why);
void bs_spill_drop(struct bs_spill *s);

#endif
