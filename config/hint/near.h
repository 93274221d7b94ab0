/*
 * config/hint/near.h - which of the known words was meant by a word that is not known
 *
 * begin with the unknown word, offer every word that could stand in its place, then hint: " (did
 * you mean WORD?)", or "" where no word is near. Nearness is the optimal string alignment distance:
 * a letter more, less or changed, or two neighbors swapped, is one step; the case of letters makes
 * none. A word is near at most 1 step away from a word of up to 3 letters, 2 steps up to 7 letters,
 * 3 steps beyond, and fewer steps than it has letters. Where no word is so near, the only word that
 * begins with the unknown one (3 letters or more) is taken. Of several words as near, the first one
 * offered is taken. Words longer than BS_NEAR_MAX - 1 are near to nothing.
 *
 * Allocates nothing; any thread. Test: test/unit/config/test_near.c
 * Source: Damerau, Commun ACM 1964;7:171-176; Levenshtein, Sov Phys Dokl 1966;10:707-710.
 */
#ifndef BS_CONFIG_HINT_NEAR_H
#define BS_CONFIG_HINT_NEAR_H

#define BS_NEAR_MAX  64u
#define BS_NEAR_HINT (BS_NEAR_MAX + 24u)

struct bs_near {
	const char *word; /* unknown word, which outlives this structure */
	/* distance of the nearest word offered so far; a step above the limit: none was near */
	unsigned steps;
	unsigned begun; /* number of words that begin with the unknown one */
	char best[BS_NEAR_MAX], begins[BS_NEAR_MAX];
};

void bs_near_begin(struct bs_near *n, const char *word);
void bs_near_offer(struct bs_near *n, const char *word);
/* Offers each word of a NULL-ended list. */
void bs_near_offer_all(struct bs_near *n, const char *const *words);
/* The word that was meant, or NULL. */
const char *bs_near_best(const struct bs_near *n);
/* Writes the hint. Returns out. */
const char *bs_near_hint(const struct bs_near *n, char out[BS_NEAR_HINT]);

#endif
