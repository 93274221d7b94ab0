/* test/unit/config/test_near.c - which word was meant */
#include <string.h>

#include "config/hint/near.h"
#include "test/support/check.h"

static const char *const words[] = { "serve",      "check",    "replay",          "recon",
				     "record",     "reload",   "receive",         "log",
				     "arm",        "png",      "matrix",          "readouts",
				     "image",      "image_ms", "trajectory.type", "mrd",
				     "iterations", NULL };

static const char *meant(const char *word)
{
	static struct bs_near n;

	bs_near_begin(&n, word);
	bs_near_offer_all(&n, words);
	return bs_near_best(&n) != NULL ? bs_near_best(&n) : "";
}

int main(void)
{
	static const struct {
		const char *word, *want;
	} cases[] = {
		{ "sreve", "serve" }, /* two swapped: one step */
		{ "serv", "serve" },
		{ "servee", "serve" },
		{ "chekc", "check" },
		{ "CHECK", "check" },
		{ "recno", "recon" },
		{ "reocrd", "record" },
		{ "PNG", "png" },
		{ "pn", "png" },
		{ "gnp", "" }, /* two steps of three letters */
		{ "lgo", "log" },
		{ "ar", "arm" },
		{ "x", "" },
		{ "", "" },
		{ "matirx", "matrix" },
		{ "matrices", "matrix" },
		{ "traject", "trajectory.type" },
		{ "iter", "iterations" },
		{ "it", "" },
		{ "re", "" }, /* no short beginnings */
		{ "frobnicate", "" },
		{ "trajctory.tpye", "trajectory.type" },
		{ "image_m", "image_ms" },
	};
	char hint[BS_NEAR_HINT];
	char longest[200];
	struct bs_near n;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK(strcmp(meant(cases[i].word), cases[i].want) == 0, "'%s' means '%s': '%s'",
		      cases[i].word, cases[i].want, meant(cases[i].word));
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	CHECK(meant(longest)[0] == '\0', "a word of %zu letters is near to nothing",
	      strlen(longest));
	for (unsigned cut = BS_NEAR_MAX - 2; cut <= BS_NEAR_MAX; cut++) {
		longest[cut] = '\0';
		bs_near_begin(&n, longest);
		longest[cut] = 'a';
		bs_near_offer(&n, longest);
	}
	longest[BS_NEAR_MAX - 1] = '\0';
	bs_near_begin(&n, longest + 1);
	bs_near_offer(&n, longest);
	bs_near_offer(&n, longest + 2);
	CHECK(bs_near_best(&n) != NULL && strlen(bs_near_best(&n)) == BS_NEAR_MAX - 1,
	      "the longest words that fit");
	bs_near_begin(&n, "reco");
	bs_near_offer(&n, "recordings");
	bs_near_offer(&n, "reconstruction");
	CHECK(bs_near_best(&n) == NULL, "two that begin so: neither");
	CHECK(strcmp(bs_near_hint(&n, hint), "") == 0, "no hint");
	bs_near_offer(&n, "recon");
	CHECK(strcmp(bs_near_hint(&n, hint), " (did you mean recon?)") == 0, "the hint%s", hint);
	return check_done();
}
