/* core/tool/ramps.c - see ramps.h */
#include "core/tool/ramps.h"

#include <math.h>

#define RAMP_US 100.0

int bs_trapezoid_make(struct bs_trapezoid *t, uint32_t samples, double dwell_us, uint32_t ramp_us,
		      struct bs_fail *why)
{
	double sampling_us = samples * dwell_us;

	if (samples == 0 || !(dwell_us > 0.0))
		return bs_fail(why, BS_ERR_SIZE, "a readout of %u samples, %g us apart", samples,
			       dwell_us);
	*t = (struct bs_trapezoid){ samples, dwell_us, RAMP_US, ceil(sampling_us), RAMP_US };
	if (ramp_us == 0)
		return 0;
	t->ramp_us = ramp_us;
	t->delay_us = floor(ramp_us / 4.0);
	t->flat_us = sampling_us + 2.0 * (t->delay_us - t->ramp_us);
	if (t->flat_us != floor(t->flat_us) || t->flat_us <= 0.0)
		return bs_fail(why, BS_ERR_SIZE,
			       "ramps of %u us leave a flat part of %g us of %g us of sampling: it "
			       "must be a whole number above 0",
			       ramp_us, t->flat_us, sampling_us);
	return 0;
}

double bs_trapezoid_spacing_us(const struct bs_trapezoid *t)
{
	return 2.0 * t->ramp_us + t->flat_us;
}
