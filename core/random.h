/*
 * core/random.h - seeded random numbers, the same on every machine
 *
 * xoshiro256** seeded through splitmix64: any seed, 0 included, gives a good state.
 * Not for secrets. Thread rules: one state, one thread. Allocates nothing.
 * Source: Blackman, Vigna, ACM Trans Math Softw 2021;47:36. Test: test/unit/core/test_traj.c
 */
#ifndef BS_CORE_RANDOM_H
#define BS_CORE_RANDOM_H

#include <stdint.h>

#include "core/linkage.h"

BS_C_BEGIN

struct bs_random {
	uint64_t s[4];
};

void bs_random_seed(struct bs_random *r, uint64_t seed);
/* Returns a uniform number in [0, 1), of 53 bits. */
double bs_random_uniform(struct bs_random *r);
/* Two independent normal numbers of mean 0 and variance 1 (Box-Muller). */
void bs_random_normal(struct bs_random *r, double out[2]);

BS_C_END

#endif
