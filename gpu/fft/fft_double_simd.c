/* gpu/fft/fft_double_simd.c - the transform of columns in double, one in each lane; see fft.h */
#include "gpu/device/simd.h"

typedef double real;
typedef vd vr;
#define LANES       (VW / 2)
#define PAIRS_FIRST 0
#include "gpu/fft/fft_loops.h"

const struct bs_fft_double BS_ISA_NAME(bs_fft_double) = { .lanes = LANES, .run = run };
