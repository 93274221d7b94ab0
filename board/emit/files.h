/*
 * board/emit/files.h - the thread that gives images to the sinks and ends what emit has with them
 *
 * start: after the sinks and the takers are open. stop: after the last entry, or when start failed;
 * waits for the thread.
 */
#ifndef BS_BOARD_EMIT_FILES_H
#define BS_BOARD_EMIT_FILES_H

#include "board/emit/emit.h"

int bs_files_start(struct emit *e, struct bs_fail *why);
void bs_files_stop(struct emit *e);
/* One file has been under way for too long: this process makes no progress. */
bool bs_files_stuck(struct emit *e, int64_t now_ns);

#endif
