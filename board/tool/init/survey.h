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

/* Least and largest; count 0: there was none. */
struct bs_range {
	uint32_t min, max;
	uint64_t count;
};

struct bs_survey {
	struct bs_scan_info info;
	char note[256]; /* of the recording, beside its scan; "": nothing */
	uint32_t readouts;
	uint64_t kinds[BS_KINDS];
	/* of imaging readouts */
	struct bs_range samples; /* without discarded ones */
	struct bs_range discarded, channels, dims, step[2];
	struct bs_range
		middle; /* center_sample, discarded samples off, of forward ones that say it */
	uint32_t coils; /* of lines, where receiverChannels is given; 0: each line says it */
	uint32_t slices, contrasts, averages, repetitions, sets, phases; /* largest, + 1 */
	struct bs_range misfit;        /* channels of readouts that are no line's (BS_MRD_MISFIT) */
	struct bs_encodings_left left; /* readouts of encodings that no protocol has a use of */
	uint64_t reversed, calibrates_too;
	uint64_t astray; /* whose directions are not of length 1 */
	/* frames */
	uint32_t frames;         /* that their counters tell apart, averages among them */
	uint32_t first_readouts; /* imaging readouts of the first */
	bool alike;              /* all frames of a slice and contrast have as many readouts */
	bool beyond;             /* a line lies outside of what the header's limits promise */
	uint32_t most_lines;     /* different lines of the frame that has most */
	uint32_t open[3];        /* phases, sets, repetitions that are at once (turns.h) */
	/* lines on the grid, of size [y, z], as the center of k-space has them */
	uint32_t size[2];
	struct bs_center center; /* by the first imaging readout */
	uint32_t strongest;      /* row of the first frame */
	uint8_t *present;        /* [z][y] of the first frame */
	uint8_t *calibrates;  /* [z][y] of all: calibration lines, and lines that calibrate, too */
	uint8_t *together;    /* [z][y] of all frames of the first one's slice and contrast */
	uint64_t outside;     /* readouts that are not on it */
	uint32_t first_lines; /* different lines of the first frame */
	/* paths, in the unit that they have in the file */
	double reach[3];     /* largest |k| */
	double bend;         /* farthest from the straight line through k = 0, of the reach */
	bool repeats;        /* later frames have the first one's paths, to the bit */
	uint64_t off_lines;  /* imaging readouts whose path is not that of their line of the grid */
	uint64_t pieces;     /* that go on with the path of the one before, as its next set */
	uint32_t path_frame; /* imaging readouts with all those counters 0 */
	/* beside the lines */
	struct bs_noise noise;
	uint32_t noise_others; /* readouts of noise that do not fit the first, or are not finite */
	bool noise_broken;     /* one of them has a sample that is not finite */
	double drift;          /* largest phase of a navigator against its first, radians */
	uint32_t navigator_samples;
};

int bs_survey_make(struct bs_survey *s, const char *recording, struct bs_fail *why);
void bs_survey_free(struct bs_survey *s);

/* It is reconstructed from lines of the grid, whatever its readouts carry. */
bool bs_survey_on_grid(const struct bs_survey *s);
/* The lines that the header promises, about the center that the scan's first line has. */
void bs_survey_promises(const struct bs_survey *s, struct bs_lines *lines);
/* The first frame's lines are those that the header promises, or all that a shutter leaves. */
bool bs_survey_promised(const struct bs_survey *s, const uint8_t *present);
/* How many lines of the grid a protocol should wait for in a frame; 0: as the header promises. */
uint32_t bs_survey_lines(const struct bs_survey *s, const uint8_t *present);
/* Averages that a protocol sums; 1: none, or more than it can. path: each readout brings its own */
uint32_t bs_survey_averages(const struct bs_survey *s, bool path);

/* Largest correlation of two coils' noise, and the ratio of the largest deviation to the least. */
void bs_survey_noise(const struct bs_survey *s, double *correlation, double *ratio);

#endif
