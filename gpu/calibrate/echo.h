/*
 * gpu/calibrate/echo.h - phases measured by navigators and phase-correction lines; ramp sampling
 *
 * Pure functions, with double sums in a fixed order; any thread.
 * Sources: Ehman & Felmlee, Radiology 1989;173:255 (navigators); Ahn & Cho, IEEE Trans Med Imaging
 * 1987;6:32 (the slope of a phase from its steps); Bruder et al., Magn Reson Med 1992;23:311 (EPI
 * whose samples are not evenly spaced). Test: test/unit/gpu/calibrate/test_echo.c
 */
#ifndef BS_GPU_CALIBRATE_ECHO_H
#define BS_GPU_CALIBRATE_ECHO_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/traj/trapezoid.h"

/*
 * The phase of b against a, radians: that of sum conj(a) b over coils and samples; 0 where the sum
 * is 0. Where b is a exp(i phase), and both have white Gaussian noise of the same size, it is the
 * maximum-likelihood estimate. a [coil][samples] complex; b: rows b_stride complex numbers apart.
 */
double bs_navigator_phase(uint32_t coils, uint32_t samples, const float *a, const float *b,
			  size_t b_stride);

/*
 * The phase of p[x] = sum over coils of conj(forward) reverse, as a line in x. x is signed: index
 * x, or x + n where x is below 0.
 */
struct bs_echo_fit {
	double phase; /* phase in radians at x = 0 */
	double slope; /* slope in radians per voxel */
};

/*
 * Fits the line phase + slope x to p's argument. The slope first comes from the argument of the sum
 * of p[x + 1] conj(p[x]), then the phase from what remains: both are right for |slope| < pi, even
 * where the phase wraps. Then least squares of the remainder, weighted by |p|. All members are 0
 * where p is 0. For lines that run backwards and are d(k + shift) exp(i phase), slope = -2 pi shift
 * / n.
 */
struct bs_echo_fit bs_echo_fit(uint32_t n, const double *p);
static inline int32_t bs_echo_x(uint32_t n, uint32_t index)
{
	return index < (n + 1) / 2 ? (int32_t)index : (int32_t)index - (int32_t)n;
}

/*
 * Makes the matrix [n][n] complex, row-major, that brings n samples at the trapezoid's k to the n
 * points of the grid, k = 0 at n/2. It is the least-squares solution over objects on n voxels, with
 * BS_RAMPS_LAMBDA of an evenly sampled line's weight added; for such a line it is the identity.
 * Ramps leave wider steps in the middle of k, where signals at the edges of the encoded field of
 * view cannot be told apart: there lambda decides. lambda also bounds what an object that is not
 * made of voxels adds (the line of a continuous object does not repeat beyond the grid): at 1e-3
 * that error and lambda's own are alike. work: bs_ramps_bytes bytes, aligned to 16. BS_ERR_VALUE as
 * in dense.h.
 */
#define BS_RAMPS_LAMBDA 1e-3
size_t bs_ramps_bytes(uint32_t n);
int bs_ramps_matrix(float *matrix, const struct bs_trapezoid *t, void *work, struct bs_fail *why);

#endif
