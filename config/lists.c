/* config/lists.c - the lists of a site file; see keys.h */
#include "config/keys.h"

#define LIST(path_, array, number, most_)                                                          \
	{                                                                                          \
		path_, offsetof(struct bs_site, array), sizeof(((struct bs_site *)0)->array[0]),   \
			offsetof(struct bs_site, number),                                          \
			(most_) + 0 * sizeof(char[(most_) <= BS_KEY_LIST_MAX ? 1 : -1])            \
	}
const struct bs_key_list bs_key_lists[BS_SCOPES] = {
	[BS_SCOPE_SINK] = LIST("sinks", sink, sinks, BS_SINKS_MAX),
	[BS_SCOPE_STEP] = LIST("steps", step, steps, BS_STEPS_MAX),
	[BS_SCOPE_ANSWER] = LIST("answers", answer, answers, BS_ANSWERS_SITE_MAX),
	[BS_SCOPE_CONFIG] = LIST("bridges.mrd.configs", mrd.config, mrd.configs, BS_CONFIGS_MAX),
	[BS_SCOPE_PEER] = LIST("keys.peers", keys.peer, keys.peers, BS_KEYED_MAX),
	[BS_SCOPE_PROTOCOL] = LIST("protocols", protocol, protocols, BS_PROTOCOLS_MAX),
};

void *bs_key_item(const struct bs_site *site, enum bs_key_scope scope, uint32_t i)
{
	return (char *)(uintptr_t)site + bs_key_lists[scope].at + i * bs_key_lists[scope].step;
}

uint32_t bs_key_items(const struct bs_site *site, enum bs_key_scope scope)
{
	return *(const uint32_t *)(const void *)((const char *)site + bs_key_lists[scope].count);
}
