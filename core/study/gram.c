/* core/study/gram.c - see gram.h */
#include "core/study/gram.h"

#include <string.h>

#include "core/sizes.h"

/* A block's samples in double; sums of a coil with the coils up to it. */
struct block {
	double re[BS_GRAM_BLOCK][BS_GRAM_COILS], im[BS_GRAM_BLOCK][BS_GRAM_COILS];
	double sum_re[BS_GRAM_COILS], sum_im[BS_GRAM_COILS];
};

/* Loads samples first to first + n of each coil. */
static void load_samples(struct block *b, uint32_t coils, uint32_t first, uint32_t n,
			 const unsigned char *data, size_t stride)
{
	for (uint32_t c = 0; c < coils; c++) {
		float v[2 * BS_GRAM_BLOCK];

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

	for (uint32_t first = 0; first < samples; first += BS_GRAM_BLOCK) {
		const uint32_t n = bs_least(samples - first, BS_GRAM_BLOCK);

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

/* A readout whose blocks are summed, and where: [block][coils][coils]. */
struct spread {
	double *sums;
	uint32_t coils, samples;
	const unsigned char *data;
	size_t stride;
};

static void sum_block(void *arg, int task)
{
	const struct spread *r = arg;
	const size_t square = (size_t)r->coils * r->coils;
	const uint32_t first = (uint32_t)task * BS_GRAM_BLOCK;
	double *sums = r->sums + (uint32_t)task * square;

	memset(sums, 0, square * sizeof(*sums));
	bs_gram_add(sums, r->coils, bs_least(r->samples - first, BS_GRAM_BLOCK),
		    r->data + 8 * (size_t)first, r->stride);
}

void bs_gram_spread(struct bs_team *team, double *gram, uint32_t coils, uint32_t samples,
		    const void *data, size_t stride)
{
	const size_t square = (size_t)coils * coils;
	const uint32_t blocks = (samples + BS_GRAM_BLOCK - 1) / BS_GRAM_BLOCK;
	struct spread r = { gram + square, coils, samples, data, stride };

	bs_team_do(team, sum_block, &r, (int)blocks);
	for (uint32_t b = 0; b < blocks; b++, r.sums += square)
		for (size_t i = 0; i < square; i++)
			gram[i] += r.sums[i];
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
