/* gpu/exact/exact_simd.c - see exact_simd.h; the loops are in loops.h, here for float and double */
#include "gpu/exact/exact_simd.h"

#include <math.h>
#include <string.h>

/*
 * The vectors of the instruction set, and the rows of a panel: as many as leave registers for two
 * columns of B.
 */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define ROWS         14
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#define ROWS         6
#elif defined(__aarch64__)
#define VECTOR_BYTES 16
#define ROWS         12
#else
#define VECTOR_BYTES 16
#define ROWS         6
#endif
#define INNER_BYTES 1024

#define real      float
#define SUFFIX(f) f##_single
#include "gpu/exact/loops.h"
#undef real
#undef SUFFIX

#define real      double
#define SUFFIX(f) f##_twice
#include "gpu/exact/loops.h"
#undef real
#undef SUFFIX

extern const struct bs_exact_kernels BS_ISA_NAME(bs_exact_kernels);
const struct bs_exact_kernels BS_ISA_NAME(bs_exact_kernels) = {
	{ ROWS, 2 * VECTOR_BYTES / 4, INNER_BYTES / 4, 4, phases_single, pack_single, form_single,
	  add_single },
	{ ROWS, 2 * VECTOR_BYTES / 8, INNER_BYTES / 8, 8, phases_twice, pack_twice, form_twice,
	  add_twice },
};
