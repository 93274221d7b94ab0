/*
 * core/tool/ramps.h - trapezoidal gradients for simulated readouts (core/traj/trapezoid.h)
 *
 * Pure. Test: test/unit/drivers/tool/test_phantomphysics.c
 */
#ifndef BS_CORE_TOOL_RAMPS_H
#define BS_CORE_TOOL_RAMPS_H

#include "core/traj/trapezoid.h"

/*
 * Makes a trapezoid that is sampled on its flat part alone, behind ramps of 100 us (ramp_us 0), or
 * from the first quarter of one ramp of ramp_us to the last quarter of the other. All times are
 * whole microseconds.
 */
int bs_trapezoid_make(struct bs_trapezoid *t, uint32_t samples, double dwell_us, uint32_t ramp_us,
		      struct bs_fail *why);
/* The time from the begin of one readout to that of the next, us. */
double bs_trapezoid_spacing_us(const struct bs_trapezoid *t);

#endif
