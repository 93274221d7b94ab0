/*
 * core/study/labels.h - which channel of an earlier scan is which channel of this one
 *
 * Channels are matched by the names in the header's coilLabel elements; the nth element is the
 * data's nth channel. Names are used where each scan has as many of them as channels, each one
 * different; else channels are matched by their number. coilNumber is a plug of the scanner
 * (numbers with gaps, in any order) and is not used for matching. But where the numbers of a header
 * count its channels in another order than the elements stand in, and it matters which order is
 * meant, nobody knows.
 * No state, no allocation; any thread. Test: test/unit/core/study/test_labels.c
 */
#ifndef BS_CORE_STUDY_LABELS_H
#define BS_CORE_STUDY_LABELS_H

#include <stdbool.h>

#include "core/mrd.h"

enum bs_matched {
	BS_MATCHED_OWN, /* there is no earlier scan to match */
	BS_MATCHED_NAME,
	/* channels match by number, because some labels do not identify a channel */
	BS_MATCHED_NUMBER,
	BS_MATCHED_NONE /* channels do not match: their names differ */
};

/* The labels of a scan, and its name for messages. */
struct bs_named {
	const struct bs_labels *labels;
	const char *scan; /* measurementID of the scan, or "" */
};

#define BS_MATCH_WORDS 256u
/*
 * Match of channels. of: for each channel of the earlier scan, its channel in this scan. words: why
 * channels were matched by number, or not at all; "": they were matched by name.
 */
struct bs_match {
	enum bs_matched by;
	uint8_t of[BS_LABELS_MAX];
	char words[BS_MATCH_WORDS];
};

void bs_match_channels(struct bs_match *m, struct bs_named earlier, struct bs_named own,
		       uint32_t channels);
/* Returns true if the channels stand in another order in this scan. */
bool bs_match_moves(const struct bs_match *m, uint32_t channels);

#endif
