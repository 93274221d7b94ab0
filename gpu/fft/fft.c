/* gpu/fft/fft.c - the tables of a transform: its radices, twiddles and roots; see fft.h */
#define _GNU_SOURCE /* M_PI */
#include "gpu/fft/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/err.h"

static uint32_t next_radix(uint32_t n)
{
	static const uint32_t first[] = { 8, 4, 5, 3, 2 };

	/* 2 x 8 is better done as 4 x 4 */
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

static float *roots(float *at, uint32_t n, uint32_t step, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		double a = -2.0 * M_PI * (double)((uint64_t)i * step % n) / n;

		at[2 * i] = (float)cos(a);
		at[2 * i + 1] = (float)sin(a);
	}
	return at + 2 * (size_t)count;
}

int bs_fft_plan(struct bs_fft *f, uint32_t n)
{
	uint32_t left = n;
	uint32_t stride = 1;
	size_t floats = 0;

	memset(f, 0, sizeof(*f));
	f->n = n;
	for (; left > 1; f->passes++) {
		uint32_t r = next_radix(left);

		left /= r;
		f->pass[f->passes] = (struct bs_fft_pass){ r, left, stride, NULL, NULL };
		floats += 2 * (size_t)left * (r - 1) + 2 * (size_t)r;
		stride *= r;
	}
	f->tables = malloc((floats + 1) * sizeof(float));
	if (f->tables == NULL)
		return BS_ERR_NOMEM;
	float *at = f->tables;

	for (uint32_t i = 0; i < f->passes; i++) {
		struct bs_fft_pass *p = &f->pass[i];
		uint32_t len = p->groups * p->radix;

		p->twiddle = at;
		for (uint32_t g = 0; g < p->groups; g++)
			for (uint32_t k = 1; k < p->radix; k++) {
				double a = -2.0 * M_PI * (double)((uint64_t)g * k % len) / len;

				*at++ = (float)cos(a);
				*at++ = (float)sin(a);
			}
		p->root = at;
		at = roots(at, p->radix, 1, p->radix);
	}
	return 0;
}

void bs_fft_close(struct bs_fft *f)
{
	free(f->tables);
	memset(f, 0, sizeof(*f));
}
