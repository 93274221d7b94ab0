/* gpu/partial.cu - CUDA twin of partial.c; see partial_cuda.h */
#include "gpu/partial_cuda.h"

#include <string.h>

#include "gpu/cudacheck.h"

#define THREADS 256

struct held_groups {
	uint32_t bits[BS_PARTIAL_GROUPS_MAX / 32];
};

/* stride in float2; all threads of a warp take the same way through the groups. */
static __global__ void __launch_bounds__(THREADS)
	sum_groups(float2 *__restrict__ out, const float2 *__restrict__ share, uint64_t stride,
		   uint64_t n, uint32_t groups, const __grid_constant__ held_groups held)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	float2 sum = make_float2(0.0f, 0.0f);

	if (i >= n)
		return;
#pragma unroll 4
	for (uint32_t g = 0; g < groups; g++)
		if (held.bits[g / 32] >> (g % 32) & 1) {
			const float2 v = share[g * stride + i];

			sum.x += v.x;
			sum.y += v.y;
		}
	out[i] = sum;
}

static uint64_t share_bytes(const struct bs_protocol *p)
{
	return bs_devmem_round(bs_protocol_voxels(p) * p->coils * 8u);
}

int bs_partial_cuda_check(const struct bs_protocol *p, struct bs_fail *why)
{
	if (bs_partial_groups(p) <= BS_PARTIAL_GROUPS_MAX)
		return 0;
	return bs_fail(why, BS_ERR_UNSUPPORTED,
		       "protocol '%s': frame.step: a window of %u groups; on the GPU at most %u",
		       p->name, bs_partial_groups(p), BS_PARTIAL_GROUPS_MAX);
}

uint64_t bs_partial_cuda_bytes(const struct bs_protocol *p)
{
	return share_bytes(p) * bs_partial_groups(p) * p->slices * p->contrasts;
}

int bs_partial_cuda_open(struct bs_partial_cuda *w, const struct bs_protocol *p,
			 struct bs_devmem *mem, struct bs_fail *why)
{
	memset(w, 0, sizeof(*w));
	w->groups = bs_partial_groups(p);
	w->floats = bs_protocol_voxels(p) * p->coils * 2u;
	w->stride = share_bytes(p) / sizeof(float);
	if (w->groups == 0)
		return 0;
	w->sum = (float *)bs_devmem_take(mem, (size_t)bs_partial_cuda_bytes(p));
	if (w->sum == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': %u groups of a sliding window",
			       p->name, w->groups);
	return 0;
}

float *bs_partial_cuda_at(const struct bs_partial_cuda *w, uint32_t frame, uint32_t group)
{
	return w->sum + ((uint64_t)frame * w->groups + group) * w->stride;
}

int bs_partial_cuda_sum(const struct bs_partial_cuda *w, uint32_t frame, const uint8_t *held,
			float *out, void *stream, struct bs_fail *why)
{
	const uint64_t n = w->floats / 2;
	held_groups bits;

	memset(&bits, 0, sizeof(bits));
	for (uint32_t g = 0; g < w->groups; g++)
		if (held[g])
			bits.bits[g / 32] |= 1u << (g % 32);
	sum_groups<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, (cudaStream_t)stream>>>(
		(float2 *)out, (const float2 *)bs_partial_cuda_at(w, frame, 0), w->stride / 2, n,
		w->groups, bits);
	BS_CUDA(cudaGetLastError(), why);
	return 0;
}
