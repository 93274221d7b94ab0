/*
 * gpu/device/simd.h - the host operators' kernels, built once per instruction set
 *
 * gpu/fft/fft_simd.c and gpu/nufft/grid_simd.c are compiled with BS_ISA = v2, v3, v4 (x86-64 levels) or
 * native (other machines), each into its own tables of functions. Results differ between sets by
 * rounding only (fused multiply-add), and never between runs or threads on one set.
 */
#ifndef BS_GPU_DEVICE_SIMD_H
#define BS_GPU_DEVICE_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BS_SIMD_LANES_MAX 16u
#define BS_TAPS_MIN       2u
#define BS_TAPS_MAX       12u
#define BS_POLY_MAX       16u /* coefficients of a tap's polynomial */

/* One pass of a mixed-radix transform; twiddles [n / (stride * radix)][radix - 1] complex. */
struct bs_fft_pass {
	uint32_t radix, groups, stride;
	const float *twiddle, *root; /* root: radix complex roots of unity, for radices above 8 */
};

/*
 * A length-n transform exp(-i2pi jk/n), or its inverse without the 1/n. Tables: gpu/fft/fft.c
 * Beside that of gpu/fft/lines.h: any length, prime ones too (a stack of 17 partitions), in place or to the
 * other block; whole lines of 128 to 640 elements take both within 15 % of each other (0.45 and 0.38 us
 * at 128, 1.55 and 1.55 at 320, 3.1 and 2.8 at 512; per 16 lines, AVX-512).
 */
struct bs_fft {
	uint32_t n, passes;
	struct bs_fft_pass pass[32];
	float *tables;
};

#define BS_WIDE 64u

/*
 * The window on one axis as one polynomial a tap: in t = 2f - 1, f = the first tap's distance past
 * the window's lower end. tap: highest power first. wide: lowest power first, each tap repeated for
 * the floats of a cell, behind as many zeros as shift cells have; zero past the last tap.
 * Beyond cut the last tap lies outside a window of fractional width.
 */
struct bs_taps {
	uint32_t coefs;
	uint32_t fractional;
	float cut;
	uint32_t pad[13]; /* wide lies on 64 bytes in a plan */
	float tap[BS_TAPS_MAX][BS_POLY_MAX];
	float wide[4][BS_POLY_MAX][BS_WIDE];
};

/* A run of sorted samples against one grid of cells, each floats wide. */
struct bs_spread {
	const struct bs_taps *taps[3];
	const uint32_t *cell;
	const float *t[3];
	uint64_t count;
	uint32_t rows, planes; /* taps in y and z; 1 beyond dims */
	size_t row, plane;     /* floats from one to the next */
	float *grid;
	float *data; /* [sample][floats]; in for spread, out for interpolate */
};

typedef void (*bs_spread_fn)(const struct bs_spread *s);

/* Blocks for the transform are [index][re lanes][im lanes], lanes = columns done at a time. */
struct bs_simd {
	const char *name;
	uint32_t lanes;
	/* the block is in a; b is as large; the result's place is returned */
	float *(*fft)(const struct bs_fft *f, float *a, float *b, bool inverse);
	/* columns: count of them side by side in memory, rows stride floats apart */
	void (*cols_in)(float *block, const float *from, size_t stride, uint32_t rows,
			uint32_t count, const float *scale, bool add);
	void (*cols_out)(float *to, size_t stride, const float *block, uint32_t rows,
			 uint32_t count, const float *scale);
	/* lines: each lane has its own place, contiguous along the index */
	void (*lines_in)(float *block, const float *const *from, uint32_t rows, const float *scale);
	void (*lines_out)(float *const *to, const float *block, uint32_t rows, const float *scale);
	/* cells: lanes / width lines of cells, each cell width < lanes complex numbers */
	void (*cells_in)(float *block, const float *const *from, uint32_t width, uint32_t rows,
			 const float *scale);
	void (*cells_out)(float *const *to, uint32_t width, const float *block, uint32_t rows,
			  const float *scale);
	/* [taps][log2 of floats in a cell, 1 .. 4] */
	const bs_spread_fn (*spread)[5], (*interpolate)[5];
};

/* The table of the instruction set that gpu/device/isa.h chooses. */
const struct bs_simd *bs_simd_best(void);

/* BS_ERR_NOMEM only. n >= 1; any prime factor works, 2, 3 and 5 are fast. */
int bs_fft_plan(struct bs_fft *f, uint32_t n);
void bs_fft_close(struct bs_fft *f);

#ifdef __cplusplus
}
#endif
#endif
