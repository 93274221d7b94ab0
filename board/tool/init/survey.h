/*
 * board/tool/init/survey.h - what a recording holds, as far as a protocol must know
 *
 * make reads every readout once. Of lines on the grid it keeps which of them the first frame has
 * (slice, contrast, repetition, set, phase and average of its first imaging readout), of paths
 * whether frames after the first have those of the first. Reads files, allocates; one thread.
 * BS_ERR_SIZE: no imaging readout, or an encodedSpace beyond what a protocol may have.
 * Tests: test/unit/board/tool/init/test_survey.c, test/replay/init
 */
#ifndef BS_BOARD_TOOL_INIT_SURVEY_H
#define BS_BOARD_TOOL_INIT_SURVEY_H

#include <stdbool.h>

#include "core/frame/center.h"
#include "core/frame/encoding.h"
#include "core/frame/kind.h"
#include "core/frame/lines.h"
#include "core/study/noise.h"

/* The least and the largest value; count 0: there was none. */
struct bs_range {
	uint32_t min, max;
	uint64_t count;
};

struct bs_survey {
	struct bs_scan_info info;
	char note[256]; /* study's note that lies beside the recording; "": none */
	uint32_t readouts;
	uint64_t kinds[BS_KINDS];
	/* The next members are about imaging readouts. */
	struct bs_range samples; /* samples that are not discarded */
	struct bs_range discarded, channels, dims, step[2];
	struct bs_range
		middle; /* center_sample less discarded samples, of forward readouts that tell it */
	/* channels of lines, where the header has receiverChannels; 0: each line says it */
	uint32_t coils;
	/* largest counters, plus 1 */
	uint32_t slices, contrasts, averages, repetitions, sets, phases;
	struct bs_range misfit;        /* channels of readouts that are no line's (BS_MRD_MISFIT) */
	struct bs_encodings_left left; /* readouts of encodings that no protocol uses */
	uint64_t reversed, calibrates_too;
	uint64_t astray; /* readouts whose directions are not of length 1 */
	/* The next members are about frames. */
	uint32_t frames;         /* frames by their counters; each average counts */
	uint32_t first_readouts; /* imaging readouts of the first frame */
	bool alike;              /* all frames of a slice and contrast have as many readouts */
	bool beyond;             /* a line lies outside of what the header's limits promise */
	uint32_t most_lines;     /* different lines of the frame that has most */
	uint32_t open[3];        /* most phases, sets, repetitions open at once (turns.h) */
	/* The next members are about lines on the grid of size [y, z], centered as k-space is. */
	uint32_t size[2];
	struct bs_center center; /* center of k-space by the first imaging readout */
	uint32_t strongest;      /* row of the first frame's strongest line */
	uint8_t *present;        /* [z][y], lines of the first frame */
	/* [z][y], calibration lines of all frames, image lines that calibrate included */
	uint8_t *calibrates;
	/* [z][y], lines of all frames of the first frame's slice and contrast */
	uint8_t *together;
	uint64_t outside;     /* readouts that are not on the grid */
	uint32_t first_lines; /* number of different lines in the first frame */
	/* The next members are about paths, in the file's unit. */
	double reach[3]; /* largest |k| of each axis */
	/* farthest sample from the straight line through k = 0, in parts of the reach */
	double bend;
	bool repeats;        /* later frames have exactly the first frame's paths */
	uint64_t off_lines;  /* imaging readouts whose path is not their line of the grid */
	uint64_t pieces;     /* readouts that continue the path of the one before as its next set */
	uint32_t path_frame; /* imaging readouts with all frame counters 0 */
	/* The next members are about what comes beside the lines. */
	struct bs_noise noise;
	uint32_t noise_others; /* noise readouts that do not fit the first, or are not finite */
	bool noise_broken;     /* a noise readout has a sample that is not finite */
	double drift;          /* largest phase in radians of a navigator against its first */
	uint32_t navigator_samples;
};

int bs_survey_make(struct bs_survey *s, const char *recording, struct bs_fail *why);
void bs_survey_free(struct bs_survey *s);

/* Returns true if the scan is reconstructed from lines of the grid, whatever its readouts carry. */
bool bs_survey_on_grid(const struct bs_survey *s);
/* Returns the lines that the header promises, about the center that the scan's first line has. */
void bs_survey_promises(const struct bs_survey *s, struct bs_lines *lines);
/*
 * Returns true if the first frame's lines are those that the header promises, or all that a shutter
 * leaves.
 */
bool bs_survey_promised(const struct bs_survey *s, const uint8_t *present);
/*
 * Returns how many lines of the grid a protocol should wait for in a frame; 0: as the header
 * promises.
 */
uint32_t bs_survey_lines(const struct bs_survey *s, const uint8_t *present);
/* Returns the averages that a protocol sums; 1: none, or too many. path: each
 * readout brings its path. */
uint32_t bs_survey_averages(const struct bs_survey *s, bool path);

/* Finds the largest correlation between coils' noise and the ratio of largest
 * to least deviation. */
void bs_survey_noise(const struct bs_survey *s, double *correlation, double *ratio);

#endif
