/*
 * core/answer/fit.h - the slope of a sequence's phase, and the phase at one of its samples
 *
 * z     in   [n][2]  complex double: z_k = w_k exp(i(a + b k)) and noise, w_k >= 0
 * slope out          b, radians per sample, in -pi to pi
 * phase out          a at sample `at`, radians, in -pi to pi
 * Without noise both are exact, whatever the weights. The slope is where |sum of z_k exp(-ibk)| is
 * largest: the most likely frequency of a tone in white noise. The deviations are those of a fit to
 * the phases, from what the fit leaves. They are infinite where that tells nothing.
 * Allocates nothing; any thread.
 * Source: Rife and Boorstyn, IEEE Trans Inf Theory 1974;20:591-598; the beginning is Lank, Reed and
 * Pollon's, IEEE Trans Aerosp Electron Syst 1973;9:184-186.
 * Test: test/unit/core/answer/test_answer.c
 */
#ifndef BS_CORE_ANSWER_FIT_H
#define BS_CORE_ANSWER_FIT_H

#include <stdbool.h>
#include <stddef.h>

/* How the noise of z depends on the sample. */
enum bs_fit_noise {
	BS_FIT_WHITE,    /* not at all */
	BS_FIT_WEIGHTED, /* its variance is proportional to w_k: z is a product with a reference */
};

struct bs_fit {
	double slope, phase;
	double slope_deviation, phase_deviation;
};

/* Returns the slope by the products of neighbors, [n][2] of each of `coils` sequences. */
double bs_fit_begin(const float *z, size_t n, size_t coils, size_t stride);
/* False: there is no signal. begin: a slope near the right one (within half a turn over z). */
bool bs_fit_line(struct bs_fit *f, const double *z, size_t n, double at, double begin,
		 enum bs_fit_noise noise);

#endif
