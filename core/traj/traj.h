/*
 * core/traj/traj.h - trajectory tables: where in k-space each sample of a frame lies
 *
 * k     [readout][sample][dims] float, cycles per voxel, every component in [-0.5, 0.5)
 * Tables of analytic types (bs_traj_make) and tables from files (drivers/file/loader.h) end in the
 * same struct. A table is made when a protocol is armed and never changed after that. open
 * allocates.
 * Sources: golden angle 2D: Winkelmann et al., IEEE Trans Med Imaging 2007;26:68-76; koosh ball
 * order: Chan et al., Magn Reson Med 2009;61:354-363 (2D golden means); spiral: Archimedean.
 * Test: test/unit/core/test_traj.c
 */
#ifndef BS_CORE_TRAJ_TRAJ_H
#define BS_CORE_TRAJ_TRAJ_H

#include "core/protocol.h"
#include "core/err.h"

BS_C_BEGIN

struct bs_traj {
	uint32_t dims, samples, readouts;
	float *k;
	/*
	 * MRD counters of each readout (kspace_encode_step_1, _2), for finding a row by its header.
	 * keyed is false when they are not unique: then rows come in the order of arrival.
	 */
	uint16_t *step1, *step2;
	bool keyed;
};

/* Opens a table of zeros of the given size. */
int bs_traj_open(struct bs_traj *t, uint32_t dims, uint32_t samples, uint32_t readouts,
		 struct bs_fail *why);
void bs_traj_close(struct bs_traj *t);

/*
 * Opens and fills a table for an analytic type from the protocol's sizes, already in cycles per
 * voxel and keyed (core/traj/make.c lists the orders); BS_ERR_UNSUPPORTED for file and stream.
 */
int bs_traj_make(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why);

/* The dimensions that a type is made for; 0: either 2 or 3. */
uint32_t bs_traj_dims(enum bs_traj_type type);
/* Names of the units in headers and site files: "cycles/voxel" ...; the last is NULL. */
extern const char *const bs_traj_units[];
/* Returns the factor from a value along axis 0, 1 or 2 in the protocol's unit
 * to cycles per voxel. */
static inline double bs_traj_unit_scale(const struct bs_protocol *p, uint32_t axis)
{
	switch (p->traj.unit) {
	case BS_UNIT_CYCLES_PER_FOV:
		return 1.0 / bs_protocol_encoded_axis(p, axis);
	case BS_UNIT_RAD_PER_VOXEL:
		return 1.0 / 6.283185307179586;
	case BS_UNIT_RAD_PER_M: /* config/rules.c has checked that fov_mm is given */
		return 1e-3 * (double)p->fov_mm[axis] / p->matrix[axis] / 6.283185307179586;
	case BS_UNIT_CYCLES_PER_M:
		return 1e-3 * (double)p->fov_mm[axis] / p->matrix[axis];
	case BS_UNIT_CYCLES_PER_VOXEL:
		break;
	}
	return 1.0;
}

BS_C_END
#endif
