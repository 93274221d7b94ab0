/*
 * gpu/nufft/window.h - the gridding window: its shape, transform, error, and its polynomials
 *
 * Lengths are in cells of the oversampled grid, frequencies in cycles per cell. Everything here is
 * double precision, at arm. Allocates nothing; any thread.
 * Sources: Beatty, Nishimura, Pauly, IEEE Trans Med Imaging 2005;24:799-808 (Kaiser-Bessel shape,
 * eq. 5, and the aliasing error); Barnett, Magland, af Klinteberg, SIAM J Sci Comput 2019;41:C479
 * (one polynomial a tap). Test: test/unit/gpu/test_nufft.c
 */
#ifndef BS_GPU_NUFFT_WINDOW_H
#define BS_GPU_NUFFT_WINDOW_H

#include "core/err.h"
#include "gpu/nufft/nufft.h"
#include "gpu/nufft/grid_simd.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bs_window_shape {
	enum bs_window kind;
	double width;        /* cells */
	double shape;        /* Kaiser-Bessel: beta; Gauss: standard deviation in cells */
	double oversampling; /* that the shape was made for */
};

struct bs_window_shape bs_window_make(enum bs_window kind, double width, double oversampling);
/* The transform at frequency v of the window cut off at +-width/2. */
double bs_window_transform(const struct bs_window_shape *w, double v);
/* Root mean square over the field of view of the relative aliasing error on one axis. */
double bs_window_error(const struct bs_window_shape *w);
/* One polynomial a tap; worst: the largest misfit relative to the window's peak. */
double bs_window_taps(struct bs_taps *taps, const struct bs_window_shape *w, uint32_t floats,
		      double misfit);

/* Smallest 2^a 3^b 5^c >= n. */
uint32_t bs_window_smooth(double n);
/* The rule that a choice must meet: aliasing at most half of the accuracy asked for, and
 * roundoff. */
bool bs_window_accurate(const struct bs_nufft_spec *spec, uint32_t dims, double width,
			const uint32_t grid[3]);
/*
 * Width, and the grid of each axis: as given, or the cheapest whose error is at most half of the
 * accuracy asked for. BS_ERR_CONFIG with the reason when nothing in range reaches it.
 */
int bs_window_choose(const struct bs_nufft_spec *spec, uint32_t dims, double *width,
		     uint32_t grid[3], struct bs_fail *why);

#ifdef __cplusplus
}
#endif
#endif
