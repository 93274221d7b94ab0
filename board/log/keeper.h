/*
 * board/log/keeper.h - the keeper writes the messages of scans to their logs, so that ingest never
 * waits for the disk
 *
 * keeper.c is its caller's side, spool.h the ring between the two, scribe.c the thread that writes.
 *
 * start -> { open -> put* -> end -> until ended }* -> stop. For a scan that a service before this
 * one left open, go_on takes open's place. open, put and end copy what they are given into the ring
 * and return. The thread writes it to the scan's log (drivers/log) and commits
 * at most 2 ms after the oldest message that waits, or once 256 KiB do. look tells what an ACK may
 * say.
 *
 * If the log fails (its disk is full, or says that it cannot write), or lags by BS_KEEPER_SLOW_NS
 * or by the whole ring, nobody waits for it: the scan is "unprotected". Messages for which the ring
 * has no room are dropped and counted; the log goes on when the disk does, and the scan is
 * protected again once all that waits is durable. A first failure costs another segment only.
 *
 * Ring and record lie in shared memory (ipc/shm/log.h). After a kill of the process start goes on
 * with what had not been written, in another segment of the same log, and put skips messages that
 * were put before. The thread allocates nothing, unless a seal fails. One thread calls; wake and
 * enter are called by the keeper's thread.
 * Tests: test/unit/board/log/test_keeper.c, test_no_log.c, test/fault/fault_log.c
 */
#ifndef BS_BOARD_LOG_KEEPER_H
#define BS_BOARD_LOG_KEEPER_H

#include "board/log/stock.h"
#include "core/protocol.h"
#include "drivers/log/writer.h"
#include "ipc/shm/bell.h"
#include "ipc/shm/log.h"
#include "ipc/wire/wire.h"

#define BS_KEEPER_SLOW_NS  INT64_C(500000000) /* no progress for so long: unprotected */
#define BS_KEEPER_RETRY_NS INT64_C(250000000) /* a log that failed is tried again so often */

struct bs_keeper_options {
	const struct bs_log_spec *spec; /* kept */
	size_t message_max;
	uint64_t segment_bytes; /* at least; more where messages are large */
	struct bs_log_record *record;
	unsigned char *ring; /* ring_bytes, a multiple of 64 */
	size_t ring_bytes;
	void (*enter)(void *arg); /* the thread's first call */
	void (*leave)(void);      /* of a thread that makes spare segments: its first call */
	void (*wake)(void *arg);  /* there is news */
	/* a folder that somebody removed is made again; NULL: it is not */
	int (*make)(const char *dir, mode_t mode, struct bs_fail *why);
	void (*beat)(void *arg); /* about every turn of the thread's; NULL: none */
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
	/* the caller's */
	uint64_t seen_done; /* as the last look saw it */
	int64_t progress_ns;
	int64_t ended_ns;
	/* the keeper's thread's */
	struct bs_log_writer *writer; /* in the record */
	unsigned char *buffer;
	size_t buffer_bytes;
	uint64_t segment_bytes;
	uint64_t read, read_entries, read_mark; /* given to the writer up to here */
	uint32_t taken;                         /* segments, as the stock was told */
	int64_t retry_ns;
};

/* BS_ERR_NOMEM, BS_ERR_IO: no thread. A disk that fails is no error. */
int bs_keeper_start(struct bs_keeper *k, const struct bs_keeper_options *o, struct bs_fail *why);
/* Waits until all that was put is written, at most BS_KEEPER_SLOW_NS. */
void bs_keeper_stop(struct bs_keeper *k);

/* A scan begins: its number and its OPEN, whole. utc_ns: since 1970. */
void bs_keeper_open(struct bs_keeper *k, uint32_t scan, const unsigned char *msg, size_t len,
		    int64_t utc_ns, int64_t now_ns);
/*
 * A scan goes on whose log was left open with so many records; all numbers up to held are in it.
 * head: session, started_ns, scan. The log goes on in another file.
 */
void bs_keeper_go_on(struct bs_keeper *k, const struct bs_log_head *head, uint64_t records,
		     uint64_t held, int64_t now_ns);
/* Before go_on: that log has this number, too; put passes over it. */
void bs_keeper_has(struct bs_keeper *k, uint64_t number);
/* Such a log that does not go on is sealed, by the stock's thread (stock.h). */
void bs_keeper_seal(struct bs_keeper *k, const char *name);
/* Message `number` of the scan; once it is held, all up to `held` are. */
void bs_keeper_put(struct bs_keeper *k, uint64_t number, uint64_t held, const unsigned char *msg,
		   size_t len, int64_t now_ns);
/* All of the scan is here: its log is to be sealed. early: before its images are made. May be
 * called again. */
void bs_keeper_end(struct bs_keeper *k, bool early, int64_t now_ns);
/* The images of this scan, whose log was sealed early, are made (stock.h). */
void bs_keeper_made(struct bs_keeper *k, uint64_t session);
/* The log is sealed, or given up by its thread: it does not change any more. */
bool bs_keeper_closed(const struct bs_keeper *k);
/* So it is, or its disk takes so long that nothing waits for it any more. */
bool bs_keeper_ended(const struct bs_keeper *k, int64_t now_ns);

/* Fills in what ACK says. held: its number. False: OPEN is not durable yet: no ACK may be sent. */
bool bs_keeper_look(struct bs_keeper *k, uint64_t held, int64_t now_ns, struct bs_wire_ack *ack);
/* Has look something new? */
bool bs_keeper_news(const struct bs_keeper *k);
/* The scan's log could not go on in this process: what still comes is in no log. fault says why. */
bool bs_keeper_void(const struct bs_keeper *k);
/* When look or ended must be called again although wake is not called. */
int64_t bs_keeper_due(const struct bs_keeper *k);
/* Of a scan that has ended: "log NAME", and what it lacks. What still waits is given up. */
void bs_keeper_words(struct bs_keeper *k, char *out, size_t cap);

#endif
