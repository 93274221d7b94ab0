/* gpu/toeplitz/cuda/sizes_16_long.cu - padded to 288 .. 512; see sizes.cuh */
#include "gpu/toeplitz/cuda/sizes.cuh"

const struct tp_size tp_sizes_16_long[] = {
	TP_SIZE_PLANE(16, 18, 8, 2),  TP_SIZE_PLANE(16, 20, 8, 2),  TP_SIZE_PLANE(16, 24, 16, 3),
	TP_SIZE_PLANE(16, 28, 16, 2), TP_SIZE_PLANE(16, 32, 16, 2),
};
const int tp_count_16_long = (int)(sizeof(tp_sizes_16_long) / sizeof(tp_sizes_16_long[0]));
