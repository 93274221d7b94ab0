/*
 * board/emit/taker.h - one taker of images: its cursor, its thread, its policy
 *
 * make (each taker of the site) -> bs_front_open -> start -> ... -> stop -> free. The thread gives
 * the taker image after image, in order, however long an image takes. An image comes from its slot,
 * or, under `spill`, from the store if the slot was needed. If a spilling taker refuses an image
 * with BS_ERR_IO or BS_ERR_NOMEM, the image is offered again every 200 ms: no image is given up for
 * an error that may pass. An image refused for another reason is given up for this taker.
 * A process that replaces this one offers the image in hand again.
 * Test: test/fault/fault_overload.c, test/fault/fault_takers.c, test/unit/board/emit
 */
#ifndef BS_BOARD_EMIT_TAKER_H
#define BS_BOARD_EMIT_TAKER_H

#include "board/emit/emit.h"
#include "drivers/log/store.h"

/* An image that is offered to a taker. */
struct bs_offer {
	const unsigned char
		*msg; /* an IMAGE message; with emit.unsent its pixels alone are there */
	size_t len;
	uint64_t number; /* of the image, over the life of the store */
	uint64_t session;
	struct bs_image_meta *m; /* of its slot; NULL: the image was read from the store */
};

/* Delivers an image. 0: done. BS_ENDPOINT_TIMEOUT: not now. Negative: refused. May block. */
typedef int bs_deliver(struct bs_taker *t, const struct bs_offer *o, struct bs_fail *why);

struct bs_taker {
	struct emit *e;
	uint32_t id; /* a sink's number, BS_TAKER_ARCHIVE or BS_TAKER_IMAGES */
	struct bs_taker_record *r;
	bs_deliver *deliver;
	char cursor[32]; /* the taker's name in the store: "+cfl-1a2b3c4d"; "": it does not spill */
	struct bs_store_reader reader;
	unsigned char *buffer; /* the message that was read from the store */
	pthread_t thread;
	bool has_thread;
	bool direct;         /* the first thread is giving the taker an image */
	bool counted;        /* the taker's images in the store are counted */
	bool read;           /* the image in hand came from the store and is in the buffer */
	bool refused;        /* the taker refused the last image; reported once */
	uint64_t losses;     /* images lost by the store that this taker was told of */
	_Atomic bool nobody; /* the taker was not connected when an image was last shed */
	_Atomic bool absent;
	int64_t retry_ns; /* when a refused image is offered again; 0: none waits */
	uint64_t sheds;   /* shed images that were not reported yet */
	int64_t said_ns;
};

int bs_taker_make(struct emit *e, uint32_t id, const char *name, const char *cursor,
		  enum bs_policy policy, bs_deliver *deliver, struct bs_fail *why);
int bs_taker_start(struct bs_taker *t, struct bs_fail *why);
/* Call after e->quit is set. */
void bs_taker_stop(struct bs_taker *t);
void bs_taker_free(struct bs_taker *t);

/*
 * Called by the first thread when an image is ready: if no other image waits for the taker, gives
 * it this one at once. With e->lock held, which is released meanwhile.
 */
void bs_taker_offered(struct bs_taker *t);
/* Writes a spilling taker's cursor to the store. Without the lock; blocks on the disk. */
void bs_taker_ack(struct bs_taker *t, struct bs_store *store);

#endif
