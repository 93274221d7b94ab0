/*
 * core/traj/trapezoid.h - k along a readout under a trapezoidal gradient
 *
 * The gradient rises for ramp_us, stays for flat_us and falls for ramp_us. Sample s of n is taken
 * delay_us + s x dwell time after the rise begins; sample n/2 lies in the middle of the trapezoid,
 * where k = 0. k runs through one cycle per sample spacing of the grid in n dwell times: on the
 * flat part alone (delay_us >= ramp_us) k = (s - n/2)/n, with ramps sampled the steps at the ends
 * are shorter and those in the middle longer. This is what the parameters rampUpTime, flatTopTime,
 * acqDelayTime, numSamples and dwellTime of a ConventionalEPI trajectory description mean.
 * Pure. Test: test/unit/drivers/tool/test_phantomphysics.c
 */
#ifndef BS_CORE_TRAJ_TRAPEZOID_H
#define BS_CORE_TRAJ_TRAPEZOID_H

#include <stdint.h>

#include "core/err.h"

struct bs_trapezoid {
	uint32_t samples;
	double dwell_us;
	double ramp_us, flat_us, delay_us;
};

/* Returns the place of a sample in k, in cycles per sample spacing of the grid: -0.5 to 0.5. */
double bs_trapezoid_k(const struct bs_trapezoid *t, uint32_t sample);

#endif
