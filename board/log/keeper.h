/*
 * board/log/keeper.h - the keeper writes the messages of scans to their logs, so that ingest never
 * waits for the disk
 *
 * keeper.c is the caller's side, scribe.c the thread that writes, spool.h the ring between them.
 *
 * start -> { open -> put* -> end -> until ended }* -> stop. For a scan that an earlier service left
 * open, go_on replaces open. open, put and end copy a message into the ring and return. The thread
 * writes the messages to the scan's log (drivers/log). It commits at most 2 ms after the oldest
 * message that waits, or once 256 KiB wait. look tells what an ACK may say.
 *
 * The log may fail (its disk is full or reports an error), or lag by BS_KEEPER_SLOW_NS or by the
 * whole ring. Nobody waits for the log then: the scan is "unprotected". Messages for which the ring
 * has no room are dropped and counted. When the disk works again, the log goes on, and the scan is
 * protected again once all messages in the ring are durable. A first failure only costs another
 * segment.
 *
 * Ring and record lie in shared memory (ipc/shm/log.h). After a kill of the process, start
 * continues with the messages that had not been written, in another segment of the same log, and
 * put skips messages that were put before. The thread allocates nothing, unless a seal fails. One
 * thread calls these functions; the keeper's thread calls wake and enter.
 * Tests: test/unit/board/log/test_keeper.c, test_required.c, test_no_log.c, test/fault/fault_log.c
 */
#ifndef BS_BOARD_LOG_KEEPER_H
#define BS_BOARD_LOG_KEEPER_H

#include "board/log/stock.h"
#include "core/protocol.h"
#include "drivers/log/writer.h"
#include "ipc/shm/bell.h"
#include "ipc/shm/log.h"
#include "ipc/wire/wire.h"

/* time without progress after which messages count as unprotected */
#define BS_KEEPER_SLOW_NS  INT64_C(500000000)
#define BS_KEEPER_RETRY_NS INT64_C(250000000) /* time between attempts at a failed log */

struct bs_keeper_options {
	const struct bs_log_spec *spec; /* specification; it must outlive the keeper */
	size_t message_max;             /* bytes of the largest message */
	bool required;                  /* the disk is waited for (bs_keeper_full) */
	const struct bs_signer *signer; /* signs the logs' seals; NULL: nothing is signed */
	uint64_t segment_bytes;         /* least size of a segment; more if messages are large */
	struct bs_log_record *record;
	unsigned char *ring; /* ring of ring_bytes, a multiple of 64 */
	size_t ring_bytes;
	void (*enter)(void *arg); /* first call that the keeper's thread makes */
	void (*leave)(void);      /* called first by the thread that makes spare segments */
	void (*wake)(void *arg);  /* called when look may have something new */
	/* makes a folder of logs that somebody removed; NULL: the folder is not made again */
	int (*make)(const char *dir, mode_t mode, struct bs_fail *why);
	struct bs_study *study; /* for the stock; or NULL */
	/* as of the stock (stock.h), beside the log that is being written; NULL: none is used */
	bool (*used)(void *arg, const char *name, bool newest);
	void (*beat)(void *arg); /* call of the thread in each loop iteration; NULL: none */
	void *arg;
};

struct bs_keeper {
	struct bs_keeper_options o;
	struct bs_log_record *r;
	struct bs_stock stock;
	pthread_t thread;
	bool started;
	atomic_bool stop;
	struct bs_bell bell;
	int bell_fd;
	/* the caller's thread alone uses the next members */
	uint64_t seen_done, seen_mark; /* entries done, and their mark, at the last look */
	int64_t progress_ns;
	int64_t ended_ns;
	/* the keeper's thread alone uses the next members */
	struct bs_log_writer *writer; /* lies in the record */
	unsigned char *buffer;
	size_t buffer_bytes;
	uint64_t segment_bytes;
	uint64_t read, read_entries, read_mark; /* the ring up to here was given to the writer */
	uint64_t opened;                        /* entry of the last OPEN that was read */
	uint32_t taken;                         /* segments of this log that the stock knows of */
	int64_t retry_ns;
	/* log that a dead process was writing, which nobody has locked until resumed is set */
	char resumes[BS_LOG_NAME];
	atomic_bool resumed;
};

/* Starts the threads. BS_ERR_NOMEM, BS_ERR_IO: no thread runs. A disk that fails is no error. */
int bs_keeper_start(struct bs_keeper *k, const struct bs_keeper_options *o, struct bs_fail *why);
/* Waits until all messages that were put are written, at most BS_KEEPER_SLOW_NS; then stops. */
void bs_keeper_stop(struct bs_keeper *k);

/* Begins a scan's log. scan: its number; msg: the whole OPEN message; utc_ns: since 1970. */
void bs_keeper_open(struct bs_keeper *k, uint32_t scan, const unsigned char *msg, size_t len,
		    int64_t utc_ns, int64_t now_ns);
/*
 * Continues, in another file, the log of a scan that an earlier service left open. records: number
 * of its records; held: all message numbers up to this are in the log. head: session, started_ns
 * and scan are used.
 */
void bs_keeper_go_on(struct bs_keeper *k, const struct bs_log_head *head, uint64_t records,
		     uint64_t held, int64_t now_ns);
/* Call before go_on for each number beyond held that the log has, too: put skips this number. */
void bs_keeper_has(struct bs_keeper *k, uint64_t number);
/* Has the stock's thread (stock.h) seal a log that was left open and is not continued. */
void bs_keeper_seal(struct bs_keeper *k, const char *name);
/* Puts message `number` of the scan. With it, all messages up to number `held` have come. */
void bs_keeper_put(struct bs_keeper *k, uint64_t number, uint64_t held, const unsigned char *msg,
		   size_t len, int64_t now_ns);
/*
 * Puts a message of the service's own, which has no number: an answer. Nothing is done once the
 * log has its end. A process that replaces another puts it once more, or not at all.
 */
void bs_keeper_add(struct bs_keeper *k, uint64_t held, const unsigned char *msg, size_t len,
		   int64_t now_ns);
/*
 * Has the log sealed: all messages of the scan were put. early: the scan's images are not made yet.
 * May be called again.
 */
void bs_keeper_end(struct bs_keeper *k, bool early, int64_t now_ns);
/* Notes that the images of a scan whose log was sealed early are made (stock.h). */
void bs_keeper_made(struct bs_keeper *k, uint64_t session);
/* True if the log does not change any more: it is sealed, or its thread has given it up. */
bool bs_keeper_closed(const struct bs_keeper *k);
/*
 * True if an early end was given up: the log does not say that its images are to be made, and a
 * later one would hide it at a new start.
 */
bool bs_keeper_unended(const struct bs_keeper *k);
/*
 * True if the log is closed, or, unless it is required, BS_KEEPER_SLOW_NS have passed since end: do
 * not wait for it.
 */
bool bs_keeper_ended(const struct bs_keeper *k, int64_t now_ns);

/*
 * Fills in an ACK. held: the number that the ACK calls held. False: OPEN is not durable yet, and no
 * ACK may be sent.
 */
bool bs_keeper_look(struct bs_keeper *k, uint64_t held, int64_t now_ns, struct bs_wire_ack *ack);
/*
 * Where the log is required a sender waits for the disk. full: the ring has no room for the longest
 * message. broken: a message may be in no log: the scan has to end, and look fills in no ACK any
 * more. Where it is not required both are false.
 */
bool bs_keeper_full(const struct bs_keeper *k);
bool bs_keeper_broken(const struct bs_keeper *k);
/* True if look would find something new. */
bool bs_keeper_news(const struct bs_keeper *k);
/*
 * True if this process could not continue the scan's log: later messages are in no log. The
 * record's fault says why.
 */
bool bs_keeper_void(const struct bs_keeper *k);
/* When look or ended must be called again even if wake is not called; INT64_MAX: never. */
int64_t bs_keeper_due(const struct bs_keeper *k);
/* Name of the first file of the newest scan's log; "": it was not begun. */
const char *bs_keeper_name(struct bs_keeper *k);
/*
 * Writes "log NAME" and what the log lacks. Call when the scan has ended. Messages that still wait
 * are given up.
 */
void bs_keeper_words(struct bs_keeper *k, char *out, size_t cap);

#endif
