/* test/simulate/schedule.c - see schedule.h */
#include "test/simulate/schedule.h"

#include "test/simulate/answers.h"
#include "test/simulate/books.h"
#include "test/simulate/disk/disk.h"
#include "test/simulate/faults.h"
#include "test/simulate/disk/logs.h"
#include "test/simulate/emit/emit.h"
#include "test/simulate/emit/maker.h"
#include "test/simulate/senders/network.h"
#include "test/simulate/senders/others.h"
#include "test/simulate/recon.h"
#include "test/simulate/senders/scanner.h"
#include "test/simulate/service.h"
#include "test/simulate/totals.h"

/* A scan in the calm lasts seconds at most: silence 5 s, a gap 4.5 s, resending after 4 s. */
#define CALM_NS    (40000 * MS)
#define CALM_STEPS 100000u
#define START_NS   (1000000 * MS)
#define HOUR_NS    (3600000 * MS) /* a schedule takes seconds or minutes */

#define STEP    UINT64_C(0x7374657000000000)
#define ANSWERS UINT64_C(0x616e737765727300)

enum who { INGEST, RECON, SENDER, OTHERS, WHO };

static unsigned steps;
static uint32_t weight[WHO];

unsigned schedule_steps(void)
{
	return steps;
}

/* To the next thing that time brings. */
static void advance(void)
{
	const int64_t due[] = { service_due(), recon_due(), scanner_due(), others_due(),
				network_due() };
	int64_t next = sim_now + 1000 * MS;

	for (unsigned i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		next = due[i] > sim_now && due[i] < next ? due[i] : next;
	sim_now = next;
}

static void go(enum who who)
{
	switch (who) {
	case INGEST:
		service_turn(sim_chance(400) ? sim_spread(12) : 0);
		break;
	case RECON:
		recon_turn();
		break;
	case SENDER:
		(void)scanner_turn();
		break;
	default:
		others_turn();
	}
}

static void images_turn(void)
{
	int64_t next;

	if (emit_turn()) {
		steps++;
		sim_now += sim_below(20000);
		return;
	}
	next = emit_due();
	sim_now = next > sim_now && next < sim_now + 1000 * MS ? next : sim_now + 1000 * MS;
}

/* Somebody does something, or time passes. */
static void scans_turn(void)
{
	bool ready[WHO];
	uint32_t sum = 0;
	uint32_t at;

	network_turn();
	service_supervise();
	ready[INGEST] = service_ready();
	ready[RECON] = recon_ready();
	ready[SENDER] = scanner_ready();
	ready[OTHERS] = others_ready();
	scanner_judge();
	others_judge();
	for (int i = 0; i < WHO; i++)
		sum += ready[i] ? weight[i] : 0;
	if (sum == 0) {
		advance();
		return;
	}
	steps += !ready[INGEST] || ready[RECON] || ready[SENDER] || ready[OTHERS] ||
		 !service_idles();
	at = sim_below(sum);
	for (int i = 0; i < WHO; i++) {
		if (!ready[i])
			continue;
		if (at < weight[i]) {
			go((enum who)i);
			break;
		}
		at -= weight[i];
	}
	sim_now += sim_below(20000);
}

static void be_calm(void)
{
	network_calm();
	disk_calm();
	recon_stop(sim_now);
	service_calm();
	scanner_calm();
	others_calm();
}

/* Until all is at rest; false: not within the bound. */
static bool rests(int64_t until_ns)
{
	for (unsigned i = 0; i < CALM_STEPS && sim_now < until_ns && !sim_is_broken(); i++) {
		if (!scanner_busy() && !others_busy() && service_rests())
			return true;
		scans_turn();
	}
	return !scanner_busy() && !others_busy() && service_rests();
}

static void scans_end_in_calm(int64_t *took_ns)
{
	const int64_t from = sim_now;
	unsigned scans;

	SAY("calm");
	be_calm();
	if (!rests(sim_now + CALM_NS))
		sim_broken("%.1f s after the last fault the service is not at rest (%s)",
			   (double)(sim_now - from) * 1e-9, bs_state_name(service_state()));
	*took_ns = sim_now - from;
	scans = scanner_scans();
	if (sim_is_broken())
		return;
	(void)scanner_once();
	while (!sim_is_broken() && scanner_scans() == scans && sim_now < from + 2 * CALM_NS)
		scans_turn();
	if (scanner_scans() == scans || !scanner_well())
		sim_broken("a scan after the last fault does not succeed");
	if (!rests(sim_now + CALM_NS))
		sim_broken("the service is not at rest after a good scan");
	if (!sim_is_broken())
		books_judge_made();
}

/* The same of images and their takers. */
static void images_rest(const char *words)
{
	const int64_t from = sim_now;

	for (unsigned i = 0; i < CALM_STEPS && sim_now < from + CALM_NS && emit_unrest() != NULL &&
			     !sim_is_broken();
	     i++)
		images_turn();
	if (emit_unrest() != NULL)
		sim_broken("%.1f s after %s: %s", (double)(sim_now - from) * 1e-9, words,
			   emit_unrest());
}

static void images_end_in_calm(int64_t *took_ns)
{
	const int64_t from = sim_now;

	SAY("calm");
	disk_calm();
	emit_calm();
	images_rest("the last fault");
	*took_ns = sim_now - from;
	maker_once();
	images_rest("one image more");
	if (!sim_is_broken())
		emit_judge();
}

static void count(int64_t took_ns)
{
	struct sim_totals *t = sim_totals;

	t->steps += steps;
	t->faults += faults_had();
	t->scans += scanner_scans();
	if (t->fewest_steps == 0 || steps < t->fewest_steps)
		t->fewest_steps = steps;
	if (t->fewest_faults == 0 || faults_had() < t->fewest_faults)
		t->fewest_faults = faults_had();
	t->longest_ns = took_ns > t->longest_ns ? took_ns : t->longest_ns;
}

/* Half of the schedules have this. All else is drawn as if there were none: the rest stay the same.
 */
static bool has(uint64_t seed, uint64_t what)
{
	sim_state = seed ^ what;
	return (sim_random() & 1) != 0;
}

static void reset(uint64_t seed)
{
	const bool answers = has(seed, ANSWERS);
	const bool step = has(seed, STEP);

	sim_state = seed;
	sim_state = sim_random(); /* else the next seed has the same numbers, one later */
	sim_now = START_NS;
	steps = 0;
	books_reset();
	answers_reset();
	network_reset();
	disk_reset();
	scanner_reset();
	emit_reset(sim_chance(sim_images), step);
	if (!emit_runs())
		service_reset(answers);
	others_reset();
	faults_reset();
	for (int i = 0; i < WHO; i++)
		weight[i] = 1u << 2 * sim_below(3);
}

/* So many steps and faults at least. */
static void run(void (*turn)(void))
{
	const unsigned last = SCHEDULE_STEPS + sim_below(100);
	const unsigned apart = 10 + sim_below(100);
	unsigned next = 5 + sim_below(apart);

	while (!sim_is_broken() && (steps < last || faults_had() < SCHEDULE_FAULTS)) {
		turn();
		if (steps >= next && faults_one()) /* often one right upon the other */
			next = steps + sim_below(sim_chance(300) ? 4 : apart);
		if (sim_now > START_NS + HOUR_NS)
			sim_broken("nothing goes on any more (%s)", bs_state_name(service_state()));
	}
}

bool schedule_run(uint64_t seed)
{
	int64_t took_ns = 0;

	reset(seed);
	run(emit_runs() ? images_turn : scans_turn);
	if (emit_runs())
		images_end_in_calm(&took_ns);
	else
		scans_end_in_calm(&took_ns);
	if (!sim_is_broken() && !emit_runs()) {
		logs_judge_ends();
		service_kill(sim_now);
		if (sim_chance(700))
			disk_power_loss();
		logs_judge();
	}
	if (sim_is_broken())
		return false;
	count(took_ns);
	return true;
}
