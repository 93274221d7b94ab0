/*
 * core/whole.h - reads and writes that end when all bytes are there, over interruptions
 *
 * at: offset in the file; negative: where the descriptor is. May block; allocates nothing.
 * Test: test/unit/drivers/test_tables.c, test/unit/drivers/log/test_log_faults.c
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the number of bytes read: fewer where the file ends (errno 0), or for an error's sake. */
size_t bs_read_whole(int fd, void *to, size_t len, int64_t at);
/* Returns false where errno says why not: ENOSPC where nothing is taken, for no other reason. */
bool bs_write_whole(int fd, const void *from, size_t len, int64_t at);
