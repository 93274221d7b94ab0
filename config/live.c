/* config/live.c - see live.h */
#include "config/live.h"

#include <stdio.h>
#include <string.h>

#include "config/keys.h"

static const char *const live[] = { "node.name", "node.memory_mib", "node.drain_s", "node.log" };

/* reason why a key cannot change, by the key's first letters; the last row is for all others */
static const struct {
	const char *begins, *why;
} held[] = {
	{ "endpoints.", "sockets are opened" },
	{ "realtime.", "threads are set up" },
	{ "gpu.", "devices are set up" },
	{ "overload.", "takers are opened" },
	{ "log.", "the shared memory is laid out" },
	{ "web.", "the page is opened" },
	{ "keys.", "sockets are opened" },
	{ "sinks", "takers are opened" },
	{ "bridges.", "their processes are started" },
	{ "steps", "their processes are started" },
	{ "answers", "the shared memory is laid out" },
	{ "node.acq_slots", "the shared memory is laid out" },
	{ "node.image_slots", "the shared memory is laid out" },
	{ "node.study_scans", "the shared memory is laid out" },
	{ "", "it is taken up" },
};

struct telling {
	bs_tell_line *report;
	void *arg;
	const char *file;
	int first;
};

static void tell_change(struct telling *t, const char *key)
{
	char line[BS_PATH_MAX_ + 160];
	size_t i = 0;

	while (strncmp(key, held[i].begins, strlen(held[i].begins)) != 0)
		i++;
	(void)snprintf(line, sizeof(line),
		       "%s: %s: cannot change while the service runs: %s at its start", t->file,
		       key, held[i].why);
	t->first = BS_ERR_CONFIG;
	t->report(t->arg, line);
}

/* Returns true if the key has the same value in a and b, two structs of its scope. */
static bool same(const struct bs_key *k, const void *a, const void *b)
{
	const char *x = (const char *)a + k->offset;
	const char *y = (const char *)b + k->offset;
	const bool text = k->type == BS_KEY_TEXT || k->type == BS_KEY_WORD_TEXT ||
			  k->type == BS_KEY_PATH || k->type == BS_KEY_URL || k->type == BS_KEY_CPUS;

	return text ? strcmp(x, y) == 0 : memcmp(x, y, k->size) == 0;
}

/* All keys of the scope have the same values in a and b. */
static bool same_keys(enum bs_key_scope scope, const void *a, const void *b)
{
	for (size_t i = 0; i < bs_keys_count; i++)
		if (bs_keys[i].scope == scope && !same(&bs_keys[i], a, b))
			return false;
	return true;
}

bool bs_live_same(const struct bs_protocol *a, const struct bs_protocol *b)
{
	return same_keys(BS_SCOPE_PROTOCOL, a, b) && a->by_header == b->by_header;
}

static bool same_items(enum bs_key_scope scope, const struct bs_site *a, const struct bs_site *b)
{
	const uint32_t n = bs_key_items(a, scope);
	bool same_so_far = n == bs_key_items(b, scope);

	for (uint32_t i = 0; same_so_far && i < n; i++)
		same_so_far = same_keys(scope, bs_key_item(a, scope, i), bs_key_item(b, scope, i));
	return same_so_far;
}

static bool is_live(const char *path)
{
	for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++)
		if (strcmp(live[i], path) == 0)
			return true;
	return false;
}

int bs_live_check(const struct bs_site *is, const struct bs_site *wanted, bs_tell_line *report,
		  void *arg)
{
	struct telling t = { report, arg, wanted->file, 0 };

	for (size_t i = 0; i < bs_keys_count; i++)
		if (bs_keys[i].scope == BS_SCOPE_SITE && !is_live(bs_keys[i].path) &&
		    !same(&bs_keys[i], is, wanted))
			tell_change(&t, bs_keys[i].path);
	for (int s = BS_SCOPE_SINK; s < BS_SCOPE_PROTOCOL; s++)
		if (!same_items((enum bs_key_scope)s, is, wanted))
			tell_change(&t, bs_key_lists[s].path);
	return t.first;
}

void bs_live_take(struct bs_site *to, const struct bs_site *from)
{
	for (size_t i = 0; i < bs_keys_count; i++)
		if (bs_keys[i].scope == BS_SCOPE_SITE && is_live(bs_keys[i].path))
			memcpy((char *)to + bs_keys[i].offset,
			       (const char *)from + bs_keys[i].offset, bs_keys[i].size);
	memcpy(to->protocol, from->protocol, sizeof(to->protocol));
	to->protocols = from->protocols;
}
