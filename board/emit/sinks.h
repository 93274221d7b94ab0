/*
 * board/emit/sinks.h - the site's sinks as takers: a sink is a folder and a format of image files
 *
 * make_all (before any thread runs) -> close_all (after all threads have ended).
 * make_all opens the sinks in a service's first emit process. In a process that replaces another,
 * each sink's thread opens its sink, and tries again at each image: so emit is ready at once even
 * if a disk hangs or a folder is gone. A deleted folder is made again. An image that was in hand
 * when a predecessor ended is not filed twice. The taker's record says why an image was refused,
 * until the next one is refused.
 */
#ifndef BS_BOARD_EMIT_SINKS_H
#define BS_BOARD_EMIT_SINKS_H

#include "board/emit/taker.h"

int bs_sinks_make_all(struct emit *e, struct bs_fail *why);
void bs_sinks_close_all(struct emit *e);
/* True if a sink under policy `wait` has been writing one file for too long: emit is stuck. */
bool bs_sinks_stuck(const struct emit *e);

#endif
