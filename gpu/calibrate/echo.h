/*
 * gpu/calibrate/echo.h - what navigators and phase-correction lines tell, and readouts on ramps
 *
 * Pure, double sums in a fixed order; any thread.
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
 * The phase of b against a, radians: that of sum conj(a) b over coils and samples. Where b is
 * a exp(i phase) and white Gaussian noise on both, of the same size, it is the estimate of maximum
 * likelihood. a [coil][samples] complex, b rows of b_stride complex numbers. 0 where the sum is 0.
 */
double bs_navigator_phase(uint32_t coils, uint32_t samples, const float *a, const float *b,
			  size_t b_stride);

/* p[x] = sum over coils of conj(forward) reverse, by signed x: index x, or x + n below 0. */
struct bs_echo_fit {
	double phase; /* radians at x = 0 */
	double slope; /* radians a voxel */
};

/*
 * The line phase + slope x through p's argument. First the slope by the argument of the sum of
 * p[x + 1] conj(p[x]) and the phase by that of what remains: both right for |slope| < pi, whatever
 * the phase wraps. Then least squares of what remains, weighted by |p|. All 0 where p is.
 * Lines that run backwards and are d(k + shift) exp(i phase) have slope = -2 pi shift / n.
 */
struct bs_echo_fit bs_echo_fit(uint32_t n, const double *p);
static inline int32_t bs_echo_x(uint32_t n, uint32_t index)
{
	return index < (n + 1) / 2 ? (int32_t)index : (int32_t)index - (int32_t)n;
}

/*
 * The matrix [n][n] complex, row-major, that brings n samples at the trapezoid's k to the n points
 * of the grid, k = 0 at n/2: least squares over objects on n voxels, with BS_RAMPS_LAMBDA of an
 * evenly sampled line's weight added; of such a line it is the identity. Ramps leave wider steps in
 * the middle of k, where what lies at the edges of the encoded field of view cannot be told apart:
 * there lambda decides. It also bounds what an object that is not made of voxels adds (a line of a
 * continuous one does not repeat beyond the grid): at 1e-3 that and lambda's own part are alike.
 * work: bs_ramps_bytes, aligned to 16. BS_ERR_VALUE as dense.h.
 */
#define BS_RAMPS_LAMBDA 1e-3
size_t bs_ramps_bytes(uint32_t n);
int bs_ramps_matrix(float *matrix, const struct bs_trapezoid *t, void *work, struct bs_fail *why);

#endif
