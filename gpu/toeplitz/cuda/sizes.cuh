/*
 * gpu/toeplitz/cuda/sizes.cuh - the padded sizes of an axis that the passes are compiled for
 *
 * A size is G = A B points: A threads a line (a power of two, so that lines divide warps), B even.
 * There are lists for A of 8, 16 and 32, each ascending, and each beyond the list before it: 64 to
 * 1,024, products of 2, 3, 5 and 7, 1.11 to 1.25 times apart. cluster: the number of blocks that
 * hold a plane of two such axes; 0: none do (beyond 512 a plane would not fit the shared memory of
 * 16 multiprocessors). Only gpu/toeplitz uses this.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_SIZES_CUH
#define BS_GPU_TOEPLITZ_CUDA_SIZES_CUH

#include "gpu/toeplitz/cuda/pass.cuh"
#include "gpu/toeplitz/cuda/plane.cuh"

struct tp_size {
	int a, b;
	/* threads and bytes of each block of the cluster */
	int cluster, plane_threads, plane_bytes;
	void (*kernel[TP_KINDS])(const struct tp_pass);
};

#define TP_SIZE_OF(A, B, CLUSTER, THREADS, BYTES, PLANE)                                           \
	{                                                                                          \
		A, B, CLUSTER, THREADS, BYTES,                                                     \
		{                                                                                  \
			x_in<A, B>, x_out<A, B, false>, x_out<A, B, true>, strided<A, B, TP_Y_IN>, \
				strided<A, B, TP_Y_OUT>, strided<A, B, TP_MIDDLE>, PLANE           \
		}                                                                                  \
	}
#define TP_SIZE(A, B) TP_SIZE_OF(A, B, 0, 0, 0, NULL)
#define TP_SIZE_PLANE(A, B, CLUSTER, RESIDENT)                                                     \
	TP_SIZE_OF(A, B, CLUSTER, (plane_of<A, B, CLUSTER, RESIDENT>::THREADS),                    \
		   (plane_of<A, B, CLUSTER, RESIDENT>::bytes), (plane<A, B, CLUSTER, RESIDENT>))

extern const struct tp_size tp_sizes_8[], tp_sizes_16[], tp_sizes_16_long[], tp_sizes_32[];
extern const int tp_count_8, tp_count_16, tp_count_16_long, tp_count_32;

#endif
