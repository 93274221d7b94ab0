/* board/folder.h - makes a folder and those above it; one that is there already is fine */
#ifndef BS_BOARD_FOLDER_H
#define BS_BOARD_FOLDER_H

#include <sys/types.h>

#include "core/err.h"

/* mode: of the last one; those above it get 0755. The reason names the one that failed. */
int bs_folder_make(const char *path, mode_t mode, struct bs_fail *why);

#endif
