/* test/simulate/faults.c - see faults.h */
#include "test/simulate/faults.h"

#include <stdio.h>
#include <string.h>

#include "core/frame/state.h"
#include "test/simulate/disk/disk.h"
#include "test/simulate/emit/emit.h"
#include "test/simulate/emit/maker.h"
#include "test/simulate/emit/takers.h"
#include "test/simulate/senders/network.h"
#include "test/simulate/recon.h"
#include "test/simulate/senders/scanner.h"
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

	if (network_changes(0, way))
		return false;
	network_change(0, way, what);
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
	if (!network_connected(0))
		return false;
	network_break(0, later(sim_chance(900) ? 6 : 12));
	return true;
}

static bool freeze(void)
{
	if (!network_connected(0))
		return false;
	network_freeze(0, later(sim_chance(900) ? 8 : 13));
	return true;
}

static bool narrow(void)
{
	if (!network_connected(0))
		return false;
	network_narrow(0, 1 + sim_below(4));
	return true;
}

static bool hole(void)
{
	return scanner_hole(sim_spread(12), sim_chance(500) ? INT64_MAX : later(13));
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
	if (emit_runs())
		return emit_kill_at(FAULT_SERVICE_PLACE, (int64_t)sim_spread(10) * MS);
	return service_kill_at(FAULT_SERVICE_PLACE, (int64_t)sim_spread(10) * MS);
}

static bool kill_service_in_two(void)
{
	return service_kill_in_two((int64_t)sim_spread(10) * MS);
}

static bool lose_power_at(void)
{
	if (emit_runs())
		return emit_kill_at(FAULT_POWER_PLACE, (int64_t)sim_spread(10) * MS);
	return service_kill_at(FAULT_POWER_PLACE, (int64_t)sim_spread(10) * MS);
}

static bool kill_recon(void)
{
	const int64_t start_ns = later(8);

	if (emit_runs())
		return maker_kill();
	return service_kill_recon(start_ns, start_ns + (int64_t)sim_spread(9) * MS);
}

static bool kill_service(void)
{
	if (emit_runs()) {
		emit_kill_service(later(10));
		return true;
	}
	if (service_ready())
		service_turn(sim_spread(12));
	service_kill(later(10));
	return true;
}

/* Whatever the disk has not got is gone, too. */
static bool lose_power(void)
{
	if (emit_runs())
		return emit_lose_power(later(10));
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

static bool reads_fail(void)
{
	return disk_fail(DISK_READ);
}

static bool read_only(void)
{
	disk_read_only(later(11));
	return true;
}

/* It errs, and is well again: mostly in what changes something, else in all. */
static bool errs(void)
{
	disk_err(later(12), sim_chance(300));
	return true;
}

static bool slow(void)
{
	disk_slow(later(11), (int64_t)sim_spread(9) * MS);
	return true;
}

static bool told_to_stop(void)
{
	return emit_runs() ? emit_stop() : service_stop();
}

static bool kill_emit(void)
{
	return emit_kill(later(8));
}

static bool kill_emit_at(void)
{
	return emit_kill_at(FAULT_EMIT_PLACE, (int64_t)sim_spread(8) * MS);
}

static bool taker_stops(void)
{
	return sim_chance(400) ? puller_stop(later(13)) : askers_stop(later(13));
}

static bool taker_killed(void)
{
	return sim_chance(400) ? puller_killed(later(11)) : askers_killed(later(11));
}

static bool folder_read_only(void)
{
	return sinks_refuse(later(12));
}

static bool file_hangs(void)
{
	return sinks_hang((int64_t)sim_spread(14) * MS);
}

enum kind { SCANS = 1, IMAGES = 2, BOTH = 3 };

static const struct {
	const char *name;
	bool (*happens)(void);
	uint32_t often; /* of 1000 schedules so many may have it */
	enum kind kind; /* of which */
	bool waits;     /* it strikes later, and is counted then */
} fault[FAULTS] = {
	[FAULT_LOST] = { "message lost", drop, 500, SCANS, true },
	[FAULT_REPEATED] = { "message repeated", repeat, 500, SCANS, true },
	[FAULT_ORDER] = { "messages in another order", reorder, 500, SCANS, true },
	[FAULT_BIT] = { "bit flipped", flip, 400, SCANS, true },
	[FAULT_CUT] = { "message cut short", cut, 300, SCANS, true },
	[FAULT_HOSTILE] = { "hostile message", scanner_hostile, 300, SCANS, false },
	[FAULT_HOLE] = { "numbers never come", hole, 300, SCANS, true },
	[FAULT_BREAK] = { "connection broken", disconnect, 500, SCANS, false },
	[FAULT_FREEZE] = { "network stalls", freeze, 300, SCANS, false },
	[FAULT_NARROW] = { "sender reads slowly", narrow, 200, SCANS, false },
	[FAULT_SENDER_STOPS] = { "sender stops", sender_stops, 300, SCANS, false },
	[FAULT_SENDER_KILLED] = { "sender killed", sender_killed, 300, SCANS, false },
	[FAULT_OVERRUN] = { "sender ignores its window", scanner_overrun, 200, SCANS, false },
	[FAULT_SENDER_REPEATS] = { "sender repeats all", sender_repeats, 300, SCANS, false },
	[FAULT_RECON_STOPS] = { "recon stops", recon_stops, 300, SCANS, false },
	[FAULT_INGEST] = { "ingest killed", kill_ingest, 400, SCANS, false },
	[FAULT_INGEST_TURN] = { "ingest killed at a turn", kill_ingest_soon, 300, SCANS, true },
	[FAULT_INGEST_PLACE] = { "ingest killed at a place", kill_ingest_at, 400, SCANS, true },
	[FAULT_RECON] = { "recon killed", kill_recon, 400, BOTH, false },
	[FAULT_SERVICE] = { "supervisor killed", kill_service, 100, BOTH, false },
	[FAULT_SERVICE_PLACE] = { "supervisor killed at a place", kill_service_at, 100, BOTH,
				  true },
	[FAULT_SERVICE_TWO] = { "supervisor killed in two scans", kill_service_in_two, 150, SCANS,
				true },
	[FAULT_STOP] = { "service told to stop", told_to_stop, 100, BOTH, false },
	[FAULT_POWER] = { "power lost", lose_power, 200, BOTH, false },
	[FAULT_POWER_PLACE] = { "power lost at a place", lose_power_at, 200, BOTH, true },
	[FAULT_SHORT] = { "write cut short", write_short, 300, BOTH, true },
	[FAULT_WRITE] = { "write fails", write_fails, 200, BOTH, true },
	[FAULT_SPACE] = { "no space once", no_space, 200, BOTH, true },
	[FAULT_SYNC] = { "sync fails once", sync_fails, 300, BOTH, true },
	[FAULT_OPEN] = { "open fails", open_fails, 150, BOTH, true },
	[FAULT_NAME] = { "rename or removal fails", name_fails, 150, BOTH, true },
	[FAULT_FULL] = { "disk full", full, 150, BOTH, true },
	[FAULT_SLOW] = { "disk slow", slow, 150, BOTH, true },
	[FAULT_READ] = { "read fails", reads_fail, 200, IMAGES, true },
	[FAULT_READ_ONLY] = { "disk read only", read_only, 200, BOTH, true },
	[FAULT_ERRS] = { "disk errs for a while", errs, 200, BOTH, true },
	[FAULT_EMIT] = { "emit killed", kill_emit, 400, IMAGES, false },
	[FAULT_EMIT_PLACE] = { "emit killed at a place", kill_emit_at, 600, IMAGES, true },
	[FAULT_TAKER_STOPS] = { "taker stops", taker_stops, 400, IMAGES, false },
	[FAULT_TAKER_KILLED] = { "taker killed", taker_killed, 500, IMAGES, false },
	[FAULT_TAKER_REPEATS] = { "taker asks twice", askers_ask_twice, 400, IMAGES, true },
	[FAULT_ANSWER_LOST] = { "answer lost", askers_lose_answer, 400, IMAGES, true },
	[FAULT_SINK_REFUSES] = { "folder read only", folder_read_only, 300, IMAGES, false },
	[FAULT_SINK_HANGS] = { "file hangs", file_hangs, 200, IMAGES, true },
	[FAULT_SINK_ONE] = { "image refused", sinks_refuse_one, 200, IMAGES, true },
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
	const enum kind kind = emit_runs() ? IMAGES : SCANS;

	for (unsigned i = 0; i < FAULTS; i++)
		may[i] = sim_chance(fault[i].often) && (fault[i].kind & kind) != 0;
	may[emit_runs() ? FAULT_EMIT : FAULT_BREAK] = true;
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
