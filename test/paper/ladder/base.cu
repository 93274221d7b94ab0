/* test/paper/ladder/base.cu - Base: all in global memory, stored and read again for each sample */
#include "test/paper/ladder/exact.cuh"

/* volatile: what the compiler would otherwise do unasked is the next rung. */
static __global__ void base(const struct ladder_sum a, uint64_t samples)
{
	const uint64_t n = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	const volatile float *x = a.x + n;
	const volatile float *y = a.y + n;
	const volatile float *z = a.z + n;
	volatile float *re = a.re + n;
	volatile float *im = a.im + n;

	if (n >= a.voxels)
		return;
	for (uint64_t m = 0; m < samples; m++) {
		const float t = LADDER_TURN * (a.kx[m] * *x + a.ky[m] * *y + a.kz[m] * *z);
		const float c = cosf(t);
		const float s = sinf(t);

		if (a.q) {
			*re = *re + c;
			*im = *im + s;
		} else {
			*re = *re + (a.dr[m] * c - a.di[m] * s);
			*im = *im + (a.di[m] * c + a.dr[m] * s);
		}
	}
}

int ladder_base(const struct ladder_sum *a, uint64_t samples, cudaStream_t s, struct bs_fail *why)
{
	base<<<ladder_blocks(a->voxels, LADDER_THREADS), LADDER_THREADS, 0, s>>>(*a, samples);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
