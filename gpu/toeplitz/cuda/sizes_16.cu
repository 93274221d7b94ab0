/* gpu/toeplitz/cuda/sizes_16.cu - padded to 160 .. 256; see sizes.cuh */
#include "gpu/toeplitz/cuda/sizes.cuh"

const struct tp_size tp_sizes_16[] = {
	TP_SIZE_PLANE(16, 10, 4, 2),
	TP_SIZE_PLANE(16, 12, 8, 4),
	TP_SIZE_PLANE(16, 14, 8, 3),
	TP_SIZE_PLANE(16, 16, 8, 3),
};
const int tp_count_16 = (int)(sizeof(tp_sizes_16) / sizeof(tp_sizes_16[0]));
