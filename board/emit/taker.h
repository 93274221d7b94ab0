/*
 * board/emit/taker.h - one taker of images: its cursor, its thread, its policy
 *
 * make (each taker of the site) -> bs_front_open -> start -> ... -> stop -> free. The thread gives
 * the taker image after image, in order, however long it takes: from the slot that it lies in, or,
 * under `spill`, from the store where the slot is needed. What a spilling taker refuses with
 * BS_ERR_IO or BS_ERR_NOMEM is offered again every 200 ms: no image is given up for an error that
 * may pass. What it refuses for another reason it does not get.
 * A process that replaces this one offers what was in hand again.
 * Test: test/fault/fault_overload.c, test/fault/fault_takers.c, test/unit/board/emit
 */
#ifndef BS_BOARD_EMIT_TAKER_H
#define BS_BOARD_EMIT_TAKER_H

#include "board/emit/emit.h"
#include "drivers/log/store.h"

/* What is given: msg is an IMAGE message; number: its own in the line of images. */
struct bs_offer {
	const unsigned char *msg;
	size_t len;
	uint64_t number;
};

/* 0: it has it. BS_ENDPOINT_TIMEOUT: not now. Negative: it is refused. May block. */
typedef int bs_deliver(struct bs_taker *t, const struct bs_offer *o, struct bs_fail *why);

struct bs_taker {
	struct emit *e;
	uint32_t id; /* a sink's number, BS_TAKER_ARCHIVE or BS_TAKER_IMAGES */
	struct bs_taker_record *r;
	bs_deliver *deliver;
	char cursor[32]; /* its name in the store: "+cfl-1a2b3c4d"; "": it does not spill */
	struct bs_store_reader reader;
	unsigned char *buffer; /* what was read from the store */
	pthread_t thread;
	bool has_thread;
	bool direct;         /* the first thread gives it one */
	bool counted;        /* what it has in the store is counted */
	bool read;           /* what it has in hand of the store is in its buffer */
	bool refused;        /* so was the last one that was offered: that is said once */
	uint64_t losses;     /* of the store, that it was told */
	_Atomic bool nobody; /* it was not there for what was shed last */
	_Atomic bool absent;
	int64_t retry_ns; /* what was refused is offered again then */
	uint64_t sheds;   /* that the log was not told of */
	int64_t said_ns;
};

int bs_taker_make(struct emit *e, uint32_t id, const char *name, const char *cursor,
		  enum bs_policy policy, bs_deliver *deliver, struct bs_fail *why);
int bs_taker_start(struct bs_taker *t, struct bs_fail *why);
/* After e->quit is set. */
void bs_taker_stop(struct bs_taker *t);
void bs_taker_free(struct bs_taker *t);

/*
 * The first thread has an image ready: if nothing else waits for the taker it is given at once. The
 * lock is let go meanwhile. With e->lock held.
 */
void bs_taker_offered(struct bs_taker *t);
/* A spilling taker's cursor, as the store has it, follows. Without the lock; blocks on the disk. */
void bs_taker_ack(struct bs_taker *t, struct bs_store *store);

#endif
