/*
 * board/emit/spill.h - a folder that holds what a taker cannot take now, in order, up to a bound
 *
 * open -> { put | take -> (drop | give_up) }* -> close. Each piece is a file "NAME-NUMBER.image",
 * written under another name and then renamed, so that it is whole or not there. Pieces that an
 * earlier process left are taken up again. Nothing is flushed to the disk: a piece survives the end
 * of this process, not a loss of power. One process at a time uses a folder (the supervisor's lock,
 * board/emit/folder.h).
 *
 * put: BS_ERR_NOMEM when the piece would exceed the bound, BS_ERR_IO when the disk refuses it. Then
 * nothing has changed, and the reason names the file and errno's words.
 * take: the oldest piece.
 *   1               here it is, with its length; it stays on disk until drop or give_up
 *   0               there is none
 *   BS_SPILL_LATER  it cannot be read now: out of descriptors or memory, or another error of the
 *                   disk up to BS_SPILL_TRIES times. Nothing has changed, try again
 *   negative        it was given up (BS_ERR_LENGTH, BS_ERR_FORMAT, BS_ERR_IO), or somebody removed
 *                   it (BS_ERR_IO); each such answer stands for one piece
 * give_up renames the piece to "NAME-NUMBER.bad"; no later start takes it up or counts it.
 * bytes: what the pieces hold. The size of a removed one is not known: it counts as the average.
 * put is called by one thread, everything else by one; they may be two, at the same time.
 * Allocates nothing but in open, and in take where numbers are missing (it lists the folder).
 * Test: test/unit/board/test_spill.c, test/unit/board/test_spill_faults.c
 */
#ifndef BS_BOARD_EMIT_SPILL_H
#define BS_BOARD_EMIT_SPILL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/protocol.h"

#define BS_SPILL_FIRST (UINT64_C(1) << 32) /* number of the first piece of an empty folder */
#define BS_SPILL_TRIES 5u                  /* of an input error; then the piece is given up */
#define BS_SPILL_LATER 2

struct bs_spill {
	char dir[BS_PATH_MAX_];
	char name[32];
	uint64_t most_bytes;
	_Atomic uint64_t bytes, pieces; /* read by anybody; written with the lock held */
	pthread_mutex_t lock;
	uint64_t first, next; /* numbers: of the oldest, and of the one to come */
	uint64_t holes;       /* numbers in between that had no piece when this was opened */
	uint64_t writing;     /* of bytes: of a put that is under way */
	uint64_t taken;       /* bytes of the piece that was taken */
	uint32_t tries;       /* of the oldest */
};

int bs_spill_open(struct bs_spill *s, const char *dir, const char *name, uint64_t most_bytes,
		  struct bs_fail *why);
void bs_spill_close(struct bs_spill *s);
int bs_spill_put(struct bs_spill *s, const void *piece, size_t len, struct bs_fail *why);
/* In front of the oldest: a piece whose delivery was broken off. By the thread that takes. */
int bs_spill_put_back(struct bs_spill *s, const void *piece, size_t len, struct bs_fail *why);
int bs_spill_take(struct bs_spill *s, void *piece, size_t cap, size_t *len, struct bs_fail *why);
/* After take returned 1. BS_ERR_IO: the file stays, and a later start delivers it again. */
int bs_spill_drop(struct bs_spill *s, struct bs_fail *why);
/* Returns code; the reason names the file, what is wrong with it, and what became of it. */
int bs_spill_give_up(struct bs_spill *s, int code, const char *what, struct bs_fail *why);

/*
 * How many pieces of the folder belong to none of these names (a sink that the site no longer has,
 * a policy that no longer spills); file: one of them. 0 as well when there is no such folder.
 */
uint64_t bs_spill_strangers(const char *dir, const char *const *names, size_t n, char *file,
			    size_t cap);

#endif
