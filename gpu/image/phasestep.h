/*
 * gpu/image/phasestep.h - the phase from one echo to the next at each voxel, for a field map
 *
 * first, second in  [coil][z][y][x] complex float
 * step out          [z][y][x] radians, -pi to pi
 *   p = sum_c conj(first_c) second_c, smoothed by 1/4 1/2 1/4 along each axis (less at the ends)
 *   step = arg p where there is signal: where |p| is at least 1 % of its largest value, which is a
 *   tenth in magnitude; elsewhere the argument of the sum of p over the smallest block of 2, 4, 8,
 *   ... voxels an axis around the voxel whose sum is as large: the field of the nearest signal, not
 *   of noise
 * The field in Hz is -step / (2 pi dTE), which is known within +-1/(2 dTE) only. run returns false
 * where two neighbors with signal differ by more than pi: the phase wraps between them, or two
 * echoes cannot tell the field. The phase is not unwrapped.
 * need -> plan -> run* -> close. Only plan and close allocate. One caller; the same bytes for any
 * team. Test: test/unit/gpu/test_phasestep.c
 */
#ifndef BS_GPU_IMAGE_PHASESTEP_H
#define BS_GPU_IMAGE_PHASESTEP_H

#include "core/err.h"
#include "core/memory/arena.h"
#include "core/thread/team.h"

struct bs_phasestep;

int bs_phasestep_need(const uint32_t matrix[3], struct bs_need *need, struct bs_fail *why);
int bs_phasestep_plan(struct bs_phasestep **plan, const uint32_t matrix[3], uint32_t coils,
		      struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_phasestep_close(struct bs_phasestep *plan); /* frees a plan, which may be NULL */
/* Returns false where the phase wraps; writes step even then. */
bool bs_phasestep_run(struct bs_phasestep *plan, const float *first, const float *second,
		      float *step);

#endif
