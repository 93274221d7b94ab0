/*
 * core/solve/dot.h - the dot product of two float vectors in double precision
 *
 * By sums side by side, whose additions do not wait for each other; they are added in a fixed
 * order.
 */
#ifndef BS_CORE_SOLVE_DOT_H
#define BS_CORE_SOLVE_DOT_H

#include <stddef.h>

#define BS_DOT_SUMS 8

static inline double bs_dot(const float *a, const float *b, size_t n)
{
	double sum[BS_DOT_SUMS] = { 0 };
	double total = 0.0;
	size_t i = 0;

	for (; i + BS_DOT_SUMS <= n; i += BS_DOT_SUMS)
		for (int j = 0; j < BS_DOT_SUMS; j++)
			sum[j] += (double)a[i + (size_t)j] * (double)b[i + (size_t)j];
	for (; i < n; i++)
		sum[0] += (double)a[i] * (double)b[i];
	for (int j = 0; j < BS_DOT_SUMS; j++)
		total += sum[j];
	return total;
}

#endif
