/* board/emit/folder.c - see folder.h */
#define _GNU_SOURCE /* flock */
#include "board/emit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

int bs_folder_usable(const char *path, struct bs_fail *why)
{
	char part[BS_PATH_MAX_];
	struct stat st;
	char *slash;

	if (path[0] == '\0' || strlen(path) >= sizeof(part))
		return bs_fail(why, BS_ERR_CONFIG, "folder '%s': empty or too long a name", path);
	(void)snprintf(part, sizeof(part), "%s", path);
	/* the nearest one that is there: the others would be made in it */
	while (stat(part, &st) != 0) {
		slash = strrchr(part, '/');
		if (errno != ENOENT || slash == NULL)
			return bs_fail(why, BS_ERR_IO, "folder %s: %s", part, strerror(errno));
		slash[slash == part ? 1 : 0] = '\0';
	}
	if (!S_ISDIR(st.st_mode))
		return bs_fail(why, BS_ERR_IO, "%s is no folder", part);
	if (access(part, W_OK | X_OK) != 0)
		return bs_fail(why, BS_ERR_IO, "folder %s: %s", part, strerror(errno));
	return 0;
}

int bs_folder_lock(int *fd, const char *path, const char *file, struct bs_fail *why)
{
	char name[BS_PATH_MAX_ + 32];
	char pid[16] = "";
	int n;

	(void)snprintf(name, sizeof(name), "%s/%s", path, file);
	*fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (*fd < 0)
		return bs_fail(why, BS_ERR_IO, "%s: %s", name, strerror(errno));
	if (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
		bool held = errno == EWOULDBLOCK;
		const char *words = strerror(errno);
		ssize_t len = held ? read(*fd, pid, sizeof(pid) - 1) : 0;

		pid[len > 0 ? strcspn(pid, "\n") : 0] = '\0';
		(void)close(*fd);
		*fd = -1;
		if (!held)
			return bs_fail(why, BS_ERR_IO, "%s: %s", name, words);
		return bs_fail(why, BS_ERR_IO,
			       "%s: another service runs in this folder (process %s): give each "
			       "its own",
			       name, pid[0] != '\0' ? pid : "not known");
	}
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(*fd, 0) == 0 && pwrite(*fd, pid, (size_t)n, 0) == n)
		return 0;
	(void)bs_fail(why, BS_ERR_IO, "%s: %s", name, strerror(errno));
	(void)close(*fd);
	*fd = -1;
	return BS_ERR_IO;
}
