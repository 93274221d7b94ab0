/*
 * drivers/tool/replay/pace.h - how much time lies between two readouts of a recording, by its clock
 */
#ifndef BS_DRIVERS_TOOL_REPLAY_PACE_H
#define BS_DRIVERS_TOOL_REPLAY_PACE_H

#include "core/mrd.h"
#include "drivers/tool/replay/replay.h"

/* Returns a readout's sampling time; NaN and absurd times count as 0. */
double bs_pace_duration_us(const struct bs_mrd_acq *a);
/*
 * Returns the time from one readout to the next, never negative. Counters wrap, so differences are
 * taken in their own width.
 */
double bs_pace_step_us(enum bs_replay_clock clock, const struct bs_mrd_acq *from,
		       const struct bs_mrd_acq *to);

#endif
