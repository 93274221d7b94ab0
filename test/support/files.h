/* test/support/files.h - what lies in a folder */
#ifndef BS_TEST_SUPPORT_FILES_H
#define BS_TEST_SUPPORT_FILES_H

#include <dirent.h>
#include <stddef.h>
#include <string.h>

/* Files whose names go on before this ending. 0, too: no such folder. */
static inline unsigned files_in(const char *folder, const char *ending)
{
	const size_t end = strlen(ending);
	struct dirent *e;
	unsigned n = 0;
	DIR *d = opendir(folder);

	while (d != NULL && (e = readdir(d)) != NULL) {
		const size_t len = strlen(e->d_name);

		n += len > end && strcmp(e->d_name + len - end, ending) == 0;
	}
	if (d != NULL)
		(void)closedir(d);
	return n;
}

#endif
