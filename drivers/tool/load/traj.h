/*
 * drivers/tool/load/traj.h - a protocol's trajectory table from a file
 *
 * MRD .h5: the first `readouts` imaging acquisitions (core/frame/kind.h; none without samples)
 * of slice 0, contrast 0, repetition 0, discarded samples left out, counters kept. Its header must
 * state the protocol's matrix, and no unit but the declared one. BART .cfl: [dims, samples,
 * readouts] or [dims, samples, readouts of one step_2, step_2], real, in the declared unit. A third
 * dimension of a 2D protocol must be 0, or third_ignored. Of a protocol whose readouts are left to
 * the header (by_header) the table has as many as the file, at most readouts_max. The table comes
 * back checked (bs_traj_check). Errors: BS_ERR_SIZE with both sizes, BS_ERR_TRAJECTORY, BS_ERR_XML,
 * and those of the file. Allocates; at start only. Test: test/unit/drivers/test_tables.c
 */
#ifndef BS_DRIVERS_TOOL_LOAD_TRAJ_H
#define BS_DRIVERS_TOOL_LOAD_TRAJ_H

#include "core/traj/traj.h"

int bs_trajfile_load(struct bs_traj *t, const struct bs_protocol *p, struct bs_fail *why);

#endif
