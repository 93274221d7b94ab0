/* gpu/toeplitz/cuda/halves_16.cu - halves of 160 .. 512 points; see step.cuh */
#include "gpu/toeplitz/cuda/step.cuh"

const struct tp_half tp_halves_16[] = {
	TP_HALF(16, 10), TP_HALF(16, 12), TP_HALF(16, 14), TP_HALF(16, 16), TP_HALF(16, 18),
	TP_HALF(16, 20), TP_HALF(16, 24), TP_HALF(16, 28), TP_HALF(16, 32),
};
const int tp_halves_16_count = (int)(sizeof(tp_halves_16) / sizeof(tp_halves_16[0]));
