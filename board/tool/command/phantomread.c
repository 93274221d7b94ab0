/* board/tool/command/phantomread.c - see phantomread.h */
#include "board/tool/command/phantomread.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/tool/phantom/phantom.h"

/* The place of text among words, which end with NULL. */
static int read_word(int *to, const char *text, size_t length, const char *const *words,
		     struct bs_fail *why)
{
	for (int i = 0; words[i] != NULL; i++)
		if (strlen(words[i]) == length && strncmp(text, words[i], length) == 0) {
			*to = i;
			return 0;
		}
	return bs_fail(why, BS_ERR_USAGE, "no such word");
}

int bs_phantom_read_object(void *to, const char *text, struct bs_fail *why)
{
	static const char *const words[] = { "head", "marker", "points", NULL };
	int i = 0;
	int rc = read_word(&i, text, strlen(text), words, why);

	*(enum bs_phantom_object *)to = (enum bs_phantom_object)i;
	return rc;
}

int bs_phantom_read_order(void *to, const char *text, struct bs_fail *why)
{
	static const char *const words[] = { "ascending", "interleaved", "each-tr", NULL };
	int i = 0;
	int rc = read_word(&i, text, strlen(text), words, why);

	*(enum bs_slice_order *)to = (enum bs_slice_order)i;
	return rc;
}

/* From least to most numbers with commas between them; their count, or -1. */
static int numbers(double *to, int least, int most, const char *text)
{
	for (int n = 0; n < most; text++) {
		char *end;

		to[n] = strtod(text, &end);
		if (end == text || isspace((unsigned char)*text) || !isfinite(to[n]))
			return -1;
		n++;
		text = end;
		if (*text == '\0')
			return n >= least ? n : -1;
		if (*text != ',')
			return -1;
	}
	return -1;
}

int bs_phantom_read_two(void *to, const char *text, struct bs_fail *why)
{
	if (numbers(to, 2, 2, text) != 2)
		return bs_fail(why, BS_ERR_USAGE, "not two numbers, as A,B");
	return 0;
}

int bs_phantom_read_three(void *to, const char *text, struct bs_fail *why)
{
	if (numbers(to, 3, 3, text) != 3)
		return bs_fail(why, BS_ERR_USAGE, "not three numbers, as X,Y,Z");
	return 0;
}

static bool whole(double x, double least, double most)
{
	return x >= least && x <= most && x == floor(x);
}

int bs_phantom_read_accel(void *to, const char *text, struct bs_fail *why)
{
	struct bs_scanplan *plan = to;
	double x[3] = { 1.0, 1.0, 0.0 };

	if (numbers(x, 1, 3, text) < 0 || !whole(x[0], 1, 16) || !whole(x[1], 1, 16) ||
	    !whole(x[2], 0, x[1] - 1))
		return bs_fail(why, BS_ERR_USAGE,
			       "not whole numbers from 1 to 16, and a shift below RZ");
	plan->accel[0] = (uint32_t)x[0];
	plan->accel[1] = (uint32_t)x[1];
	plan->shift = (uint32_t)x[2];
	return 0;
}

int bs_phantom_read_calibration(void *to, const char *text, struct bs_fail *why)
{
	static const char *const words[] = { "", "embedded", "interleaved", "separate", NULL };
	struct bs_scanplan *plan = to;
	size_t n = strcspn(text, ",");
	double x[2] = { 0.0, 0.0 };
	int kind = 0;

	if (read_word(&kind, text, n, words, why) != 0 || kind == 0 || text[n] == '\0' ||
	    numbers(x, 1, 2, text + n + 1) < 0 || !whole(x[0], 1, 65535) || !whole(x[1], 0, 65535))
		return bs_fail(why, BS_ERR_USAGE,
			       "not embedded, interleaved or separate, and a number of lines");
	plan->calibration = (enum bs_calibration)kind;
	plan->calibration_lines[0] = (uint32_t)x[0];
	plan->calibration_lines[1] = (uint32_t)x[1];
	return 0;
}

int bs_phantom_read_multiband(void *to, const char *text, struct bs_fail *why)
{
	struct bs_scanbands *m = to;
	double x[2] = { 0.0, 0.0 };

	if (numbers(x, 1, 2, text) < 0 || !whole(x[0], 2, 16) || !whole(x[1], 0, 64))
		return bs_fail(why, BS_ERR_USAGE, "not 2 to 16 slices, and a whole number");
	m->bands = (uint32_t)x[0];
	m->shift = (uint32_t)x[1];
	return 0;
}

int bs_phantom_read_single(void *to, const char *text, struct bs_fail *why)
{
	static const char *const words[] = { "flagged", "first", "none", NULL };
	struct bs_scanbands *m = to;
	const char *const first = text + (strncmp(text, "blipped-", 8) == 0 ? 8 : 0);
	const size_t n = strcspn(first, ",");
	double lines = 0.0;
	int kind = 0;

	if (read_word(&kind, first, n, words, why) != 0 ||
	    (kind == BS_SINGLE_NONE && first != text) ||
	    (first[n] != '\0' &&
	     (kind != BS_SINGLE_FLAGGED || numbers(&lines, 1, 1, first + n + 1) < 0 ||
	      !whole(lines, 1, 65535))))
		return bs_fail(why, BS_ERR_USAGE,
			       "not flagged, flagged,LINES or first, as it is or after blipped-, "
			       "nor none");
	m->single = (enum bs_single_band)kind;
	m->lines = (uint32_t)lines;
	m->blipped = first != text;
	return 0;
}

int bs_phantom_read_partial(void *to, const char *text, struct bs_fail *why)
{
	struct bs_partial *partial = to;

	partial->early = strncmp(text, "early,", 6) == 0;
	if (numbers(&partial->share, 1, 1, text + (partial->early ? 6 : 0)) != 1 ||
	    !(partial->share > 0.5 && partial->share <= 1.0))
		return bs_fail(why, BS_ERR_USAGE, "not a share above 0.5, to 1");
	return 0;
}

int bs_phantom_read_times(void *to, const char *text, struct bs_fail *why)
{
	double *ms = to;
	int n = numbers(ms, 1, BS_PHANTOM_CONTRASTS, text);

	for (int i = 0; i < n; i++)
		if (!(ms[i] > (i > 0 ? ms[i - 1] : 0.0) && ms[i] <= 1e4))
			n = -1;
	if (n < 0)
		return bs_fail(why, BS_ERR_USAGE, "not 1 to 3 rising times up to 10000 ms");
	return 0;
}
