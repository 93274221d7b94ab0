/*
 * test/support/resized.h - an image on another matrix by the definition in gpu/image/resize.h:
 * every axis in double precision, term by term
 */
#ifndef BS_TEST_SUPPORT_RESIZED_H
#define BS_TEST_SUPPORT_RESIZED_H

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* How much of element n of N goes to element m of M, both counted from the center. */
static inline double complex resized_weight(int n, uint32_t from, int m, uint32_t to)
{
	const int kept = (int)(from < to ? from : to);
	double complex sum = 0;

	for (int k = -(kept / 2); k < kept - kept / 2; k++)
		sum += cexp(2.0 * acos(-1.0) * I * k * ((double)m / to - (double)n / from));
	return sum / from;
}

/* in [from], out [to]: [z][y][x] complex float */
static inline void resized(float *out, const float *in, const uint32_t from[3],
			   const uint32_t to[3])
{
	uint32_t size[3] = { from[0], from[1], from[2] };
	size_t voxels = (size_t)from[0] * from[1] * from[2];
	double complex *now = malloc(voxels * sizeof(*now));

	for (size_t v = 0; v < voxels; v++)
		now[v] = in[2 * v] + I * (double)in[2 * v + 1];
	for (int a = 0; a < 3; a++) {
		const size_t inner = a == 0 ? 1 : a == 1 ? size[0] : (size_t)size[0] * size[1];
		const uint32_t n = from[a];
		const uint32_t m = to[a];
		double complex *next = calloc(voxels / n * m, sizeof(*next));

		for (uint32_t i = 0; i < m; i++)
			for (uint32_t j = 0; j < n; j++) {
				double complex w = resized_weight((int)j - (int)(n / 2), n,
								  (int)i - (int)(m / 2), m);

				for (size_t o = 0; o < voxels / n; o++) {
					size_t at = o / inner * inner * m + i * inner + o % inner;

					next[at] +=
						w *
						now[o / inner * inner * n + j * inner + o % inner];
				}
			}
		free(now);
		now = next;
		voxels = voxels / n * m;
		size[a] = m;
	}
	for (size_t v = 0; v < voxels; v++) {
		out[2 * v] = (float)creal(now[v]);
		out[2 * v + 1] = (float)cimag(now[v]);
	}
	free(now);
}

#endif
