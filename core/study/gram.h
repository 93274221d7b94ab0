/*
 * core/study/gram.h - inner products of coils: sum_s d_i(s) conj(d_j(s)) for every pair
 *
 * Packed, gram[coils][coils]: for i >= j the real part at [i][j], for i > j the imaginary part at
 * [j][i]. Sums are in double, in blocks of samples, in a fixed order: the same data give the same
 * bytes. Any thread; allocates nothing. Test: test/unit/core/test_noise.c
 */
#ifndef BS_CORE_STUDY_GRAM_H
#define BS_CORE_STUDY_GRAM_H

#include <stddef.h>
#include <stdint.h>

#include "core/thread/team.h"

#define BS_GRAM_COILS 64u /* most coils */
#define BS_GRAM_BLOCK 16u /* samples of a block: a block of all coils fits the first-level cache */

/*
 * Adds data [coil][stride] complex float, of which `samples` samples count, to gram; data may be
 * unaligned.
 */
void bs_gram_add(double *gram, uint32_t coils, uint32_t samples, const void *data, size_t stride);
/* The same bytes, by a team. gram: behind it there is room for such a matrix of each block. */
void bs_gram_spread(struct bs_team *team, double *gram, uint32_t coils, uint32_t samples,
		    const void *data, size_t stride);
/*
 * Writes gram times scale as a Hermitian matrix: out[coils][coils] complex, column-major as in
 * gpu/calibrate/dense.h.
 */
void bs_gram_matrix(const double *gram, uint32_t coils, double scale, double *out);

#endif
