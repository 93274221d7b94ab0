/*
 * test/support/plan/unwarped.h - voxels moved back along y by the definition in
 * gpu/encode/unwarp.h: sums over k in double precision, term by term
 */
#ifndef BS_TEST_SUPPORT_PLAN_UNWARPED_H
#define BS_TEST_SUPPORT_PLAN_UNWARPED_H

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "gpu/encode/unwarp.h"

/* The factor J at a voxel. v: voxels to move, [y][x] */
static inline double unwarped_size(const double *v, uint32_t lines, uint32_t columns, uint32_t y)
{
	const uint32_t up = y + 1 < lines ? y + 1 : y;
	const uint32_t down = y > 0 ? y - 1 : y;
	const double size = 1.0 + (v[up * columns] - v[down * columns]) / (up - down);

	return size > 0.0 ? size : 0.0;
}

/* images, out: [coil][y][x] complex float; hz: [y][x] of this slice */
static inline void unwarped(float *out, const struct bs_protocol *p, const float *hz, bool falling,
			    const float *images)
{
	const uint32_t lines = p->matrix[1];
	const uint32_t columns = p->matrix[0];
	const int half = (int)lines / 2;
	const double tau = 2.0 * acos(-1.0);
	double *v = malloc(sizeof(*v) * lines * columns);

	for (uint32_t i = 0; i < lines * columns; i++)
		v[i] = (falling ? -1e-6 : 1e-6) * p->field.echo_spacing_us * lines * (double)hz[i];
	for (uint32_t i = 0; i < p->coils * lines * columns; i++) {
		const uint32_t x = i % columns;
		const uint32_t y = i / columns % lines;
		const float *in = images + 2 * (i - y * columns);
		const double to = y + v[y * columns + x];
		double complex sum = 0;

		for (int k = -half; k <= half; k++) {
			const double share =
				lines % 2 == 0 && (k == half || k == -half) ? 0.5 : 1.0;
			double complex line = 0;

			for (uint32_t n = 0; n < lines; n++)
				line += (in[2 * n * columns] +
					 I * (double)in[2 * n * columns + 1]) *
					cexp(-tau * I * k * (double)n / lines);
			sum += share * line * cexp(tau * I * k * to / lines);
		}
		sum *= unwarped_size(v + x, lines, columns, y) / lines;
		out[2 * i] = (float)creal(sum);
		out[2 * i + 1] = (float)cimag(sum);
	}
	free(v);
}

#endif
