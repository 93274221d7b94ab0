/*
 * board/tool/certify/meter.h - the energy that the GPUs take over a run, for its certificate
 *
 * open -> { start, stop }* -> close, by the thread that plays; each waits for a step of the
 * counter (gpu/tool/energy.h). open also sleeps for two seconds, the service armed and nobody
 * sending, for the idle GPUs' power. None of these fail: what is not known stays 0, and seen->why
 * has the words. Nothing is opened where the engine is the host's.
 * Test: test/unit/board/tool/certify/test_meter.c
 */
#ifndef BS_BOARD_TOOL_CERTIFY_METER_H
#define BS_BOARD_TOOL_CERTIFY_METER_H

#include "board/tool/doctor/machine.h"
#include "gpu/tool/energy.h"

struct bs_meter_seen {
	uint32_t gpus; /* number of boards whose whole energy was measured; 0: not measured */
	char why[256]; /* why it was not measured; "": it was, or no GPU is used */
	struct bs_energy_span idle;
};

struct bs_meter {
	struct bs_energy energy;
	struct bs_energy_at from;
	struct bs_meter_seen *seen;
};

/* library: path of NVML; NULL: the usual one. engine: the protocol's, as the status
 * document names it. */
void bs_meter_open(struct bs_meter *m, struct bs_meter_seen *seen, const char *library,
		   const struct bs_machine *machine, const char *engine);
void bs_meter_start(struct bs_meter *m);
void bs_meter_stop(struct bs_meter *m, struct bs_energy_span *span);
void bs_meter_close(struct bs_meter *m); /* closes a meter, also a zeroed one */

/* Returns a run's energy in mJ for each image; idle_each: the part that idle GPUs would take. */
static inline double bs_meter_each(const struct bs_energy_span *run, uint64_t images)
{
	return images > 0 ? run->mj / (double)images : 0.0;
}

static inline double bs_meter_idle_w(const struct bs_meter_seen *s)
{
	return s->idle.seconds > 0.0 ? s->idle.mj / s->idle.seconds * 1e-3 : 0.0;
}

static inline double bs_meter_idle_each(const struct bs_meter_seen *s,
					const struct bs_energy_span *run, uint64_t images)
{
	return images > 0 ? bs_meter_idle_w(s) * 1e3 * run->seconds / (double)images : 0.0;
}

#endif
