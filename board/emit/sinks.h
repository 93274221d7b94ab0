/*
 * board/emit/sinks.h - the site's sinks: each a folder and the format of the files in it
 *
 * open_all (before there are threads) -> { open, put }* -> close_all.
 * open_all opens the sinks in a service's first emit. In a process that replaces another it leaves
 * that to whoever writes the first file (open, at each image until it succeeds), so that it is
 * ready at once even when a disk hangs or a folder is gone. One thread at a time uses one sink.
 */
#ifndef BS_BOARD_EMIT_SINKS_H
#define BS_BOARD_EMIT_SINKS_H

#include "board/emit/emit.h"

int bs_sinks_open_all(struct emit *e, struct bs_fail *why);
/* Makes the folder and opens the sink, unless it is open. */
int bs_sinks_open(struct emit *e, uint32_t sink, struct bs_fail *why);
/*
 * attributes: n bytes, BS_POOLS_ATTRIBUTES at most. A folder that was deleted is made again. Why an
 * image was refused stands in the taker's record until the next one.
 */
int bs_sinks_put(struct emit *e, uint32_t sink, const struct bs_mrd_image *head,
		 const unsigned char *attributes, size_t n, const unsigned char *pixels,
		 struct bs_fail *why);
void bs_sinks_close_all(struct emit *e);

#endif
