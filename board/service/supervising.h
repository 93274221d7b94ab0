/*
 * board/service/supervising.h - the parts of the supervisor, which share one struct
 *
 * supervisor.c  the start, the loop, the workers' lives
 * reload.c      a changed site file takes the place of the one in force, between two scans
 * stop.c        the end: what is under way is finished first
 * bridges.c     processes outside the stream: their death touches no scan
 * steps.c       the site's own steps: their death touches no image but those in their hands
 * spawn.c       a worker, or the process that checks a site file, is started
 * Each calls only those below it. One thread.
 */
#ifndef BS_BOARD_SERVICE_SUPERVISING_H
#define BS_BOARD_SERVICE_SUPERVISING_H

#include <sys/types.h>

#include "board/service/realtime.h"
#include "board/service/restart.h"

struct child {
	pid_t pid; /* process of the worker; 0: not running */
	bool was_ready, stopping;
	uint64_t beat;
	/* when the worker last made progress: ran_ns, and the worker's processor time */
	int64_t beat_ns, cpu_ns;
	unsigned replaced; /* replacements in a row because of no progress */
	int64_t start_ns, died_ns;
	int64_t start_at_ns; /* when the worker is to be started again */
	struct bs_restart restart;
};

/* A process that serves clients of other protocols, or browsers; to the workers it is a client. */
struct bridge {
	pid_t pid;           /* process of the bridge; 0: not running */
	int report;          /* pipe on which the bridge reports its clients; 0: none */
	bool told;           /* the bridge was told to end; a step: the log says that it is late */
	bool was_ready;      /* a step: it said that it was ready */
	uint64_t generation; /* generation of the site that the bridge has read */
	int64_t start_ns, start_at_ns;
	struct bs_restart restart;
};

struct supervisor {
	struct bs_shm shm;
	struct child child[BS_WORKERS];
	struct bridge bridge[BS_BRIDGES];
	/* the site's steps; generation: what the step's count of cuts was at its start */
	struct bridge step[BS_STEPS_MAX];
	struct bs_canaries canaries;
	int signals, lock, spill_lock, log_lock;
	bool ready, ending;
	bool reload_asked;
	/* end of the last measurement made because the machine was busy; 0: none was owed */
	int64_t again_ns;
	int64_t again_in_ns; /* time from then to the next measurement */
	pid_t checker;       /* process that checks a changed site file; 0: none */
	struct bs_area area; /* memory of the site before, while workers take over the new one */
	bool draining;       /* the end has no time limit */
	int64_t stage_ns;    /* time at which this worker's part of the end began */
	int64_t pass_ns;
	int64_t ran_ns; /* sum of times in which the supervisor itself could run */
	int status;
};

/* The next function is in spawn.c. */
/* Starts `boreside worker NAME` with the shared memory and the bells. */
int bs_spawn(struct supervisor *v, const char *name, pid_t *pid);
/* Writes how a process ended, by its status. */
void bs_end_words(char words[96], int status);

/* The next functions are in reload.c. */
/* Tells the reload that a worker has ended. */
void bs_reload_lost(struct supervisor *v, int who);
/* Does the next step of a reload. Call in each loop iteration. */
void bs_reload_advance(struct supervisor *v);

/* The next functions are in bridges.c. */
/* In each loop iteration: starts the bridges that the site asks for once the service is ready. */
void bs_bridges_advance(struct supervisor *v, int64_t now);
/* Ends the bridges after the workers have ended; the bridges tell their clients. */
void bs_bridges_end(struct supervisor *v);

/* The next functions are in steps.c. */
/* In each loop iteration: starts steps once emit is ready, kills those that emit has cut off. */
void bs_steps_advance(struct supervisor *v, int64_t now);
/* Ends the steps after the workers have ended. */
void bs_steps_end(struct supervisor *v);

/* The next functions are in stop.c. */
/*
 * Begins the service's end, with this exit status: no new scan is taken, and scans and images under
 * way are finished within these limits, which a later call replaces. INT64_MAX: no limit.
 */
void bs_stop_begin(struct supervisor *v, int status, int64_t each_ns);
/* SIGTERM, SIGINT: the first ends the service within node.drain_s, the second at once. */
void bs_stop_told(struct supervisor *v, uint32_t signal);
/* SIGUSR1: ends the service without a time limit. */
void bs_stop_drain(struct supervisor *v);
/* In each loop iteration of the end: ends the workers in the stream's order. True: all ended. */
bool bs_stop_advance(struct supervisor *v, int64_t now);
/* Writes the last lines of the service's log, and a note in the pid file for who waits. */
void bs_stop_report(struct supervisor *v);

#endif
