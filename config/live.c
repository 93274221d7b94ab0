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
	{ "node.acq_slots", "the shared memory is laid out" },
	{ "node.image_slots", "the shared memory is laid out" },
	{ "node.study_scans", "the shared memory is laid out" },
	{ "", "it is taken up" },
};

struct telling {
	void (*report)(void *arg, const char *line);
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

bool bs_live_same(const struct bs_protocol *a, const struct bs_protocol *b)
{
	for (size_t i = 0; i < bs_keys_count; i++)
		if (bs_keys[i].scope == BS_SCOPE_PROTOCOL && !same(&bs_keys[i], a, b))
			return false;
	return a->by_header == b->by_header;
}

static bool is_live(const char *path)
{
	for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++)
		if (strcmp(live[i], path) == 0)
			return true;
	return false;
}

int bs_live_check(const struct bs_site *is, const struct bs_site *wanted,
		  void (*report)(void *arg, const char *line), void *arg)
{
	struct telling t = { report, arg, wanted->file, 0 };
	bool sinks = is->sinks == wanted->sinks;

	for (size_t i = 0; i < bs_keys_count; i++)
		if (bs_keys[i].scope == BS_SCOPE_SITE && !is_live(bs_keys[i].path) &&
		    !same(&bs_keys[i], is, wanted))
			tell_change(&t, bs_keys[i].path);
	for (uint32_t i = 0; sinks && i < is->sinks; i++)
		sinks = strcmp(is->sink[i].type, wanted->sink[i].type) == 0 &&
			strcmp(is->sink[i].dir, wanted->sink[i].dir) == 0 &&
			strcmp(is->sink[i].store, wanted->sink[i].store) == 0;
	if (!sinks)
		tell_change(&t, "sinks");
	if (is->mrd.configs != wanted->mrd.configs ||
	    memcmp(is->mrd.config, wanted->mrd.config, sizeof(is->mrd.config)) != 0)
		tell_change(&t, "bridges.mrd.configs");
	if (is->keys.peers != wanted->keys.peers ||
	    memcmp(is->keys.peer, wanted->keys.peer, sizeof(is->keys.peer)) != 0)
		tell_change(&t, "keys.peers");
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
