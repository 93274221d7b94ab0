/* gpu/calibrate/reference.c - see reference.h */
#include "gpu/calibrate/reference.h"

#include <math.h>

#include "gpu/calibrate/dense.h"

int bs_reference(float *reference, uint32_t coils, size_t n, const float *samples, double *gram,
		 double *value, void *work, struct bs_fail *why)
{
	double size = 0.0;
	uint32_t most = 0;
	int rc;

	for (uint32_t c = 0; c < coils; c++)
		for (uint32_t d = 0; d <= c; d++) {
			const float *p = samples + 2 * c * n;
			const float *q = samples + 2 * d * n;
			double re = 0.0;
			double im = 0.0;

			for (size_t i = 0; i < n; i++) {
				re += (double)p[2 * i] * q[2 * i] +
				      (double)p[2 * i + 1] * q[2 * i + 1];
				im += (double)p[2 * i + 1] * q[2 * i] -
				      (double)p[2 * i] * q[2 * i + 1];
			}
			gram[2 * ((size_t)d * coils + c)] = re;
			gram[2 * ((size_t)d * coils + c) + 1] = im;
		}
	rc = bs_dense_eigen(coils, gram, value, work, why);
	if (rc != 0)
		return rc;
	for (uint32_t c = 0; c < coils; c++) {
		const double *w = gram + 2 * (size_t)c;

		if (w[0] * w[0] + w[1] * w[1] > size * 1.0001) {
			size = w[0] * w[0] + w[1] * w[1];
			most = c;
		}
	}
	for (uint32_t c = 0; c < coils; c++) {
		const double *w = gram + 2 * (size_t)c;
		const double *m = gram + 2 * (size_t)most;

		reference[2 * c] = (float)((w[0] * m[0] + w[1] * m[1]) / sqrt(size));
		reference[2 * c + 1] = (float)((w[1] * m[0] - w[0] * m[1]) / sqrt(size));
	}
	return 0;
}
