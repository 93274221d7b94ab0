/*
 * ipc/shm/workers.h - the three worker processes, and what each shows of itself
 *
 * Each field says who writes it; anybody reads.
 */
#ifndef BS_IPC_SHM_WORKERS_H
#define BS_IPC_SHM_WORKERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/thread/event.h"
#include "ipc/shm/bell.h"

enum bs_worker { BS_WORKER_INGEST, BS_WORKER_RECON, BS_WORKER_EMIT, BS_WORKERS };

static inline const char *bs_worker_name(enum bs_worker w)
{
	static const char *const names[BS_WORKERS] = { "ingest", "recon", "emit" };

	return (unsigned)w < BS_WORKERS ? names[w] : "?";
}

/* Each worker has a bell, and the supervisor. */
#define BS_SUPERVISOR ((int)BS_WORKERS)
#define BS_BELLS      (BS_WORKERS + 1)

enum bs_phase { BS_PHASE_DOWN, BS_PHASE_ARMING, BS_PHASE_READY, BS_PHASE_STOPPED };

/* Inside a call that may outlast a stall. */
enum bs_busy {
	BS_BUSY_NOT,
	BS_BUSY_COMPUTES,
	BS_BUSY_WAITS /* and may sleep there, until a device is done */
};

struct bs_worker_state {
	struct bs_bell bell;
	_Atomic uint64_t beat;  /* the worker: grows with every turn of its loop */
	_Atomic uint32_t busy;  /* enum bs_busy; the worker */
	_Atomic uint32_t phase; /* enum bs_phase; the worker, and the supervisor at its death */
	_Atomic uint64_t generation; /* the worker: of the site that it works by */
	_Atomic uint32_t epoch;      /* the supervisor: how many times the worker was started */
	_Atomic int32_t pid;         /* the supervisor; 0: none */
	_Atomic uint32_t stalls;     /* the supervisor: times it was killed for lack of progress */
	_Atomic uint32_t killed;     /* the supervisor: 1 if the last one was killed by others */
	_Atomic int64_t started_ns, restart_ns; /* the supervisor; last death to last start */
	_Atomic uint64_t waits; /* the worker: times it had to wait for the next stage's slots */
	char last_end[96];      /* the supervisor, before epoch grows: how the last one ended */
	struct bs_event_ring events;
};

/*
 * Processes beside the path of an image, the same binary: no scan waits for one, its end touches
 * none, and it maps nothing of the shared memory.
 */
enum bs_bridge { BS_BRIDGE_MRD, BS_BRIDGE_WEB, BS_BRIDGES };

static inline const char *bs_bridge_name(enum bs_bridge b)
{
	static const char *const names[BS_BRIDGES] = { "mrd", "web" };

	return (unsigned)b < BS_BRIDGES ? names[b] : "?";
}

/* What the MRD bridge tells the supervisor of its clients, since it was started: through a pipe. */
struct bs_bridge_clients {
	uint64_t scans, images;     /* opened; sent to clients */
	uint64_t refused;           /* clients that were told of an error */
	uint32_t connected, active; /* now; scans under way */
	char error[160];            /* the last of these errors, and whose */
};

struct bs_bridge_state {     /* the supervisor's */
	_Atomic int32_t pid; /* 0: none */
	_Atomic uint32_t starts;
	char last_end[96];
	struct bs_bridge_clients clients; /* the last that it told */
};

#endif
