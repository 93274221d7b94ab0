/* gpu/toeplitz/cuda/halves_8.cu - halves of 32 .. 144 points; see step.cuh */
#include "gpu/toeplitz/cuda/step.cuh"

const struct tp_half tp_halves_8[] = {
	TP_HALF(8, 4),  TP_HALF(8, 6),  TP_HALF(8, 8),  TP_HALF(8, 10),
	TP_HALF(8, 12), TP_HALF(8, 14), TP_HALF(8, 16), TP_HALF(8, 18),
};
const int tp_halves_8_count = (int)(sizeof(tp_halves_8) / sizeof(tp_halves_8[0]));
