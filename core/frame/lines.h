/*
 * core/frame/lines.h - which lines of the grid a scan measures, and which an image lacks
 *
 * A row is a line of the encoded grid, ky + encoded_y * kz. The header's limits give the range of
 * rows that are measured, its acceleration which fraction: every nth. The header does not give
 * where that pattern begins, nor its shift (CAIPIRINHA; Breuer et al., Magn Reson Med
 * 2006;55:549-556). The pattern taken is the one that most of the frame's lines fit, with a
 * beginning of its own in each partition or along each line. Lines off the pattern are used, but
 * replace no missing line. A frame's present lines alone decide, not the order in which they came.
 * No state, no allocation; any thread. Test: test/unit/core/test_lines.c
 */
#ifndef BS_CORE_FRAME_LINES_H
#define BS_CORE_FRAME_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/frame/center.h"
#include "core/mrd.h"
#include "core/protocol.h"

/* Measured lines along ky and kz. */
struct bs_lines {
	uint32_t size[2];           /* size of the encoded grid */
	uint32_t first[2], last[2]; /* range of lines that the scan measures, both ends included */
	uint32_t step[2];           /* acceleration: every step-th line is measured; 1: all */
};

/*
 * Fills *l for a protocol whose samples lie on the grid (core/plan/plan.h), with the header's
 * center.
 */
void bs_lines_of(struct bs_lines *l, const struct bs_protocol *p, const struct bs_scan_info *info);
/* Does what bs_lines_of does, but with the center c in place of the header's. */
void bs_lines_about(struct bs_lines *l, const struct bs_protocol *p,
		    const struct bs_scan_info *info, const struct bs_center *c);

/* Checks the header's lines. BS_ERR_SIZE: it promises more lines than readouts_max allows. */
int bs_lines_admit(const struct bs_protocol *p, const struct bs_scan_info *info,
		   struct bs_fail *why);

/* The number of lines between the limits where all of them are measured; 0: only every nth is. */
uint32_t bs_lines_full(const struct bs_lines *l);
static inline bool bs_lines_inside(const struct bs_lines *l, uint32_t row)
{
	const uint32_t y = row % l->size[0];
	const uint32_t z = row / l->size[0];

	return y >= l->first[0] && y <= l->last[0] && z >= l->first[1] && z <= l->last[1];
}
/*
 * The number of lines of the pattern that have not come. present [rows]: 1 = this line has come.
 * *total (NULL: not asked for): all lines of the pattern. Where nobody can know that a line belongs
 * to it (a partition of which no line came), the numbers may be off by a line.
 */
uint32_t bs_lines_missing(const struct bs_lines *l, const uint8_t *present, uint32_t rows,
			  uint32_t *total);

/* The fewest lines that any pattern may have. */
uint32_t bs_lines_least(const struct bs_lines *l);
/*
 * Returns true if the scan has an elliptical shutter: the missing lines are exactly the lines of
 * the pattern outside one ellipse. Its center is the grid's, or half a line beside it; its axes are
 * along ky and kz and end within a line (of the pattern) of the limits. false in 2D.
 */
bool bs_lines_shutter(const struct bs_lines *l, const uint8_t *present, uint32_t rows);

/* Contents of an image, for bs_lacks_words. */
struct bs_held {
	/* lines on the grid; NULL: the image's readouts have a table */
	const struct bs_lines *lines;
	const uint8_t *present; /* [rows]: 1: this row has come */
	uint32_t rows;
	/* rows that the image holds, and rows that it should also hold */
	uint32_t readouts, missing;
	const char *how;   /* words about why rows are missing; NULL: they did not come */
	uint32_t averages; /* averages that each row should be the mean of; 0: 1 */
	uint32_t fewer;    /* averages that the held rows lack, all together */
	uint32_t shutter;  /* lines outside the ellipse of a shutter: they are not missing */
	const struct bs_center *center; /* center of k-space; read where unknown is not 0 */
	/* measured samples [0] to [1] - 1 of lines that were filled up (readout.h) */
	uint32_t measured[2];
	uint32_t unknown;   /* axes left as zeros (bs_center_unknown) */
	uint32_t strongest; /* row of the strongest line */
};

/* The number of readouts that did not come. */
static inline uint32_t bs_held_absent(const struct bs_held *h)
{
	return h->missing * (h->averages > 1 ? h->averages : 1) + h->fewer;
}

/*
 * A quick test: true when both functions below would give ""; when false, they may give words or
 * not.
 */
static inline bool bs_lacks_nothing(const struct bs_protocol *p, const struct bs_scan_info *info,
				    const struct bs_held *h)
{
	return h->missing == 0 && h->fewer == 0 && info->acceleration[0] <= 1 &&
	       info->acceleration[1] <= 1 &&
	       (h->lines == NULL ||
		(p->samples >= p->encoded[0] && h->measured[1] == 0 &&
		 h->readouts >= (uint64_t)h->lines->size[0] * h->lines->size[1]));
}

/*
 * Writes what an image lacks, in plain words: "accelerated 3 x 1, and this protocol does not unfold
 * it; 2 of 20 readouts did not come"; "" when it lacks nothing. Returns out, NUL-terminated within
 * cap.
 */
#define BS_LACKS_WORDS 320u
const char *bs_lacks_words(char *out, size_t cap, const struct bs_protocol *p,
			   const struct bs_scan_info *info, const struct bs_held *held);
/*
 * Words about what is zero in an image and not missing, since nobody promised it and no key fills
 * it: "lines 48 to 63 of 64 were not measured (partial Fourier) and are zeros"; "" where nothing
 * is. Returns out, NUL-terminated within cap.
 */
const char *bs_zeros_words(char *out, size_t cap, const struct bs_protocol *p,
			   const struct bs_held *held);

#endif
