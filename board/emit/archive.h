/*
 * board/emit/archive.h - the PUSH archive: what was sent to it, and what may still be on the way
 *
 * nanomsg says that an image was taken when it lies in a buffer. An image is safe once something
 * behind it has left the connection, or the connection has been empty for BS_ARCHIVE_READS_NS: the
 * archive's own socket reads one ahead. What is not safe when the connection is another one, or
 * this process ends, is sent again: with its session and seq, by which the archive knows it.
 * make: once. attempt: without waiting; one thread at a time. look, sent, gone, due: with e->lock
 * held; look lets it go. Test: test/fault/fault_takers.c
 */
#ifndef BS_BOARD_EMIT_ARCHIVE_H
#define BS_BOARD_EMIT_ARCHIVE_H

#include "board/emit/taker.h"

#define BS_ARCHIVE_READS_NS                                                                        \
	INT64_C(1000000000) /* an archive that reads takes an image in this time */

int bs_archive_make(struct emit *e, struct bs_fail *why);
int bs_archive_attempt(struct bs_taker *t, const struct bs_offer *o, struct bs_fail *why);
void bs_archive_sent(const struct bs_taker *t, const struct bs_offer *o);
/* Nobody has this image any more: it counts as lost until it is safe. False: it is not in there. */
bool bs_archive_gone(const struct bs_taker *t, uint64_t number);
/* By the archive's thread: sees what has become safe, and another connection. */
void bs_archive_look(struct bs_taker *t);
/* When look has something to do; 0: not until something is sent. */
int64_t bs_archive_due(void);
/* Nobody is there, and nothing is kept for it: what is ready is shed. With e->lock held. */
void bs_archive_absent(struct emit *e);

#endif
