/*
 * board/emit/archive.h - the PUSH archive as a taker; flight.h keeps count of its sent images
 *
 * make: call once. absent: call with e->lock held. Test: test/fault/fault_takers.c
 */
#ifndef BS_BOARD_EMIT_ARCHIVE_H
#define BS_BOARD_EMIT_ARCHIVE_H

#include "board/emit/emit.h"

int bs_push_make(struct emit *e, struct bs_fail *why);
/* Sheds all ready images if no archive is connected and its policy keeps none for it. */
void bs_push_absent(struct bs_taker *t);

#endif
