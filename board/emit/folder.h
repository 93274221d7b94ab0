/*
 * board/emit/folder.h - makes a folder and those above it; one that is there already is fine. And takes a
 * folder for one service: the lock is the open file's, so it ends with the process, however it ends.
 * Test: test/unit/board/test_folder.c
 */
#ifndef BS_BOARD_EMIT_FOLDER_H
#define BS_BOARD_EMIT_FOLDER_H

#include <sys/types.h>

#include "core/err.h"

/* mode: of the last one; those above it get 0755. The reason names the one that failed. */
int bs_folder_make(const char *path, mode_t mode, struct bs_fail *why);

/*
 * *fd: of the file of that name, locked, with this process's number in it; keep it open. -1 when
 * another service holds it (the reason says which) or it cannot be made.
 */
int bs_folder_lock(int *fd, const char *path, const char *file, struct bs_fail *why);

#endif
