/*
 * board/log/stock.h - spare segments for the logs of a folder, made beforehand by a thread of its
 * own
 *
 * start makes the first one before it returns; wake, after a log has taken one, has the thread look
 * again. What it cannot make it says once (core/log.h), and the log makes its own. The spares stay
 * in the folder when it stops. Test: test/replay/record.sh
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

struct bs_stock {
	const char *dir; /* kept */
	uint64_t segment_bytes;
	pthread_t thread;
	sem_t wake;
	atomic_bool stop;
	bool started;
};

/* BS_ERR_IO: not even the first one can be made, or there is no thread. */
int bs_stock_start(struct bs_stock *s, const char *dir, uint64_t segment_bytes,
		   struct bs_fail *why);
void bs_stock_wake(struct bs_stock *s);
void bs_stock_stop(struct bs_stock *s);

#endif
