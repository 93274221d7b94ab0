/*
 * drivers/log/writer.h - writes a scan's log (the layout: frame.h, board/doc/LOG.md)
 *
 * open -> { append* -> commit }* -> seal -> close. append copies a message into memory; commit
 * writes all that was appended and waits for the disk; only then does `durable` include it. The
 * caller decides when to commit; due says by when. append commits by itself when the segment or
 * the buffer is full.
 *
 * After a call has failed (with file and errno's words) append returns BS_ERR_STATE until continue
 * has opened another segment and written to it all records that are not durable. Nothing that the
 * failed call left in the old segment is relied on: after a failed sync a disk may lose the data
 * and report success to the next sync.
 *
 * Segments come from files that were filled with zeros beforehand (FOLDER/0.spare, 1.spare ...,
 * bs_log_spare_fill), since a commit into a file that has to grow takes longer. If there is no such
 * file, one is made on the spot (counted in unprepared). Names: UTC-SESSION-INDEX.bslog, mode 0640,
 * locked (flock) while they are written.
 * Memory: the caller's buffer; open, append, commit, seal allocate nothing. One thread; spare_fill
 * may be called by another thread.
 * Tests: test/unit/drivers/log/test_log.c, test_log_faults.c
 */
#ifndef BS_DRIVERS_LOG_WRITER_H
#define BS_DRIVERS_LOG_WRITER_H

#include "drivers/log/name.h"

#define BS_LOG_DIR    1024u
#define BS_LOG_SPARES 4u /* most spare segments in a folder */
#define BS_LOG_MODE   0640

#define BS_LOG_COMMIT_NS INT64_C(2000000) /* longest wait of a message for its commit */
#ifndef BS_LOG_COMMIT_BYTES
#define BS_LOG_COMMIT_BYTES (256u << 10) /* a commit is due once this many bytes wait */
#endif
#ifndef BS_LOG_SEGMENT
#define BS_LOG_SEGMENT (UINT64_C(64) << 20)
#endif

struct bs_log_writer {
	char dir[BS_LOG_DIR];
	char name[BS_LOG_NAME]; /* name of the segment's file */
	int dir_fd, fd;         /* descriptors of the folder and of the segment; -1: not open */
	struct bs_log_head head;
	uint64_t segment_bytes;
	unsigned char *buffer; /* records that are not durable */
	size_t cap, used;
	uint64_t at; /* offset in the segment to which the buffer is written */
	/* next: number of the next record; durable: records before this number are committed */
	uint64_t next, durable;
	uint64_t synced;   /* records before this number are on the disk */
	int64_t oldest_ns; /* when the oldest record in the buffer was appended */
	uint64_t removed;  /* records in files that somebody removed; the caller resets this */
	bool failed;
	bool relaxed; /* set by the caller after open: commits do not wait for the disk */
	bool early;   /* set by the caller before seal: see frame.h */
	bool uncut;   /* set by the caller before seal: the file is cut later (finish.h) */
	/* set by the caller right after open: what signs the seals; NULL: they are not signed */
	const struct bs_signer *signer;
	uint8_t chain[BS_CHAIN]; /* hash over the segment's blocks (frame.h), without the next */
	size_t unchained;        /* committed bytes at the buffer's begin that chain lacks */
	/* number of commits, and of segments that were not prepared in time */
	uint64_t commits, unprepared;
};

/* Bytes that a buffer needs for messages of at most message_max bytes. */
size_t bs_log_writer_bytes(size_t message_max);

/* Where a log is written, and in what memory its records wait. */
struct bs_log_room {
	const char *dir;        /* an existing folder */
	uint64_t segment_bytes; /* whole blocks (BS_LOG_BLOCK), three more than the buffer */
	void *buffer;           /* cap bytes, used until close */
	size_t cap;
};

/* Begins the log of a scan: makes its first segment. BS_ERR_SIZE, BS_ERR_IO: nothing is open. */
int bs_log_writer_open(struct bs_log_writer *w, const struct bs_log_room *room, uint64_t session,
		       int64_t started_ns, struct bs_fail *why);
/*
 * Continues, in another segment, the log of a process that ended while it wrote. The next record is
 * number `durable`. head: session, started_ns and scan are used; the segment gets the first index
 * from head's index on that has no file. Errors: those of open.
 */
int bs_log_writer_resume(struct bs_log_writer *w, const struct bs_log_room *room,
			 const struct bs_log_head *head, uint64_t durable, struct bs_fail *why);
/*
 * Appends a message. now_ns: bs_now_ns. BS_ERR_SIZE: the message is longer than the buffer was made
 * for. After any error the message is not in the log.
 */
int bs_log_writer_append(struct bs_log_writer *w, const void *message, size_t len, int64_t now_ns,
			 struct bs_fail *why);
int bs_log_writer_commit(struct bs_log_writer *w, struct bs_fail *why);
/*
 * Hashes what was committed last, for the signature. The next append or seal does so, too: a caller
 * who has told of the commit first keeps the hash out of its way.
 */
void bs_log_writer_chain(struct bs_log_writer *w);
/* When commit is due; INT64_MAX: nothing waits. */
int64_t bs_log_writer_due(const struct bs_log_writer *w);
/* Continues after a failure. 0: all appended records are durable, and the log goes on. */
int bs_log_writer_continue(struct bs_log_writer *w, struct bs_fail *why);
/*
 * Ends the log of a scan: commits, writes the seal, and cuts the file behind the last record. The
 * cut may take longer than all else (64 MiB: 100 to 170 ms on a disk that discards blocks). If only
 * the cut fails, the log is sealed and complete in a file that is longer than necessary.
 */
int bs_log_writer_seal(struct bs_log_writer *w, struct bs_fail *why);
/* Closes the log; without a seal, uncommitted records are dropped. May be called again. */
void bs_log_writer_close(struct bs_log_writer *w);

/* Makes the names in a folder durable, where its file system can. dir: open. -1: see errno. */
int bs_log_sync_names(int dir);
/*
 * Makes dir/INDEX.spare, a file of this many zero bytes, unless it exists. BS_ERR_IO: no file is
 * left behind.
 */
int bs_log_spare_fill(const char *dir, unsigned index, uint64_t bytes, struct bs_fail *why);

#endif
