/*
 * core/traj/online.h - does the path that a readout brings lie on a line of the grid
 *
 * Some tools send a trajectory with every readout, also of lines: zeros, or the grid's own points.
 * A trajectory that says something else takes precedence over the word in the header.
 * Pure; any thread. Test: test/unit/core/test_online.c
 */
#ifndef BS_CORE_TRAJ_ONLINE_H
#define BS_CORE_TRAJ_ONLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mrd.h"

/*
 * traj: the trajectory of all samples of head, [sample][trajectory_dimensions] float of any
 * alignment. encoded: the grid that the lines are of, its oversampling included. line: the
 * readout's line on that grid, of encoded y and z.
 * Returns true where the readout brings no trajectory, or all zeros, or, to a tenth of a step,
 * points of that line in the line's own direction (IS_REVERSE: backwards). Where the header does
 * not say the unit, a straight line with even steps along x is such a line.
 */
bool bs_traj_on_line(const struct bs_mrd_acq *head, const void *traj,
		     const struct bs_scan_info *info, const uint32_t encoded[3],
		     const uint32_t line[2]);

#endif
