/*
 * core/study/labels.h - which channel of an earlier scan is which of this one
 *
 * By the names in the header's coilLabel elements, of which the nth is the data's nth channel. They
 * tell where each scan has as many as it has channels, each with a name of its own; else channels
 * are matched by their number. coilNumber is a plug of the scanner (numbers with gaps, in any
 * order) and tells nothing, but where the numbers of a header count its channels in another order
 * than the elements stand in: if it matters which of both is meant, nobody knows.
 * No state, no allocation; any thread. Test: test/unit/core/study/test_labels.c
 */
#ifndef BS_CORE_STUDY_LABELS_H
#define BS_CORE_STUDY_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"
#include "core/mrd.h"

enum bs_matched {
	BS_MATCHED_OWN, /* there is no earlier scan */
	BS_MATCHED_NAME,
	BS_MATCHED_NUMBER, /* some labels do not tell */
	BS_MATCHED_NONE    /* other names */
};

/* Of a scan, in words that name it. */
struct bs_named {
	const struct bs_labels *labels;
	const char *scan; /* its measurementID, or "" */
};

#define BS_MATCH_WORDS 256u
/* of: of each of the earlier scan's channels, which one it is of this scan. words: why by number,
 * or why none; "": by name. */
struct bs_match {
	enum bs_matched by;
	uint8_t of[BS_LABELS_MAX];
	char words[BS_MATCH_WORDS];
};

void bs_match_channels(struct bs_match *m, struct bs_named earlier, struct bs_named own,
		       uint32_t channels);
/* They stand in another order. */
bool bs_match_moves(const struct bs_match *m, uint32_t channels);

#endif
