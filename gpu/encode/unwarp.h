/*
 * gpu/encode/unwarp.h - moves EPI's voxels back along the blips, by a field map
 *
 * Lines come one after the other, T = field.echo_spacing_us from line k to line k + 1 of E (-T
 * where they come in falling order). A voxel at y of f(y) Hz lies at y + v(y), v = f T E.
 * out[y] = J(y) 1/E sum_k h_k exp(+i2pi k (y + v(y))/E) sum_n in[n] exp(-i2pi k n/E),
 * k = -E/2 .. E/2, h = 1, where E is even 1/2 at both ends; J(y) = 1 + (v(y+1) - v(y-1))/2, at the
 * ends of y the difference to its only neighbor, and 0 where that is negative. J gives a voxel the
 * size that it had; the rest is conjugate phase, as an interpolation along y. Where several voxels
 * came to one place, no map tells them apart. The phase exp(-i2pi f TE) stays.
 * images, out: [coil][y][x] complex float, p->coils of them; they do not overlap. hz: f, [y][x].
 *
 * Each voxel has a sum of its own: the same bytes for any team. Allocates nothing. One caller.
 * Twins: unwarp.c (host), unwarp.cu (CUDA). Tests: test/unit/gpu/test_unwarp.c,
 * test/twin/twin_unwarp.c, test/replay/scan/blips.sh
 * Sources: Jezzard, Balaban, Magn Reson Med 1995;34:65-73 (shift and size); Weisskoff, Davis, Proc
 * SMRM 1992:4515 (conjugate phase).
 */
#ifndef BS_GPU_ENCODE_UNWARP_H
#define BS_GPU_ENCODE_UNWARP_H

#include "core/err.h"
#include "core/protocol.h"
#include "core/thread/team.h"

BS_C_BEGIN

/* No voxel moves to less than this from another one's place, where weights are 0/0. */
#define BS_UNWARP_LEAST 1e-6 /* voxels */

/* Voxels along y that 1 Hz moves a voxel; falling: lines come in falling order. */
static inline double bs_unwarp_per_hz(const struct bs_protocol *p, bool falling)
{
	return (falling ? -1e-6 : 1e-6) * p->field.echo_spacing_us * p->encoded[1];
}
/* Moves one slice's images. */
void bs_unwarp(struct bs_team *team, const struct bs_protocol *p, const float *hz, bool falling,
	       const float *images, float *out);

/* GPU=1 only. Arrays are device memory; only queues. BS_ERR_GPU. */
struct CUstream_st;
int bs_unwarp_cuda(const struct bs_protocol *p, const float *hz, bool falling, const float *images,
		   float *out, struct CUstream_st *stream, struct bs_fail *why);

BS_C_END
#endif
