/*
 * board/tool/init/answers.h - a protocol without a recording: from options, or answers on a
 * terminal
 *
 * ask fills what is not given yet (""; 0) by questions on standard error, answers from standard
 * input; an empty line takes the default; end of input ends it. outline writes the protocol.
 * Both return 0, or BS_ERR_USAGE with what is wrong. One thread.
 * Tests: test/unit/board/tool/init/test_answers.c, test_terminal.c, test/replay/init/command.sh
 */
#ifndef BS_BOARD_TOOL_INIT_ANSWERS_H
#define BS_BOARD_TOOL_INIT_ANSWERS_H

#include "board/tool/init/outline.h"
#include "core/err.h"

struct bs_answers {
	const char *name, *kind; /* kind: one of bs_answers_kinds */
	uint32_t matrix[3];      /* voxels, z is 1 in 2D; x 0: not given */
	uint32_t coils, slices;
	char texts[2][64]; /* room for the answers' texts */
};

extern const char *const bs_answers_kinds[]; /* names of the kinds; the last is NULL */

int bs_answers_ask(struct bs_answers *a, struct bs_fail *why);
int bs_answers_outline(const struct bs_answers *a, struct bs_outline *o, struct bs_fail *why);

#endif
