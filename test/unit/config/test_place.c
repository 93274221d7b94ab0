/* test/unit/config/test_place.c - which file or folder was meant; the protocol that was */
#define _GNU_SOURCE /* mkdtemp */
#include "config/hint/place.h"

#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "config/config.h"
#include "test/support/check.h"

static char root[] = "/tmp/bs_place.XXXXXX";

/* the hint for root/path is that of root/want, or none */
static void is(const char *path, const char *want)
{
	char full[400];
	char hint[BS_PLACE_HINT];
	char expected[BS_PLACE_HINT] = "";

	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	if (want != NULL)
		(void)snprintf(expected, sizeof(expected), " (did you mean %s/%s?)", root, want);
	CHECK(strcmp(bs_place_hint(full, hint), expected) == 0, "%.60s:%s", path, hint);
}

static void make(const char *path)
{
	char full[300];

	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	if (mkdir(full, 0755) != 0)
		CHECK(false, "mkdir %s", full);
}

#define BOTH "'head', 'spine_3d'"

static void chooses(const char *asked, const char *words)
{
	static struct bs_site site = { .protocols = 2,
				       .protocol = { { .name = "head" }, { .name = "spine_3d" } } };
	struct bs_fail why = { 0 };

	CHECK(bs_config_choose(&site, asked, NULL, &why) == NULL && strcmp(why.text, words) == 0,
	      "%s: %s", asked, why.text);
}

int main(void)
{
	char hint[BS_PLACE_HINT];
	char longest[600];

	if (mkdtemp(root) == NULL)
		return 1;
	make("images");
	make("images/monday");
	make(".images");
	make("logs");
	is("images", NULL);
	is("images/", NULL);
	is("imgaes", "images");
	is("imgaes/monday", "images");
	is("images/munday/x.h5", "images/monday");
	is("images//mondya", "images//monday");
	is("quite/another", NULL);
	is(".image", "images");
	CHECK(strcmp(bs_place_hint("", hint), "") == 0, "no path, no hint");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	CHECK(strcmp(bs_place_hint(longest, hint), "") == 0, "too long a path");
	longest[255] = '\0';
	CHECK(strcmp(bs_place_hint(longest, hint), "") == 0, "the longest path");
	CHECK(chdir(root) == 0 &&
		      strcmp(bs_place_hint("lgos/x", hint), " (did you mean logs?)") == 0,
	      "a relative path:%s", hint);
	chooses("haed", "the site has no protocol 'haed' (did you mean head?); it has " BOTH);
	chooses("spine", "the site has no protocol 'spine' (did you mean spine_3d?); it has " BOTH);
	chooses("knee", "the site has no protocol 'knee'; it has " BOTH);
	for (int i = 0; i < 4; i++) {
		static const char *const made[] = { "images/monday", "images", ".images", "logs" };

		(void)snprintf(longest, sizeof(longest), "%s/%s", root, made[i]);
		CHECK(rmdir(longest) == 0, "%s is removed", made[i]);
	}
	CHECK(chdir("/") == 0 && rmdir(root) == 0, "as is its folder");
	return check_done();
}
