/* board/tool/command/tuning.h - what was measured and chosen on a GPU, for people */
#ifndef BS_BOARD_TOOL_COMMAND_TUNING_H
#define BS_BOARD_TOOL_COMMAND_TUNING_H

#include "gpu/device/tune.h"

/*
 * Prints "NAME  gridding: adjoint 0.0213 ms, forward 0.0170 ms with taps 5 (without choices 0.0320,
 * 0.0180); from the cache", then a line for each variant. first, second: names of the two times.
 */
void bs_tuning_print(const struct bs_tuning *t, const char *name, const char *first,
		     const char *second);

#endif
