/* core/study/gram.c - see gram.h */
#include "core/study/gram.h"

#include <string.h>

#define BLOCK 16u /* samples of a block: a block of all coils fits the first-level cache */

/* A block's samples in double; sums of a coil with the coils up to it. */
struct block {
	double re[BLOCK][BS_GRAM_COILS], im[BLOCK][BS_GRAM_COILS];
	double sum_re[BS_GRAM_COILS], sum_im[BS_GRAM_COILS];
};

/* Loads samples first to first + n of each coil. */
static void load_samples(struct block *b, uint32_t coils, uint32_t first, uint32_t n,
			 const unsigned char *data, size_t stride)
{
	for (uint32_t c = 0; c < coils; c++) {
		float v[2 * BLOCK];

		memcpy(v, data + 8 * (c * stride + first), 8 * (size_t)n);
		for (uint32_t s = 0; s < n; s++) {
			b->re[s][c] = v[2 * (size_t)s];
			b->im[s][c] = v[2 * (size_t)s + 1];
		}
	}
}

/* Sums coil i's samples with those of the coils up to it: each sum in the order of the samples. */
static void sum_coil(struct block *b, uint32_t i, uint32_t n)
{
	memset(b->sum_re, 0, sizeof(b->sum_re));
	memset(b->sum_im, 0, sizeof(b->sum_im));
	for (uint32_t s = 0; s < n; s++) {
		const double re = b->re[s][i];
		const double im = b->im[s][i];

		for (uint32_t j = 0; j <= i; j++) {
			b->sum_re[j] += re * b->re[s][j] + im * b->im[s][j];
			b->sum_im[j] += im * b->re[s][j] - re * b->im[s][j];
		}
	}
}

void bs_gram_add(double *gram, uint32_t coils, uint32_t samples, const void *data, size_t stride)
{
	struct block b;

	for (uint32_t first = 0; first < samples; first += BLOCK) {
		const uint32_t n = samples - first < BLOCK ? samples - first : BLOCK;

		load_samples(&b, coils, first, n, data, stride);
		for (uint32_t i = 0; i < coils; i++) {
			sum_coil(&b, i, n);
			for (uint32_t j = 0; j <= i; j++) {
				gram[(size_t)i * coils + j] += b.sum_re[j];
				if (j < i)
					gram[(size_t)j * coils + i] += b.sum_im[j];
			}
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
