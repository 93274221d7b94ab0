/*
 * test/bench/plain.h - the least-squares operators written down plainly: what the bench measures
 * ours against
 *
 * fhd: the papers' CPU loop, for each voxel a sum over all samples with a sine and a cosine each,
 * in float; this file is compiled with -O3 -ffast-math. voxels: which, as x, y, z offsets in
 * voxels. padded: the Toeplitz operator as FFTW does it out of the box: pad to the doubled grid,
 * transform whole, multiply, transform back, crop; plans by FFTW_MEASURE, its threads, the team for
 * the rest; BS_ERR_CONFIG where the bench was built without FFTW. Not for reconstruction: nothing
 * else may use it, and nothing else is linked with FFTW, which is under the GPL.
 */
#ifndef BS_TEST_PAPER_PLAIN_H
#define BS_TEST_PAPER_PLAIN_H

#include <stdint.h>

#include "core/err.h"
#include "core/thread/team.h"

/* k [sample][3]; d [sample] complex; out [voxel] complex */
void bs_plain_fhd(struct bs_team *team, const float *k, const float *d, uint64_t samples,
		  const float *voxels, int count, float *out);

struct bs_plain_padded;

int bs_plain_padded_open(struct bs_plain_padded **p, uint32_t dims, const uint32_t matrix[3],
			 struct bs_team *team, struct bs_fail *why);
/* in, out [z][y][x] complex; the spectrum is that of the identity */
void bs_plain_padded_apply(struct bs_plain_padded *p, const float *in, float *out);
void bs_plain_padded_close(struct bs_plain_padded *p);

#endif
