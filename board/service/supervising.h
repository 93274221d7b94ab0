/*
 * board/service/supervising.h - the parts of the supervisor, which share one struct
 *
 * supervisor.c  the start, the loop, the workers' lives
 * reload.c      a changed site file takes the place of the one in force, between two scans
 * stop.c        the end: what is under way is finished first
 * bridges.c     processes outside the stream: their death touches no scan
 * spawn.c       a worker, or the process that checks a site file, is started
 * Each calls only those below it. One thread.
 */
#ifndef BS_BOARD_SERVICE_SUPERVISING_H
#define BS_BOARD_SERVICE_SUPERVISING_H

#include <sys/types.h>

#include "board/service/realtime.h"
#include "board/service/restart.h"

struct child {
	pid_t pid; /* 0: not running */
	bool was_ready, stopping;
	uint64_t beat;
	int64_t beat_ns, cpu_ns; /* of ran_ns when it last made progress; its processor time then */
	unsigned replaced;       /* times it made no progress, since it made some for long */
	int64_t start_ns, died_ns;
	int64_t start_at_ns; /* when it is to be started again */
	struct bs_restart restart;
};

/* A process that speaks to other protocols' clients, or to browsers: a client like any other. */
struct bridge {
	pid_t pid;           /* 0: not running */
	int report;          /* what it tells of its clients comes here; 0: nothing does */
	bool told;           /* to end */
	uint64_t generation; /* of the site that it has read */
	int64_t start_ns, start_at_ns;
	struct bs_restart restart;
};

struct supervisor {
	struct bs_shm shm;
	struct child child[BS_WORKERS];
	struct bridge bridge[BS_BRIDGES];
	struct bs_canaries canaries;
	int signals, lock, spill_lock, log_lock;
	bool ready, ending;
	bool reload_asked;
	int64_t again_ns;    /* the last measurement for lack of one ended; 0: none was owed */
	int64_t again_in_ns; /* the next one comes so long after that */
	pid_t checker;       /* the process that checks a changed site file; 0: none */
	struct bs_area area; /* of the site before, while workers take over the new one */
	bool draining;       /* ending has no time limit */
	int64_t stage_ns;    /* of the end: when this worker's turn began */
	int64_t turn_ns;
	int64_t ran_ns; /* the time in which this process could run */
	int status;
};

/* spawn.c */
/* `boreside worker NAME`, with the shared memory and the bells. */
int bs_spawn(struct supervisor *v, const char *name, pid_t *pid);

/* reload.c */
/* SIGHUP: as soon as the service is ready and what is under way has ended. */
void bs_reload_told(struct supervisor *v);
/* This worker has ended. */
void bs_reload_lost(struct supervisor *v, int who);
/* At each turn. */
void bs_reload_advance(struct supervisor *v);

/* bridges.c */
/* At each turn: those that the site asks for run once the service is ready. */
void bs_bridges_advance(struct supervisor *v, int64_t now);
/* At the end, after the workers': they tell their clients, and end. */
void bs_bridges_end(struct supervisor *v);

/* stop.c */
/*
 * The service is to end with this status: no new scan, and what is under way is finished within
 * these limits, which a later call replaces. INT64_MAX: however long it takes.
 */
void bs_stop_begin(struct supervisor *v, int status, int64_t each_ns);
/* SIGTERM, SIGINT: once within node.drain_s, twice at once. */
void bs_stop_told(struct supervisor *v, uint32_t signal);
/* SIGUSR1: without a limit. */
void bs_stop_drain(struct supervisor *v);
/* At each turn: the workers end in the order of the stream. True: all have. */
bool bs_stop_advance(struct supervisor *v, int64_t now);
/* The last lines of the log, and a note in the pid file for whoever waits for the end. */
void bs_stop_report(struct supervisor *v);

#endif
