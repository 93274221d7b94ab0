/*
 * gpu/image/unwarp.h - moves EPI's voxels back along the blips, by a field map
 *
 * Lines come one after the other, T = field.echo_spacing_us from line k to line k + 1 of E (-T where
 * they come in falling order). So a voxel at y that is off by f(y) Hz lies at y + v(y), v = f T E.
 * out[y] = J(y) 1/E sum_k h_k exp(+i2pi k (y + v(y))/E) sum_n in[n] exp(-i2pi k n/E),
 * k = -E/2 .. E/2, h = 1, where E is even 1/2 at both ends; J(y) = 1 + (v(y+1) - v(y-1))/2, at the
 * ends of y the difference to its only neighbor, and 0 where that is negative. The first factor
 * gives a voxel the size that it was squeezed from; the rest is conjugate phase, written as an
 * interpolation along y between voxels of one column. Where several voxels were put on one place, no
 * map tells them apart. Columns of x do not mix. The echo time's phase, exp(-i2pi f TE), stays.
 * images: [coil][y][x] complex float. hz: [slice][y][x], of bs_tables.
 *
 * need -> plan -> run* -> close. Only plan and close allocate. run returns its own result, which the
 * next run overwrites. hz must live as long, its values may change between runs (CUDA: changed tells
 * of it). Each voxel has a sum of its own: the same bytes for any team. One caller.
 * Twins: unwarp.c (host), unwarp.cu (CUDA). Tests: test/unit/gpu/test_unwarp.c,
 * test/twin/twin_unwarp.c, test/replay/scan/blips.sh
 * Sources: Jezzard, Balaban, Magn Reson Med 1995;34:65-73 (shift and size); Weisskoff, Davis, Proc
 * SMRM 1992:4515 (conjugate phase).
 */
#ifndef BS_GPU_IMAGE_UNWARP_H
#define BS_GPU_IMAGE_UNWARP_H

#include "core/err.h"
#include "core/memory/arena.h"
#include "core/protocol.h"
#include "core/thread/team.h"

BS_C_BEGIN

/* Voxels along y that 1 Hz moves a voxel; falling: lines come in falling order. */
static inline double bs_unwarp_per_hz(const struct bs_protocol *p, bool falling)
{
	return (falling ? -1e-6 : 1e-6) * p->field.echo_spacing_us * p->encoded[1];
}
/* Writes sin and cos of pi j/E for j = -(E - 1) .. E - 1 to table[0 ..] and table[2 E ..]. */
void bs_unwarp_table(double *table, uint32_t lines);

struct bs_unwarp;
/* need and plan do nothing for a protocol without the stage. */
int bs_unwarp_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_unwarp_plan(struct bs_unwarp **plan, const struct bs_protocol *p, const float *hz,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
const float *bs_unwarp_run(struct bs_unwarp *plan, uint32_t slice, bool falling,
			   const float *images);
void bs_unwarp_close(struct bs_unwarp *plan); /* frees a plan, which may be NULL */

/* GPU=1 only. images and the result are device memory, hz is the host's; calls only queue. */
struct CUstream_st;
struct bs_devmem;
struct bs_unwarp_cuda;
uint64_t bs_unwarp_cuda_bytes(const struct bs_protocol *p);
int bs_unwarp_cuda_plan(struct bs_unwarp_cuda **plan, const struct bs_protocol *p, const float *hz,
			struct bs_devmem *mem, struct bs_fail *why);
int bs_unwarp_cuda_changed(const struct bs_unwarp_cuda *plan, uint32_t slice,
			   struct CUstream_st *stream, struct bs_fail *why);
/* Says which slice the next runs are of, and in which order its lines came. */
void bs_unwarp_cuda_aim(struct bs_unwarp_cuda *plan, uint32_t slice, bool falling);
int bs_unwarp_cuda_run(const struct bs_unwarp_cuda *plan, const float **images,
		       struct CUstream_st *stream, struct bs_fail *why);
void bs_unwarp_cuda_close(struct bs_unwarp_cuda *plan); /* frees a plan, which may be NULL */

BS_C_END
#endif
