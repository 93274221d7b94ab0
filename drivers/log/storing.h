/*
 * drivers/log/storing.h - what store.c keeps of its files and takers, in memory; see store.h
 */
#ifndef BS_DRIVERS_LOG_STORING_H
#define BS_DRIVERS_LOG_STORING_H

#include <pthread.h>

#include "drivers/log/store.h"

struct record {
	uint64_t number, session, offset; /* of the frame */
	uint32_t len;
	bool bad; /* it cannot be read */
};

/* One file; files are in the order of their first numbers, and the last may be written. */
struct file {
	char name[BS_LOG_NAME];
	uint64_t first, bytes;
	struct record *record; /* of a file that an earlier process wrote: read when needed */
	uint32_t records, room, rounds;
	int64_t again_ns;
	bool known;
};

struct bs_store {
	struct bs_store_spec spec;
	char dir[BS_LOG_DIR];
	pthread_mutex_t lock;
	struct file *file;
	uint32_t files, room, takers;
	uint64_t bytes, last, made, segment_bytes;
	struct bs_store_taker taker[BS_STORE_TAKERS];
	bool unsaved[BS_STORE_TAKERS]; /* its file may have another cursor */
	struct bs_log_writer log;
	unsigned char *buffer, *message; /* the log's; the record that is being made */
};

#endif
