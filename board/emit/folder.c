/* board/emit/folder.c - see folder.h */
#include "board/emit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/hint/place.h"
#include "core/protocol.h"

/* part: the path without slashes at its end. parent: the folder that it lies in. */
static int split(char part[BS_PATH_MAX_], char parent[BS_PATH_MAX_], const char *path,
		 struct bs_fail *why)
{
	size_t n = strlen(path);
	const char *slash;

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n == 0 || n >= BS_PATH_MAX_)
		return bs_fail(why, BS_ERR_CONFIG, "folder '%s': empty or too long a name", path);
	(void)snprintf(part, BS_PATH_MAX_, "%.*s", (int)n, path);
	slash = strrchr(part, '/');
	if (slash == NULL)
		(void)snprintf(parent, BS_PATH_MAX_, ".");
	else
		(void)snprintf(parent, BS_PATH_MAX_, "%.*s",
			       slash == part ? 1 : (int)(slash - part), part);
	return 0;
}

/* Fails because a folder's parent cannot be used. error: stat's errno for the parent. */
static int no_parent(struct bs_fail *why, const char *part, const char *parent, int error)
{
	char hint[BS_PLACE_HINT];

	if (error == ENOENT)
		return bs_fail(
			why, BS_ERR_IO,
			"folder %s: %s is not there%s; only the last part of a path is made, "
			"so that a mistyped one is found: %s",
			part, parent, bs_place_hint(parent, hint), strerror(error));
	return bs_fail(why, BS_ERR_IO, "folder %s: %s", part, strerror(error));
}

int bs_folder_make(const char *path, mode_t mode, struct bs_fail *why)
{
	char part[BS_PATH_MAX_];
	char parent[BS_PATH_MAX_];
	struct stat st;
	int rc = split(part, parent, path, why);

	if (rc != 0)
		return rc;
	if (mkdir(part, mode) != 0 && errno != EEXIST)
		return no_parent(why, part, parent, errno);
	if (stat(part, &st) != 0 || !S_ISDIR(st.st_mode))
		return bs_fail(why, BS_ERR_IO, "%s is no folder", part);
	return 0;
}

int bs_folder_usable(const char *path, struct bs_fail *why)
{
	char part[BS_PATH_MAX_];
	char parent[BS_PATH_MAX_];
	const char *where = part;
	struct stat st;
	int rc = split(part, parent, path, why);

	if (rc != 0)
		return rc;
	if (stat(part, &st) != 0) { /* the folder would have to be made */
		where = parent;
		if (errno != ENOENT || stat(parent, &st) != 0)
			return no_parent(why, part, parent, errno);
	}
	if (!S_ISDIR(st.st_mode))
		return bs_fail(why, BS_ERR_IO, "%s is no folder", where);
	if (access(where, W_OK | X_OK) != 0)
		return bs_fail(why, BS_ERR_IO, "folder %s: %s", where, strerror(errno));
	return 0;
}

bool bs_folder_gone(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 && errno == ENOENT;
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

void bs_folder_note(int fd, const char *line)
{
	if (fd >= 0 && ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, line, strlen(line), 0);
}

bool bs_folder_held(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) != 0)
		return errno == EWOULDBLOCK;
	(void)flock(fd, LOCK_UN);
	return false;
}

int bs_folder_holder(int *fd, pid_t *pid, const char *path, const char *file, struct bs_fail *why)
{
	char name[BS_PATH_MAX_ + 32];
	char text[32];
	ssize_t n;

	(void)snprintf(name, sizeof(name), "%s/%s", path, file);
	*fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (*fd < 0)
		return bs_fail(why, errno == ENOENT ? BS_ERR_STATE : BS_ERR_IO,
			       errno == ENOENT ? "%s: no service runs there: %s" : "%s: %s", name,
			       strerror(errno));
	n = pread(*fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	*pid = (pid_t)strtol(text, NULL, 10);
	if (*pid > 1 && bs_folder_held(*fd))
		return 0;
	(void)close(*fd);
	*fd = -1;
	return bs_fail(why, BS_ERR_STATE, "%s: no service runs there", name);
}

int bs_folder_ended(int fd, char *words, size_t cap)
{
	const size_t mark = strlen(BS_FOLDER_ENDED);
	char text[256];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	if (strncmp(text, BS_FOLDER_ENDED, mark) != 0)
		return -1;
	char *end;
	const int status = (int)strtol(text + mark, &end, 10);

	(void)snprintf(words, cap, "%s", end + strspn(end, " "));
	return status;
}

int bs_folder_signal(pid_t pid, int number, struct bs_fail *why)
{
	if (kill(pid, number) == 0)
		return 0;
	return bs_fail(why, BS_ERR_IO, "process %d cannot be told: %s", (int)pid, strerror(errno));
}
