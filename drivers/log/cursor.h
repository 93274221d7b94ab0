/*
 * drivers/log/cursor.h - how far a taker of images has come: one number in a file
 *
 * The file is one line, the number in 20 digits. It is overwritten in place, within one sector, so
 * that a process killed at any moment leaves the old number or the new one. get returns 0 for a
 * missing or empty file. Both block on the disk; any thread.
 * Test: test/unit/drivers/log/test_store.c
 */
#ifndef BS_DRIVERS_LOG_CURSOR_H
#define BS_DRIVERS_LOG_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define BS_CURSOR_SUFFIX ".cursor"

/* BS_ERR_IO; BS_ERR_FORMAT: the file holds something else. */
int bs_cursor_get(const char *path, uint64_t *number, struct bs_fail *why);
/* synced: the number is on the disk on return; else it survives a kill, not a loss of power. */
int bs_cursor_put(const char *path, uint64_t number, bool synced, struct bs_fail *why);

#endif
