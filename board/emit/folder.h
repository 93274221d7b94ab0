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

/*
 * *fd: of the file of that name, locked, with this process's number in it; keep it open. -1 when
 * another service holds it (the reason says which) or it cannot be made.
 */
int bs_folder_lock(int *fd, const char *path, const char *file, struct bs_fail *why);

#endif
