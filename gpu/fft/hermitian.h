/*
 * gpu/fft/hermitian.h - the real spectrum of a Hermitian array in three dimensions, in double
 *
 * The array c has c(-n) = conj c(n), offsets n modulo size on each axis; half of it is given.
 *   grid  in   [z][y][x] complex double, x = 0 .. size[0] / 2; row doubles from one y to the next
 *         out  [z][y][x] double, x = 0 .. size[0] - 1, rows as far apart: the sum over n of
 *              c(n) exp(-i2pi n.k / size)
 * Any size of 1 or more; lines whose length has the factors 2, 3 and 5 alone are fast. Results do
 * not depend on the team. Allocates, and frees before it returns: at arm only.
 * Returns 0, or BS_ERR_NOMEM without a word. Test: test/unit/gpu/test_hermitian.c
 */
#ifndef BS_GPU_FFT_HERMITIAN_H
#define BS_GPU_FFT_HERMITIAN_H

#include <stddef.h>
#include <stdint.h>

#include "core/thread/team.h"

/* Doubles from one row of the grid to the next. */
static inline size_t bs_hermitian_row(uint32_t size)
{
	return 2 * ((size_t)size / 2 + 1);
}

int bs_hermitian_spectrum(double *grid, const uint32_t size[3], struct bs_team *team);

#endif
