/*
 * drivers/log/writer.h - a scan's log as it is written (the layout: frame.h, board/doc/LOG.md)
 *
 * open -> { append* -> commit }* -> seal -> close. append copies a message into memory; commit
 * writes what was appended and waits for the disk: then, and only then, durable says that it is
 * safe. When to commit is the caller's: due says by when. A segment or a buffer that is full
 * commits by itself within append.
 *
 * A call that fails leaves the log failed: a coded error with file and errno's words, and append
 * refuses (BS_ERR_STATE) until continue has opened another segment and brought there all that was
 * appended and is not durable. What a failed call left in the old segment is not trusted again:
 * the disk may drop what it could not write once and then say that all is well.
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
	int64_t oldest_ns;      /* when the oldest in the buffer was appended */
	bool failed;
	bool relaxed; /* the caller's, after open: commits do not wait for the disk */
	uint64_t commits, unprepared; /* counted */
};

/* Of a buffer for messages of at most so many bytes. */
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
 * The log of a process that ended while it wrote: goes on in another segment, from record `durable`
 * on, which is the next one. head: session, started_ns, and an index: of the first one that is not
 * there from it on. Else as open.
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
 * The scan is over: commits, says where the log ends, cuts the file there. Where only the cut
 * fails, the log is sealed and whole in a file that is longer than it need be.
 */
int bs_log_writer_seal(struct bs_log_writer *w, struct bs_fail *why);
/* Without seal: what waits is dropped and the log has an open end. May be called again. */
void bs_log_writer_close(struct bs_log_writer *w);

/*
 * Makes dir/INDEX.spare of so many bytes of zeros, unless it is there. BS_ERR_IO; then nothing is
 * left behind.
 */
int bs_log_spare_fill(const char *dir, unsigned index, uint64_t bytes, struct bs_fail *why);

#endif
