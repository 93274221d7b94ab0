/* core/tool/phantom/noise.c - see noise.h */
#include "core/tool/phantom/noise.h"

#include <math.h>
#include <string.h>

int bs_coil_noise_make(struct bs_coil_noise *n, uint32_t coils, double spread, double correlation,
		       uint64_t seed, struct bs_fail *why)
{
	struct bs_random random;
	double square = 0.0;

	memset(n, 0, sizeof(*n));
	if (!coils || coils > BS_COILS_MAX)
		return bs_fail(why, BS_ERR_SIZE, "noise of %u coils", coils);
	if (!(spread >= 1.0 && spread <= 1000.0) || !(correlation >= 0.0 && correlation <= 0.99))
		return bs_fail(why, BS_ERR_USAGE,
			       "noise: a spread of %g (1 to 1000), a correlation of %g (0 to 0.99)",
			       spread, correlation);
	n->coils = coils;
	n->correlation = correlation;
	bs_random_seed(&random, seed);
	for (uint32_t c = 0; c < coils; c++) {
		double phase = 2.0 * M_PI * bs_random_uniform(&random);

		n->unit[c][0] = cos(phase);
		n->unit[c][1] = sin(phase);
		n->deviation[c] = coils > 1 ? pow(spread, (double)c / (coils - 1)) : 1.0;
		square += n->deviation[c] * n->deviation[c] / coils;
	}
	for (uint32_t c = coils; c-- > 1;) {
		uint32_t other = (uint32_t)(bs_random_uniform(&random) * (c + 1));
		double kept = n->deviation[c];

		n->deviation[c] = n->deviation[other];
		n->deviation[other] = kept;
	}
	for (uint32_t c = 0; c < coils && spread > 1.0; c++)
		n->deviation[c] /= sqrt(square);
	return 0;
}

void bs_coil_noise_covariance(const struct bs_coil_noise *n, double power, float *psi)
{
	for (size_t j = 0; j < n->coils; j++) {
		double z[2] = { power * n->deviation[j], 0.0 };

		for (size_t i = j; i < n->coils; i++) {
			double re = z[0] * n->deviation[i];
			double im = z[1] * n->deviation[i];
			const size_t next = i + 1 < n->coils ? i + 1 : i;
			double kept = z[0];

			psi[2 * (i + n->coils * j)] = psi[2 * (j + n->coils * i)] = (float)re;
			psi[2 * (j + n->coils * i) + 1] = (float)-im;
			psi[2 * (i + n->coils * j) + 1] = (float)im;
			z[0] = n->correlation * (kept * n->unit[next][0] - z[1] * n->unit[next][1]);
			z[1] = n->correlation * (kept * n->unit[next][1] + z[1] * n->unit[next][0]);
		}
	}
}

void bs_coil_noise_add(const struct bs_coil_noise *n, struct bs_random *random, double sigma,
		       uint32_t samples, float *data, double *work)
{
	double own = sqrt(1.0 - n->correlation * n->correlation);

	for (uint32_t c = 0; c < n->coils; c++) {
		double scale = sigma * n->deviation[c] * sqrt(0.5);

		for (uint32_t s = 0; s < samples; s++, data += 2) {
			double *u = work + 2 * (size_t)s; /* noise of the coil before, of power 2 */
			double z[2];

			bs_random_normal(random, z);
			if (c > 0) {
				double re = u[0] * n->unit[c][0] - u[1] * n->unit[c][1];
				double im = u[0] * n->unit[c][1] + u[1] * n->unit[c][0];

				z[0] = n->correlation * re + own * z[0];
				z[1] = n->correlation * im + own * z[1];
			}
			memcpy(u, z, sizeof(z));
			data[0] = (float)(data[0] + scale * z[0]);
			data[1] = (float)(data[1] + scale * z[1]);
		}
	}
}
