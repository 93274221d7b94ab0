/* config/hint/near.c - see near.h */
#include "config/hint/near.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned least_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Returns the distance of two words, both shorter than BS_NEAR_MAX. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][BS_NEAR_MAX];
	unsigned *above2 = row[0];
	unsigned *above = row[1];
	unsigned *at = row[2];
	const size_t na = strlen(a);
	const size_t nb = strlen(b);

	for (unsigned j = 0; j <= nb; j++)
		above[j] = j;
	for (unsigned i = 1; i <= na; i++) {
		unsigned *free_row = above2;

		at[0] = i;
		for (unsigned j = 1; j <= nb; j++) {
			at[j] = least_of(above[j - 1] + !same(a[i - 1], b[j - 1]),
					 least_of(above[j], at[j - 1]) + 1);
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				at[j] = least_of(at[j], above2[j - 2] + 1);
		}
		above2 = above;
		above = at;
		at = free_row;
	}
	return above[nb];
}

static unsigned most_steps(size_t letters)
{
	return letters <= 3 ? 1 : letters <= 7 ? 2 : 3;
}

void bs_near_begin(struct bs_near *n, const char *word)
{
	memset(n, 0, sizeof(*n));
	n->word = word;
	n->steps = most_steps(strlen(word)) + 1;
}

void bs_near_offer(struct bs_near *n, const char *word)
{
	const size_t letters = strlen(n->word);
	const size_t of = strlen(word);
	unsigned steps;

	if (letters == 0 || of == 0 || letters >= BS_NEAR_MAX || of >= BS_NEAR_MAX)
		return;
	steps = distance(n->word, word);
	if (steps < n->steps && steps < of) {
		n->steps = steps;
		memcpy(n->best, word, of + 1);
	}
	if (letters >= 3 && of > letters && strncasecmp(n->word, word, letters) == 0 &&
	    n->begun++ == 0)
		memcpy(n->begins, word, of + 1);
}

void bs_near_offer_all(struct bs_near *n, const char *const *words)
{
	for (; *words != NULL; words++)
		bs_near_offer(n, *words);
}

const char *bs_near_best(const struct bs_near *n)
{
	if (n->best[0] != '\0')
		return n->best;
	return n->begun == 1 ? n->begins : NULL;
}

const char *bs_near_hint(const struct bs_near *n, char out[BS_NEAR_HINT])
{
	const char *best = bs_near_best(n);

	out[0] = '\0';
	if (best != NULL)
		(void)snprintf(out, BS_NEAR_HINT, " (did you mean %s?)", best);
	return out;
}
