/*
 * gpu/solve/cuda/phases.cuh - what off resonance does to images by some times; for segments.cu and
 * lagged.cu
 */
#ifndef BS_GPU_SOLVE_CUDA_PHASES_CUH
#define BS_GPU_SOLVE_CUDA_PHASES_CUH

#include "gpu/fft/cuda/dft.cuh"

#define PHASE_THREADS 256

/* Returns exp(-i2pi hz t). */
static __device__ __forceinline__ float2 phase_of(float hz, double t)
{
	const double cycles = (double)hz * t;
	float2 phase;

	sincospif(-2.0f * (float)(cycles - rint(cycles)), &phase.y, &phase.x);
	return phase;
}

/* Sets images[l][c] = exp(-i2pi hz tau_l) S_c in. blockIdx.y: the time l. */
static __global__ void __launch_bounds__(PHASE_THREADS)
	to_times(float2 *images, const float2 *in, const float2 *maps, const float *hz,
		 double first_s, double step_s, uint32_t coils, uint64_t voxels)
{
	const uint64_t v = (uint64_t)blockIdx.x * PHASE_THREADS + threadIdx.x;

	if (v >= voxels)
		return;
	const float2 value = bs_cmul(phase_of(hz[v], first_s + blockIdx.y * step_s), in[v]);

	images += (uint64_t)blockIdx.y * coils * voxels;
	if (maps == NULL) {
		images[v] = value;
		return;
	}
	for (uint32_t c = 0; c < coils; c++)
		images[c * voxels + v] = bs_cmul(value, __ldg(maps + c * voxels + v));
}

#endif
