/* gpu/toeplitz/cuda/sizes_8.cu - padded to 64 .. 128; see sizes.cuh */
#include "gpu/toeplitz/cuda/sizes.cuh"

const struct tp_size tp_sizes_8[] = {
	TP_SIZE(8, 8),
	TP_SIZE_PLANE(8, 10, 2, 4),
	TP_SIZE_PLANE(8, 12, 2, 4),
	TP_SIZE_PLANE(8, 14, 2, 3),
	TP_SIZE_PLANE(8, 16, 2, 3),
};
const int tp_count_8 = (int)(sizeof(tp_sizes_8) / sizeof(tp_sizes_8[0]));
