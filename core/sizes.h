/* core/sizes.h - sizes: the smaller one, the larger one, that of a box; valid C and C++ */
#ifndef BS_CORE_SIZES_H
#define BS_CORE_SIZES_H

#include <stdint.h>

static inline uint32_t bs_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t bs_most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns the number of points of a box n[0] x n[1] x n[2]. */
static inline uint64_t bs_box_size(const uint32_t n[3])
{
	return (uint64_t)n[0] * n[1] * n[2];
}

#endif
