/* gpu/grappa/noise.c - see noise.h */
#include "gpu/grappa/noise.h"

#include <math.h>
#include <stdbool.h>

#include "gpu/calibrate/dense.h"

/* share of the mean diagonal that is added, since lines without noise explain each other */
#define TINY 1e-10

/*
 * Lists the rows of G of the samples around the middle of the kernel, in their order, and of the
 * middle.
 */
static uint32_t rows_around(const struct bs_gram *m, uint32_t *row, uint32_t *middle)
{
	const uint32_t *k = m->kernel;
	const uint32_t line =
		k[0] * m->coils; /* the next line along y, or along z where there is one y */
	const uint32_t reach = k[0] > 1 ? m->coils : 0;
	uint32_t n = 0;

	*middle = (k[2] / 2 * k[1] + k[1] / 2) * line + k[0] / 2 * m->coils;
	for (uint32_t beside = 0; beside < 3; beside++)
		for (uint32_t x = 0; x < (reach > 0 ? 3 : 1); x++) {
			const uint32_t at = *middle + beside * line - line + x * reach - reach;

			if (at != *middle && n < BS_GRAM_AROUND)
				row[n++] = at;
		}
	return n;
}

/* The sum of conj(s_i) s_j; G holds it in one of both orders. */
static void product(const struct bs_gram *m, uint32_t i, uint32_t j, double to[2])
{
	const bool there = i <= j;
	const double *g = m->g + 2 * (there ? (size_t)i * m->order + j : (size_t)j * m->order + i);

	to[0] = g[0];
	to[1] = there ? g[1] : -g[1];
}

/*
 * Fills the lower triangle of the equations, column by column, and the right sides: column c for
 * coil c.
 */
static void fill_around(struct bs_gram *m, const uint32_t *row, uint32_t middle, uint32_t n)
{
	double trace = 0.0;

	for (uint32_t j = 0; j < n; j++) {
		const uint32_t at = row[j / m->coils] + j % m->coils;

		for (uint32_t i = j; i < n; i++)
			product(m, row[i / m->coils] + i % m->coils, at,
				m->around + 2 * ((size_t)j * n + i));
		trace += m->around[2 * ((size_t)j * n + j)];
	}
	for (uint32_t j = 0; j < n; j++)
		m->around[2 * ((size_t)j * n + j)] += TINY * trace / n;
	for (uint32_t c = 0; c < m->coils; c++)
		for (uint32_t i = 0; i < n; i++)
			product(m, row[i / m->coils] + i % m->coils, middle + c,
				m->right + 2 * ((size_t)c * n + i));
}

double bs_gram_noise(struct bs_gram *m)
{
	uint32_t row[BS_GRAM_AROUND];
	uint32_t middle;
	const uint32_t n = rows_around(m, row, &middle) * m->coils;
	double sum = 0.0;

	fill_around(m, row, middle, n);
	if (bs_dense_solve(n, m->coils, m->around, m->right, NULL) != 0)
		return 0.0;
	for (uint32_t c = 0; c < m->coils; c++) {
		double left[2];
		double weights = 0.0;

		product(m, middle + c, middle + c, left);
		for (uint32_t i = 0; i < n; i++) {
			const double *w = m->right + 2 * ((size_t)c * n + i);
			double s[2];

			product(m, row[i / m->coils] + i % m->coils, middle + c, s);
			left[0] -= w[0] * s[0] + w[1] * s[1];
			weights += w[0] * w[0] + w[1] * w[1];
		}
		sum += left[0] / (1.0 + weights);
	}
	return sum > 0.0 && isfinite(sum) ? sum / m->coils : 0.0;
}
