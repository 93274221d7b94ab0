/*
 * core/tool/trajcheck.h - is a trajectory that was read from a file one, in the declared unit
 *
 * Test: test/unit/core/test_traj.c
 */
#ifndef BS_CORE_TOOL_TRAJCHECK_H
#define BS_CORE_TOOL_TRAJCHECK_H

#include "core/traj/traj.h"

/*
 * Checks a table. It is converted to cycles per voxel in place; each value (finite, in [-0.5, 0.5)
 * after folding +0.5 to -0.5) and the extent (min_extent, along axes of more than one voxel) are
 * checked; keyed is set. The reason names readout, sample and axis.
 */
int bs_traj_check(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why);

#endif
