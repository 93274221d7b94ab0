/* gpu/solve/cuda/turn.cuh - the phase of a frequency at a time; for segments.cu and lagged.cu */
#ifndef BS_GPU_SOLVE_CUDA_TURN_CUH
#define BS_GPU_SOLVE_CUDA_TURN_CUH

static __device__ __forceinline__ float2 times(float2 a, float2 b)
{
	return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

static __device__ __forceinline__ float2 conjugate(float2 a)
{
	return make_float2(a.x, -a.y);
}

/* exp(-i2pi hz t) */
static __device__ __forceinline__ float2 phase_of(float hz, double t)
{
	const double turns = (double)hz * t;
	float2 phase;

	sincospif(-2.0f * (float)(turns - rint(turns)), &phase.y, &phase.x);
	return phase;
}

#endif
