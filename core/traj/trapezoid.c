/* core/traj/trapezoid.c - see trapezoid.h */
#include "core/traj/trapezoid.h"

#include <math.h>

/* Returns the area under the gradient from the trapezoid's middle to `us` later. */
static double area(const struct bs_trapezoid *t, double us)
{
	double late = fmin(us - t->flat_us / 2.0, t->ramp_us);

	if (late <= 0.0)
		return us;
	return t->flat_us / 2.0 + late - late * late / (2.0 * t->ramp_us);
}

double bs_trapezoid_k(const struct bs_trapezoid *t, uint32_t sample)
{
	double us = ((double)sample - t->samples / 2) * t->dwell_us;
	double whole = 2.0 * area(t, t->samples * t->dwell_us / 2.0);

	return us < 0.0 ? -area(t, -us) / whole : area(t, us) / whole;
}
