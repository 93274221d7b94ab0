/* gpu/grappa/times.cuh - products of complex numbers in sums; for .cu files alone */
#ifndef BS_GPU_GRAPPA_TIMES_CUH
#define BS_GPU_GRAPPA_TIMES_CUH

#include "gpu/fft/cuda/dft.cuh"

static __device__ __forceinline__ void add_times(float2 *sum, float2 a, float2 b)
{
	sum->x = fmaf(a.x, b.x, fmaf(-a.y, b.y, sum->x));
	sum->y = fmaf(a.x, b.y, fmaf(a.y, b.x, sum->y));
}

#endif
