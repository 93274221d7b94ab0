/*
 * drivers/log/reader.h - a scan's log as it is read (the layout: frame.h, board/doc/LOG.md)
 *
 * open -> next* -> close. open takes any one file of the log and finds the others beside it. next
 * returns the messages in the order in which they were logged, each with its checksums checked,
 * and then how the log ends:
 *   sealed   the writer said that the log is complete
 *   open     it has no end: the scan is running, or its writer was killed
 *   torn     the same, and the last write is incomplete: nothing of it had been committed
 * Data that was committed and cannot be read is damage: next returns BS_ERR_FORMAT, the reason
 * names file, offset, number and what is lost, and no later message is returned. (Damage to a head,
 * a seal or padding loses no message: all are returned, then the error.) Where the writer went on
 * in another file after an error, records of the old file from the new file's first number on were
 * never acknowledged; they are written again in the new file and skipped in the old one.
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

/* BS_ERR_IO; BS_ERR_FORMAT: not a log. Damage is reported by next. */
int bs_log_open(struct bs_log_reader **r, const char *path, struct bs_fail *why);
/* 1: a message; 0: the end; negative: damage, now and at each later call. */
int bs_log_next(struct bs_log_reader *r, struct bs_log_message *m, struct bs_fail *why);
/* Reads a message again that next has returned. Does not disturb next. */
int bs_log_again(struct bs_log_reader *r, struct bs_log_place at, struct bs_log_message *m,
		 struct bs_fail *why);
/* The system has failed to read some of it: what did not come may be there all the same. */
bool bs_log_read_failed(const struct bs_log_reader *r);
void bs_log_close(struct bs_log_reader *r);

/* After next returned 0. where: the last file and the offset of its end. */
enum bs_log_end bs_log_end(const struct bs_log_reader *r);
void bs_log_where(const struct bs_log_reader *r, char *text, size_t cap);
uint32_t bs_log_segments(const struct bs_log_reader *r);
uint64_t bs_log_bytes(const struct bs_log_reader *r); /* of all its files */
/*
 * After next returned 0 or less: the path of the last file, and the seal that would end the log
 * there. Where records are damaged its number is not that of the last good one. id 0: its head
 * cannot be read. The path is valid until close.
 */
const char *bs_log_last(const struct bs_log_reader *r, struct bs_log_head *seal);
/* Of its files, in their order; NULL: there are not so many. Valid until close. */
const char *bs_log_path(const struct bs_log_reader *r, uint32_t segment);
/* Of the first segment whose head or seal can be read; zeros where none can. */
const struct bs_log_head *bs_log_begins(const struct bs_log_reader *r);
/* Does its last segment say that the log is complete? Known without reading the records. */
bool bs_log_sealed(const struct bs_log_reader *r);

#endif
