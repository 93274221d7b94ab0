/* test/simulate/service.c - see service.h */
#include "test/simulate/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "board/service/realtime.h"
#include "board/service/usage.h"
#include "board/service/worker.h"
#include "test/simulate/books.h"
#include "test/simulate/network.h"
#include "test/simulate/process.h"
#include "test/simulate/recon.h"

#define SITES    3u
#define BELL_FD  3000000
#define GRACE_NS (5000 * MS)

static struct site {
	struct bs_shm shm;
	unsigned char *fresh; /* what the memory is at the start */
	struct bs_worker_env env;
} site[SITES];

static struct site *now_on;
static struct bs_shm *shm;
static bool rung[BS_BELLS];
static int64_t wake_ns, ingest_start_ns, recon_start_ns, recon_ready_ns;
static struct pollfd waits_for[4];
static unsigned waits;
static uint64_t session; /* of the scan that events are about */
static bool stopping;
static int64_t dead_ns; /* a kill is due; for how long it is dead then; 0: none is */
static bool dying;

/* ---- what lies below the worker's own code ---- */

void __wrap_bs_worker_sleep(struct bs_worker_env *env, struct pollfd *more, unsigned n,
			    int64_t until_ns);
void __wrap_bs_worker_sleep(struct bs_worker_env *env, struct pollfd *more, unsigned n,
			    int64_t until_ns)
{
	sim_step();
	wake_ns = until_ns - sim_now > env->tick_ns ? sim_now + env->tick_ns : until_ns;
	waits = n < 4 ? n : 4;
	for (unsigned i = 0; i < waits; i++)
		waits_for[i] = more[i];
	process_sleep();
	for (unsigned i = 0; i < waits; i++)
		more[i].revents = network_ready(more[i].fd) ? POLLIN : 0;
	bs_bell_awake(&env->me->bell, env->shm.bell_fd[env->who]);
	bs_worker_beat(env);
	sim_step();
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	(void)left;
	wake_ns = sim_now + (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
	waits = 0;
	process_sleep();
	return 0;
}

void service_moment(void)
{
	if (dead_ns == 0 || dying || !process_inside() || !sim_chance(300))
		return;
	dying = true;
	process_cut(sim_spread(6));
}

static void take_events(void)
{
	struct bs_event e;

	while (bs_event_take(&shm->s->worker[BS_WORKER_INGEST].events, &e)) {
		char words[900];

		(void)bs_event_words(&e, words, sizeof(words));
		SAY("ingest: %s", words);
		if (e.number == BS_EVENT_OPEN)
			session = e.arg[1];
		if (e.number == BS_EVENT_GAP)
			books_gap(session, e.arg[1], e.arg[2]);
	}
}

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
	if (fd < BELL_FD || fd >= BELL_FD + BS_BELLS)
		return __real_write(fd, p, n);
	if (fd == BELL_FD + BS_SUPERVISOR) {
		take_events();
		service_moment();
	} else {
		rung[fd - BELL_FD] = true;
	}
	return (ssize_t)n;
}

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n)
{
	if (fd < BELL_FD || fd >= BELL_FD + BS_BELLS)
		return __real_read(fd, p, n);
	rung[fd - BELL_FD] = false;
	return (ssize_t)n;
}

void __wrap_bs_usage_publish(const struct bs_shm *m, enum bs_thread place, int64_t now_ns);
void __wrap_bs_usage_publish(const struct bs_shm *m, enum bs_thread place, int64_t now_ns)
{
	(void)m;
	(void)place;
	(void)now_ns;
}

void __wrap_bs_rt_enter(struct bs_worker_env *env, enum bs_thread place);
void __wrap_bs_rt_enter(struct bs_worker_env *env, enum bs_thread place)
{
	(void)env;
	(void)place;
}

void __wrap_bs_rt_lock(struct bs_worker_env *env, bool future);
void __wrap_bs_rt_lock(struct bs_worker_env *env, bool future)
{
	(void)env;
	(void)future;
}

/* ---- the memory ---- */

static void make_site(struct site *at, uint32_t slots)
{
	static struct bs_traj tables[BS_PROTOCOLS_MAX];
	static struct bs_site s;
	struct bs_fail why = { 0 };

	s = (struct bs_site){ .heartbeat_ms = 500,
			      .stall_ms = 1000,
			      .acq_slots = slots,
			      .image_slots = 2,
			      .protocols = 1 };
	s.protocol[0] = (struct bs_protocol){ .name = "p",
					      .method = BS_METHOD_CARTESIAN,
					      .dims = 2,
					      .matrix = { BOOK_SAMPLES, BOOK_LINES, 1 },
					      .encoded = { BOOK_SAMPLES, BOOK_LINES, 1 },
					      .coils = 1,
					      .samples = BOOK_SAMPLES,
					      .readouts = BOOK_LINES,
					      .slices = 1,
					      .contrasts = 1,
					      .silence_ms = 5000 };
	if (bs_shm_create(&at->shm, &s, tables, &why) != 0) {
		(void)fprintf(stderr, "simulate: shared memory: %s\n", why.text);
		exit(1);
	}
	for (int i = 0; i < BS_BELLS; i++)
		at->shm.bell_fd[i] = BELL_FD + i;
	at->fresh = malloc(at->shm.bytes);
	if (at->fresh == NULL)
		abort();
	memcpy(at->fresh, at->shm.s, at->shm.bytes);
	at->env = (struct bs_worker_env){ .shm = at->shm,
					  .who = BS_WORKER_INGEST,
					  .me = &at->shm.s->worker[BS_WORKER_INGEST],
					  .site = s,
					  .tick_ns = 50 * MS,
					  .place = BS_THREAD_INGEST };
}

void service_make(void)
{
	static const uint32_t slots[SITES] = { 8, 24, 96 };

	for (unsigned i = 0; i < SITES; i++)
		make_site(&site[i], slots[i]);
}

/* A service that starts. */
static void begin(int64_t start_ns)
{
	memcpy(shm->s, now_on->fresh, shm->bytes);
	for (int i = 0; i < BS_BELLS; i++)
		rung[i] = false;
	for (int i = 0; i < BS_WORKERS; i++)
		atomic_store(&shm->s->worker[i].epoch, 1);
	atomic_store(&shm->s->supervisor_bell.asleep, 1); /* each event is taken at once */
	recon_reset(shm);
	ingest_start_ns = start_ns;
	recon_start_ns = start_ns;
	recon_ready_ns = start_ns + (int64_t)sim_spread(8) * MS;
	stopping = dying = false;
	dead_ns = 0;
}

void service_reset(void)
{
	now_on = &site[sim_below(SITES)];
	shm = &now_on->shm;
	session = 0;
	process_kill();
	begin(sim_now);
}

/* ---- ingest ---- */

static int run_ingest(void *env)
{
	return bs_worker_ingest(env);
}

static bool news(void)
{
	if (rung[BS_WORKER_INGEST])
		return true;
	for (unsigned i = 0; i < waits; i++)
		if (network_ready(waits_for[i].fd))
			return true;
	return false;
}

bool service_ready(void)
{
	return process_state == PROCESS_RUNS ||
	       (process_state == PROCESS_SLEEPS && (news() || sim_now >= wake_ns));
}

bool service_idles(void)
{
	return process_state == PROCESS_SLEEPS && !news();
}

/* The supervisor has seen that ingest is gone. */
static void ingest_gone(const char *how, int64_t start_ns)
{
	struct bs_worker_state *w = &shm->s->worker[BS_WORKER_INGEST];
	struct bs_fail why;

	take_events();
	process_kill();
	network_service_gone();
	atomic_store(&w->phase, BS_PHASE_DOWN);
	(void)snprintf(w->last_end, sizeof(w->last_end), "%s", how);
	(void)bs_shm_recover(shm, BS_WORKER_INGEST, &why);
	atomic_fetch_add(&w->epoch, 1);
	bs_shm_ring_bell(shm, BS_WORKER_INGEST);
	ingest_start_ns = start_ns;
	dead_ns = 0;
	dying = false;
	SAY("ingest: %s", how);
}

void service_turn(uint32_t steps)
{
	process_run(steps);
	if (dying) {
		(void)service_kill_ingest(sim_now + dead_ns);
		return;
	}
	if (process_state != PROCESS_ENDED)
		return;
	if (process_status == 0) {
		service_kill(sim_now + (int64_t)sim_spread(8) * MS);
	} else {
		sim_broken("ingest ends with %d", process_status);
		ingest_gone("ended", sim_now + MS);
	}
}

/* ---- the supervisor ---- */

void service_supervise(void)
{
	if (process_state == PROCESS_DOWN && sim_now >= ingest_start_ns) {
		SAY("ingest starts");
		process_start(run_ingest, &now_on->env);
	}
	if (!recon_lives() && sim_now >= recon_start_ns) {
		SAY("recon starts");
		recon_start(recon_ready_ns);
	}
}

int64_t service_due(void)
{
	int64_t due = INT64_MAX;

	if (process_state == PROCESS_DOWN)
		due = ingest_start_ns;
	else if (process_state == PROCESS_SLEEPS)
		due = wake_ns;
	if (!recon_lives() && recon_start_ns < due)
		due = recon_start_ns;
	return due;
}

enum bs_state service_state(void)
{
	return process_state == PROCESS_DOWN ? BS_STATES
					     : (enum bs_state)atomic_load(&shm->s->scan.state);
}

bool service_rests(void)
{
	return service_state() == BS_STATE_IDLE && bs_pool_in_use(shm->acq_pool) == 0 &&
	       bs_ring_count(shm->acq_ring) == 0 && !stopping &&
	       atomic_load(&shm->s->scan.open) == 0;
}

/* ---- faults ---- */

/*
 * Not yet promised: an ingest that dies between marking a scan as open and telling recon of it
 * leaves one that never ends.
 */
static void leave_known_wedge(void)
{
	const struct bs_scan_record *s = &shm->s->scan;

	while (process_state == PROCESS_RUNS && recon_lives() && atomic_load(&s->open) &&
	       !recon_knows(atomic_load(&s->id)))
		process_run(1);
}

bool service_kill_ingest(int64_t start_ns)
{
	if (process_state == PROCESS_DOWN)
		return false;
	leave_known_wedge();
	books_lost();
	ingest_gone("killed by signal 9", start_ns);
	return true;
}

bool service_kill_soon(int64_t after_ns)
{
	if (dead_ns != 0)
		return false;
	dead_ns = after_ns;
	return true;
}

bool service_kill_recon(int64_t start_ns, int64_t ready_ns)
{
	struct bs_worker_state *w = &shm->s->worker[BS_WORKER_RECON];
	struct bs_fail why;

	if (!recon_lives())
		return false;
	books_lost();
	recon_kill();
	atomic_store(&w->phase, BS_PHASE_DOWN);
	(void)snprintf(w->last_end, sizeof(w->last_end), "killed by signal 9");
	(void)bs_shm_recover(shm, BS_WORKER_RECON, &why);
	atomic_fetch_add(&w->epoch, 1);
	bs_shm_ring_bell(shm, BS_WORKER_INGEST);
	recon_start_ns = start_ns;
	recon_ready_ns = ready_ns;
	return true;
}

void service_kill(int64_t start_ns)
{
	SAY("the service is gone");
	books_lost();
	take_events();
	process_kill();
	recon_kill();
	network_service_gone();
	begin(start_ns);
}

void service_calm(void)
{
	dead_ns = 0;
}

bool service_stop(void)
{
	if (stopping || process_state == PROCESS_DOWN)
		return false;
	stopping = true;
	atomic_store(&shm->s->stop_by_ns, sim_now + GRACE_NS);
	atomic_store(&shm->s->stop, 1);
	bs_shm_ring_bell(shm, BS_WORKER_INGEST);
	return true;
}
