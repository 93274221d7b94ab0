/*
 * drivers/log/writer.h - a scan's log as it is written (the layout: frame.h, board/doc/LOG.md)
 *
 * open -> { append* -> commit }* -> seal -> close. append copies a message into memory; commit
 * writes all that was appended and waits for the disk; only then does `durable` include it. The
 * caller decides when to commit; due says by when. append commits by itself when the segment or
 * the buffer is full.
 *
 * After a call has failed (a coded error with file and errno's words) append refuses
 * (BS_ERR_STATE) until continue has opened another segment and written there all that was appended
 * and is not durable. Nothing that the failed call left in the old segment is relied on: after a
 * failed sync a disk may lose the data and report success to the next one.
 *
 * Segments come from files that were filled with zeros beforehand (FOLDER/0.spare, 1.spare ...,
 * bs_log_spare_fill), since a commit into a file that has to grow takes longer; where there is
 * none, one is made on the spot (counted in unprepared). Names: UTC-SESSION-INDEX.bslog, mode 0640,
 * locked (flock) while they are written.
 * Memory: the caller's buffer; open, append, commit, seal allocate nothing. One thread, but
 * spare_fill, which may be called by another one.
 * Tests: test/unit/drivers/log/test_log.c, test_log_faults.c
 */
#ifndef BS_DRIVERS_LOG_WRITER_H
#define BS_DRIVERS_LOG_WRITER_H

#include "drivers/log/name.h"

#define BS_LOG_DIR    1024u
#define BS_LOG_SPARES 4u /* at most, in a folder */
#define BS_LOG_MODE   0640

#define BS_LOG_COMMIT_NS INT64_C(2000000) /* a message waits at most this long */
#ifndef BS_LOG_COMMIT_BYTES
#define BS_LOG_COMMIT_BYTES (256u << 10) /* and no longer once so much waits */
#endif
#ifndef BS_LOG_SEGMENT
#define BS_LOG_SEGMENT (UINT64_C(64) << 20)
#endif

struct bs_log_writer {
	char dir[BS_LOG_DIR];
	char name[BS_LOG_NAME]; /* of the segment */
	int dir_fd, fd;         /* -1: not open */
	struct bs_log_head head;
	uint64_t segment_bytes;
	unsigned char *buffer; /* records that are not durable */
	size_t cap, used;
	uint64_t at;            /* offset in the segment where the buffer goes */
	uint64_t next, durable; /* numbers: of the next record; all before are committed */
	uint64_t synced;        /* all before are on the disk */
	int64_t oldest_ns;      /* when the oldest record in the buffer was appended */
	uint64_t removed;       /* records whose file somebody removed; the caller's to reset */
	bool failed;
	bool relaxed; /* the caller's, after open: commits do not wait for the disk */
	bool early;   /* the caller's, before seal: frame.h */
	bool uncut;   /* the caller's, before seal: the file is cut later (finish.h) */
	uint64_t commits, unprepared; /* counted */
};

/* Bytes that a buffer needs for messages of at most message_max bytes. */
size_t bs_log_writer_bytes(size_t message_max);

/*
 * The log of a scan that begins now: makes its first segment in dir, which is there. buffer: cap
 * bytes, kept. segment_bytes: a multiple of BS_LOG_BLOCK, room for the buffer and three blocks.
 * BS_ERR_SIZE, BS_ERR_IO; then nothing is open.
 */
int bs_log_writer_open(struct bs_log_writer *w, const char *dir, uint64_t session,
		       int64_t started_ns, uint64_t segment_bytes, void *buffer, size_t cap,
		       struct bs_fail *why);
/*
 * Goes on with the log of a process that ended while it wrote, in another segment, with record
 * number `durable` as the next one. head: session, started_ns and scan; the segment's index is the
 * first from head's on for which there is no file. Else as open.
 */
int bs_log_writer_resume(struct bs_log_writer *w, const char *dir, const struct bs_log_head *head,
			 uint64_t durable, uint64_t segment_bytes, void *buffer, size_t cap,
			 struct bs_fail *why);
/*
 * now_ns: bs_now_ns. BS_ERR_SIZE: longer than the buffer was made for. After any error the message
 * is not in the log.
 */
int bs_log_writer_append(struct bs_log_writer *w, const void *message, size_t len, int64_t now_ns,
			 struct bs_fail *why);
int bs_log_writer_commit(struct bs_log_writer *w, struct bs_fail *why);
/* When commit is due; INT64_MAX: nothing waits. */
int64_t bs_log_writer_due(const struct bs_log_writer *w);
/* After a failure. 0: all that was appended is durable, and the log goes on. */
int bs_log_writer_continue(struct bs_log_writer *w, struct bs_fail *why);
/*
 * The scan is over: commits, writes the seal, truncates the file behind the last record, which may
 * take longer than all else (64 MiB: 100 to 170 ms where the disk discards). If only that fails,
 * the log is sealed and complete in a file that is longer than necessary.
 */
int bs_log_writer_seal(struct bs_log_writer *w, struct bs_fail *why);
/* Without seal: what was not committed is dropped, and the log has no end. May be called again. */
void bs_log_writer_close(struct bs_log_writer *w);

/*
 * Makes dir/INDEX.spare, a file of so many zero bytes, unless it is there. BS_ERR_IO: no file is
 * left behind.
 */
int bs_log_spare_fill(const char *dir, unsigned index, uint64_t bytes, struct bs_fail *why);

#endif
