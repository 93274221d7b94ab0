/*
 * ipc/shm/workers.h - the three worker processes, and what each publishes of itself
 *
 * Each field says who writes it; anybody reads.
 */
#ifndef BS_IPC_SHM_WORKERS_H
#define BS_IPC_SHM_WORKERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/frame/step.h"
#include "core/thread/event.h"
#include "ipc/shm/bell.h"

enum bs_worker { BS_WORKER_INGEST, BS_WORKER_RECON, BS_WORKER_EMIT, BS_WORKERS };

static inline const char *bs_worker_name(enum bs_worker w)
{
	static const char *const names[BS_WORKERS] = { "ingest", "recon", "emit" };

	return (unsigned)w < BS_WORKERS ? names[w] : "?";
}

/* number of the supervisor's bell, after those of the workers */
#define BS_SUPERVISOR ((int)BS_WORKERS)
#define BS_BELLS      (BS_WORKERS + 1)

enum bs_phase { BS_PHASE_DOWN, BS_PHASE_ARMING, BS_PHASE_READY, BS_PHASE_STOPPED };

/* Whether a worker is inside a call that may take longer than a stall. */
enum bs_busy {
	BS_BUSY_NOT,
	BS_BUSY_COMPUTES,
	BS_BUSY_WAITS /* inside a call that waits, and may sleep, until a device is done */
};

struct bs_worker_state {
	struct bs_bell bell;
	_Atomic uint64_t beat; /* the worker raises this with every iteration of its main loop */
	_Atomic uint32_t busy; /* enum bs_busy, written by the worker */
	/* enum bs_phase, written by the worker, and by the supervisor at the worker's death */
	_Atomic uint32_t phase;
	_Atomic uint64_t generation; /* the worker: generation of the site that it works by */
	_Atomic uint32_t epoch;      /* the supervisor: how many times the worker was started */
	_Atomic int32_t pid; /* the supervisor: the worker's process number; 0: there is none */
	/* the supervisor: times that the worker was killed for lack of progress */
	_Atomic uint32_t stalls;
	/* the supervisor: 1 if the last worker process was killed by others */
	_Atomic uint32_t killed;
	/* the supervisor: when it was started; time from the last death to the last start */
	_Atomic int64_t started_ns, restart_ns;
	_Atomic uint64_t waits; /* the worker: times it had to wait for the next stage's slots */
	char last_end[96];      /* the supervisor, before epoch grows: how the last process ended */
	struct bs_event_ring events;
};

/*
 * Processes of the same binary beside the path of an image: no scan waits for one, no scan ends
 * with one, and they map nothing of the shared memory.
 */
enum bs_bridge { BS_BRIDGE_MRD, BS_BRIDGE_WEB, BS_BRIDGES };

static inline const char *bs_bridge_name(enum bs_bridge b)
{
	static const char *const names[BS_BRIDGES] = { "mrd", "web" };

	return (unsigned)b < BS_BRIDGES ? names[b] : "?";
}

/*
 * The MRD bridge's counts of its clients since it was started. The bridge reports them to the
 * supervisor through a pipe.
 */
struct bs_bridge_clients {
	uint64_t scans, images;     /* number of scans opened; number of images sent to clients */
	uint64_t refused;           /* number of clients that an error was reported to */
	uint32_t connected, active; /* number of clients connected now; number of scans under way */
	char error[160];            /* text of the last error that was reported, with its client */
};

/* A step of the site (ipc/step.h), in the order of the site's list. */
struct bs_step_record {
	/* Emit writes the next members. */
	_Atomic uint32_t there,
		ready;         /* 1 if a process is connected; if it says that it is ready */
	_Atomic uint64_t cut;  /* connections that were ended since it hung, or was stale */
	_Atomic uint32_t last; /* verdict of the last image */
	_Atomic uint64_t images[BS_STEP_VERDICTS];
	/* of its last connection's trial images: how many, the last one's verdict, the times */
	_Atomic uint32_t trials, trial;
	_Atomic int64_t trial_p50_ns, trial_worst_ns; /* worst: with the protocol's margin */
	/* The supervisor writes the next members, where it starts the step. */
	_Atomic int32_t pid; /* number of the process; 0: there is none */
	_Atomic uint32_t starts;
	char last_end[96];
};

struct bs_bridge_state {     /* The supervisor writes this structure. */
	_Atomic int32_t pid; /* number of the process; 0: there is none */
	_Atomic uint32_t starts;
	char last_end[96];
	struct bs_bridge_clients clients; /* last report of the bridge */
};

#endif
