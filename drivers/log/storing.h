/*
 * drivers/log/storing.h - the store's lists of files and takers in memory; see store.h
 */
#ifndef BS_DRIVERS_LOG_STORING_H
#define BS_DRIVERS_LOG_STORING_H

#include <pthread.h>

#include "drivers/log/store.h"

struct record {
	/* number and session of an image, and offset of its frame */
	uint64_t number, session, offset;
	uint32_t len;
	bool bad; /* the image cannot be read */
};

/* One file of images. Files are in the order of their first numbers; the last may be written. */
struct file {
	char name[BS_LOG_NAME];
	uint64_t first, bytes;
	/*
	 * list of the file's images, valid if known; an earlier process's file is read when needed
	 */
	struct record *record;
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
	bool unsaved[BS_STORE_TAKERS]; /* the taker's file may have another cursor */
	struct bs_log_writer log;
	/* buffer: of the log's writer; message: the record that is being made */
	unsigned char *buffer, *message;
};

#endif
