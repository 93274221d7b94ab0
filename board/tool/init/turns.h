/*
 * board/tool/init/turns.h - the frames of a recording, and how many of them are open at once
 *
 * The lines that a survey has seen, by their counters, go through the rule of core/frame/open.h, of
 * which as many places are given as there may be frames. { add }* -> frames -> count -> free.
 * Allocates; one thread. Test: test/unit/board/tool/init/test_survey.c
 */
#ifndef BS_BOARD_TOOL_INIT_TURNS_H
#define BS_BOARD_TOOL_INIT_TURNS_H

#include "core/frame/lines.h"

struct bs_turn {
	struct bs_mrd_idx idx;
	uint64_t flags;
	uint32_t row;
};

/* Lines by their counters; all 0: empty. */
struct bs_turns {
	struct bs_turn *line;
	uint32_t count, room;
};

/*
 * The results of frames and count. phases, sets, repetitions: most that are open at once, of one
 * slice and contrast.
 */
struct bs_turns_found {
	uint32_t frames; /* number of images; averages that are not summed are images */
	bool alike;      /* all images of a slice and contrast have as many readouts */
	uint32_t lines;  /* number of different readouts of the frame that has most */
	bool beyond;     /* a line lies outside of what the header's limits promise */
	uint32_t phases, sets, repetitions;
};

int bs_turns_add(struct bs_turns *t, const struct bs_mrd_idx *idx, uint64_t flags, uint32_t row,
		 struct bs_fail *why);
/* Counts the frames of all lines, whatever ends a frame. lines, p, BS_ERR_NOMEM: as for count. */
int bs_turns_frames(const struct bs_turns *t, const struct bs_lines *lines,
		    struct bs_turns_found *found, struct bs_fail *why);
/*
 * Counts how many frames are open at once; called after frames. p: slices, contrasts, averages,
 * by_header, readouts, as open.h reads them. lines NULL: none is on the grid, rows mean nothing.
 * BS_ERR_NOMEM.
 */
int bs_turns_count(struct bs_turns *t, const struct bs_protocol *p, const struct bs_scan_info *info,
		   const struct bs_lines *lines, struct bs_turns_found *found, struct bs_fail *why);
void bs_turns_free(struct bs_turns *t);

#endif
