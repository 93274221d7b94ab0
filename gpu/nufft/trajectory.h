/*
 * gpu/nufft/trajectory.h - what both twins of the NUFFT ask of a trajectory when they plan
 *
 * check_k: BS_ERR_TRAJECTORY where a sample lies outside [-0.5, 0.5] or is not a number.
 * A stack repeats one in-plane path at kz = j / Nz, j integer, in any order and with some
 * partitions left out. The sum over kz is then a plain transform of length Nz for each in-plane
 * position, exact and without oversampling; what remains is two-dimensional gridding whose channels
 * are the planes.
 * stack_find: *positions 0 when it is none. Else *source is malloc'ed, the caller's: sample numbers
 * [position][partition], or [partition][position]; UINT32_MAX where there is none.
 * At plan only, one thread.
 */
#ifndef BS_GPU_NUFFT_TRAJECTORY_H
#define BS_GPU_NUFFT_TRAJECTORY_H

#include "gpu/nufft/nufft.h"

BS_C_BEGIN

int bs_nufft_check_k(const struct bs_nufft_spec *spec, const float *k, struct bs_fail *why);
/* The largest number of in-plane positions that a stack of this spec can have; dims must be 3. */
uint64_t bs_nufft_positions_max(const struct bs_nufft_spec *spec);
int bs_nufft_stack_find(const struct bs_nufft_spec *spec, const float *k, bool by_partition,
			uint32_t **source, uint64_t *positions, struct bs_fail *why);

BS_C_END
#endif
