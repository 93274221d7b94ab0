/*
 * drivers/file/tables.h - loads what a protocol names before it is armed: trajectory, weights, maps
 *
 * Trajectory: analytic (core/traj/traj.h) or from a file; none for cartesian and where it comes
 * with the stream. What is in a file is read by a process of its own (drivers/file/loader.h;
 * drivers/tool/load/load.h says what each file may be). On failure nothing is left to free, and the
 * reason begins with the key of the site file. Allocates; at start only.
 * Test: test/unit/drivers/test_tables.c
 */
#ifndef BS_DRIVERS_FILE_TABLES_H
#define BS_DRIVERS_FILE_TABLES_H

#include "core/engine.h"

struct bs_loaded {
	struct bs_tables tables; /* pointers into the members below */
	struct bs_traj traj;     /* trajectory as the stream has it */
	/* trajectory with the protocol's delays, for the engine; empty: no delays */
	struct bs_traj moved;
	float *weight, *maps, *field, *phase_step;
	struct bs_csr *w;
};

/* Loads the field map alone, of a protocol off resonance: [slice][voxel] Hz.
 * The caller frees it. */
int bs_tables_field(float **field, const struct bs_protocol *p, struct bs_fail *why);
int bs_tables_load(struct bs_loaded *l, const struct bs_protocol *p, struct bs_fail *why);
void bs_tables_free(struct bs_loaded *l);

#endif
