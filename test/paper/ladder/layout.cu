/* test/paper/ladder/layout.cu - Layout: a sample's five values lie side by side */
#include "test/paper/ladder/exact.cuh"

static __global__ void layout(const struct ladder_sum a, uint64_t samples)
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
		const struct ladder_sample *k = a.sample + m;
		const float t = LADDER_TURN * (k->kx * x + k->ky * y + k->kz * z);
		const float c = cosf(t);
		const float s = sinf(t);

		re += a.q ? c : k->dr * c - k->di * s;
		im += a.q ? s : k->di * c + k->dr * s;
	}
	a.re[n] = re;
	a.im[n] = im;
}

int ladder_layout(const struct ladder_sum *a, uint64_t samples, cudaStream_t s, struct bs_fail *why)
{
	layout<<<ladder_blocks(a->voxels, LADDER_THREADS), LADDER_THREADS, 0, s>>>(*a, samples);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
