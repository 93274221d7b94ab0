/*
 * drivers/tool/load/load.h - the process that reads a file that a site names
 *
 * `boreside loader WHAT` (drivers/file/loader.h): takes the protocol from standard input, and
 * writes what its file holds to standard output. Trajectories: traj.h. Weights: .cfl [1, samples,
 * readouts] or [samples, readouts], real, finite, not negative, not all zero; further dimensions
 * that multiply up to the readouts are as good. Maps: .cfl [x, y, z, coil] of each slice (dimension
 * 13, as BART counts them), finite, not all zero. Field map: .cfl [x, y, z] of each slice likewise,
 * in Hz, real, finite. W: Matrix Market (mtx.h), one column a voxel. Sizes that differ from the
 * protocol's are refused with both sizes. Test: test/unit/drivers/test_tables.c
 */
#ifndef BS_DRIVERS_TOOL_LOAD_LOAD_H
#define BS_DRIVERS_TOOL_LOAD_LOAD_H

#include <stdbool.h>
#include <string.h>

/* True if a program was started as this process: its main then calls bs_load_main alone. */
static inline bool bs_load_asked(int argc, char *const argv[])
{
	return argc == 3 && strcmp(argv[1], "loader") == 0;
}
/* Returns the exit status. */
int bs_load_main(const char *what);

#endif
