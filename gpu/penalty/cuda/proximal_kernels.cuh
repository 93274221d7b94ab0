/* gpu/penalty/cuda/proximal_kernels.cuh - the kernels of proximal.cu; see proximal_cuda.h */
#ifndef BS_GPU_PENALTY_CUDA_PROXIMAL_KERNELS_CUH
#define BS_GPU_PENALTY_CUDA_PROXIMAL_KERNELS_CUH

#include "gpu/fft/cuda/dft.cuh"
#include "gpu/image/coils.cuh"
#include "gpu/penalty/penalty.h"

#define THREADS 256

/* Which frames a solve has; device memory, and pinned. All 0 where a pass is tried at arming. */
struct order {
	uint32_t first; /* the oldest frame's number in the table */
	uint8_t held[BS_PENALTY_IMAGES_MAX];
};

/*
 * Sets work[frame][c] = S_c in of each frame, whose place in the table `order` says. frames: of the
 * table. y: place.
 */
static __global__ void __launch_bounds__(THREADS)
	expand(float2 *work, const float2 *in, const float2 *maps, uint32_t coils, uint64_t voxels,
	       const struct order *order, uint32_t frames)
{
	const uint64_t v = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	const uint32_t frame = (order->first + blockIdx.y) % frames;

	if (v >= voxels)
		return;
	const float2 x = in[blockIdx.y * voxels + v];

	for (uint32_t c = 0; c < coils; c++)
		work[((uint64_t)frame * coils + c) * voxels + v] =
			maps != NULL ? bs_cmul(maps[c * voxels + v], x) : x;
}

struct collapse {
	float2 *out;
	const float2 *from, *maps, *in; /* maps and in may be NULL */
	uint64_t step;                  /* values from one frame to the next in `from` */
	uint64_t voxels;
	const struct order *order;
	uint32_t coils, frames; /* frames of the table */
	float mu;
	bool adds;
};

/*
 * Sets out = sum_c conj(S_c) from[frame][c] + mu in; adds it where `adds`. Frames that are not held
 * are 0. y: place.
 */
static __global__ void __launch_bounds__(THREADS) collapse(const struct collapse a)
{
	const uint64_t v = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	const uint32_t frame = (a.order->first + blockIdx.y) % a.frames;
	const float2 *from = a.from + frame * a.step;
	const uint64_t at = blockIdx.y * a.voxels + v;
	float2 sum = make_float2(0.0f, 0.0f);

	if (v >= a.voxels)
		return;
	if (a.order->held[frame] != 0) {
		sum = a.maps != NULL ? bs_coils_inner(a.maps, from, a.coils, a.voxels, v) : from[v];
		if (a.in != NULL) {
			sum.x = fmaf(a.mu, a.in[at].x, sum.x);
			sum.y = fmaf(a.mu, a.in[at].y, sum.y);
		}
		if (a.adds) {
			sum.x += a.out[at].x;
			sum.y += a.out[at].y;
		}
	}
	a.out[at] = sum;
}

/* Adds scale in to out. */
static __global__ void __launch_bounds__(THREADS)
	add_scaled(float *out, const float *in, float scale, uint64_t floats)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i < floats)
		out[i] = fmaf(scale, in[i], out[i]);
}

/* As follow in proximal.c: moves the frames on by one, the last stays; times keep. */
static __global__ void __launch_bounds__(THREADS)
	follow(float *last, uint32_t frames, uint64_t floats, float keep)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	for (uint32_t t = 0; i < floats && t < frames; t++)
		last[t * floats + i] = keep * last[(t + 1 < frames ? t + 1 : t) * floats + i];
}

#endif
