/*
 * board/emit/flight.h - images that were sent to the PUSH archive and may still be on the way
 *
 * nanomsg calls an image sent when it lies in a buffer. An image is safe once a later image has
 * left the connection, or the connection has been empty for BS_FLIGHT_READS_NS: the archive's own
 * socket reads one image ahead. If the connection breaks or this process ends, images that are not
 * safe are sent again, with their session and seq, by which the archive recognizes them.
 * send never waits; one thread at a time. Call the rest with e->lock held; look releases it
 * meanwhile.
 * Test: test/fault/fault_takers.c
 */
#ifndef BS_BOARD_EMIT_FLIGHT_H
#define BS_BOARD_EMIT_FLIGHT_H

#include "board/emit/emit.h"

#define BS_FLIGHT_READS_NS                                                                         \
	INT64_C(1000000000) /* an archive that reads takes an image in this time */

int bs_flight_send(struct bs_taker *t, const struct bs_offer *o, struct bs_fail *why);
void bs_flight_sent(const struct bs_taker *t, const struct bs_offer *o);
/*
 * Notes that neither a slot nor the store has this image any more: it counts as lost until it is
 * safe. False: the image is not on the way.
 */
bool bs_flight_gone(const struct bs_taker *t, uint64_t number);
/*
 * Called by the archive's thread: finds which images are safe, and whether the connection is a new
 * one. True: images of the old connection have to be sent again (bs_front_rewind).
 */
bool bs_flight_look(struct bs_taker *t);
/* When look must be called next; 0: not before an image is sent. */
int64_t bs_flight_due(void);

#endif
