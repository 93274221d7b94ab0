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

BS_C_BEGIN

struct bs_window_shape {
	enum bs_window kind;
	double width; /* width of the window, cells */
	/* shape: beta of Kaiser-Bessel, standard deviation of Gauss in cells */
	double shape;
	double oversampling; /* oversampling that the shape was made for */
	/* flat.c: the window as a Chebyshev series over each cell that it covers */
	bool flat;
	double tap[BS_TAPS_MAX][BS_POLY_MAX];
};

/*
 * Makes a window. A Kaiser-Bessel window of a whole number of cells is made flat where that lessens
 * its error.
 */
struct bs_window_shape bs_window_make(enum bs_window kind, double width, double oversampling);
/* Returns the transform, at frequency v, of the window cut off at +-width/2. */
double bs_window_transform(const struct bs_window_shape *w, double v);
/*
 * The error of a window on one axis, at the edge of the field of view, where it is worst. A term
 * exp(i2pi k n) that goes over the grid comes out with a relative error; the error depends on where
 * its sample lies between two cells.
 */
struct bs_window_error {
	/*
	 * root mean square of the error over the sample's places, or over the field, where it is
	 * worst
	 */
	double rms;
	double most;  /* largest error of a place and a term */
	double gain;  /* gain of a cell's roundoff: the window's l2 norm over its transform */
	double least; /* least magnitude of the transform */
};
void bs_window_errors(struct bs_window_error *e, const struct bs_window_shape *w);
/*
 * How far the polynomials may be off the window, relative to its peak, so that a term is off by a
 * twentieth of the accuracy. accuracy 0: a twentieth of the window's own error.
 */
double bs_window_misfit(const struct bs_window_shape *w, double accuracy);
/* Fits one polynomial for each tap. Returns the largest misfit, relative to the window's peak. */
double bs_window_taps(struct bs_taps *taps, const struct bs_window_shape *w, uint32_t floats,
		      double misfit);

/* Returns the smallest 2^a 3^b 5^c >= n. */
uint32_t bs_window_smooth(double n);
/*
 * The accuracy of a window on a grid, with aliasing and roundoff: the root mean square error of
 * data (an image) of random signs at the worst voxel (a corner), relative to the root mean square
 * of the result. A choice keeps this within what is asked for, which then holds everywhere. Of a
 * million voxels the largest single error is about 3.7 times that root mean square.
 */
enum bs_window_side { BS_WINDOW_HOST, BS_WINDOW_CUDA };
double bs_window_reach(const struct bs_nufft_spec *spec, uint32_t dims, double width,
		       const uint32_t grid[3], enum bs_window_side side);
/*
 * Chooses the width, and the grid of each axis: those given, or the cheapest that reach the
 * accuracy asked for. Where none does, which single precision may not allow, the most accurate.
 * BS_ERR_CONFIG with the reason where what is given or asked for is out of range.
 */
int bs_window_choose(const struct bs_nufft_spec *spec, uint32_t dims, double *width,
		     uint32_t grid[3], struct bs_fail *why);

/* Makes a window by its formula (plain.c, for window.c and flat.c), and its value x
 * cells from the center. */
struct bs_window_shape bs_window_plain(enum bs_window kind, double width, double oversampling);
double bs_window_plain_value(const struct bs_window_shape *w, double x);
double bs_window_plain_transform(const struct bs_window_shape *w, double v);

/*
 * Flattens a Kaiser-Bessel window of a whole number of cells (flat.c, for window.c); the other
 * returns the flat window at a place [0, 1] of a cell.
 */
void bs_window_flatten(struct bs_window_shape *w);
double bs_window_flat_value(const struct bs_window_shape *w, uint32_t tap, double place);
double bs_window_flat_transform(const struct bs_window_shape *w, double v);

BS_C_END
#endif
