/* test/simulate/disk/listing.c - the names of the disk's folder, one after another; see disk.h */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "test/simulate/disk/disk.h"

static unsigned listed;
static struct dirent entry;

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
	if (strncmp(path, DISK_DIR, strlen(DISK_DIR)) != 0)
		return __real_opendir(path);
	listed = 0;
	return (DIR *)(void *)&listed;
}

int __real_dirfd(DIR *d);
int __wrap_dirfd(DIR *d);
int __wrap_dirfd(DIR *d)
{
	return (void *)d == (void *)&listed ? DISK_FD : __real_dirfd(d);
}

struct dirent *__real_readdir(DIR *d);
struct dirent *__wrap_readdir(DIR *d);
struct dirent *__wrap_readdir(DIR *d)
{
	const char *text;

	if ((void *)d != (void *)&listed)
		return __real_readdir(d);
	text = disk_name(listed++);
	if (text == NULL)
		return NULL;
	(void)snprintf(entry.d_name, sizeof(entry.d_name), "%s", text);
	entry.d_type = DT_REG;
	return &entry;
}

int __real_closedir(DIR *d);
int __wrap_closedir(DIR *d);
int __wrap_closedir(DIR *d)
{
	return (void *)d == (void *)&listed ? 0 : __real_closedir(d);
}
