/* test/simulate/faults.c - see faults.h */
#include "test/simulate/faults.h"

#include <stdio.h>

#include "core/frame/state.h"
#include "test/simulate/disk.h"
#include "test/simulate/network.h"
#include "test/simulate/recon.h"
#include "test/simulate/scanner.h"
#include "test/simulate/schedule.h"
#include "test/simulate/service.h"

static int64_t later(uint32_t bits)
{
	return sim_now + (int64_t)sim_spread(bits) * MS;
}

static bool change(enum network_change what)
{
	const enum network_way way = sim_chance(700) ? TO_SERVICE : TO_SENDER;

	if (network_changes(way))
		return false;
	network_change(way, what);
	return true;
}

static bool drop(void)
{
	return change(CHANGE_DROP);
}

static bool repeat(void)
{
	return change(CHANGE_REPEAT);
}

static bool reorder(void)
{
	return change(CHANGE_ORDER);
}

static bool flip(void)
{
	return change(CHANGE_BIT);
}

static bool cut(void)
{
	return change(CHANGE_CUT);
}

static bool disconnect(void)
{
	if (!network_connected())
		return false;
	network_break(later(sim_chance(900) ? 6 : 12));
	return true;
}

static bool freeze(void)
{
	network_freeze(later(sim_chance(900) ? 8 : 13));
	return true;
}

static bool narrow(void)
{
	network_narrow(1 + sim_below(4));
	return true;
}

static bool hole(void)
{
	return scanner_hole(sim_chance(500) ? INT64_MAX : later(13));
}

static bool sender_stops(void)
{
	scanner_stop(later(13));
	return true;
}

static bool sender_killed(void)
{
	scanner_kill(later(11));
	return true;
}

static bool sender_repeats(void)
{
	scanner_repeat();
	return true;
}

static bool recon_stops(void)
{
	recon_stop(later(12));
	return true;
}

/* Somewhere between two of its steps. */
static bool kill_ingest(void)
{
	if (service_ready())
		service_turn(sim_spread(12));
	return service_kill_ingest(later(8));
}

static bool kill_ingest_soon(void)
{
	return service_kill_soon((int64_t)sim_spread(8) * MS);
}

static bool kill_recon(void)
{
	const int64_t start_ns = later(8);

	return service_kill_recon(start_ns, start_ns + (int64_t)sim_spread(9) * MS);
}

static bool kill_service(void)
{
	if (service_ready())
		service_turn(sim_spread(12));
	service_kill(later(10));
	return true;
}

/* Whatever the disk has not got is gone, too. */
static bool lose_power(void)
{
	if (service_ready())
		service_turn(sim_spread(12));
	service_kill(later(10));
	disk_power_loss();
	return true;
}

static bool write_short(void)
{
	return disk_fail(DISK_SHORT);
}

static bool write_fails(void)
{
	return disk_fail(DISK_WRITE);
}

static bool no_space(void)
{
	return disk_fail(DISK_SPACE);
}

static bool sync_fails(void)
{
	return disk_fail(DISK_SYNC);
}

static bool open_fails(void)
{
	return disk_fail(DISK_OPEN);
}

static bool name_fails(void)
{
	return disk_fail(DISK_NAME);
}

static bool full(void)
{
	disk_full(later(11));
	return true;
}

static bool slow(void)
{
	disk_slow(later(11), (int64_t)sim_spread(9) * MS);
	return true;
}

static const struct {
	const char *name;
	bool (*happens)(void);
	uint32_t often; /* of 1000 schedules so many may have it */
} fault[] = {
	{ "message lost", drop, 500 },
	{ "message repeated", repeat, 500 },
	{ "messages in another order", reorder, 500 },
	{ "bit flipped", flip, 400 },
	{ "message cut short", cut, 300 },
	{ "hostile message", scanner_hostile, 300 },
	{ "number never comes", hole, 300 },
	{ "connection broken", disconnect, 500 },
	{ "network stalls", freeze, 300 },
	{ "sender reads slowly", narrow, 200 },
	{ "sender stops", sender_stops, 300 },
	{ "sender killed", sender_killed, 300 },
	{ "sender ignores its window", scanner_overrun, 200 },
	{ "sender repeats all", sender_repeats, 300 },
	{ "recon stops", recon_stops, 300 },
	{ "ingest killed", kill_ingest, 400 },
	{ "ingest killed at a turn", kill_ingest_soon, 300 },
	{ "recon killed", kill_recon, 300 },
	{ "supervisor killed", kill_service, 100 },
	{ "service told to stop", service_stop, 100 },
	{ "power lost", lose_power, 200 },
	{ "write cut short", write_short, 300 },
	{ "write fails", write_fails, 200 },
	{ "no space once", no_space, 200 },
	{ "sync fails once", sync_fails, 300 },
	{ "open fails", open_fails, 150 },
	{ "rename or removal fails", name_fails, 150 },
	{ "disk full", full, 150 },
	{ "disk slow", slow, 150 },
};

#define FAULTS   (sizeof(fault) / sizeof(fault[0]))
#define HAPPENED 64u
#define STATES   (BS_STATES + 1)

static bool may[FAULTS], did[FAULTS][STATES];
static uint64_t covered[FAULTS][STATES], schedules;
static unsigned had;
static struct {
	unsigned what, step;
	enum bs_state state;
	int64_t at_ns;
} happened[HAPPENED];

void faults_reset(void)
{
	for (unsigned i = 0; i < FAULTS; i++)
		may[i] = fault[i].happens == disconnect || sim_chance(fault[i].often);
	had = 0;
	schedules++;
	for (unsigned i = 0; i < FAULTS; i++)
		for (unsigned s = 0; s < STATES; s++)
			did[i][s] = false;
}

bool faults_one(void)
{
	const enum bs_state state = service_state();
	unsigned i = sim_below(FAULTS);

	while (!may[i])
		i = (i + 1) % FAULTS;
	SAY("fault: %s", fault[i].name);
	if (!fault[i].happens())
		return false;
	if (had < HAPPENED) {
		happened[had].what = i;
		happened[had].step = schedule_steps();
		happened[had].state = state;
		happened[had].at_ns = sim_now;
	}
	had++;
	if (!did[i][state]) {
		did[i][state] = true;
		covered[i][state]++;
	}
	return true;
}

unsigned faults_had(void)
{
	return had;
}

static const char *state_name(unsigned state)
{
	return state == BS_STATES ? "(dead)" : bs_state_name((enum bs_state)state);
}

void faults_print(void)
{
	for (unsigned i = 0; i < had && i < HAPPENED; i++)
		printf("#   step %4u, %10.3f ms, %-8s: %s\n", happened[i].step,
		       (double)happened[i].at_ns * 1e-6, state_name(happened[i].state),
		       fault[happened[i].what].name);
}

void faults_table(void)
{
	printf("# schedules of %llu that had the fault while ingest was\n# %-26s",
	       (unsigned long long)schedules, "");
	for (unsigned s = 0; s < STATES; s++)
		printf(" %9s", state_name(s));
	printf("\n");
	for (unsigned i = 0; i < FAULTS; i++) {
		printf("# %-26s", fault[i].name);
		for (unsigned s = 0; s < STATES; s++)
			printf(" %9llu", (unsigned long long)covered[i][s]);
		printf("\n");
	}
}
