/* config/hint/place.c - see place.h */
#include "config/hint/place.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/hint/near.h"

#define PATH_LEN 256u

/* Finds the entry of the folder that is near to word: its name in near, or "". */
static void look_in_folder(struct bs_near *near, const char *folder, const char *word)
{
	DIR *d = opendir(folder);
	const struct dirent *e;

	bs_near_begin(near, word);
	if (d == NULL)
		return;
	for (unsigned n = 0; n < BS_PLACE_ENTRIES && (e = readdir(d)) != NULL; n++)
		if (e->d_name[0] != '.')
			bs_near_offer(near, e->d_name);
	(void)closedir(d);
}

const char *bs_place_hint(const char *path, char out[BS_PLACE_HINT])
{
	char there[PATH_LEN];
	char word[PATH_LEN];
	struct bs_near near;
	const char *from = path;
	size_t n = 0;

	out[0] = '\0';
	if (strlen(path) >= PATH_LEN)
		return out;
	for (;;) { /* the part of path before `from` exists */
		from += strspn(from, "/");
		n = strcspn(from, "/");
		if (n == 0)
			return out; /* the whole path exists */
		(void)snprintf(there, sizeof(there), "%.*s", (int)(from + n - path), path);
		if (access(there, F_OK) != 0)
			break;
		from += n;
	}
	(void)snprintf(word, sizeof(word), "%.*s", (int)n, from);
	(void)snprintf(there, sizeof(there), "%.*s", (int)(from - path), path);
	look_in_folder(&near, there[0] != '\0' ? there : ".", word);
	if (bs_near_best(&near) != NULL)
		(void)snprintf(out, BS_PLACE_HINT, " (did you mean %s%s?)", there,
			       bs_near_best(&near));
	return out;
}
