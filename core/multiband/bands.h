/*
 * core/multiband/bands.h - does an image hold several slices at once, and did all slices come
 *
 * For protocols that do not take such slices apart (apart.h). Two sources tell of them: the header
 * (parallelImaging/multiband); or the scan, when its first repetition has all slices one by one, as
 * references, and each later repetition has a proper divisor of their number, the same one each
 * time. Flags LAST_IN_REPETITION and LAST_IN_MEASUREMENT end a repetition for this count, unless a
 * slice of this scan came behind one. A repetition with another count, or another slice, ends the
 * suspicion for good: slices and repetitions are then nested in another order. Only at the end it
 * is known which slices the header's limits promise but never came. Neither source is proof, and
 * the words claim no more than what was counted.
 * No allocation; one thread. Test: test/unit/core/multiband/test_bands.c, test/replay/scan/bands.sh
 */
#ifndef BS_CORE_MULTIBAND_BANDS_H
#define BS_CORE_MULTIBAND_BANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mrd.h"
#include "core/protocol.h"

struct bs_bands {
	bool on;       /* slices are counted; false: the scan has one slice */
	uint32_t told; /* slices at once by the header; 0: the header does not say */
	/* range of slices that the header's limits promise; equal: one at most */
	uint32_t from, to;
	uint32_t slices; /* the protocol's slices; readouts of other slices are refused */
	/* number of the current run of lines of one repetition, from 1; 0: no line has come */
	uint32_t run;
	uint16_t first, now; /* the first repetition, and that of the current run */
	/*
	 * slices in the first, in the current, and in each later finished repetition; 0: none is
	 * finished
	 */
	uint32_t of_first, of_now, of_later;
	uint32_t came[BS_FRAMES_MAX];    /* [slice]: the last run that had it; 0: it never came */
	uint8_t in_first[BS_FRAMES_MAX]; /* [slice]: 1: the first repetition has it */
	bool last;                       /* a line of the current run was flagged as its last */
	bool astray; /* another slice came behind a line flagged as last, so flags tell nothing */
	bool other;  /* the counts of repetitions rule out slices at once */
	bool closed; /* no more lines come */
	bool cut;    /* the last repetition was not whole when the scan was closed */
	/*
	 * Numbers of images that left before these words were known: of later repetitions (early),
	 * and before the scan was closed (open).
	 */
	struct bs_bands_unsaid {
		uint64_t from, to; /* first and last number; 0: there is none */
	} early, open;
};

void bs_bands_scan(struct bs_bands *b, const struct bs_protocol *p,
		   const struct bs_scan_info *info);
/*
 * Counts a line of an image, before that image is made. The same line may be given twice in a row.
 */
void bs_bands_line(struct bs_bands *b, const struct bs_mrd_idx *idx, uint64_t flags);
/* Notes that no more lines come. cut: a frame of the last line's repetition lacks some lines. */
void bs_bands_close(struct bs_bands *b, bool cut);
/* Notes that an image of this repetition has left. */
void bs_bands_image(struct bs_bands *b, uint16_t repetition, uint64_t number);

/*
 * Returns true if images may hold several slices: maps and fields made from them are not reliable.
 */
bool bs_bands_folded(const struct bs_bands *b);
/* Appends to the words in out what an image of this repetition is now known to lack. */
void bs_bands_lacks(const struct bs_bands *b, uint16_t repetition, char *out, size_t cap);
/* Words about images that left before they could say it; "" where there are none. Returns out. */
#define BS_BANDS_WORDS 256u
const char *bs_bands_words(const struct bs_bands *b, char *out, size_t cap);

#endif
