/* core/traj/traj.c - trajectory tables: memory, units, checks */
#include "core/traj/traj.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_BYTES_MAX (UINT64_C(1) << 40)
/*
 * cycles per voxel that a value may exceed 0.5 by: the rounding of another unit to single precision
 */
#define ROUNDING_CYCLES 1e-6

int bs_traj_open(struct bs_traj *t, uint32_t dims, uint32_t samples, uint32_t readouts,
		 struct bs_fail *why)
{
	uint64_t points = (uint64_t)samples * readouts; /* a product of two u32 fits */

	memset(t, 0, sizeof(*t));
	if (dims < 1 || dims > 3 || !samples || !readouts)
		return bs_fail(why, BS_ERR_SIZE,
			       "trajectory of %u readouts x %u samples x %u dimensions", readouts,
			       samples, dims);
	if (points > TABLE_BYTES_MAX / (dims * sizeof(float)))
		return bs_fail(why, BS_ERR_NOMEM, "trajectory of %u x %u samples is too large",
			       readouts, samples);
	t->k = calloc(points, dims * sizeof(float));
	t->step1 = calloc(readouts, sizeof(*t->step1));
	t->step2 = calloc(readouts, sizeof(*t->step2));
	if (!t->k || !t->step1 || !t->step2) {
		bs_traj_close(t);
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a trajectory of %u x %u samples",
			       readouts, samples);
	}
	t->dims = dims;
	t->samples = samples;
	t->readouts = readouts;
	return 0;
}

void bs_traj_close(struct bs_traj *t)
{
	free(t->k);
	free(t->step1);
	free(t->step2);
	memset(t, 0, sizeof(*t));
}

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

const char *const bs_traj_units[] = { [BS_UNIT_CYCLES_PER_VOXEL] = "cycles/voxel",
				      [BS_UNIT_CYCLES_PER_FOV] = "cycles/fov",
				      [BS_UNIT_RAD_PER_VOXEL] = "rad/voxel",
				      [BS_UNIT_RAD_PER_M] = "rad/m",
				      [BS_UNIT_CYCLES_PER_M] = "1/m",
				      NULL };

uint32_t bs_traj_dims(enum bs_traj_type type)
{
	switch (type) {
	case BS_TRAJ_RADIAL2D:
	case BS_TRAJ_SPIRAL2D:
		return 2;
	case BS_TRAJ_RADIAL3D:
	case BS_TRAJ_STACK:
	case BS_TRAJ_CONES:
	case BS_TRAJ_TPI:
		return 3;
	case BS_TRAJ_FILE:
	case BS_TRAJ_CARTESIAN:
	case BS_TRAJ_RANDOM:
	case BS_TRAJ_STREAM:
		break;
	}
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
