/* config/find.c - rows of the table by their names; see keys.h */
#include "config/keys.h"

#include <string.h>

const struct bs_key *bs_key_find(enum bs_key_scope scope, const char *path)
{
	for (size_t i = 0; i < bs_keys_count; i++)
		if (bs_keys[i].scope == scope && strcmp(bs_keys[i].path, path) == 0)
			return &bs_keys[i];
	return NULL;
}

bool bs_key_is_group(enum bs_key_scope scope, const char *group)
{
	size_t n = strlen(group);

	for (size_t i = 0; i < bs_keys_count; i++)
		if (bs_keys[i].scope == scope && strncmp(bs_keys[i].path, group, n) == 0 &&
		    bs_keys[i].path[n] == '.')
			return true;
	return false;
}
