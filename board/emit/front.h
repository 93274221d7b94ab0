/*
 * board/emit/front.h - how far each taker has come in the queue of images, and which slots are free
 *
 * The queue (image_ring) holds the newest images, in slots; older ones lie in the store. Queue,
 * slots and cursors lie in shared memory. Entries are counted from the first one of the service:
 *
 *   tail       <= closed           <= ready               <= head
 *   a slot may    counted in its      messages are made:     made by recon
 *   be needed     scan's outcome      takers may have them
 *
 * A taker under `wait` keeps slots until it has had their images, and so may stop the
 * reconstruction in the end. Under `keep_newest` and `spill` a taker keeps the newest
 * overload.queue images and the one in hand. Older images are shed, or, under `spill`, given to it
 * from the store. The store is waited for, but not once it has been at one image for
 * BS_FRONT_STUCK_NS. The archive also keeps the images that may lie in its connection
 * (core/memory/pools.h).
 * Call all with e->lock held, except open.
 * Test: test/fault/fault_overload.c, test/fault/fault_takers.c
 */
#ifndef BS_BOARD_EMIT_FRONT_H
#define BS_BOARD_EMIT_FRONT_H

#include "board/emit/taker.h"

#define BS_FRONT_STUCK_NS INT64_C(1000000000) /* time at one image after which a taker is stuck */

/* Takes over a predecessor's cursors; call when the takers are known, before their threads run. */
void bs_front_open(struct emit *e);
/* Looks at the next entry for the first thread. False: there is none. */
bool bs_front_look(const struct emit *e, uint64_t *entry);
/* Makes that entry ready: the first thread is done with it. image: takers are to have it. */
void bs_front_ready(struct emit *e, bool image);
/* Puts the next image into this taker's hand, which must be empty. False: there is none. */
bool bs_front_take(struct emit *e, uint32_t taker, uint32_t *slot);
/* Empties this taker's hand. */
void bs_front_drop(struct emit *e, uint32_t taker);
/* Moves this taker's cursor to an entry: it does not get the images before it. */
void bs_front_pass(struct emit *e, uint32_t taker, uint64_t until);
/* Sets the archive's cursor back to images that may not have arrived; reports those not kept. */
void bs_front_rewind(struct emit *e);
/* Computes the record's `taken` from its other counters and the images that wait. */
void bs_front_count(struct emit *e, uint32_t taker);
/* Closes entries and gives back slots. True: it did either; other threads may wait for that. */
bool bs_front_trim(struct emit *e);
/* True if all entries of the queue are closed. */
bool bs_front_empty(const struct emit *e);

/* The entry that the taker gets next. */
uint64_t bs_front_next(const struct emit *e, uint32_t taker);
/* Number of the newest image whose slot was given back: only the store has images up to it. */
uint64_t bs_front_first(const struct emit *e);
/* True if a spilling taker's next image lies in the store alone. */
bool bs_front_behind(const struct bs_taker *t);
/* The image of an entry and its slot; NULL: the entry is no image. */
struct bs_image_meta *bs_front_image(const struct emit *e, uint64_t index, uint32_t *slot);

/*
 * True if nobody needs to wait for this taker: no image in a slot waits for it, or it is stuck or
 * absent, or reads from the store.
 */
bool bs_front_quiet(const struct bs_taker *t);
/* Counts that this taker does not get an image of this session. */
void bs_front_missed(struct bs_taker *t, uint64_t session);
void bs_front_say_shed(struct bs_taker *t, bool now);
/* Counts one image less that waits for this taker in the store. */
void bs_front_no_more_behind(struct bs_taker *t);
/*
 * Notes that an image is gone from the store and from its slot: a spilling taker does not get it.
 * If the image is in the taker's hand or in its connection, it counts as lost until it has arrived.
 */
void bs_front_gone(struct bs_taker *t, uint64_t session, uint64_t number);

#endif
