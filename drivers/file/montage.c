/* drivers/file/montage.c - see montage.h */
#include "drivers/file/montage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PERCENTILE 0.997

static double magnitude(const struct bs_montage *m, uint64_t i)
{
	double v = m->is_complex ? hypot((double)m->pixels[2 * i], (double)m->pixels[2 * i + 1])
				 : fabs((double)m->pixels[i]);

	return isfinite(v) ? v : 0.0;
}

/* Puts v[k] where sorting would, with nothing smaller after it. Hoare's selection. */
static void select_rank(float *v, uint64_t n, uint64_t k)
{
	uint64_t lo = 0;
	uint64_t hi = n - 1;

	while (lo < hi) {
		float pivot = v[lo + (hi - lo) / 2];
		uint64_t i = lo;
		uint64_t j = hi;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			float t = v[i];

			v[i++] = v[j];
			v[j--] = t;
		}
		/* here lo <= j < hi, and [lo, j] <= pivot <= [j + 1, hi] */
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
}

static double percentile(float *v, uint64_t n)
{
	double at = PERCENTILE * (double)(n - 1);
	uint64_t k = (uint64_t)at;
	double next = INFINITY;

	select_rank(v, n, k);
	if (k + 1 == n)
		return v[k];
	for (uint64_t i = k + 1; i < n; i++)
		next = fmin(next, v[i]);
	return v[k] + (at - (double)k) * (next - v[k]);
}

int bs_montage_arrange(struct bs_montage *m, uint32_t columns, struct bs_fail *why)
{
	uint64_t plane = (uint64_t)m->nx * m->ny;
	uint64_t rows = ((uint64_t)m->planes + columns - 1) / columns;

	if (plane > BS_MONTAGE_PIXELS_MAX || plane > BS_MONTAGE_PIXELS_MAX / (columns * rows))
		return bs_fail(why, BS_ERR_SIZE,
			       "%u planes of %u x %u pixels are too many for a picture", m->planes,
			       m->nx, m->ny);
	m->columns = columns;
	m->rows = (uint32_t)rows;
	return 0;
}

int bs_montage_make(struct bs_montage *m, const float *pixels, bool is_complex, uint32_t nx,
		    uint32_t ny, uint32_t planes, struct bs_fail *why)
{
	uint64_t plane = (uint64_t)nx * ny;
	double top = 0.0;
	uint64_t n;
	float *v;
	int rc;

	memset(m, 0, sizeof(*m));
	if (plane == 0 || planes == 0)
		return bs_fail(why, BS_ERR_SIZE, "an image of %u x %u pixels in %u planes", nx, ny,
			       planes);
	m->nx = nx;
	m->ny = ny;
	m->planes = planes;
	rc = bs_montage_arrange(m, (uint32_t)ceil(sqrt((double)planes)), why);
	if (rc != 0)
		return rc;
	n = plane * planes;
	m->pixels = pixels;
	m->is_complex = is_complex;
	v = calloc((size_t)n, sizeof(*v));
	if (v == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for a picture of %llu pixels",
			       (unsigned long long)n);
	for (uint64_t i = 0; i < n; i++) {
		double a = magnitude(m, i);

		v[i] = (float)fmin(a, 3.4e38);
		top = fmax(top, a);
	}
	m->window = percentile(v, n);
	free(v);
	if (!(m->window > 0.0))
		m->window = top > 0.0 ? top : 1.0;
	return 0;
}

/* Returns a value's grey, 0 to 1. */
static double grey(const struct bs_montage *m, uint64_t i)
{
	if (m->reach > 0.0 && isfinite(m->pixels[i]))
		return 0.5 + 0.5 * fmax(-1.0, fmin((double)m->pixels[i] / m->reach, 1.0));
	return fmin(magnitude(m, i) / m->window, 1.0);
}

void bs_montage_row(const struct bs_montage *m, uint32_t y, unsigned char *row)
{
	uint32_t first = y / m->ny * m->columns;

	memset(row, 0, (size_t)m->columns * m->nx);
	for (uint32_t c = 0; c < m->columns && first + c < m->planes; c++) {
		uint64_t at = ((uint64_t)(first + c) * m->ny + y % m->ny) * m->nx;

		for (uint32_t x = 0; x < m->nx; x++)
			row[(size_t)c * m->nx + x] = (unsigned char)(255.0 * grey(m, at + x));
	}
}
