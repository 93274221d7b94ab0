/*
 * board/emit/flight.h - what was sent to the PUSH archive, and may still be on the way
 *
 * nanomsg says that an image was taken when it lies in a buffer. An image is safe once something
 * behind it has left the connection, or the connection has been empty for BS_FLIGHT_READS_NS: the
 * archive's own socket reads one ahead. What is not safe when the connection is another one, or
 * this process ends, is sent again: with its session and seq, by which the archive knows it.
 * send: without waiting; one thread at a time. The rest: with e->lock held; look lets it go.
 * Test: test/fault/fault_takers.c
 */
#ifndef BS_BOARD_EMIT_FLIGHT_H
#define BS_BOARD_EMIT_FLIGHT_H

#include "board/emit/emit.h"

#define BS_FLIGHT_READS_NS                                                                         \
	INT64_C(1000000000) /* an archive that reads takes an image in this time */

int bs_flight_send(struct bs_taker *t, const struct bs_offer *o, struct bs_fail *why);
void bs_flight_sent(const struct bs_taker *t, const struct bs_offer *o);
/* Nobody has this image any more: it counts as lost until it is safe. False: it is not in there. */
bool bs_flight_gone(const struct bs_taker *t, uint64_t number);
/*
 * By the archive's thread: sees what has become safe, and another connection. True: what was in
 * the one before is to be sent again (bs_front_rewind).
 */
bool bs_flight_look(struct bs_taker *t);
/* When look has something to do; 0: not until something is sent. */
int64_t bs_flight_due(void);

#endif
