/* gpu/toeplitz/cuda/sizes_32.cu - padded to 640 .. 1,024; see sizes.cuh */
#include "gpu/toeplitz/cuda/sizes.cuh"

const struct tp_size tp_sizes_32[] = {
	TP_SIZE(32, 20),
	TP_SIZE(32, 24),
	TP_SIZE(32, 28),
	TP_SIZE(32, 32),
};
const int tp_count_32 = (int)(sizeof(tp_sizes_32) / sizeof(tp_sizes_32[0]));
