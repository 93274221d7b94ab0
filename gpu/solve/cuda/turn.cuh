/*
 * gpu/solve/cuda/turn.cuh - the phase of an off-resonance frequency after a time; for segments.cu
 * and lagged.cu
 */
#ifndef BS_GPU_SOLVE_CUDA_TURN_CUH
#define BS_GPU_SOLVE_CUDA_TURN_CUH

#include "gpu/fft/cuda/dft.cuh"

/* Returns exp(-i2pi hz t). */
static __device__ __forceinline__ float2 phase_of(float hz, double t)
{
	const double turns = (double)hz * t;
	float2 phase;

	sincospif(-2.0f * (float)(turns - rint(turns)), &phase.y, &phase.x);
	return phase;
}

#endif
