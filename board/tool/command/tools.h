/*
 * board/tool/command/tools.h - the tools: commands that prepare, prove or play a scan
 *
 * Rows of board/tool/main.c's list, one file each. The daemon is linked without them (make lean).
 */
#ifndef BS_BOARD_TOOL_COMMAND_TOOLS_H
#define BS_BOARD_TOOL_COMMAND_TOOLS_H

#include "board/command/command.h"

extern const struct bs_command bs_command_init, bs_command_doctor, bs_command_replay,
	bs_command_certify, bs_command_recon, bs_command_arm, bs_command_phantom,
	bs_command_compare, bs_command_prior, bs_command_tune, bs_command_delays, bs_command_record,
	bs_command_receive, bs_command_log, bs_command_forget, bs_command_selftest;

#endif
