/* core/study/gram.c - see gram.h */
#include "core/study/gram.h"

#include <string.h>

#define BLOCK 16u /* samples of a block: a block of all coils fits the first-level cache */

/* Loads samples first to first + n of each coil, in double, to block [coil][BLOCK][2]. */
static void load_samples(double block[BS_GRAM_COILS][BLOCK][2], uint32_t coils, uint32_t first,
			 uint32_t n, const unsigned char *data, size_t stride)
{
	for (uint32_t c = 0; c < coils; c++) {
		float v[2 * BLOCK];

		memcpy(v, data + 8 * (c * stride + first), 8 * (size_t)n);
		for (uint32_t s = 0; s < n; s++) {
			block[c][s][0] = v[2 * (size_t)s];
			block[c][s][1] = v[2 * (size_t)s + 1];
		}
	}
}

void bs_gram_add(double *gram, uint32_t coils, uint32_t samples, const void *data, size_t stride)
{
	double block[BS_GRAM_COILS][BLOCK][2];

	for (uint32_t first = 0; first < samples; first += BLOCK) {
		const uint32_t n = samples - first < BLOCK ? samples - first : BLOCK;

		load_samples(block, coils, first, n, data, stride);
		for (uint32_t i = 0; i < coils; i++)
			for (uint32_t j = 0; j <= i; j++) {
				double re = 0.0;
				double im = 0.0;

				for (uint32_t s = 0; s < n; s++) {
					const double *a = block[i][s];
					const double *b = block[j][s];

					re += a[0] * b[0] + a[1] * b[1];
					im += a[1] * b[0] - a[0] * b[1];
				}
				gram[(size_t)i * coils + j] += re;
				if (j < i)
					gram[(size_t)j * coils + i] += im;
			}
	}
}

void bs_gram_matrix(const double *gram, uint32_t coils, double scale, double *out)
{
	for (size_t i = 0; i < coils; i++)
		for (size_t j = 0; j <= i; j++) {
			const double re = gram[i * coils + j] * scale;
			const double im = j < i ? gram[j * coils + i] * scale : 0.0;

			out[2 * (i + coils * j)] = out[2 * (j + coils * i)] = re;
			out[2 * (j + coils * i) + 1] = -im;
			out[2 * (i + coils * j) + 1] = im;
		}
}
