/* gpu/image/linear.c - see linear.h */
#include "gpu/image/linear.h"

/* The voxel of `from` that lies before voxel n of `to`; *share: the weight of the next voxel. */
static uint64_t before(uint32_t n, uint32_t from, uint32_t to, double *share)
{
	const double at = ((double)n - to / 2) * from / to + from / 2;
	uint64_t low;

	if (at <= 0.0 || from == 1) {
		*share = 0.0;
		return 0;
	}
	low = (uint64_t)at;
	if (low >= from - 1) {
		*share = 1.0;
		return from - 2;
	}
	*share = at - (double)low;
	return low;
}

static double between(const float *in, uint64_t step, double share)
{
	return share > 0.0 ? (1.0 - share) * (double)in[0] + share * (double)in[step]
			   : (double)in[0];
}

static double between_rows(const float *in, uint64_t row, double x, double y)
{
	const double a = between(in, 1, x);

	return y > 0.0 ? (1.0 - y) * a + y * between(in + row, 1, x) : a;
}

void bs_linear_resize(const float *in, const uint32_t from[3], float *out, const uint32_t to[3])
{
	const uint64_t row = from[0];
	const uint64_t plane = row * from[1];
	double x;
	double y;
	double z;

	for (uint32_t k = 0; k < to[2]; k++)
		for (uint32_t j = 0; j < to[1]; j++)
			for (uint32_t i = 0; i < to[0]; i++) {
				const float *p = in + before(k, from[2], to[2], &z) * plane +
						 before(j, from[1], to[1], &y) * row +
						 before(i, from[0], to[0], &x);
				const double a = between_rows(p, row, x, y);

				*out++ = (float)(z > 0.0 ? (1.0 - z) * a +
								   z * between_rows(p + plane, row,
										    x, y)
							 : a);
			}
}
