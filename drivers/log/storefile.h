/*
 * drivers/log/storefile.h - a file of the store of images, as it is written and read
 *
 * Blocks on the disk; any thread. Test: test/unit/drivers/log/test_store.c
 */
#ifndef BS_DRIVERS_LOG_STOREFILE_H
#define BS_DRIVERS_LOG_STOREFILE_H

#include "drivers/log/store.h"

/* True if somebody removed the open file. */
bool bs_store_file_gone(int fd);
/* True if there is no such file. */
bool bs_store_file_lacks(const char *dir, const char *name);
/* Opens this file for the reader, unless it is open already. BS_ERR_IO. */
int bs_store_file_open(struct bs_store_reader *r, const char *dir, const char *name,
		       struct bs_fail *why);
/* Reads len bytes at an offset of the reader's file, which lies in dir. BS_ERR_IO. */
int bs_store_file_read(const struct bs_store_reader *r, const char *dir, unsigned char *to,
		       size_t len, uint64_t at, struct bs_fail *why);

#endif
