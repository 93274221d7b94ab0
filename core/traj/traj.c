/* core/traj/traj.c - trajectory tables: memory, units */
#include "core/traj/traj.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_BYTES_MAX (UINT64_C(1) << 40)

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
