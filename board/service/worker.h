/*
 * board/service/worker.h - what the three workers have in common
 *
 * A worker is this same binary, started by the supervisor with the shared memory and its bells as
 * inherited descriptors (BS_WORKER_FD on). attach -> its own main -> exit. It ends when it is told
 * to (stop), when its supervisor is gone, or by dying: the supervisor replaces it.
 * Exit statuses: 0 told to stop; BS_EXIT_HOPELESS: a new start would fail the same way (the reason
 * is in the log); anything else: replace me.
 */
#ifndef BS_BOARD_SERVICE_WORKER_H
#define BS_BOARD_SERVICE_WORKER_H

#include <poll.h>

#include "ipc/shm/shm.h"

#define BS_WORKER_FD     3 /* descriptor of the memory; the bells' descriptors follow */
#define BS_EXIT_HOPELESS 3
#define BS_EXIT_REPLACE  4

struct bs_worker_env {
	struct bs_shm shm;
	enum bs_worker who;
	struct bs_worker_state *me;
	struct bs_site site;  /* private copy of the site, which only bs_worker_renew changes */
	int64_t tick_ns;      /* longest sleep between two beats */
	enum bs_thread place; /* place of the worker's first thread */
	bool polls;           /* the first thread polls during scans (realtime.h) */
	/*
	 * `boreside record`: bytes of the longest message. Nothing is made of a scan but its log,
	 * and a scan whose log fails ends. 0: a service
	 */
	size_t record_bytes;
	size_t segment_bytes; /* least size of a log's segment */
	_Atomic bool stuck;   /* another thread of the worker hangs: the worker does not beat */
};

/* Runs a worker's process, which the supervisor starts as `boreside worker NAME PARENT`. */
int bs_worker_main(int argc, char **argv);
/* The workers' main functions. They return the process's exit status. */
int bs_worker_ingest(struct bs_worker_env *env);
int bs_worker_recon(struct bs_worker_env *env);
int bs_worker_emit(struct bs_worker_env *env);

/* Sets the phase and tells the supervisor. */
void bs_worker_phase(struct bs_worker_env *env, enum bs_phase phase);

/*
 * Between two scans: takes over the changeable parts of the site in shared memory (config/live.h)
 * if they have changed, and tells the supervisor. True: they had changed.
 */
bool bs_worker_renew(struct bs_worker_env *env);

/* Runs the process that checks a changed site file and stages it (ipc/shm/reload.h). 1: refused. */
int bs_worker_check(struct bs_shm *shm);

/* Reports an event to the service's log; wakes the supervisor. One thread of a worker only. */
void bs_worker_say(struct bs_worker_env *env, enum bs_event_number number, int code,
		   const uint64_t *arg, const char *text);
/* Reports an event with words, cut to size; format as printf. scan: its number; 0: of no scan. */
void bs_worker_tell(struct bs_worker_env *env, enum bs_event_number number, int code, uint64_t scan,
		    const char *format, ...) __attribute__((format(printf, 5, 6)));

/* True if this worker is to end now. The workers end in the order ingest, recon, emit. */
static inline bool bs_worker_stop(const struct bs_worker_env *env)
{
	return atomic_load(&env->shm.s->stop) > (uint32_t)env->who;
}

static inline void bs_worker_beat(struct bs_worker_env *env)
{
	if (!atomic_load_explicit(&env->stuck, memory_order_relaxed))
		atomic_fetch_add_explicit(&env->me->beat, 1, memory_order_relaxed);
}

/*
 * Sleeps until the bell rings or a tick is over. The caller announces its sleep at the bell first,
 * and then looks once more for work. more: other descriptors to wake for, or NULL.
 */
void bs_worker_sleep(struct bs_worker_env *env, struct pollfd *more, unsigned n, int64_t until_ns);

/* Adds to a counter that only this worker writes. */
static inline void bs_count(_Atomic uint64_t *c, uint64_t by)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + by,
			      memory_order_relaxed);
}

#endif
