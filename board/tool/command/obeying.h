/*
 * board/tool/command/obeying.h - replay --obey: a scan for each latency, and a picture of how far
 * off the scanner was
 */
#ifndef BS_BOARD_TOOL_COMMAND_OBEYING_H
#define BS_BOARD_TOOL_COMMAND_OBEYING_H

#include "drivers/tool/replay/obey.h"
#include "drivers/tool/replay/replay.h"

#define BS_OBEYING_MOST 16u

struct bs_obeying {
	struct bs_obey_options o;      /* motion 0: the scanner does not obey */
	const char *latency, *picture; /* as given; NULL: not */
	double ms[BS_OBEYING_MOST], off_mm[BS_OBEYING_MOST];
	uint32_t count; /* latencies: scans to play */
	struct bs_obey *scanner;
};

/* Reads the latencies. BS_ERR_USAGE. */
int bs_obeying_read(struct bs_obeying *b, struct bs_fail *why);
/* Has the replay ask for answers and shape its lines. */
int bs_obeying_open(struct bs_obeying *b, struct bs_replay *r, struct bs_replay_options *o,
		    struct bs_fail *why);
/* Before scan n, and after it: prints how far off the scanner was. */
void bs_obeying_begin(struct bs_obeying *b, uint32_t n);
void bs_obeying_end(struct bs_obeying *b, uint32_t n);
/* Draws the picture, if one is asked for, and closes. */
int bs_obeying_close(struct bs_obeying *b, struct bs_fail *why);

#endif
