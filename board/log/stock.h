/*
 * board/log/stock.h - keeps a stock of spare segments in the folder of logs, removes old logs,
 * seals those that were left open, and files what a study keeps over a restart, in its own thread
 *
 * The thread works when it starts and at each wake, which comes when a log has taken a segment or a
 * scan is over. An error is reported once (core/log.h). A log that finds no spare segment makes its
 * own. The spares stay in the folder after stop.
 * Test: test/replay/record.sh, test/fault/fault_log.c
 */
#ifndef BS_BOARD_LOG_STOCK_H
#define BS_BOARD_LOG_STOCK_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "drivers/log/kept.h"
#include "drivers/log/name.h"
#include "ipc/shm/log.h"

#define BS_STOCK_SPARES 2u /* most spare segments in the folder */

struct bs_stock_options {
	const char *dir; /* folder of the logs; the text must outlive the stock */
	uint64_t segment_bytes;
	uint64_t keep_mib;   /* largest size of all logs together; 0: no limit */
	double keep_hours;   /* longest time since the last write to a log; 0: no limit */
	void (*enter)(void); /* first call that the thread makes; NULL: none */
	/* signs what it seals; it must outlive the stock; NULL: nothing is signed */
	const struct bs_signer *signer;
	struct bs_study *study; /* images of it are kept in files (drivers/log/kept.h); or NULL */
	/* where requests wait, zeros at first; they outlive this process. NULL: none are made, and
	 * no log is sealed */
	struct bs_log_asks *asks;
	/* true if the log of that name is used, or may be gone on with; called by the thread */
	bool (*used)(void *arg, const char *name, bool newest);
	void *arg;
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
/*
 * Requests to the thread; any thread may ask. seal: seals a log that nobody uses more, unless it
 * is sealed or has no name. made: notes that all images of a scan whose log was sealed before are
 * made (drivers/log/folder.h). cut: cuts a sealed file at its end. What a killed process had asked
 * for is done by its successor. Where BS_LOG_ASKED requests wait already, one is dropped, and the
 * thread looks through all logs instead, for those that nobody uses and that have no end; images
 * that were not noted as made are made once more by the next start.
 */
void bs_stock_seal(struct bs_stock *s, const char *name);
void bs_stock_made(struct bs_stock *s, uint64_t session);
void bs_stock_cut(struct bs_stock *s, const char *name);
void bs_stock_stop(struct bs_stock *s);

#endif
