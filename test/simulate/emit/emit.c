/* test/simulate/emit/emit.c - see emit.h */
#include "test/simulate/emit/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/service/worker.h"
#include "board/status/status.h"
#include "drivers/log/store.h"
#include "test/simulate/disk/disk.h"
#include "test/simulate/disk/logs.h"
#include "test/simulate/emit/maker.h"
#include "test/simulate/emit/pictures.h"
#include "test/simulate/emit/sockets.h"
#include "test/simulate/emit/stepper.h"
#include "test/simulate/emit/takers.h"
#include "test/simulate/memory.h"
#include "test/simulate/process.h"
#include "test/simulate/totals.h"
#include "test/simulate/wakes.h"
#include "test/support/plan/planned.h"

#define SITES      6u
#define RESTART_NS (1500 * MS) /* a machine takes longer than a second */
#define STALL_NS   (1000 * MS)

static struct site {
	struct bs_shm shm;
	struct bs_worker_env env;
	uint32_t askers;
} site[2 * SITES]; /* the second half has a step */

static struct site *now_on;
static struct bs_shm *shm;
static bool on, stopping, calm, began_calm, steps_clock;
static int64_t start_ns, dead_ns, beat_ns;
static enum sim_fault deadly;
static uint64_t beat;
static uint64_t named[BS_TAKERS]; /* of services before this one */
static uint64_t refused;          /* by folders, the same */

static const struct bs_overload *overload(void)
{
	return &now_on->env.site.overload;
}

int64_t emit_clock(void)
{
	return sim_now + wakes_clock_ahead_ns;
}

bool emit_runs(void)
{
	return on;
}

enum bs_state emit_state(void)
{
	if (process_state == PROCESS_DOWN)
		return BS_STATES;
	if (stopping)
		return BS_STATE_DRAINING;
	return bs_pool_in_use(shm->image_pool) > 0 ? BS_STATE_SCANNING : BS_STATE_IDLE;
}

static void take_events(void)
{
	struct bs_event e;

	while (bs_event_take(&shm->s->worker[BS_WORKER_EMIT].events, &e)) {
		char words[900];

		(void)bs_event_words(&e, words, sizeof(words));
		SAY("emit: %s", words);
	}
}

void emit_hears(void)
{
	take_events();
}

/* ---- the memory ---- */

static void make_site(struct site *at, const struct bs_overload *o, uint32_t sinks, bool archive,
		      uint32_t askers, bool step)
{
	static struct bs_site s;

	s = (struct bs_site){ .heartbeat_ms = 500,
			      .stall_ms = 1000,
			      .acq_slots = 4,
			      .image_slots = step ? 8 : 2,
			      .run_dir = DISK_ROOT,
			      .overload = *o,
			      .sinks = sinks,
			      .protocols = 1 };
	if (archive)
		(void)snprintf(s.archive_url, sizeof(s.archive_url), "archive");
	if (askers > 0)
		(void)snprintf(s.images_url, sizeof(s.images_url), "images");
	for (uint32_t i = 0; i < sinks; i++)
		s.sink[i] = (struct bs_sink_spec){ .type = "cfl", .dir = { 'f', (char)('0' + i) } };
	s.protocol[0] = with_name(lines_of(16, PICTURE_PIXELS / 16, 1, 16, 1), "p");
	s.protocol[0].silence_ms = 5000;
	if (step) {
		s.steps = 1;
		s.step[0] = (struct bs_step_spec){
			.name = "step", .on = "p", .dir = "step", .budget_ms = STEPPER_BUDGET_MS
		};
		s.protocol[0].step = (struct bs_step_of){ .at = 1, .ms = STEPPER_BUDGET_MS };
	}
	bs_plan_make(&s.protocol[0]);
	memory_make(&at->shm, &s, BS_WORKER_EMIT);
	/* an archive has as many slots as its connection may hold: few are wanted here */
	if (at->shm.image_pool->slots > 10)
		at->shm.image_pool->slots = 10;
	memory_keep(&at->shm);
	at->askers = askers;
	at->env = (struct bs_worker_env){ .shm = at->shm,
					  .who = BS_WORKER_EMIT,
					  .me = &at->shm.s->worker[BS_WORKER_EMIT],
					  .site = s,
					  .tick_ns = 50 * MS,
					  .place = BS_THREAD_EMIT };
}

void emit_make(void)
{
	static const struct {
		enum bs_policy sinks, archive;
		uint32_t folders, askers;
		bool sent, spills;
	} kind[SITES] = {
		{ BS_POLICY_WAIT, BS_POLICY_WAIT, 0, 2, false, false },
		{ BS_POLICY_SPILL, BS_POLICY_SPILL, 1, 2, true, true },
		{ BS_POLICY_SPILL, BS_POLICY_WAIT, 2, 0, false, true },
		{ BS_POLICY_WAIT, BS_POLICY_SPILL, 1, 1, true, true },
		{ BS_POLICY_KEEP_NEWEST, BS_POLICY_KEEP_NEWEST, 1, 2, true, false },
		{ BS_POLICY_WAIT, BS_POLICY_WAIT, 1, 0, true, false },
	};

	for (unsigned n = 0; n < 2 * SITES; n++) {
		const unsigned i = n % SITES;
		struct bs_overload o = { .spill_mib = 1,
					 .queue = 2,
					 .archive = kind[i].archive,
					 .sinks = kind[i].sinks };

		if (kind[i].spills)
			(void)snprintf(o.spill_dir, sizeof(o.spill_dir), DISK_ROOT);
		make_site(&site[n], &o, kind[i].folders, kind[i].sent, kind[i].askers, n >= SITES);
	}
}

static void begin(int64_t at_ns)
{
	memory_reset(shm);
	atomic_store(&shm->s->end_by_ns, INT64_MAX);
	start_ns = at_ns;
	stopping = false;
	maker_reset(shm);
}

void emit_reset(bool runs, bool step)
{
	on = runs;
	wakes_clock_ahead_ns = 0;
	if (!on)
		return;
	now_on = &site[sim_below(SITES) + (step ? SITES : 0)];
	shm = &now_on->shm;
	process_kill();
	calm = false;
	dead_ns = 0;
	memset(named, 0, sizeof(named));
	refused = 0;
	steps_clock = sim_chance(300);
	pictures_reset();
	sockets_reset();
	askers_reset(now_on->askers);
	puller_reset(now_on->env.site.archive_url[0] != '\0');
	sinks_reset();
	stepper_reset(step);
	begin(sim_now);
	SAY("site %u", (unsigned)(now_on - site));
}

/* ---- the process ---- */

int __real_bs_store_append(struct bs_store *s, const unsigned char *image, size_t len,
			   uint64_t number, struct bs_fail *why);
int __wrap_bs_store_append(struct bs_store *s, const unsigned char *image, size_t len,
			   uint64_t number, struct bs_fail *why);
int __wrap_bs_store_append(struct bs_store *s, const unsigned char *image, size_t len,
			   uint64_t number, struct bs_fail *why)
{
	const int rc = __real_bs_store_append(s, image, len, number, why);
	unsigned i;

	if (rc != 0)
		return rc;
	pictures_stored(image, len, number);
	i = pictures_find(image, len);
	if (i != PICTURES)
		askers_stored(i);
	return 0;
}

int __wrap_bs_status_serve(struct bs_status_server **server, const struct bs_shm *m,
			   const char *url, struct bs_fail *why);
int __wrap_bs_status_serve(struct bs_status_server **server, const struct bs_shm *m,
			   const char *url, struct bs_fail *why)
{
	(void)m;
	(void)url;
	(void)why;
	*server = NULL;
	return 0;
}

void __wrap_bs_status_stop(struct bs_status_server *server);
void __wrap_bs_status_stop(struct bs_status_server *server)
{
	(void)server;
}

static int run_emit(void *env)
{
	return bs_worker_emit(env);
}

static void excuse(const unsigned char *msg, size_t len)
{
	const unsigned i = pictures_find(msg, len);

	if (i != PICTURES && (overload()->archive == BS_POLICY_KEEP_NEWEST ||
			      (overload()->archive == BS_POLICY_SPILL && picture[i].number == 0)))
		picture[i].mark[PICTURE_ARCHIVE] |= PICTURE_EXCUSED;
}

void emit_connection_breaks(void)
{
	sockets_each(excuse);
}

static void process_gone(void)
{
	emit_connection_breaks();
	process_kill();
	wakes_process_gone();
	logs_process_gone();
	disk_process_gone();
	sockets_process_gone();
	stepper_process_gone();
	dead_ns = 0;
}

static void emit_gone(bool killed, int64_t at_ns)
{
	struct bs_worker_state *w = &shm->s->worker[BS_WORKER_EMIT];
	struct bs_fail why;

	take_events();
	process_gone();
	atomic_store(&w->phase, BS_PHASE_DOWN);
	atomic_store(&w->killed, killed);
	(void)bs_shm_recover(shm, BS_WORKER_EMIT, &why);
	atomic_fetch_add(&w->epoch, 1);
	start_ns = at_ns;
	SAY("emit is gone");
}

static uint64_t count_named(unsigned taker)
{
	const struct bs_taker_record *r = &shm->s->taker[taker];

	return named[taker] + atomic_load(&r->shed) + atomic_load(&r->failed) +
	       atomic_load(&r->lost);
}

/* A service ends, as it was told to or not; what its takers lack of its memory is nobody's. */
static void service_gone(int64_t at_ns, bool told)
{
	/* what a successor of emit had in hand when it was told to end may have been filed */
	bool replaced = atomic_load(&shm->s->worker[BS_WORKER_EMIT].epoch) > 1;

	SAY("the service is gone");
	take_events();
	process_gone();
	for (unsigned t = 0; t < BS_TAKERS; t++)
		named[t] = count_named(t);
	for (unsigned t = 0; t < PICTURE_SINKS; t++)
		refused += atomic_load(&shm->s->taker[t].failed);
	for (unsigned t = 0; t < PICTURE_SINKS; t++)
		pictures_memory_gone(t, overload()->sinks == BS_POLICY_SPILL,
				     told && disk_was_well() && !replaced);
	pictures_memory_gone(PICTURE_ARCHIVE, overload()->archive == BS_POLICY_SPILL, false);
	pictures_memory_gone(PICTURE_STORE, false, false);
	if (steps_clock && sim_chance(500))
		wakes_clock_ahead_ns += ((int64_t)sim_below(3) - 1) * (int64_t)sim_spread(14) * MS;
	begin(at_ns > start_ns ? at_ns : start_ns);
}

void emit_kill_service(int64_t at_ns)
{
	service_gone(at_ns, false);
}

bool emit_kill(int64_t at_ns)
{
	if (process_state == PROCESS_DOWN)
		return false;
	emit_gone(true, at_ns);
	return true;
}

bool emit_lose_power(int64_t at_ns)
{
	if (steps_clock) /* numbers rise by the clock, or by what is stored: not without both */
		return false;
	service_gone(at_ns > sim_now + RESTART_NS ? at_ns : sim_now + RESTART_NS, false);
	sockets_break();
	pictures_power_lost();
	askers_forgotten();
	disk_power_loss();
	return true;
}

static void die(void)
{
	const int64_t at_ns = sim_now + dead_ns;

	faults_strike(deadly);
	if (deadly == FAULT_POWER_PLACE)
		(void)emit_lose_power(at_ns);
	else if (deadly == FAULT_SERVICE_PLACE)
		emit_kill_service(at_ns);
	else
		(void)emit_kill(at_ns);
}

static void see_end(void)
{
	if (process_state != PROCESS_ENDED)
		return;
	if (process_status == 0 && stopping) {
		service_gone(sim_now + (int64_t)sim_spread(8) * MS,
			     sim_now < atomic_load(&shm->s->end_by_ns));
		return;
	}
	if (process_status != BS_EXIT_HOPELESS || began_calm)
		sim_broken("emit ends with %d", process_status);
	service_gone(sim_now + (int64_t)sim_spread(11) * MS, false); /* it cannot start */
}

/* One that makes no progress is replaced (board/service/supervisor.c). */
static void watch(void)
{
	const struct bs_worker_state *w = &shm->s->worker[BS_WORKER_EMIT];
	const uint64_t now = atomic_load(&w->beat);

	if (process_state != PROCESS_LIVES || atomic_load(&w->phase) != BS_PHASE_READY ||
	    now != beat) {
		beat = now;
		beat_ns = sim_now;
	} else if (sim_now - beat_ns > STALL_NS) {
		sim_saw(SEEN_EMIT_STALLED);
		emit_gone(false, sim_now + MS);
	}
}

static bool run_process(void)
{
	if (process_state == PROCESS_DOWN && sim_now >= start_ns) {
		SAY("emit starts");
		began_calm = calm;
		process_start(run_emit, &now_on->env);
	}
	if (!process_run_any())
		return false;
	if (process_hit())
		die();
	else
		see_end();
	return true;
}

/* ---- the schedule ---- */

bool emit_turn(void)
{
	const uint32_t parties = now_on->env.site.steps > 0 ? 5 : 4;
	const uint32_t first = sim_below(parties);

	watch();
	for (unsigned i = 0; i < parties; i++) {
		switch ((first + i) % parties) {
		case 0:
			if (!stopping && maker_turn(calm))
				return true;
			continue;
		case 1:
			if (askers_turn())
				return true;
			continue;
		case 2:
			if (puller_turn())
				return true;
			continue;
		case 3:
			if (run_process())
				return true;
			continue;
		default:
			if (stepper_turn())
				return true;
		}
	}
	return false;
}

int64_t emit_due(void)
{
	int64_t due = process_state == PROCESS_DOWN ? start_ns : process_due();

	due = askers_due() < due ? askers_due() : due;
	due = puller_due() < due ? puller_due() : due;
	due = stepper_due() < due ? stepper_due() : due;
	return maker_due() < due ? maker_due() : due;
}

void emit_calm(void)
{
	calm = true;
	dead_ns = 0;
	steps_clock = false;
	process_aim_off();
	askers_calm();
	puller_calm();
	sinks_calm();
	stepper_calm();
}

const char *emit_unrest(void)
{
	uint64_t behind = 0;

	for (unsigned t = 0; t < BS_TAKERS; t++)
		behind += atomic_load(&shm->s->taker[t].behind);
	if (process_state != PROCESS_LIVES || stopping ||
	    atomic_load(&shm->s->worker[BS_WORKER_EMIT].phase) != BS_PHASE_READY)
		return "emit is not there";
	if (!maker_rests())
		return "an image waits, or the end of a scan";
	if (bs_pool_in_use(shm->image_pool) != 0 ||
	    atomic_load(&shm->s->images.closed) != atomic_load(&shm->image_ring->head))
		return "slots are in use";
	if (behind != 0)
		return "the store has images for a taker";
	if (!askers_rest())
		return "one that asks has not had all";
	return puller_rests() ? NULL : "the archive has not had all";
}

/* Under spill a folder is given up no image but those that cannot be filed at all. */
static void judge_refused(void)
{
	uint64_t failed = refused;

	for (unsigned i = 0; i < PICTURE_SINKS; i++)
		failed += atomic_load(&shm->s->taker[i].failed);
	if (overload()->sinks == BS_POLICY_SPILL && failed > sinks_refused())
		sim_broken("%llu images were given up that folders may take later, %u cannot be "
			   "filed",
			   (unsigned long long)failed, sinks_refused());
}

static void judge(unsigned taker, unsigned record, const char *who)
{
	unsigned first = 0;
	const unsigned lacks = pictures_lacks(taker, &first);

	if (lacks > count_named(record))
		sim_broken("%s %u lacks %u images, %llu were counted; the first is image %u", who,
			   taker, lacks, (unsigned long long)count_named(record), first);
	if (lacks > 0)
		sim_saw(SEEN_IMAGES_NAMED);
}

void emit_judge(void)
{
	const struct bs_site *s = &now_on->env.site;
	unsigned first;

	for (unsigned i = 0; i < s->sinks; i++)
		judge(i, i, "folder");
	judge_refused();
	if (s->archive_url[0] != '\0')
		judge(PICTURE_ARCHIVE, BS_TAKER_ARCHIVE, "the archive");
	if (!bs_site_stores(s))
		return;
	judge(PICTURE_STORE, BS_TAKER_IMAGES, "the store");
	askers_judge(count_named(BS_TAKER_IMAGES) - pictures_lacks(PICTURE_STORE, &first));
}

/* ---- faults ---- */

bool emit_kill_at(enum sim_fault what, int64_t after_ns)
{
	if (process_state != PROCESS_LIVES || (what == FAULT_POWER_PLACE && steps_clock))
		return false;
	if (dead_ns != 0) { /* at other places, then */
		process_aim(2);
		return false;
	}
	dead_ns = after_ns;
	deadly = what;
	process_aim(2);
	return true;
}

bool emit_stop(void)
{
	if (stopping || process_state != PROCESS_LIVES ||
	    atomic_load(&shm->s->worker[BS_WORKER_EMIT].phase) != BS_PHASE_READY ||
	    maker_has_slot())
		return false;
	stopping = true;
	atomic_store(&shm->s->end_by_ns, sim_now + (int64_t)sim_spread(13) * MS);
	atomic_store(&shm->s->stop, BS_WORKERS);
	bs_shm_ring_bell(shm, BS_WORKER_EMIT);
	return true;
}
