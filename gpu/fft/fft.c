/* gpu/fft/fft.c - the tables of a transform: its radices, twiddles and roots; see fft.h */
#include "gpu/fft/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/err.h"

static uint32_t next_radix(uint32_t n)
{
	static const uint32_t first[] = { 8, 4, 5, 3, 2 };

	/* Passes of 4 x 4 are faster than 2 x 8. */
	if (n % 16 == 0 && n % 64 != 0 && n % 32 != 0)
		return 4;
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (n % first[i] == 0)
			return first[i];
	for (uint32_t r = 7; (uint64_t)r * r <= n; r += 2)
		if (n % r == 0)
			return r;
	return n;
}

/* Writes exp(-i angle) as two floats or doubles to `at`. Returns the address behind them. */
static void *put_root(void *at, bool in_double, double angle)
{
	double *d = at;
	float *f = at;

	if (in_double) {
		d[0] = cos(angle);
		d[1] = -sin(angle);
		return d + 2;
	}
	f[0] = (float)cos(angle);
	f[1] = (float)-sin(angle);
	return f + 2;
}

/* Fills the tables of all passes, one after the other: twiddles, then roots. */
static void fill_tables(struct bs_fft *f, bool in_double)
{
	void *at = f->tables;

	for (uint32_t i = 0; i < f->passes; i++) {
		struct bs_fft_pass *p = &f->pass[i];
		const uint32_t r = p->radix;
		const uint32_t len = p->groups * r;

		p->twiddle = at;
		for (uint32_t g = 0; g < p->groups; g++)
			for (uint32_t k = 1; k < r; k++)
				at = put_root(at, in_double,
					      2.0 * M_PI * (double)((uint64_t)g * k % len) / len);
		p->root = at;
		for (uint32_t k = 0; k < r; k++)
			at = put_root(at, in_double, 2.0 * M_PI * k / r);
	}
}

static int plan(struct bs_fft *f, uint32_t n, bool in_double)
{
	uint32_t left = n;
	uint32_t stride = 1;
	size_t roots = 0;

	memset(f, 0, sizeof(*f));
	f->n = n;
	for (; left > 1; f->passes++) {
		uint32_t r = next_radix(left);

		left /= r;
		f->pass[f->passes] = (struct bs_fft_pass){ r, left, stride, NULL, NULL };
		roots += (size_t)left * (r - 1) + r;
		stride *= r;
	}
	f->tables = malloc((roots + 1) * 2 * (in_double ? sizeof(double) : sizeof(float)));
	if (f->tables == NULL)
		return BS_ERR_NOMEM;
	fill_tables(f, in_double);
	return 0;
}

int bs_fft_plan(struct bs_fft *f, uint32_t n)
{
	return plan(f, n, false);
}

int bs_fft_plan_double(struct bs_fft *f, uint32_t n)
{
	return plan(f, n, true);
}

void bs_fft_close(struct bs_fft *f)
{
	free(f->tables);
	memset(f, 0, sizeof(*f));
}
