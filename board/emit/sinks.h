/*
 * board/emit/sinks.h - the site's sinks as takers: each a folder and the format of the files in it
 *
 * make_all (before there are threads) -> close_all (when there are none any more).
 * make_all opens the sinks in a service's first emit. In a process that replaces another it leaves
 * that to the sink's thread (at each image until it succeeds), so that it is ready at once even
 * when a disk hangs or a folder is gone. A folder that was deleted is made again. An image that was
 * in hand when a predecessor ended and is filed already is not filed again. Why an image was
 * refused stands in the taker's record until the next one.
 */
#ifndef BS_BOARD_EMIT_SINKS_H
#define BS_BOARD_EMIT_SINKS_H

#include "board/emit/taker.h"

int bs_sinks_make_all(struct emit *e, struct bs_fail *why);
void bs_sinks_close_all(struct emit *e);
/* Under the policy `wait` one file is under way for too long: this process makes no progress. */
bool bs_sinks_stuck(const struct emit *e);

#endif
