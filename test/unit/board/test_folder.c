/* test/unit/board/test_folder.c - one service at a time has a folder, however the last one ended */
/* Holds: W22 */
#define _GNU_SOURCE
#include "board/emit/folder.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/check.h"
#include "test/support/folder.h"

static struct bs_fail why;

/* Starts a process that holds the lock until it is killed; its number. */
static pid_t holder(void)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) != 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		int fd;

		byte = bs_folder_lock(&fd, dir, "lock", NULL) == 0 ? 'y' : 'n';
		(void)!write(ready[1], &byte, 1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1 && byte == 'y', "another process locks the folder");
	(void)close(ready[0]);
	return pid;
}

int main(void)
{
	char deep[120];
	char number[16];
	struct stat st;
	int fd = 7;
	int again;

	(void)snprintf(deep, sizeof(deep), "%s/a/b/c", dir);
	CHECK(bs_folder_usable(deep, &why) == BS_ERR_IO &&
		      strstr(why.text, "/a/b is not there") != NULL,
	      "a mistyped one would not be made: %s", why.text);
	CHECK(bs_folder_make(deep, 0750, &why) == BS_ERR_IO &&
		      strstr(why.text, "/a/b is not there") != NULL && bs_folder_gone(deep),
	      "nor is it: %s", why.text);
	CHECK(bs_folder_usable("/dev/null", &why) == BS_ERR_IO, "a device: %s", why.text);
	CHECK(bs_folder_usable("/dev/null/a", &why) == BS_ERR_IO, "below it: %s", why.text);
	CHECK(bs_folder_make("/dev/null", 0750, &why) == BS_ERR_IO, "no folder: %s", why.text);
	(void)snprintf(deep, sizeof(deep), "%s/a//", dir);
	CHECK(bs_folder_usable(deep, &why) == 0 && bs_folder_gone(deep),
	      "it could be made, and is not there yet");
	CHECK(bs_folder_make(deep, 0750, &why) == 0 && stat(deep, &st) == 0 &&
		      (st.st_mode & 0777) == 0750 && bs_folder_make(deep, 0750, &why) == 0 &&
		      bs_folder_usable(deep, &why) == 0 && !bs_folder_gone(deep),
	      "the last part of a path is made, what is there is fine");
	pid_t pid = holder();

	(void)snprintf(number, sizeof(number), "process %d", (int)pid);
	CHECK(bs_folder_lock(&fd, dir, "lock", &why) == BS_ERR_IO && fd == -1 &&
		      strstr(why.text, dir) != NULL && strstr(why.text, number) != NULL,
	      "a second one is refused: %s", why.text);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	CHECK(bs_folder_lock(&fd, dir, "lock", &why) == 0 && fd >= 0,
	      "once the first has died the folder is free");
	CHECK(bs_folder_lock(&again, dir, "lock", &why) == BS_ERR_IO, "not twice: %s", why.text);
	CHECK(bs_folder_lock(&again, dir, "other", &why) == 0 && close(again) == 0,
	      "another lock of the folder is another");
	CHECK(close(fd) == 0 && bs_folder_lock(&fd, dir, "lock", &why) == 0, "closed, it is free");
	(void)close(fd);
	CHECK(bs_folder_lock(&fd, "/nonexistent", "lock", &why) == BS_ERR_IO && fd == -1,
	      "no folder: %s", why.text);
	return check_done();
}
