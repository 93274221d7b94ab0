/*
 * core/frame/bands.h - does an image hold several slices at once (multiband), and did all come
 *
 * No protocol takes such slices apart. What tells of them: the header (parallelImaging/multiband);
 * or the scan, whose first repetition has all slices one by one, as references, and each later one
 * a proper divisor of them, the same in each. Flags LAST_IN_REPETITION and LAST_IN_MEASUREMENT end
 * a repetition for this count, unless in this scan a slice came behind one. A repetition that has
 * other counts, or another slice, ends the suspicion for good: slices and repetitions are nested
 * otherwise. What is known only at the end: slices that the header's limits promise and that never
 * came. Neither is proof, and the words claim no more than what was counted.
 * No allocation; one thread. Test: test/unit/core/frame/test_bands.c, test/replay/scan/bands.sh
 */
#ifndef BS_CORE_FRAME_BANDS_H
#define BS_CORE_FRAME_BANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mrd.h"
#include "core/protocol.h"

struct bs_bands {
	bool on;             /* else one slice alone: lines and images need not be told here */
	uint32_t told;       /* slices at once, by the header; 0: it does not say */
	uint32_t from, to;   /* slices that the header's limits promise; equal: one at most */
	uint32_t slices;     /* of the protocol: others are refused when they come */
	uint32_t run;        /* of lines of one repetition, from 1; 0: no line has come */
	uint16_t first, now; /* the first repetition, and that of the run */
	uint32_t of_first, of_now, of_later; /* slices in them; in each that is over, 0: none is */
	uint32_t came[BS_FRAMES_MAX];        /* in this run at last; 0: never */
	uint8_t in_first[BS_FRAMES_MAX];     /* 1 = the first repetition has the slice */
	bool last;                           /* a line of the run was flagged as its last */
	bool astray; /* and another slice came behind such a one: flags say nothing */
	bool other;  /* the counts of repetitions are not those of slices at once */
	bool closed; /* no more lines */
	bool cut;    /* and the last repetition was not whole */
	/* numbers of images that left before what they say now was known: of later repetitions,
	 * and before the scan was closed */
	struct bs_bands_unsaid {
		uint64_t from, to; /* 0: none */
	} early, open;
};

void bs_bands_scan(struct bs_bands *b, const struct bs_protocol *p,
		   const struct bs_scan_info *info);
/* A line of an image; before its image is made. The same line may come twice in a row. */
void bs_bands_line(struct bs_bands *b, const struct bs_mrd_idx *idx, uint64_t flags);
/* No more lines. cut: a frame of the last one's repetition lacks some. */
void bs_bands_close(struct bs_bands *b, bool cut);
/* An image of this repetition has left. */
void bs_bands_image(struct bs_bands *b, uint16_t repetition, uint64_t number);

/* Images may hold several slices: maps and fields that are made of them are not to be relied on. */
bool bs_bands_folded(const struct bs_bands *b);
/* Behind the words in out: what is known now that an image of this repetition lacks. */
void bs_bands_lacks(const struct bs_bands *b, uint16_t repetition, char *out, size_t cap);
/* What is known of images that left before it was; "" where none did. Returns out. */
#define BS_BANDS_WORDS 256u
const char *bs_bands_words(const struct bs_bands *b, char *out, size_t cap);

#endif
