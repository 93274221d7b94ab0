/*
 * gpu/toeplitz/cuda/spectrum.cuh - the real spectrum of Q, by which the passes of toeplitz.cu
 * multiply
 *
 * q as in q.h, on the device; size: the padded grid. spectrum: [kz][ky][kx], or by planes: [kx],
 * and in each plane bs_toeplitz_plane_at, the order of plane.cuh's threads; scaled so that the
 * transforms forward and back need no scale. Both functions wait for the GPU; the first takes
 * temporary memory beside the arena. At arm only. Errors: BS_ERR_GPU, BS_ERR_NOMEM. Only
 * gpu/toeplitz uses this.
 */
#ifndef BS_GPU_TOEPLITZ_CUDA_SPECTRUM_CUH
#define BS_GPU_TOEPLITZ_CUDA_SPECTRUM_CUH

#include "gpu/toeplitz/toeplitz_cuda.h"

/*
 * Number of values of a spectrum column that a thread reads at once, for lines of g points and a
 * threads.
 */
static __host__ __device__ constexpr int bs_toeplitz_vector(int a, int g)
{
	return g / a % 4 == 0 ? 4 : 2;
}

/*
 * The index of (ky, kz) in a plane whose lines have g points and a threads each. The values that a
 * thread reads at once lie side by side.
 */
static __host__ __device__ __forceinline__ int bs_toeplitz_plane_at(int a, int g, int ky, int kz)
{
	const int v = bs_toeplitz_vector(a, g);
	const int t = kz % a;
	const int k = kz / a;

	return ky * g + (k / v * a + t) * v + k % v;
}

int bs_toeplitz_spectrum(float *spectrum, const struct bs_toeplitz_spec *spec, const int size[3],
			 const float *q, struct bs_fail *why);
/* Copies the spectrum into the order by planes. */
int bs_toeplitz_lay_spectrum(float *to, const float *from, const int size[3], int a,
			     struct bs_fail *why);
/* Writes exp(-i2pi t k1 / (a b)), [k1][t], then [t][k1], for the lines of pass.cuh; only queues. */
int bs_toeplitz_twiddles(float2 *twiddles, int a, int b, struct bs_fail *why);

#endif
