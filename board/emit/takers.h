/*
 * board/emit/takers.h - the takers of this site: which have a queue, and how each is given an image
 *
 * open: after the sockets and the sinks are open. close: before they are closed; waits for the
 * takers' threads. quiet: no taker has an image in its queue that it might still take soon.
 */
#ifndef BS_BOARD_EMIT_TAKERS_H
#define BS_BOARD_EMIT_TAKERS_H

#include "board/emit/emit.h"

int bs_takers_open(struct emit *e, struct bs_fail *why);
bool bs_takers_quiet(struct emit *e);
void bs_takers_close(struct emit *e);

#endif
