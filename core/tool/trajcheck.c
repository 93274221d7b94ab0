/* core/tool/trajcheck.c - see trajcheck.h */
#include "core/tool/trajcheck.h"

#include <math.h>
#include <stdlib.h>

/*
 * cycles per voxel that a value may exceed 0.5 by: the rounding of another unit to single precision
 */
#define ROUNDING_CYCLES 1e-6

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Sets keyed: no two readouts have the same pair of counters. */
static int set_keyed(struct bs_traj *t, struct bs_fail *why)
{
	uint32_t *key = malloc(t->readouts * sizeof(*key));

	if (!key)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the counters of %u readouts",
			       t->readouts);
	for (uint32_t r = 0; r < t->readouts; r++)
		key[r] = (uint32_t)t->step2[r] << 16 | t->step1[r];
	qsort(key, t->readouts, sizeof(*key), by_value);
	t->keyed = true;
	for (uint32_t r = 1; r < t->readouts; r++)
		if (key[r] == key[r - 1])
			t->keyed = false;
	free(key);
	return 0;
}

static int check_axis(struct bs_traj *t, const struct bs_protocol *p, uint32_t axis,
		      struct bs_fail *why)
{
	static const char name[] = "xyz";
	double scale = bs_traj_unit_scale(p, axis);
	uint64_t points = (uint64_t)t->readouts * t->samples;
	double extent = 0.0;

	for (uint64_t i = 0; i < points; i++) {
		float *at = &t->k[i * t->dims + axis];
		double k = *at * scale;
		uint64_t readout = i / t->samples;
		uint64_t sample = i % t->samples;

		if (!isfinite(k))
			return bs_fail(why, BS_ERR_TRAJECTORY,
				       "trajectory: readout %llu, sample %llu: k%c is %s",
				       (unsigned long long)readout, (unsigned long long)sample,
				       name[axis], isnan(k) ? "NaN" : "infinite");
		if (fabs(k) > 0.5 + ROUNDING_CYCLES)
			return bs_fail(
				why, BS_ERR_TRAJECTORY,
				"trajectory: readout %llu, sample %llu: k%c is %g cycles per "
				"voxel, outside [-0.5, 0.5): wrong unit?",
				(unsigned long long)readout, (unsigned long long)sample, name[axis],
				k);
		extent = fmax(extent, fabs(k));
		*at = (float)k;
		if (*at >= 0.5f)
			*at -= 1.0f;
		else if (*at < -0.5f)
			*at = -0.5f;
	}
	/* an axis of one voxel needs no extent */
	if (p->matrix[axis] > 1 && extent < p->traj.min_extent)
		return bs_fail(
			why, BS_ERR_TRAJECTORY,
			"trajectory: |k%c| reaches only %.9g of at least %g cycles per voxel "
			"for a matrix of %u: not in this unit, or no k-space positions",
			name[axis], extent, p->traj.min_extent, p->matrix[axis]);
	return 0;
}

int bs_traj_check(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why)
{
	if (t->dims != p->dims)
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "trajectory has %u dimensions, the protocol %u", t->dims, p->dims);
	if (t->samples != p->samples || t->readouts != p->readouts)
		return bs_fail(why, BS_ERR_SIZE,
			       "trajectory has %u readouts x %u samples, the protocol %u x %u",
			       t->readouts, t->samples, p->readouts, p->samples);
	for (uint32_t axis = 0; axis < t->dims; axis++) {
		int err = check_axis(t, p, axis, why);

		if (err)
			return err;
	}
	return set_keyed(t, why);
}
