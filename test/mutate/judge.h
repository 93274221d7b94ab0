/*
 * test/mutate/judge.h - is what was given of a scan right, or said in true words
 *
 * RIGHT: an image of each frame, complete, as the object is. PARTIAL: some are not, and each says
 * so by reasons that are so, or is named in the outcome. REFUSED: in words. WRONG: anything else.
 */
#ifndef BS_TEST_MUTATE_JUDGE_H
#define BS_TEST_MUTATE_JUDGE_H

#include "test/mutate/run.h"

enum verdict { RIGHT, PARTIAL, REFUSED, WRONG, VERDICTS };

struct judgment {
	enum verdict verdict;
	uint32_t untold; /* frames that no counter tells, of which partial images say so */
	char words[400];
};

void judge(struct judgment *j, struct scan *s, const struct answer *a);
/* Images, quality and reasons are those of recon. */
bool judge_same(struct judgment *j, const struct answer *served, const struct answer *recon);

#endif
