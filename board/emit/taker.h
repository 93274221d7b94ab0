/*
 * board/emit/taker.h - one taker of images that nobody waits for: its queue, its thread, its policy
 *
 * open -> push* -> quiet* -> close. push copies the message into the taker's own memory and
 * returns; the taker's thread delivers, in order, however long it takes. A full queue sheds the
 * oldest that waits (keep the newest). Under BS_POLICY_SPILL a second thread moves the oldest into a
 * folder (board/emit/spill.h) as soon as half of the queue is in use; they come back first. When the folder
 * is full or refuses, the queue sheds as above; the folder is tried again every second, what cannot
 * be read from it every 200 ms. Everything is counted in the record in shared memory:
 * taken = handed + failed + shed + lost + what waits. lost: a predecessor of this process died with
 * them, or left them in a folder that this one may not spill to. What the folder holds beyond that
 * comes from an earlier service and is taken anew.
 * try: in the pusher's thread, when nothing waits before it: 1 taken, 0 not now, negative: refused.
 * deliver: in the taker's thread; may block. Buffers are allocated and made present by open.
 * push, quiet: one thread; deliver of one taker never runs twice at once, nor beside attempt.
 * Test: test/unit/board/test_taker.c, test/fault/fault_overload.c
 */
#ifndef BS_BOARD_EMIT_TAKER_H
#define BS_BOARD_EMIT_TAKER_H

#include <pthread.h>
#include <stdbool.h>

#include "board/emit/spill.h"
#include "ipc/shm/shm.h"

#define BS_TAKER_QUEUE_MAX 64u
#define BS_TAKER_STUCK_NS  INT64_C(1000000000) /* one image for so long: nobody waits for it */

struct bs_taker;

struct bs_taker_spec {
	const char *name; /* "archive", "png:/folder" */
	const char *file; /* of its spilled images: "archive", "cfl-1a2b3c4d" */
	enum bs_policy policy;
	uint32_t queue;     /* images that may wait */
	size_t image_bytes; /* of the largest message */
	const char *spill_dir;
	uint64_t spill_bytes;
	/* 0: delivered. Negative: it is given up, why says so. */
	int (*deliver)(void *arg, struct bs_taker *c, const unsigned char *msg, size_t len,
		       struct bs_fail *why);
	int (*attempt)(void *arg, const unsigned char *msg, size_t len); /* NULL: always queue */
	/* Any thread; it will not get this image: it was shed, or its taker refused it. May be NULL. */
	void (*missed)(void *arg, const unsigned char *msg, size_t len);
	/* Any thread; what happened in words, rarely. */
	void (*say)(void *arg, const char *line);
	void *arg;
};

int bs_taker_open(struct bs_taker **c, const struct bs_taker_spec *spec,
		  struct bs_taker_record *record, struct bs_fail *why);
/* True: it has it, or will. False: it was shed at once (a message too long, or the queue is shut). */
bool bs_taker_push(struct bs_taker *c, const unsigned char *msg, size_t len);
/* Instead of push: there is nobody to keep it for. Counted, and said, as shed. */
void bs_taker_pass(struct bs_taker *c, const unsigned char *msg, size_t len);
/* Nothing waits, or its taker is stuck or absent: there is no use in waiting for it. */
bool bs_taker_quiet(struct bs_taker *c);
/* For deliver: the process ends; give up. absent: there is nobody to deliver to. */
bool bs_taker_quits(const struct bs_taker *c);
void bs_taker_absent(struct bs_taker *c, bool absent);
/* Ends the threads; what waits is spilled or shed. Waits for a deliver that is under way. */
void bs_taker_close(struct bs_taker *c);

#endif
