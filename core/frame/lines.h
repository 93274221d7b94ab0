/*
 * core/frame/lines.h - which lines of the grid a scan measures, and what an image lacks of them
 *
 * A row is a line of the encoded grid, ky + encoded_y * kz. The header's limits say between which
 * rows lines are measured, its acceleration of which only every nth is; where that pattern begins,
 * the header does not say, nor how it is shifted (CAIPIRINHA; Breuer et al., Magn Reson Med
 * 2006;55:549-556): it is the pattern that most of the frame's lines fit, with a beginning of its
 * own in each partition or along each line. Lines off the pattern are welcome and make up for
 * nothing. A frame's present lines alone decide, not the order in which they came.
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

/* Along ky and kz. */
struct bs_lines {
	uint32_t size[2];           /* of the encoded grid */
	uint32_t first[2], last[2]; /* between which the scan measures, both included */
	uint32_t step[2];           /* its acceleration: every step-th; 1: all */
};

/* The protocol's samples lie on the grid (core/plan/plan.h). With the header's center. */
void bs_lines_of(struct bs_lines *l, const struct bs_protocol *p, const struct bs_scan_info *info);
/* With this one. */
void bs_lines_about(struct bs_lines *l, const struct bs_protocol *p,
		    const struct bs_scan_info *info, const struct bs_center *c);

/* BS_ERR_SIZE: the header promises more lines than readouts_max allows. */
int bs_lines_admit(const struct bs_protocol *p, const struct bs_scan_info *info,
		   struct bs_fail *why);

/* All lines are measured between the limits, and this is how many. 0: only every nth. */
uint32_t bs_lines_full(const struct bs_lines *l);
static inline bool bs_lines_inside(const struct bs_lines *l, uint32_t row)
{
	const uint32_t y = row % l->size[0];
	const uint32_t z = row / l->size[0];

	return y >= l->first[0] && y <= l->last[0] && z >= l->first[1] && z <= l->last[1];
}
/*
 * present [rows]: 1 = this line has come. Lines of the pattern that have not; *total (NULL: not
 * asked for): lines of the pattern. Where nobody can know that a line is of it (a partition
 * of which none came), a line more or less.
 */
uint32_t bs_lines_missing(const struct bs_lines *l, const uint8_t *present, uint32_t rows,
			  uint32_t *total);

/* No pattern has fewer lines. */
uint32_t bs_lines_least(const struct bs_lines *l);
/*
 * What lacks are exactly the lines of the pattern outside of one ellipse about the center of the
 * grid, or a half line beside it, whose axes are along ky and kz and end within a line (of the
 * pattern) of the limits: an elliptical shutter. false in 2D.
 */
bool bs_lines_shutter(const struct bs_lines *l, const uint8_t *present, uint32_t rows);

/* What an image holds, for bs_lacks_words. */
struct bs_held {
	const struct bs_lines *lines; /* NULL: its readouts have a table */
	const uint8_t *present;       /* [rows] */
	uint32_t rows;
	uint32_t readouts, missing;     /* rows that it holds, and that it should have held */
	const char *how;                /* these are missing; NULL: they did not come */
	uint32_t averages;              /* that each should be the mean of; 0: 1 */
	uint32_t fewer;                 /* averages that the rows it holds are short of, together */
	uint32_t shutter;               /* lines that do not lack, outside of an ellipse */
	const struct bs_center *center; /* read where unknown is not 0 */
	uint32_t measured[2];           /* samples of lines that were filled up (readout.h) */
	uint32_t unknown;               /* axes left as zeros (bs_center_unknown) */
	uint32_t strongest;             /* row */
};

/* The same in readouts that did not come. */
static inline uint32_t bs_held_absent(const struct bs_held *h)
{
	return h->missing * (h->averages > 1 ? h->averages : 1) + h->fewer;
}

/* At a glance, neither of the words below: without it there may be some, or none. */
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
 * What an image lacks, in plain words: "accelerated 3 x 1, and this protocol does not unfold it; 2
 * of 20 readouts did not come"; "" when it lacks nothing. Returns out, NUL-terminated within cap.
 */
#define BS_LACKS_WORDS 320u
const char *bs_lacks_words(char *out, size_t cap, const struct bs_protocol *p,
			   const struct bs_scan_info *info, const struct bs_held *held);
/*
 * What is zero in it and does not lack, since nobody promised it and no key fills it: "lines 48 to
 * 63 of 64 were not measured (partial Fourier) and are zeros"; "" where nothing is. As above.
 */
const char *bs_zeros_words(char *out, size_t cap, const struct bs_protocol *p,
			   const struct bs_held *held);

#endif
