/*
 * test/unit/core/multiband/test_bands.c - what a scan shows of several slices in one image, and
 * what an ordinary scan never shows; slices that the header promises
 */
/* Holds: C9 */
#include "core/multiband/bands.h"
#include "test/support/check.h"

#include <string.h>

#define LR BS_MRD_LAST_IN_REPETITION
#define LM BS_MRD_LAST_IN_MEASUREMENT

static struct bs_bands b;
static struct bs_protocol p;
static struct bs_scan_info info;
static uint64_t number; /* of the last image */

static void scan(uint32_t slices, uint32_t promised)
{
	p.slices = slices;
	bs_plan_make(&p);
	info.slice = (struct bs_limit){ .max = promised - 1, .given = promised > 0 };
	bs_bands_scan(&b, &p, &info);
	number = 0;
}

static void line(uint16_t repetition, uint16_t slice, uint64_t flags)
{
	const struct bs_mrd_idx idx = { .slice = slice, .repetition = repetition };

	bs_bands_line(&b, &idx, flags);
}

/* An image of two lines. */
static void image(uint16_t repetition, uint16_t slice, uint64_t flags)
{
	line(repetition, slice, 0);
	line(repetition, slice, flags);
	bs_bands_image(&b, repetition, ++number);
}

/* So many slices, each so far from the one before; flags: of the last one. */
static void images(uint16_t repetition, uint16_t slices, uint16_t step, uint64_t flags)
{
	for (uint16_t s = 0; s < slices; s++)
		image(repetition, (uint16_t)(s * step), s + 1 == slices ? flags : 0);
}

/* What an image of this repetition would say now. */
static const char *lacks(uint16_t repetition)
{
	static char text[320];

	text[0] = '\0';
	bs_bands_lacks(&b, repetition, text, sizeof(text));
	return text;
}

static const char *words(void)
{
	static char text[BS_BANDS_WORDS];

	return bs_bands_words(&b, text, sizeof(text));
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void header(void)
{
	char text[128] = "1 of 64 readouts did not come";

	info.bands = 2;
	scan(4, 4);
	images(0, 2, 1, LM);
	bs_bands_lacks(&b, 0, text, sizeof(text));
	CHECK(begins(text, "1 of 64 readouts did not come; the header says multiband 2, and"),
	      "behind other words: %s", text);
	bs_bands_close(&b, false);
	CHECK(begins(lacks(1), "the header says multiband 2") && words()[0] == '\0' &&
		      bs_bands_folded(&b),
	      "every image says what the header says, and none lacks it: %s", words());
	info.bands = 1;
	scan(4, 4);
	CHECK(lacks(0)[0] == '\0' && !bs_bands_folded(&b), "one slice at a time: %s", lacks(0));
	info.bands = 0;
}

static void shown(void)
{
	scan(4, 4);
	images(0, 4, 1, 0);
	images(1, 2, 1, 0);
	CHECK(lacks(1)[0] == '\0', "repetition 1 is not over: %s", lacks(1));
	line(2, 0, 0);
	CHECK(begins(lacks(2), "later repetitions have 2 of the first one's 4 slices, so that an "
			       "image may hold 2 (multiband)") &&
		      lacks(0)[0] == '\0' && bs_bands_folded(&b),
	      "then it is known, and is not said of the references: %s", lacks(2));
	images(2, 2, 1, 0);
	image(3, 0, 0);
	bs_bands_close(&b, true);
	CHECK(begins(words(), "images 5 to 6 left before it was known: later repetitions have 2"),
	      "those that left before, whatever is cut later: %s", words());

	scan(4, 4);
	images(0, 4, 1, LR);
	images(1, 2, 1, 0);
	line(1, 1, LR);
	CHECK(begins(lacks(1), "later repetitions have 2"), "a flag ends a repetition: %s",
	      lacks(1));
	images(2, 4, 1, LR);
	CHECK(lacks(2)[0] == '\0' && words()[0] == '\0' && !bs_bands_folded(&b),
	      "a whole one clears it: %s", lacks(2));
	images(3, 2, 1, LR);
	bs_bands_close(&b, false);
	CHECK(lacks(3)[0] == '\0' && words()[0] == '\0', "for good: %s", words());

	scan(6, 6);
	images(0, 6, 1, 0);
	images(1, 3, 1, 0);
	bs_bands_close(&b, false);
	CHECK(begins(words(), "images 7 to 9 left before it was known: later repetitions have 3 of "
			      "the first one's 6"),
	      "the end of the scan, too: %s", words());
	scan(6, 6);
	images(0, 6, 1, 0);
	image(1, 0, 0);
	images(2, 1, 1, 0);
	bs_bands_close(&b, false);
	CHECK(begins(words(), "image 7 left"), "one image: %s", words());
}

/* Of line, slice and repetition, in the order that they change in, the fastest last. */
static void nested(const char *order, uint16_t slices)
{
	const uint16_t size[3] = { 2, slices, 3 };
	uint16_t at[3];

	scan(slices, slices);
	for (unsigned i = 0; i < 6u * slices; i++) {
		unsigned rest = i;

		for (int k = 2; k >= 0; k--) {
			const int which = order[k] == 'l' ? 0 : order[k] == 's' ? 1 : 2;

			at[which] = (uint16_t)(rest % size[which]);
			rest /= size[which];
		}
		line(at[2], at[1], at[0] == 1 ? LR : 0);
		if (at[0] == 1)
			bs_bands_image(&b, at[2], ++number);
		CHECK(lacks(0)[0] == '\0' && lacks(1)[0] == '\0' && lacks(2)[0] == '\0',
		      "%s: line %u: %s%s", order, i, lacks(1), lacks(2));
	}
	bs_bands_close(&b, false);
	CHECK(lacks(2)[0] == '\0' && words()[0] == '\0' && !bs_bands_folded(&b), "%s: nothing: %s",
	      order, words());
}

static void ordinary(void)
{
	static const char *const orders[] = { "rsl", "rls", "srl", "slr", "lsr", "lrs" };

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		nested(orders[i], 4);

	scan(4, 4);
	images(0, 4, 1, 0);
	image(1, 0, 0);
	line(1, 1, 0);
	bs_bands_close(&b, true);
	CHECK(lacks(1)[0] == '\0' && words()[0] == '\0', "a stop in repetition 1: %s", words());
	scan(4, 4);
	images(0, 4, 1, 0);
	images(1, 4, 1, 0);
	images(2, 2, 1, 0);
	bs_bands_close(&b, false);
	CHECK(lacks(2)[0] == '\0' && words()[0] == '\0', "a stop in repetition 2: %s", words());
	scan(5, 5);
	images(0, 5, 1, 0);
	images(1, 2, 1, 0);
	bs_bands_close(&b, false);
	CHECK(words()[0] == '\0', "2 of 5 slices are not several at once: %s", words());
	scan(4, 4);
	images(0, 2, 1, 0);
	images(1, 2, 1, 0);
	images(0, 2, 3, 0);
	images(1, 2, 3, 0);
	bs_bands_close(&b, false);
	CHECK(!bs_bands_folded(&b), "slices in two groups, one after the other");
	scan(4, 4);
	images(0, 4, 1, 0);
	images(1, 2, 1, 0);
	images(2, 1, 1, 0);
	line(3, 0, 0);
	bs_bands_close(&b, false);
	CHECK(!bs_bands_folded(&b), "repetitions of other counts each");
}

/* Flags at the end of every slice end no repetition. */
static void flagged(void)
{
	scan(4, 4);
	for (uint16_t s = 0; s < 4; s++)
		image(0, s, LR);
	for (uint16_t s = 0; s < 4; s++) {
		image(1, s, LM);
		CHECK(lacks(1)[0] == '\0', "slice %u: %s", s, lacks(1));
	}
	bs_bands_close(&b, false);
	CHECK(words()[0] == '\0', "nothing: %s", words());
}

static void promised(void)
{
	scan(4, 4);
	images(0, 2, 2, LM);
	CHECK(lacks(0)[0] == '\0' && words()[0] == '\0', "not before the end: %s", lacks(0));
	bs_bands_close(&b, false);
	CHECK(begins(lacks(0), "of slices 0 to 3, which the header promises, slice 1 and 1 more "
			       "did not come"),
	      "%s", lacks(0));
	CHECK(begins(words(), "images 1 to 2 left before it was known: of slices 0 to 3") &&
		      !bs_bands_folded(&b),
	      "%s", words());
	scan(2, 0);
	image(0, 0, 0);
	bs_bands_close(&b, false);
	CHECK(words()[0] == '\0', "no limits, no promise: %s", words());
	scan(2, 1);
	image(0, 1, 0);
	bs_bands_close(&b, false);
	CHECK(words()[0] == '\0', "limits of one slice, which is not slice 0: %s", words());
	scan(3, 0);
	info.slice = (struct bs_limit){ .min = 1, .max = UINT32_MAX, .given = 1 };
	bs_bands_scan(&b, &p, &info);
	image(0, 1, 0);
	line(0, UINT16_MAX, 0);
	bs_bands_close(&b, false);
	CHECK(begins(lacks(0), "of slices 1 to 4294967295, which the header promises, slice 2 "
			       "did not come"),
	      "%s", lacks(0));
	info.slice = (struct bs_limit){ .min = 9, .max = 2, .given = 1 };
	bs_bands_scan(&b, &p, &info);
	image(0, 1, 0);
	bs_bands_close(&b, false);
	CHECK(words()[0] == '\0', "limits that are none: %s", words());
}

static void longest(void)
{
	scan(BS_FRAMES_MAX, 0);
	images(UINT16_MAX, BS_FRAMES_MAX, 1, 0);
	number = UINT32_MAX;
	images(1, BS_FRAMES_MAX / 2, 1, 0);
	bs_bands_close(&b, false);
	CHECK(strlen(words()) > 150 && strstr(words(), "taken apart") != NULL,
	      "%zu of %u bytes: %s", strlen(words()), BS_BANDS_WORDS, words());
}

int main(void)
{
	header();
	shown();
	ordinary();
	flagged();
	promised();
	longest();
	return check_done();
}
