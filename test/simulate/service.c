/* test/simulate/service.c - see service.h */
#include "test/simulate/service.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/service/realtime.h"
#include "board/service/usage.h"
#include "board/service/worker.h"
#include "core/log.h"
#include "test/simulate/answers.h"
#include "test/simulate/books.h"
#include "test/simulate/disk/disk.h"
#include "test/simulate/disk/logs.h"
#include "test/simulate/emit/emit.h"
#include "test/simulate/memory.h"
#include "test/simulate/senders/network.h"
#include "test/simulate/process.h"
#include "test/simulate/recon.h"
#include "test/simulate/wakes.h"
#include "test/support/plan/planned.h"

#define SITES      6u
#define THREADS    3u     /* of ingest */
#define RING_SMALL 24576u /* is full before a slow disk is given up */
/* Of ingest's logs, bytes; the Makefile says so to its sources. */
#define INGEST_SEGMENT 65536u
#define RECORD_BYTES   4096u
#define GRACE_BITS     13u /* ms, for what is under way when it is told to end */

static struct site {
	struct bs_shm shm;
	struct bs_worker_env env;
} site[2 * SITES]; /* the second half answers readouts */

static struct site *now_on;
static struct bs_shm *shm;
static int64_t ingest_start_ns, recon_start_ns, recon_ready_ns;
static uint64_t session;       /* of the scan that events are about */
static uint64_t session_of[2]; /* of scan n in place n % 2 */
static bool stopping;
static int64_t dead_ns; /* a kill is due; for how long it is dead then; 0: none is */
static bool dying;
static enum sim_fault deadly; /* what is due */
static int64_t two_ns;        /* in two scans: for how long it is dead then; 0: that is not due */

/* ---- what ingest says ---- */

void service_moment(uint32_t bits)
{
	if (dead_ns == 0 || dying || deadly != FAULT_INGEST_TURN || !process_inside() ||
	    !sim_chance(300))
		return;
	dying = true;
	process_cut(sim_spread(bits));
}

static void take_events(void)
{
	struct bs_event e;

	while (bs_event_take(&shm->s->worker[BS_WORKER_INGEST].events, &e)) {
		char words[900];

		(void)bs_event_words(&e, words, sizeof(words));
		SAY("ingest: %s", words);
		if (e.number == BS_EVENT_OPEN)
			session = session_of[e.arg[0] & 1] = e.arg[1];
		if (e.number == BS_EVENT_OUTCOME) {
			const struct bs_scan_record *s = &shm->s->scan[e.arg[0] & 1];

			books_over(session_of[e.arg[0] & 1]);
			answers_counted(session_of[e.arg[0] & 1], atomic_load(&s->answers),
					atomic_load(&s->answers_late));
		}
		if (e.number == BS_EVENT_OUTCOME && e.code != 0)
			books_named(session_of[e.arg[0] & 1], words);
		if (e.number == BS_EVENT_FAULT) /* that another scan came is no reason */
			books_said(words);
		if (e.number == BS_EVENT_GAP)
			books_gap(session, e.arg[1], e.arg[2]);
	}
}

void service_hears(void)
{
	if (emit_runs()) {
		emit_hears();
		return;
	}
	take_events();
	service_moment(6);
}

/* ---- what its process does not do here ---- */

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

void __wrap_bs_rt_enter_log(struct bs_worker_env *env);
void __wrap_bs_rt_enter_log(struct bs_worker_env *env)
{
	(void)env;
}

void __wrap_bs_rt_leave(void);
void __wrap_bs_rt_leave(void)
{
}

void __wrap_bs_log(enum bs_log_level level, const char *words, ...)
	__attribute__((format(printf, 2, 3)));
void __wrap_bs_log(enum bs_log_level level, const char *words, ...)
{
	char line[1024];
	va_list ap;

	(void)level;
	va_start(ap, words);
	(void)vsnprintf(line, sizeof(line), words, ap);
	va_end(ap);
	SAY("log: %s", line);
	books_said(line);
}

/* ---- the memory ---- */

/* record_bytes: not 0: `boreside record` in place of the service */
static void make_site(struct site *at, uint32_t slots, enum bs_log_mode mode, uint64_t ring,
		      size_t record_bytes, bool answers)
{
	static const struct bs_answers_of of = {
		.row = { { .what = BS_ANSWER_PHASE, .deadline_ms = 2.0 },
			 { .what = BS_ANSWER_SHIFT, .deadline_ms = 60.0 },
			 { .what = BS_ANSWER_FREQUENCY, .deadline_ms = 1000.0 } },
		.count = 3,
		.kinds = 1u << BS_KIND_NAVIGATION
	};
	static struct bs_site s;

	s = (struct bs_site){
		.heartbeat_ms = 500,
		.stall_ms = 1000,
		.acq_slots = slots,
		.image_slots = 2,
		.keys = { .sign = "key" },
		.log = { .dir = DISK_DIR, .mode = mode, .buffer_mib = 1, .resume_s = 3.0 },
		.protocols = 1
	};
	s.protocol[0] = with_name(lines_of(BOOK_SAMPLES, BOOK_LINES, 1, BOOK_SAMPLES, 1), "p");
	s.protocol[0].silence_ms = 5000;
	if (answers)
		s.protocol[0].answers = of;
	s.answers = s.protocol[0].answers.count;
	bs_plan_make(&s.protocol[0]);
	memory_make(&at->shm, &s, BS_WORKER_INGEST);
	if (ring != 0)
		at->shm.s->pools.log_bytes = ring;
	memory_keep(&at->shm);
	at->env = (struct bs_worker_env){ .shm = at->shm,
					  .who = BS_WORKER_INGEST,
					  .me = &at->shm.s->worker[BS_WORKER_INGEST],
					  .site = s,
					  .tick_ns = 50 * MS,
					  .record_bytes = record_bytes,
					  .place = BS_THREAD_INGEST };
}

void service_make(void)
{
	static const struct {
		uint32_t slots;
		enum bs_log_mode log;
		uint64_t ring; /* bytes of the log's; 0: the site file's least */
		size_t record_bytes;
	} kind[SITES] = { { 8, BS_LOG_MODE_OFF, 0, 0 },
			  { 24, BS_LOG_MODE_DURABLE, 0, 0 },
			  { 96, BS_LOG_MODE_DURABLE, 0, 0 },
			  { 24, BS_LOG_MODE_RELAXED, 0, 0 },
			  { 24, BS_LOG_MODE_DURABLE, RING_SMALL, 0 },
			  { 96, BS_LOG_MODE_DURABLE, RING_SMALL, RECORD_BYTES } };

	for (unsigned n = 0; n < 2 * SITES; n++) {
		const unsigned i = n % SITES;

		make_site(&site[n], kind[i].slots, kind[i].log, kind[i].ring, kind[i].record_bytes,
			  n >= SITES);
	}
}

/* A service that starts. */
static void begin(int64_t start_ns)
{
	memory_reset(shm);
	recon_reset(shm);
	ingest_start_ns = start_ns;
	recon_start_ns = start_ns;
	recon_ready_ns = start_ns + (int64_t)sim_spread(8) * MS;
	stopping = false;
}

const struct bs_protocol *service_protocol(void)
{
	return &now_on->env.site.protocol[0];
}

void service_reset(bool answers)
{
	now_on = &site[sim_below(SITES) + (answers ? SITES : 0)];
	shm = &now_on->shm;
	session = 0;
	two_ns = 0;
	process_kill();
	if (service_logs() && sim_chance(300))
		logs_make_spare(INGEST_SEGMENT);
	begin(sim_now);
}

/* ---- ingest ---- */

static int run_ingest(void *env)
{
	return bs_worker_ingest(env);
}

bool service_ready(void)
{
	for (unsigned i = 0; i < PROCESS_THREADS; i++)
		if (process_ready(i))
			return true;
	return false;
}

bool service_idles(void)
{
	for (unsigned i = 0; i < PROCESS_THREADS; i++)
		if (process_ready(i) && !process_idles(i))
			return false;
	return true;
}

static void kill_process(void)
{
	process_kill();
	network_service_gone();
	wakes_process_gone();
	logs_process_gone();
	disk_process_gone();
	dead_ns = 0;
	dying = false;
}

/* The supervisor has seen that ingest is gone. */
static void ingest_gone(const char *how, int64_t start_ns)
{
	struct bs_worker_state *w = &shm->s->worker[BS_WORKER_INGEST];
	struct bs_fail why;

	take_events();
	kill_process();
	atomic_store(&w->phase, BS_PHASE_DOWN);
	atomic_store(&w->killed, sim_chance(500)); /* by somebody; else it ended by itself */
	(void)snprintf(w->last_end, sizeof(w->last_end), "%s", how);
	(void)bs_shm_recover(shm, BS_WORKER_INGEST, &why);
	atomic_fetch_add(&w->epoch, 1);
	bs_shm_ring_bell(shm, BS_WORKER_INGEST);
	ingest_start_ns = start_ns;
	SAY("ingest: %s", how);
}

/* What was due. */
static void die(void)
{
	const int64_t start_ns = sim_now + dead_ns;

	faults_strike(deadly);
	if (deadly == FAULT_SERVICE_PLACE || deadly == FAULT_POWER_PLACE)
		service_kill(start_ns);
	else
		(void)service_kill_ingest(start_ns);
	if (deadly == FAULT_POWER_PLACE)
		disk_power_loss();
}

void service_turn(uint32_t steps)
{
	unsigned i = sim_below(THREADS);

	while (!process_ready(i))
		i = (i + 1) % THREADS;
	process_run(i, steps);
	if (dying || process_hit()) {
		die();
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

/* Two scans are open, and something was done since. */
static void kill_in_two(void)
{
	const int64_t start_ns = sim_now + two_ns;

	if (two_ns == 0 || process_state == PROCESS_DOWN || bs_scan_before(shm->s->scan) == NULL ||
	    !sim_chance(30))
		return;
	two_ns = 0;
	faults_strike(FAULT_SERVICE_TWO);
	service_kill(start_ns);
}

void service_supervise(void)
{
	kill_in_two();
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
	int64_t due = process_state == PROCESS_DOWN ? ingest_start_ns : process_due();

	if (!recon_lives() && recon_start_ns < due)
		due = recon_start_ns;
	return due;
}

enum bs_state service_state(void)
{
	if (emit_runs())
		return emit_state();
	if (process_state == PROCESS_DOWN)
		return BS_STATES;
	return (enum bs_state)atomic_load(&bs_scan_newest(shm->s->scan)->state);
}

bool service_takes(uint64_t of)
{
	if (process_state == PROCESS_DOWN)
		return false;
	return service_state() == BS_STATE_SCANNING && bs_scan_newest(shm->s->scan)->session == of;
}

bool service_records(void)
{
	return now_on->env.record_bytes != 0;
}

bool service_is_narrow(void)
{
	return shm->s->pools.log_bytes == RING_SMALL;
}

bool service_logs(void)
{
	return now_on->env.site.log.mode != BS_LOG_MODE_OFF;
}

bool service_relaxed(void)
{
	return now_on->env.site.log.mode == BS_LOG_MODE_RELAXED;
}

bool service_rests(void)
{
	return service_state() == BS_STATE_IDLE && process_rests(0) &&
	       bs_pool_in_use(shm->acq_pool) == 0 && bs_ring_count(shm->acq_ring) == 0 &&
	       !stopping && atomic_load(&bs_scan_newest(shm->s->scan)->open) == 0 &&
	       bs_scan_before(shm->s->scan) == NULL;
}

/* ---- faults ---- */

bool service_kill_ingest(int64_t start_ns)
{
	if (process_state == PROCESS_DOWN)
		return false;
	books_killed();
	ingest_gone("killed by signal 9", start_ns);
	return true;
}

bool service_kill_soon(int64_t after_ns)
{
	if (dead_ns != 0)
		return false;
	dead_ns = after_ns;
	deadly = FAULT_INGEST_TURN;
	return true;
}

bool service_kill_at(enum sim_fault what, int64_t after_ns)
{
	if (dead_ns != 0 || process_state != PROCESS_LIVES)
		return false;
	dead_ns = after_ns;
	deadly = what;
	process_aim(4);
	return true;
}

bool service_kill_in_two(int64_t after_ns)
{
	if (two_ns != 0 || now_on->env.site.log.mode == BS_LOG_MODE_OFF)
		return false;
	two_ns = after_ns;
	return true;
}

bool service_kill_recon(int64_t start_ns, int64_t ready_ns)
{
	struct bs_worker_state *w = &shm->s->worker[BS_WORKER_RECON];
	struct bs_fail why;

	if (!recon_lives())
		return false;
	if (now_on->env.site.log.mode == BS_LOG_MODE_OFF) /* else it comes again from the log */
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
	books_forgotten();
	take_events();
	kill_process();
	recon_kill();
	begin(start_ns);
}

void service_calm(void)
{
	dead_ns = two_ns = 0;
	process_aim_off();
}

bool service_stop(void)
{
	if (stopping || process_state == PROCESS_DOWN)
		return false;
	stopping = true;
	atomic_store(&shm->s->stop_by_ns, sim_now + (int64_t)sim_spread(GRACE_BITS) * MS);
	atomic_store(&shm->s->stop, 1);
	bs_shm_ring_bell(shm, BS_WORKER_INGEST);
	return true;
}

bool service_will_seal(const char *log)
{
	const struct bs_log_asks *a = &shm->s->log.asks;

	for (unsigned i = 0; i < BS_LOG_ASKED; i++)
		if (atomic_load(&a->place[i].what) != 0 && strcmp(a->place[i].name, log) == 0)
			return true;
	return atomic_load(&a->looked) != 1 + atomic_load(&a->dropped);
}
