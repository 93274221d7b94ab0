/*
 * drivers/log/reader.h - a scan's log as it is read (the layout: frame.h, board/doc/LOG.md)
 *
 * open -> next* -> close. open takes any one file of the log and finds the others beside it. next
 * gives the messages in the order in which they were logged, each with its checksums checked, and
 * how the log ends:
 *   sealed   the writer said that this is all
 *   open     it never came to an end: the scan is running, or its writer was killed
 *   torn     the same, and what was being written then is cut off: nothing of it had been committed
 * What was committed and cannot be read is damage: next returns BS_ERR_FORMAT, the reason names
 * file, offset, number and what is lost, and nothing beyond is given (damage to a head, a seal or
 * padding costs no message: all are given, then comes the error). Where a file went on in another
 * one after a failure, what it holds beyond the other's first number was never acknowledged and is
 * not given.
 * Any bytes may be in the files: nothing is believed before it is checked. Allocates; no real-time
 * threads; one thread. Tests: test/unit/drivers/log/test_log.c, test/fuzz/fuzz_log.c
 */
#ifndef BS_DRIVERS_LOG_READER_H
#define BS_DRIVERS_LOG_READER_H

#include "drivers/log/writer.h"

struct bs_log_reader;

enum bs_log_end { BS_LOG_END_SEALED, BS_LOG_END_OPEN, BS_LOG_END_TORN };

struct bs_log_place {
	uint32_t segment; /* in this reader's order */
	uint64_t offset;  /* of the frame */
};

struct bs_log_message {
	const unsigned char *bytes; /* envelope and payload, aligned to 8; until the next call */
	size_t len;
	uint64_t number;
	struct bs_log_place place;
};

/* BS_ERR_IO; BS_ERR_FORMAT: it is no log. Damage is told by next. */
int bs_log_open(struct bs_log_reader **r, const char *path, struct bs_fail *why);
/* 1: a message; 0: the end; negative: damage, now and at each later call. */
int bs_log_next(struct bs_log_reader *r, struct bs_log_message *m, struct bs_fail *why);
/* One that next gave, again. Does not disturb next. */
int bs_log_again(struct bs_log_reader *r, struct bs_log_place at, struct bs_log_message *m,
		 struct bs_fail *why);
void bs_log_close(struct bs_log_reader *r);

/* After next returned 0. where: the last file and the offset of its end. */
enum bs_log_end bs_log_end(const struct bs_log_reader *r);
void bs_log_where(const struct bs_log_reader *r, char *text, size_t cap);
uint32_t bs_log_segments(const struct bs_log_reader *r);
uint64_t bs_log_bytes(const struct bs_log_reader *r); /* of all its files */
/* Of the first segment whose head or seal can be read; zeros where none can. */
const struct bs_log_head *bs_log_begins(const struct bs_log_reader *r);
/* Does its last segment say that the log is whole? Known without reading it. */
bool bs_log_sealed(const struct bs_log_reader *r);

#endif
