/*
 * board/emit/taker.h - one taker of images that nobody waits for: its queue, threads and policy
 *
 * open -> push* -> quiet* -> close. push copies the message into the taker's own memory and
 * returns; the taker's thread delivers in order, however long it takes. When the queue is full, the
 * oldest image that waits is shed (dropped and counted): the newest are kept. Under BS_POLICY_SPILL
 * a second thread moves the oldest into a folder (board/emit/spill.h) once half of the queue is in
 * use; they are delivered first. When the folder is full or refuses, the queue sheds as above; the
 * folder is tried again every second, a piece that cannot be read from it every 200 ms. So is,
 * under this policy, what the taker refused with BS_ERR_IO or BS_ERR_NOMEM: no image is given up
 * for an error that may pass. What it refuses for another reason is set aside as ".bad".
 * Everything is counted in the record in shared memory:
 * taken = handed + failed + shed + lost + what waits. lost: they were in the memory of a process
 * that died, or are in a folder that this one may not use. Pieces in the folder beyond that are
 * from an earlier service and count as taken anew.
 * attempt: in push's thread, when nothing waits: 1 the taker has it, 0 not now, negative: refused.
 * deliver: in the taker's thread; may block. Of one taker, deliver never runs twice at once, nor
 * beside attempt. push, quiet: one thread. Buffers are allocated and made present by open.
 * Test: test/unit/board/test_taker.c, test/fault/fault_overload.c
 */
#ifndef BS_BOARD_EMIT_TAKER_H
#define BS_BOARD_EMIT_TAKER_H

#include <pthread.h>
#include <stdbool.h>

#include "board/emit/shed.h"
#include "board/emit/spill.h"
#include "ipc/shm/takers.h"

#define BS_TAKER_QUEUE_MAX 64u
#define BS_TAKER_STUCK_NS  INT64_C(1000000000) /* one image for so long: it is not waited for */

struct bs_taker;

struct bs_taker_spec {
	const char *name; /* "archive", "png:/folder" */
	const char *file; /* of its spilled images: "archive", "cfl-1a2b3c4d" */
	enum bs_policy policy;
	uint32_t queue;     /* images that may wait */
	size_t image_bytes; /* of the largest message */
	const char *spill_dir;
	uint64_t spill_bytes;
	/* 0: delivered. Negative: the image is given up, for the reason in why. */
	int (*deliver)(void *arg, struct bs_taker *t, const unsigned char *msg, size_t len,
		       struct bs_fail *why);
	int (*attempt)(void *arg, const unsigned char *msg, size_t len); /* NULL: always queue */
	/* Any thread: the image was shed or refused. May be NULL. */
	void (*missed)(void *arg, const unsigned char *msg, size_t len);
	/* Any thread: what happened, in words; not for each image. */
	void (*say)(void *arg, const char *line);
	void *arg;
};

int bs_taker_open(struct bs_taker **t, const struct bs_taker_spec *spec,
		  struct bs_taker_record *record, struct bs_fail *why);
/* False: the image was shed at once, for it is too long or the queue is closed. */
bool bs_taker_push(struct bs_taker *t, const unsigned char *msg, size_t len);
/* Instead of push: nobody is there to keep the image for. It counts as shed. */
void bs_taker_pass(struct bs_taker *t, const unsigned char *msg, size_t len);
/* Nothing waits, or there is no use in waiting: the taker is stuck or absent. */
bool bs_taker_quiet(struct bs_taker *t);
/* For deliver. quits: the process ends, give up. absent: there is nobody to deliver to. */
bool bs_taker_quits(const struct bs_taker *t);
void bs_taker_absent(struct bs_taker *t, bool absent);
/* Ends the threads, waits for a deliver that is under way; what waits is spilled or shed. */
void bs_taker_close(struct bs_taker *t);

#endif
