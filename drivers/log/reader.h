/*
 * drivers/log/reader.h - reads a scan's log (the layout: frame.h, board/doc/LOG.md)
 *
 * open -> next* -> close. open takes any one file of the log and finds the others beside it. next
 * returns the messages in the order in which they were logged, each with its checksums checked,
 * and then how the log ends:
 *   sealed   the writer said that the log is complete
 *   open     the log has no end: the scan is running, or its writer was killed
 *   torn     the log has no end, and its last write is incomplete and was never committed
 * Committed data that cannot be read is damage: next returns BS_ERR_FORMAT, the reason names file,
 * offset, number and what is lost, and no later message is returned. (Damage to a head, a seal or
 * padding loses no message: next returns all messages, then the error.) If the writer continued in
 * another file after an error, records of the old file from the new file's first number on were
 * never acknowledged. They are written again in the new file, and the old file's are skipped.
 * The files may hold any bytes: everything is checked before it is used. Allocates; not for
 * real-time threads; one thread. Tests: test/unit/drivers/log/test_log.c, test/fuzz/fuzz_log.c
 */
#ifndef BS_DRIVERS_LOG_READER_H
#define BS_DRIVERS_LOG_READER_H

#include "drivers/log/writer.h"

struct bs_log_reader;

enum bs_log_end { BS_LOG_END_SEALED, BS_LOG_END_OPEN, BS_LOG_END_TORN };

struct bs_log_place {
	uint32_t segment; /* number of the file among the reader's, from 0 */
	uint64_t offset;  /* offset of the frame in that file */
};

struct bs_log_message {
	/* envelope and payload, aligned to 8 bytes; valid until the next call */
	const unsigned char *bytes;
	size_t len;
	uint64_t number;
	struct bs_log_place place;
};

/* BS_ERR_IO; BS_ERR_FORMAT: path is not a log's file. Damage is reported by next. */
int bs_log_open(struct bs_log_reader **r, const char *path, struct bs_fail *why);
/* Reads a message. Returns 1; 0 at the end; negative: damage, now and at each later call. */
int bs_log_next(struct bs_log_reader *r, struct bs_log_message *m, struct bs_fail *why);
/* Reads a message again that next has returned. Does not disturb next. */
int bs_log_again(struct bs_log_reader *r, struct bs_log_place at, struct bs_log_message *m,
		 struct bs_fail *why);
/* True if the system failed to read a file: records that did not come may still be on the disk. */
bool bs_log_read_failed(const struct bs_log_reader *r);
void bs_log_close(struct bs_log_reader *r);

/* True if all bytes are 0. */
bool bs_log_zeros(const unsigned char *p, size_t len);
/* Call these two after next returned 0. where: writes the last file and the offset of its end. */
enum bs_log_end bs_log_end(const struct bs_log_reader *r);
void bs_log_where(const struct bs_log_reader *r, char *text, size_t cap);
uint32_t bs_log_segments(const struct bs_log_reader *r);
uint64_t bs_log_bytes(const struct bs_log_reader *r); /* bytes of all files */
/*
 * Call after next returned 0 or less. Returns the path of the last file, valid until close, and the
 * seal that would end the log there. If records are damaged, the seal's number is not that of the
 * last good record. seal->id 0: the file's head cannot be read.
 */
const char *bs_log_last(const struct bs_log_reader *r, struct bs_log_head *seal);
/* Path of file number `segment`, valid until close; NULL: the log has fewer files. */
const char *bs_log_path(const struct bs_log_reader *r, uint32_t segment);
/* Head of the first segment whose head or seal can be read; zeros if there is none. */
const struct bs_log_head *bs_log_begins(const struct bs_log_reader *r);
/* True if the last segment says that the log is complete. Reads no records. */
bool bs_log_sealed(const struct bs_log_reader *r);

#endif
