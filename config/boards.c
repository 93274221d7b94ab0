/* config/boards.c - defaults of keys by the kind of machine; see keys.h */
#include "config/keys.h"

#include <string.h>

/* The defaults of the table that a board changes. */
static const struct {
	const char *board, *path, *fallback;
} profiles[] = {
	{ "workstation", "node.acq_slots", "2048" },
	{ "workstation", "node.image_slots", "16" },
	{ "workstation", "node.memory_mib", "32768" },
	{ "jetson", "node.acq_slots", "256" },
	{ "jetson", "node.image_slots", "4" },
	{ "jetson", "node.memory_mib", "3072" },
	{ "workstation", "realtime.priority", "60" },
	{ "workstation", "realtime.lock_memory", "true" },
	{ "jetson", "realtime.priority", "60" },
	{ "jetson", "realtime.lock_memory", "true" },
	{ "workstation", "overload.archive", "\"keep_newest\"" },
	{ "workstation", "overload.sinks", "\"keep_newest\"" },
	{ "jetson", "overload.archive", "\"keep_newest\"" },
	{ "jetson", "overload.sinks", "\"keep_newest\"" },
	{ "jetson", "realtime.gpu_wait", "\"block\"" },
};

const char *bs_key_fallback(const struct bs_key *key, const char *board)
{
	if (key->scope == BS_SCOPE_SITE)
		for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++)
			if (strcmp(profiles[i].board, board) == 0 &&
			    strcmp(profiles[i].path, key->path) == 0)
				return profiles[i].fallback;
	return key->fallback;
}
