/*
 * board/tool/command/tunescan.h - lambda tried on a recording: what images come of it
 *
 * For protocols whose solver is not linear in its data, or whose W comes with a scan: each lambda's
 * image is made of the recording itself. Of solve.prior its weight is tried, else ls.lambda.
 *   change  the image's distance from that of the smallest lambda, relative
 *   noise   root mean square over voxels of what noise that is added to the samples changes
 *   kept    what a ball whose data are added leaves of its contrast (core/tool/ball.h)
 * open -> { at: one lambda after the other } -> draw -> close. One thread, the program's only one.
 * Test: test/unit/board/tool/tunescan.sh
 */
#ifndef BS_BOARD_TOOL_COMMAND_TUNESCAN_H
#define BS_BOARD_TOOL_COMMAND_TUNESCAN_H

#include "board/tool/offline/pipeline.h"
#include "core/random.h"
#include "core/tool/ball.h"

struct bs_tune_scan {
	/* The caller sets the next members. */
	struct bs_site *site;
	struct bs_protocol p; /* with complex images where it can have them */
	const char *recording;
	const char *before;  /* "[PROTOCOL=]RECORDING" of an earlier scan; NULL: none */
	double noise;        /* deviation of the noise that is added; 0: none */
	struct bs_ball ball; /* radius 0: there is none */
	double height;       /* of the ball, in the image's unit; 0: a fifth of the largest value */
	/* The next members are the scan's own. */
	struct bs_pipeline pipeline;
	size_t values;        /* complex or real values of an image, in floats */
	float *plain, *first; /* the last lambda's image, the first one's */
	float *planes;        /* [lambda][y][x] magnitudes of the middle slice */
	uint32_t count;       /* lambdas so far */
	struct bs_random random;
	bool adds_ball;
};

struct bs_tune_row {
	double lambda, change, noise, kept; /* noise, kept: NAN where not asked for */
	uint32_t iterations;
};

int bs_tune_scan_open(struct bs_tune_scan *s, uint32_t most, struct bs_fail *why);
int bs_tune_scan_at(struct bs_tune_scan *s, double lambda, struct bs_tune_row *row,
		    struct bs_fail *why);
/* Writes the middle slices side by side, in the order of lambda, as PNG. */
int bs_tune_scan_draw(const struct bs_tune_scan *s, const char *path, struct bs_fail *why);
void bs_tune_scan_close(struct bs_tune_scan *s);

#endif
