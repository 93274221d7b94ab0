/*
 * board/emit/archive.h - the PUSH archive as a taker; what was sent to it: flight.h
 *
 * make: once. absent: with e->lock held. Test: test/fault/fault_takers.c
 */
#ifndef BS_BOARD_EMIT_ARCHIVE_H
#define BS_BOARD_EMIT_ARCHIVE_H

#include "board/emit/emit.h"

int bs_archive_make(struct emit *e, struct bs_fail *why);
/* Nobody is there, and nothing is kept for it: what is ready is shed. */
void bs_archive_absent(struct bs_taker *t);

#endif
