/* test/unit/config/test_live.c - each key of the node: it may change, or is refused by its name */
#include "config/live.h"

#include <string.h>

#include "config/keys.h"
#include "test/support/check.h"

static char told[1024];
static unsigned lines;

static void collect(void *arg, const char *line)
{
	(void)arg;
	lines++;
	(void)snprintf(told, sizeof(told), "%s", line);
}

int main(void)
{
	static struct bs_site is;
	static struct bs_site wanted;
	static struct bs_site now;
	unsigned live = 0;
	unsigned refused = 0;

	(void)snprintf(is.file, sizeof(is.file), "/site.cfg");
	wanted = is;
	CHECK(bs_live_check(&is, &wanted, collect, NULL) == 0 && lines == 0, "no change, no word");
	for (size_t i = 0; i < bs_keys_count; i++) {
		const struct bs_key *k = &bs_keys[i];

		if (k->scope != BS_SCOPE_SITE)
			continue;
		wanted = is;
		((unsigned char *)&wanted)[k->offset] ^= 'a';
		lines = 0;
		int rc = bs_live_check(&is, &wanted, collect, NULL);

		live += rc == 0 && lines == 0;
		now = is;
		bs_live_take(&now, &wanted);
		CHECK(memcmp(&now, rc == 0 ? &wanted : &is, sizeof(now)) == 0, "%s is %s", k->path,
		      rc == 0 ? "taken" : "not written");
		if (rc == 0)
			continue;
		refused++;
		CHECK(rc == BS_ERR_CONFIG && lines == 1 && strstr(told, k->path) != NULL &&
			      strstr(told, "/site.cfg: ") == told && strstr(told, "at its start"),
		      "%s", told);
	}
	CHECK(live == 4 && refused > 20, "%u keys of the node may change, %u may not", live,
	      refused);
	wanted = is;
	wanted.sinks = 1;
	CHECK(bs_live_check(&is, &wanted, collect, NULL) != 0 && strstr(told, "sinks: ") != NULL,
	      "%s", told);
	is.sinks = 1;
	wanted.sink[0].dir[0] = 'x';
	CHECK(bs_live_check(&is, &wanted, collect, NULL) != 0 && strstr(told, "sinks: ") != NULL,
	      "another folder, too");
	wanted = is;
	wanted.protocols = 3;
	wanted.protocol[1].coils = 4;
	CHECK(bs_live_check(&is, &wanted, collect, NULL) == 0, "protocols may change");
	now = is;
	bs_live_take(&now, &wanted);
	CHECK(memcmp(&now, &wanted, sizeof(now)) == 0, "and are taken");
	for (size_t i = live = 0; i < bs_keys_count; i++) {
		struct bs_protocol *p = &wanted.protocol[0];

		if (bs_keys[i].scope != BS_SCOPE_PROTOCOL)
			continue;
		*p = is.protocol[0];
		((unsigned char *)p)[bs_keys[i].offset] ^= 'a';
		live += bs_live_same(p, &is.protocol[0]);
	}
	CHECK(live == 0 && bs_live_same(&is.protocol[0], &is.protocol[1]),
	      "each key of a protocol makes it another (%u do not)", live);
	return check_done();
}
