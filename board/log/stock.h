/*
 * board/log/stock.h - keeps a stock of spare segments in the folder of logs, removes old logs, and
 * seals those that were left open, in a thread of its own
 *
 * The thread works when it starts and at each wake: a log has taken a segment, or a scan is over.
 * An error is reported once (core/log.h); a log that finds no spare segment makes its own. The
 * spares stay in the folder after stop. Test: test/replay/record.sh, test/fault/fault_log.c
 */
#ifndef BS_BOARD_LOG_STOCK_H
#define BS_BOARD_LOG_STOCK_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "drivers/log/name.h"

#define BS_STOCK_SPARES 2u
#define BS_STOCK_ASKED  4u

struct bs_stock_options {
	const char *dir; /* kept */
	uint64_t segment_bytes;
	uint64_t keep_mib;   /* of all logs; 0: any */
	double keep_hours;   /* since the last write to one; 0: any */
	void (*enter)(void); /* the thread's first call; NULL: none */
	bool seals; /* when it starts, open logs but the newest are sealed (drivers/log/finish.h) */
};

struct bs_stock {
	struct bs_stock_options o;
	pthread_t thread;
	sem_t wake;
	atomic_bool stop;
	struct {
		_Atomic uint32_t what; /* 0: nothing; stock.c; the rest is valid before */
		char name[BS_LOG_NAME];
		uint64_t session;
	} asked[BS_STOCK_ASKED];
	bool started;
};

/* BS_ERR_IO: there is no thread. */
int bs_stock_start(struct bs_stock *s, const struct bs_stock_options *o, struct bs_fail *why);
void bs_stock_wake(struct bs_stock *s);
/*
 * seal: this log is nobody's any more: it is sealed. made: all images of this scan are made, of
 * which its seal does not know (drivers/log/folder.h). cut: this file is sealed,
 * and as long as it was. Any thread. What finds BS_STOCK_ASKED others waiting is not done: the next
 * start seals or cuts the log, or makes the images once more.
 */
void bs_stock_seal(struct bs_stock *s, const char *name);
void bs_stock_made(struct bs_stock *s, uint64_t session);
void bs_stock_cut(struct bs_stock *s, const char *name);
void bs_stock_stop(struct bs_stock *s);

#endif
