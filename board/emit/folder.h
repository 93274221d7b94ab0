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
 * Makes a folder with this mode; its parent must exist. A folder that exists already is no error.
 * The reason names the folder that failed.
 */
int bs_folder_make(const char *path, mode_t mode, struct bs_fail *why);

/*
 * Checks whether the folder exists or bs_folder_make could make it, and whether this process may
 * write in it. Changes nothing. The reason names the folder that is in the way.
 */
int bs_folder_usable(const char *path, struct bs_fail *why);

/* True if nothing of that name exists. */
bool bs_folder_gone(const char *path);

#define BS_FOLDER_PID   "boreside.pid" /* file in node.run_dir that the service locks */
#define BS_FOLDER_ENDED "ended "       /* begins the note of a service's end; the status follows */

/*
 * Locks a file in the folder and writes this process's number into it. *fd: the open file, to be
 * kept open; -1: another service holds it (the reason says which), or it cannot be made.
 */
int bs_folder_lock(int *fd, const char *path, const char *file, struct bs_fail *why);
/* Replaces the process's number in a locked file by a line. fd: from bs_folder_lock; -1: no-op. */
void bs_folder_note(int fd, const char *line);

/* Finds who holds a lock: *fd, the open file, and *pid, the process. BS_ERR_STATE: nobody. */
int bs_folder_holder(int *fd, pid_t *pid, const char *path, const char *file, struct bs_fail *why);
bool bs_folder_held(int fd);
/* Returns the exit status in a note of a service's end, and its words; -1: there is no note. */
int bs_folder_ended(int fd, char *words, size_t cap);
/* Sends a signal. BS_ERR_IO: this user may not, or the process is gone. */
int bs_folder_signal(pid_t pid, int number, struct bs_fail *why);

#endif
