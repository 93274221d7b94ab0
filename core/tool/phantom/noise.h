/*
 * core/tool/phantom/noise.h - receiver noise of known covariance
 *
 * Complex Gaussian, white along a readout, E[n n^H] = Psi between coils. The deviations of the
 * coils lie evenly on a logarithmic scale between 1 and spread, in a seeded order, scaled so that
 * their mean square is 1; the correlation of neighbors has the given magnitude and a seeded phase,
 * that of coils d apart its d-th power: Psi_ij = s_i s_j prod of the neighbors' between j and i.
 * Such a Psi is positive definite, and its noise a running sum over the coils: no factorization.
 * Spread 1 and correlation 0 is white noise.
 * Thread rules: a made noise is read-only. Allocates nothing.
 * Tests: test/unit/core/tool/test_phantom.c, test/unit/drivers/tool/test_phantomnoise.c
 */
#ifndef BS_CORE_TOOL_PHANTOM_NOISE_H
#define BS_CORE_TOOL_PHANTOM_NOISE_H

#include <stdint.h>

#include "core/random.h"
#include "core/protocol.h"
#include "core/err.h"

struct bs_coil_noise {
	uint32_t coils;
	double correlation; /* magnitude of the correlation of neighbors */
	double deviation[BS_COILS_MAX];
	/* cosine and sine of the correlation's phase between coils c and c-1 */
	double unit[BS_COILS_MAX][2];
};

/* Makes the correlation of coils. spread: 1 to 1000; correlation: 0 to 0.99. */
int bs_coil_noise_make(struct bs_coil_noise *n, uint32_t coils, double spread, double correlation,
		       uint64_t seed, struct bs_fail *why);
/* Writes the covariance: psi[i + coils j] = power x Psi_ij, complex. */
void bs_coil_noise_covariance(const struct bs_coil_noise *n, double power, float *psi);
/*
 * Adds noise of mean power sigma^2 per complex sample to data [coil][sample] complex. work: 2 x
 * samples doubles. The random numbers are drawn coil by coil.
 */
void bs_coil_noise_add(const struct bs_coil_noise *n, struct bs_random *random, double sigma,
		       uint32_t samples, float *data, double *work);

#endif
