/* test/paper/ladder/regalloc.cu - RegAlloc: the voxel's position and both sums stay in registers */
#include "test/paper/ladder/exact.cuh"

static __global__ void regalloc(const struct ladder_sum a, uint64_t samples)
{
	const uint64_t n = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (n >= a.voxels)
		return;
	const float x = a.x[n];
	const float y = a.y[n];
	const float z = a.z[n];
	float re = a.re[n];
	float im = a.im[n];

#pragma unroll 1
	for (uint64_t m = 0; m < samples; m++) {
		const float t = LADDER_TURN * (a.kx[m] * x + a.ky[m] * y + a.kz[m] * z);
		const float c = cosf(t);
		const float s = sinf(t);

		re += a.q ? c : a.dr[m] * c - a.di[m] * s;
		im += a.q ? s : a.di[m] * c + a.dr[m] * s;
	}
	a.re[n] = re;
	a.im[n] = im;
}

int ladder_regalloc(const struct ladder_sum *a, uint64_t samples, cudaStream_t s,
		    struct bs_fail *why)
{
	regalloc<<<ladder_blocks(a->voxels, LADDER_THREADS), LADDER_THREADS, 0, s>>>(*a, samples);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
