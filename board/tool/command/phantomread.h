/*
 * board/tool/command/phantomread.h - values of boreside phantom's options that are more than a
 * number
 *
 * Each makes of an option's text what its field is (board/command/options.h, BS_OPTION_OWN).
 * Test: test/unit/drivers/tool/phantom.sh
 */
#ifndef BS_BOARD_TOOL_COMMAND_PHANTOMREAD_H
#define BS_BOARD_TOOL_COMMAND_PHANTOMREAD_H

#include "core/err.h"

int bs_phantom_read_object(void *to, const char *text, struct bs_fail *why); /* writes an enum */
int bs_phantom_read_order(void *to, const char *text, struct bs_fail *why);  /* writes an enum */
int bs_phantom_read_two(void *to, const char *text, struct bs_fail *why);    /* writes double[2] */
int bs_phantom_read_three(void *to, const char *text, struct bs_fail *why);  /* writes double[3] */
int bs_phantom_read_times(void *to, const char *text, struct bs_fail *why);  /* writes double[3] */
/* These write members of struct bs_scanplan: accel and shift; calibration and its lines. */
int bs_phantom_read_accel(void *to, const char *text, struct bs_fail *why);
int bs_phantom_read_calibration(void *to, const char *text, struct bs_fail *why);
/* These write members of struct bs_scanbands: bands and shift; references. */
int bs_phantom_read_multiband(void *to, const char *text, struct bs_fail *why);
int bs_phantom_read_single(void *to, const char *text, struct bs_fail *why);
/* writes bs_partial */
int bs_phantom_read_partial(void *to, const char *text, struct bs_fail *why);

#endif
