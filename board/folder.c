/* board/folder.c - see folder.h */
#include "board/folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/protocol.h"

int bs_folder_make(const char *path, mode_t mode, struct bs_fail *why)
{
	char part[BS_PATH_MAX_];
	struct stat st;

	if (path[0] == '\0' || strlen(path) >= sizeof(part))
		return bs_fail(why, BS_ERR_CONFIG, "folder '%s': empty or too long a name", path);
	(void)snprintf(part, sizeof(part), "%s", path);
	for (char *p = part + 1;; p++) {
		bool end = *p == '\0';

		if (*p != '/' && !end)
			continue;
		*p = '\0';
		if (mkdir(part, end ? mode : 0755) != 0 && errno != EEXIST)
			return bs_fail(why, BS_ERR_IO, "folder %s: %s", part, strerror(errno));
		if (end)
			break;
		*p = '/';
	}
	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return bs_fail(why, BS_ERR_IO, "%s is no folder", path);
	return 0;
}
