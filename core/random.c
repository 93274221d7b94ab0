/* core/random.c - xoshiro256**, uniform and normal numbers */
#include "core/random.h"

#include <math.h>

void bs_random_seed(struct bs_random *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = (seed += UINT64_C(0x9e3779b97f4a7c15));

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		r->s[i] = z ^ (z >> 31);
	}
}

static uint64_t rotate(uint64_t x, int by)
{
	return (x << by) | (x >> (64 - by));
}

static uint64_t bits(struct bs_random *r)
{
	uint64_t *s = r->s;
	uint64_t out = rotate(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return out;
}

double bs_random_uniform(struct bs_random *r)
{
	return (double)(bits(r) >> 11) * 0x1p-53;
}

void bs_random_normal(struct bs_random *r, double out[2])
{
	/* 1 - u lies in (0, 1], so its logarithm is finite */
	double radius = sqrt(-2.0 * log(1.0 - bs_random_uniform(r)));
	double angle = 6.283185307179586 * bs_random_uniform(r);

	out[0] = radius * cos(angle);
	out[1] = radius * sin(angle);
}
