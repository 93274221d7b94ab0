/*
 * board/emit/folder.h - makes folders, and locks one for one service
 *
 * The lock belongs to the open file: it ends with the process, however that ends.
 * Test: test/unit/board/test_folder.c
 */
#ifndef BS_BOARD_EMIT_FOLDER_H
#define BS_BOARD_EMIT_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/err.h"

/*
 * Makes the folder, with this mode, where the one that it lies in is there; one that is there
 * already is fine. The reason names the one that failed.
 */
int bs_folder_make(const char *path, mode_t mode, struct bs_fail *why);

/*
 * Could make make it, or is it there, and may this process write in it? Changes nothing. The reason
 * names the one that is in the way.
 */
int bs_folder_usable(const char *path, struct bs_fail *why);

/* Nothing of that name is there. */
bool bs_folder_gone(const char *path);

#define BS_FOLDER_PID   "boreside.pid" /* of node.run_dir: locked by the service */
#define BS_FOLDER_ENDED "ended "       /* what a note of it begins with, and the exit status */

/*
 * *fd: of the file of that name, locked, with this process's number in it; keep it open. -1 when
 * another service holds it (the reason says which) or it cannot be made.
 */
int bs_folder_lock(int *fd, const char *path, const char *file, struct bs_fail *why);
/* In the place of the process's number. fd: of lock; -1 does nothing. */
void bs_folder_note(int fd, const char *line);

/* Another process's lock: *fd of the file, open, and *pid who holds it. BS_ERR_STATE: nobody. */
int bs_folder_holder(int *fd, pid_t *pid, const char *path, const char *file, struct bs_fail *why);
bool bs_folder_held(int fd);
/* The exit status that a note of the end has, and its words, or -1: there is no such note. */
int bs_folder_ended(int fd, char *words, size_t cap);
/* BS_ERR_IO: this user may not, or the process is gone. */
int bs_folder_signal(pid_t pid, int number, struct bs_fail *why);

#endif
