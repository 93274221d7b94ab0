/*
 * gpu/fft/lines.h - Fourier transforms of many lines at once, one line in each lane of a vector
 *
 * A block holds LANES lines of size elements: [element][re LANES | im LANES] float. The transform
 * is Stockham's (self-sorting, no bit reversal), radices 8, 4, 5, 3, 2, its passes those of
 * gpu/fft/pass_loops.h; every operation works on whole vectors, so its rounding does not depend on
 * the number of lines or of threads.
 * Beside gpu/fft/fft.h, which takes any length: this one leaves out what is zero or not wanted in
 * the first and the last pass, which takes a line of 512 elements, AVX-512, from 2.8 to 2.2 us
 * per 16 lines, where the other takes 3.1.
 * bs_line: what one size needs: its radices and their factors; made at plan, then only read.
 * Source: Van Loan, Computational Frameworks for the FFT, SIAM 1992 (section 1.7).
 */
#ifndef BS_GPU_FFT_LINES_H
#define BS_GPU_FFT_LINES_H

#include <stddef.h>
#include <stdint.h>

#define BS_LINE_PASSES 16
#define BS_LINE_MAX    4096u

struct bs_line {
	uint32_t size, passes;
	uint32_t radix[BS_LINE_PASSES];
	const float *factor[BS_LINE_PASSES]; /* [p][leg - 1] complex, exp(-i2pi p leg / n) */
};

/* The cheapest size that is at least `wanted`; 0 when it would be beyond BS_LINE_MAX. */
uint32_t bs_line_size(uint32_t wanted);
/* Floats of factors for a line of this size, which bs_line_size gave; at most 2 size. */
size_t bs_line_factors(uint32_t size);
/* Fills *line. factors: the caller's memory, which must live as long as *line. */
void bs_line_make(struct bs_line *line, uint32_t size, float *factors);

#endif
