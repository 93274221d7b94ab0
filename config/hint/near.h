/*
 * config/hint/near.h - which of the known words was meant by one that is not known
 *
 * begin with the word that is not known, offer every word that could stand in its place, then hint:
 * " (did you mean WORD?)", or "" where none is near. Near by the optimal string alignment distance
 * (a letter more, less, changed, or two neighbors swapped is one step, the case of letters none):
 * at most 1 step for a word of up to 3 letters, 2 up to 7, 3 beyond, and fewer than the letters of
 * the word that is offered; or, where none is so near, the only one that begins with it (3 letters
 * or more). Of several as near, the one that was offered first. Longer words than BS_NEAR_MAX - 1
 * are near to nothing.
 *
 * Allocates nothing; any thread. Test: test/unit/config/test_near.c
 * Source: Damerau, Commun ACM 1964;7:171-176; Levenshtein, Sov Phys Dokl 1966;10:707-710.
 */
#ifndef BS_CONFIG_HINT_NEAR_H
#define BS_CONFIG_HINT_NEAR_H

#define BS_NEAR_MAX  64u
#define BS_NEAR_HINT (BS_NEAR_MAX + 24u)

struct bs_near {
	const char *word; /* outlives this */
	unsigned steps;   /* of best; one too many: none yet */
	unsigned begun;   /* words that begin with it */
	char best[BS_NEAR_MAX], begins[BS_NEAR_MAX];
};

void bs_near_begin(struct bs_near *n, const char *word);
void bs_near_offer(struct bs_near *n, const char *word);
/* Each of a NULL-ended list. */
void bs_near_offer_all(struct bs_near *n, const char *const *words);
/* The word that was meant, or NULL. */
const char *bs_near_best(const struct bs_near *n);
/* Returns out. */
const char *bs_near_hint(const struct bs_near *n, char out[BS_NEAR_HINT]);

#endif
