/* test/unit/config/test_scankeys.c - which keys a protocol may leave to its scans */
#define _GNU_SOURCE /* mkdtemp */
#include "test/support/site_file.h"

/* clang-format off */
static const struct {
	const char *keys;
	const char *want;
} refused[] = {
	{ "[\"ls.lambda\"]",
	  "4: protocols.[0].scan_keys: \"ls.lambda\" is none of \"ls.iterations\", "
	  "\"image.venc\"" },
	{ "\"ls.iterations\"",
	  "4: protocols.[0].scan_keys: an array as [\"ls.iterations\", \"image.venc\"] is wanted" },
	{ "[\"ls.iterations\"]",
	  "4: protocols.[0].scan_keys: ls.iterations has no effect without a solver" },
	{ "[\"image.venc\"]",
	  "4: protocols.[0].scan_keys: image.venc has no effect without image.output velocity" },
};
/* clang-format on */

int main(void)
{
	char text[1000];

	open_folder();
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		(void)snprintf(text, sizeof(text), PROTOCOL("scan_keys = %s;"), refused[i].keys);
		CHECK(load(&site, text) == BS_ERR_CONFIG && faults == 1 &&
			      strstr(told, refused[i].want) != NULL,
		      "%s: %s; told %s", refused[i].keys, refused[i].want, told);
	}
	CHECK(load(&site, PROTOCOL("scan_keys = [];")) == 0 && site.protocol[0].scan_keys == 0,
	      "none: %s", told);
	close_folder();
	return check_done();
}
