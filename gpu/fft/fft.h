/*
 * gpu/fft/fft.h - Fourier transforms of any length, a column in each lane of a vector
 *
 * A transform exp(-i2pi jk/n), or its inverse without the 1/n; any prime factor works, 2, 3 and 5
 * are fast. Blocks are [index][re lanes][im lanes], lanes = columns done at a time. The kernels
 * (fft_simd.c) are built once per instruction set (gpu/device/isa.h): results differ between sets
 * by rounding only (fused multiply-add), and never between runs or threads on one set.
 * Beside the transform of gpu/fft/lines.h: any length, prime ones too (a stack of 17 partitions),
 * in place or to the other block; whole lines of 128 to 640 elements take both within 15 % of each
 * other (0.45 and 0.38 us at 128, 1.55 and 1.55 at 320, 3.1 and 2.8 at 512; per 16 lines, AVX-512).
 * In float; what is computed once at arm and wants more is in double (gpu/fft/hermitian.h).
 * plan allocates; a plan is only read after that.
 * Tests: test/unit/gpu/test_nufft_isa.c, test/unit/gpu/test_hermitian.c
 * Source: Van Loan, Computational Frameworks for the FFT, SIAM 1992 (section 1.7: Stockham's form,
 * which sorts as it goes).
 */
#ifndef BS_GPU_FFT_FFT_H
#define BS_GPU_FFT_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/device/isa.h"

#define BS_FFT_LANES_MAX 16u

/*
 * A pass of a mixed-radix transform. twiddle: [n / (stride * radix)][radix - 1] complex. Both
 * tables are in the transform's type, float or double.
 */
struct bs_fft_pass {
	uint32_t radix, groups, stride;
	const void *twiddle, *root; /* root: radix complex roots of unity, for radices above 8 */
};

struct bs_fft {
	uint32_t n, passes;
	struct bs_fft_pass pass[32];
	void *tables;
};

struct bs_fft_kernels {
	uint32_t lanes;
	/* Transforms the block in a; b is as large. Returns where the result is, a or b. */
	float *(*run)(const struct bs_fft *f, float *a, float *b, bool inverse);
	/* Columns: count columns lie side by side in memory; rows are stride floats apart. */
	void (*cols_in)(float *block, const float *from, size_t stride, uint32_t rows,
			uint32_t count, const float *scale, bool add);
	void (*cols_out)(float *to, size_t stride, const float *block, uint32_t rows,
			 uint32_t count, const float *scale);
	/* Lines: each lane has a place of its own, contiguous along the index. */
	void (*lines_in)(float *block, const float *const *from, uint32_t rows, const float *scale);
	void (*lines_out)(float *const *to, const float *block, uint32_t rows, const float *scale);
	/* Cells: lanes / width lines of cells; each cell is width < lanes complex numbers. */
	void (*cells_in)(float *block, const float *const *from, uint32_t width, uint32_t rows,
			 const float *scale);
	void (*cells_out)(float *const *to, uint32_t width, const float *block, uint32_t rows,
			  const float *scale);
};

/* A transform in double, with the tables of bs_fft_plan_double. */
struct bs_fft_double {
	uint32_t lanes;
	double *(*run)(const struct bs_fft *f, double *a, double *b, bool inverse);
};

BS_ISA_DECLARE(const struct bs_fft_kernels, bs_fft_kernels);
BS_ISA_DECLARE(const struct bs_fft_double, bs_fft_double);

/* n >= 1. The only error is BS_ERR_NOMEM. */
int bs_fft_plan(struct bs_fft *f, uint32_t n);
int bs_fft_plan_double(struct bs_fft *f, uint32_t n);
void bs_fft_close(struct bs_fft *f);

#endif
