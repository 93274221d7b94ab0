/* gpu/fft/lines.c - see lines.h: sizes, radices and factors; the transforms are in lines_loops.h */
#include "gpu/fft/lines.h"

#include <math.h>
#include <string.h>

/*
 * Cost of a pass for each element, by radix. It was measured once; only the order of the costs
 * matters.
 */
static double cost(uint32_t radix)
{
	switch (radix) {
	case 8:
		return 1.35;
	case 4:
		return 1.0;
	case 5:
		return 1.5;
	case 3:
		return 1.0;
	default:
		return 0.8;
	}
}

/*
 * Finds the radices in the order of the passes. Returns 0 when size has another prime factor. Where
 * there are two even radices, one comes first and one last: those passes skip what is zero or not
 * wanted.
 */
static uint32_t split_size(uint32_t size, uint32_t radix[BS_LINE_PASSES])
{
	uint32_t twos = 0;
	uint32_t evens = 0;
	uint32_t n = 0;
	uint32_t even[BS_LINE_PASSES];

	for (; size % 2 == 0; size /= 2)
		twos++;
	while (twos > 0) {
		/*
		 * A factor of 2^4 is taken as 4 x 4, not as 8 x 2, which would need a pass of radix
		 * 2.
		 */
		uint32_t take = twos >= 3 && twos != 4 ? 3 : twos >= 2 ? 2 : 1;

		even[evens++] = 1u << take;
		twos -= take;
	}
	if (evens > 0)
		radix[n++] = even[0];
	for (; size % 5 == 0; size /= 5)
		radix[n++] = 5;
	for (; size % 3 == 0; size /= 3)
		radix[n++] = 3;
	for (uint32_t i = 1; i < evens; i++)
		radix[n++] = even[i];
	return size == 1 ? n : 0;
}

uint32_t bs_line_size(uint32_t wanted)
{
	uint32_t best = 0;
	double least = HUGE_VAL;

	for (uint32_t size = wanted < 2 ? 2 : wanted; size <= BS_LINE_MAX && size <= 2 * wanted + 2;
	     size++) {
		uint32_t radix[BS_LINE_PASSES];
		uint32_t n = split_size(size, radix);
		double work = 0.0;

		for (uint32_t i = 0; i < n; i++)
			work += size * cost(radix[i]);
		if (n > 0 && work < least) {
			least = work;
			best = size;
		}
	}
	return best;
}

size_t bs_line_factors(uint32_t size)
{
	return 2 * (size_t)size;
}

void bs_line_make(struct bs_line *line, uint32_t size, float *factors)
{
	uint32_t n = size;

	memset(line, 0, sizeof(*line));
	line->size = size;
	line->passes = split_size(size, line->radix);
	for (uint32_t pass = 0; pass < line->passes; pass++) {
		uint32_t radix = line->radix[pass];

		line->factor[pass] = factors;
		for (uint32_t p = 0; p < n / radix; p++)
			for (uint32_t leg = 1; leg < radix; leg++) {
				double t = -2.0 * M_PI * p * leg / n;

				*factors++ = (float)cos(t);
				*factors++ = (float)sin(t);
			}
		n /= radix;
	}
}
