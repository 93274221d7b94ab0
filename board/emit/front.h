/*
 * board/emit/front.h - how far each taker has come in the images' queue, and what is over with it
 *
 * The queue (image_ring) and its slots are the newest part of the line of images; all of it lies in
 * shared memory, the cursors too. Entries are counted from the first one of the service:
 *
 *   tail       <= closed           <= ready               <= head
 *   a slot may    counted in its      messages are made:     made by recon
 *   be needed     scan's outcome      takers may have them
 *
 * A taker under `wait` holds its slots until it has had them, and so the reconstruction in the end;
 * under `keep_newest` and `spill` it holds the newest overload.queue images, and the one in hand.
 * What it must let go is shed, or, spilling, given to it from the store. The store is waited for
 * until it has been at one image for BS_FRONT_STUCK_NS. The archive holds besides what may lie in
 * its connection (core/memory/pools.h).
 * All with e->lock held, but open. Test: test/fault/fault_overload.c, test/fault/fault_takers.c
 */
#ifndef BS_BOARD_EMIT_FRONT_H
#define BS_BOARD_EMIT_FRONT_H

#include "board/emit/taker.h"

#define BS_FRONT_STUCK_NS INT64_C(1000000000) /* one image for so long: it is not waited for */

/* What a predecessor left, once the takers are known and before their threads run. */
void bs_front_open(struct emit *e);
/* The next entry for the first thread. False: none. */
bool bs_front_look(const struct emit *e, uint64_t *entry);
/* The first thread is done with it. image: takers are to have it. */
void bs_front_ready(struct emit *e, bool image);
/* The next image for this taker, which has none in hand, is in its hand. False: none. */
bool bs_front_take(struct emit *e, uint32_t taker, uint32_t *slot);
/* It has nothing in hand any more. */
void bs_front_drop(struct emit *e, uint32_t taker);
/* It does not get what waits for it, up to this entry. */
void bs_front_pass(struct emit *e, uint32_t taker, uint64_t until);
/* The archive is to have again what may not have arrived; what is not kept is said. */
void bs_front_rewind(struct emit *e);
/* taken is what has become of all images so far, and what waits. */
void bs_front_count(struct emit *e, uint32_t taker);
/* Closes what can be closed, gives back slots. True: it did, which others may wait for. */
bool bs_front_trim(struct emit *e);
/* Nothing is left in the queue. */
bool bs_front_empty(const struct emit *e);

/* The entry that the taker has next. */
uint64_t bs_front_next(const struct emit *e, uint32_t taker);
/* The number of the newest image whose slot is over with: what is up to it the store alone has. */
uint64_t bs_front_first(const struct emit *e);
/* A spilling taker's next image is one that the store alone has. */
bool bs_front_behind(const struct bs_taker *t);
/* The image of an entry; NULL: it is another entry. */
struct bs_image_meta *bs_front_image(const struct emit *e, uint64_t index, uint32_t *slot);

/* Nothing waits for it in the pool, or there is no use in waiting: it is stuck or not there. */
bool bs_front_quiet(const struct bs_taker *t);
/* It does not get an image of this session. */
void bs_front_missed(struct bs_taker *t, uint64_t session);
void bs_front_say_shed(struct bs_taker *t, bool now);
/* One image less waits for it in the store. */
void bs_front_no_more_behind(struct bs_taker *t);
/*
 * The store has lost this image, and its slot is gone: a spilling taker does not get it. What it
 * has in hand, or in its connection, counts as lost until it has arrived.
 */
void bs_front_gone(struct bs_taker *t, uint64_t session, uint64_t number);

#endif
