/*
 * board/log/stock.h - looks after the folder of logs in a thread of its own: spare segments are
 * made beforehand, logs that are kept long enough go
 *
 * The thread looks when it starts and at each wake: a log has taken a segment, or a scan is over.
 * What it cannot do it says once (core/log.h); a log without a spare segment makes its own. The
 * spares stay in the folder when it stops. Test: test/replay/record.sh, test/fault/fault_log.c
 */
#ifndef BS_BOARD_LOG_STOCK_H
#define BS_BOARD_LOG_STOCK_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define BS_STOCK_SPARES 2u

struct bs_stock_options {
	const char *dir; /* kept */
	uint64_t segment_bytes;
	uint64_t keep_mib;   /* of all logs; 0: any */
	double keep_hours;   /* since the last write to one; 0: any */
	void (*enter)(void); /* the thread's first call; NULL: none */
};

struct bs_stock {
	struct bs_stock_options o;
	pthread_t thread;
	sem_t wake;
	atomic_bool stop;
	bool started;
};

/* BS_ERR_IO: there is no thread. */
int bs_stock_start(struct bs_stock *s, const struct bs_stock_options *o, struct bs_fail *why);
void bs_stock_wake(struct bs_stock *s);
void bs_stock_stop(struct bs_stock *s);

#endif
