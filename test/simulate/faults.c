/* test/simulate/faults.c - see faults.h */
#include "test/simulate/faults.h"

#include <stdio.h>
#include <string.h>

#include "core/frame/state.h"
#include "test/simulate/disk/disk.h"
#include "test/simulate/network.h"
#include "test/simulate/recon.h"
#include "test/simulate/scanner.h"
#include "test/simulate/schedule.h"
#include "test/simulate/service.h"
#include "test/simulate/totals.h"

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
	if (!network_connected())
		return false;
	network_freeze(later(sim_chance(900) ? 8 : 13));
	return true;
}

static bool narrow(void)
{
	if (!network_connected())
		return false;
	network_narrow(1 + sim_below(4));
	return true;
}

static bool hole(void)
{
	return scanner_hole(sim_chance(500) ? INT64_MAX : later(13));
}

static bool sender_stops(void)
{
	if (!scanner_busy())
		return false;
	scanner_stop(later(13));
	return true;
}

static bool sender_killed(void)
{
	if (!scanner_busy())
		return false;
	scanner_kill(later(11));
	return true;
}

static bool sender_repeats(void)
{
	return scanner_repeat();
}

static bool recon_stops(void)
{
	if (!recon_lives())
		return false;
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

/* Before one of its stores or calls, each as likely as another. */
static bool kill_ingest_at(void)
{
	return service_kill_at(FAULT_INGEST_PLACE, (int64_t)sim_spread(8) * MS);
}

static bool kill_service_at(void)
{
	return service_kill_at(FAULT_SERVICE_PLACE, (int64_t)sim_spread(10) * MS);
}

static bool lose_power_at(void)
{
	return service_kill_at(FAULT_POWER_PLACE, (int64_t)sim_spread(10) * MS);
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
	bool waits;     /* it strikes later, and is counted then */
} fault[FAULTS] = {
	[FAULT_LOST] = { "message lost", drop, 500, true },
	[FAULT_REPEATED] = { "message repeated", repeat, 500, true },
	[FAULT_ORDER] = { "messages in another order", reorder, 500, true },
	[FAULT_BIT] = { "bit flipped", flip, 400, true },
	[FAULT_CUT] = { "message cut short", cut, 300, true },
	[FAULT_HOSTILE] = { "hostile message", scanner_hostile, 300, false },
	[FAULT_HOLE] = { "number never comes", hole, 300, true },
	[FAULT_BREAK] = { "connection broken", disconnect, 500, false },
	[FAULT_FREEZE] = { "network stalls", freeze, 300, false },
	[FAULT_NARROW] = { "sender reads slowly", narrow, 200, false },
	[FAULT_SENDER_STOPS] = { "sender stops", sender_stops, 300, false },
	[FAULT_SENDER_KILLED] = { "sender killed", sender_killed, 300, false },
	[FAULT_OVERRUN] = { "sender ignores its window", scanner_overrun, 200, false },
	[FAULT_SENDER_REPEATS] = { "sender repeats all", sender_repeats, 300, false },
	[FAULT_RECON_STOPS] = { "recon stops", recon_stops, 300, false },
	[FAULT_INGEST] = { "ingest killed", kill_ingest, 400, false },
	[FAULT_INGEST_TURN] = { "ingest killed at a turn", kill_ingest_soon, 300, true },
	[FAULT_INGEST_PLACE] = { "ingest killed at a place", kill_ingest_at, 400, true },
	[FAULT_RECON] = { "recon killed", kill_recon, 400, false },
	[FAULT_SERVICE] = { "supervisor killed", kill_service, 100, false },
	[FAULT_SERVICE_PLACE] = { "supervisor killed at a place", kill_service_at, 100, true },
	[FAULT_STOP] = { "service told to stop", service_stop, 100, false },
	[FAULT_POWER] = { "power lost", lose_power, 200, false },
	[FAULT_POWER_PLACE] = { "power lost at a place", lose_power_at, 200, true },
	[FAULT_SHORT] = { "write cut short", write_short, 300, true },
	[FAULT_WRITE] = { "write fails", write_fails, 200, true },
	[FAULT_SPACE] = { "no space once", no_space, 200, true },
	[FAULT_SYNC] = { "sync fails once", sync_fails, 300, true },
	[FAULT_OPEN] = { "open fails", open_fails, 150, true },
	[FAULT_NAME] = { "rename or removal fails", name_fails, 150, true },
	[FAULT_FULL] = { "disk full", full, 150, true },
	[FAULT_SLOW] = { "disk slow", slow, 150, true },
};

#define HAPPENED 64u

static bool may[FAULTS], did[FAULTS][STATES];
static unsigned had;
static struct {
	enum sim_fault what;
	unsigned step;
	enum bs_state state;
	int64_t at_ns;
} happened[HAPPENED];

void faults_reset(void)
{
	for (unsigned i = 0; i < FAULTS; i++)
		may[i] = sim_chance(fault[i].often);
	may[FAULT_BREAK] = true;
	had = 0;
	memset(did, 0, sizeof(did));
	sim_totals->schedules++;
}

static void strike(enum sim_fault what, enum bs_state state)
{
	if (had < HAPPENED) {
		happened[had].what = what;
		happened[had].step = schedule_steps();
		happened[had].state = state;
		happened[had].at_ns = sim_now;
	}
	had++;
	if (did[what][state])
		return;
	did[what][state] = true;
	sim_totals->fault[what][state]++;
}

void faults_strike(enum sim_fault what)
{
	SAY("fault strikes: %s", fault[what].name);
	strike(what, service_state());
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
	if (!fault[i].waits)
		strike((enum sim_fault)i, state);
	return true;
}

unsigned faults_had(void)
{
	return had;
}

const char *faults_name(enum sim_fault what)
{
	return fault[what].name;
}

void faults_print(void)
{
	for (unsigned i = 0; i < had && i < HAPPENED; i++)
		printf("#   step %4u, %10.3f ms, %-8s: %s\n", happened[i].step,
		       (double)happened[i].at_ns * 1e-6, totals_state(happened[i].state),
		       fault[happened[i].what].name);
}
