/*
 * board/tool/offline/answered.h - the answers of a recording, as lines of a file: the same numbers
 * that the service tells a sender (core/answer/answer.h), whether or not the recording's header
 * asks for them
 *
 * open -> { readout, step }* -> close, of a zeroed struct; without open the others do nothing.
 * One thread. Test: test/replay/console/answers.sh
 */
#ifndef BS_BOARD_TOOL_OFFLINE_ANSWERED_H
#define BS_BOARD_TOOL_OFFLINE_ANSWERED_H

#include "core/answer/answer.h"
#include "core/err.h"
#include "core/frame/step.h"

struct bs_answered {
	FILE *to; /* NULL: not open */
	const char *path;
	uint64_t readouts; /* readouts that came */
	struct bs_answering state;
	struct bs_answering_of of;
};

/* p, info, path: they outlive it. path NULL: nothing is opened. BS_ERR_USAGE, BS_ERR_IO. */
int bs_answered_open(struct bs_answered *a, const char *path, const struct bs_protocol *p,
		     const struct bs_scan_info *info, struct bs_fail *why);
/* A readout as bs_intake_put left it. */
void bs_answered_readout(struct bs_answered *a, const struct bs_mrd_acq *head,
			 const float *samples);
/* An image's step; NULL: it passed none. */
void bs_answered_step(struct bs_answered *a, uint64_t image, const struct bs_step_result *step);
/* Returns rc, or, where that is 0, BS_ERR_IO if the file lacks something. */
int bs_answered_close(struct bs_answered *a, int rc, struct bs_fail *why);

#endif
