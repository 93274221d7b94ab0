/* gpu/image/partial.cu - CUDA twin of partial.c; see partial_cuda.h */
#include "gpu/image/partial_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/device/check.h"

#define THREADS 256

struct held_groups {
	uint32_t bits[32]; /* [block]: bit i is set where its group i is held */
	uint32_t stale;    /* bit b is set where block b must be summed again */
};

/* stride: in float2. All threads of a warp go through the same blocks and groups. */
static __global__ void __launch_bounds__(THREADS)
	sum_groups(float2 *__restrict__ out, const float2 *__restrict__ parts,
		   float2 *__restrict__ block, uint64_t stride, uint64_t n, uint32_t side,
		   uint32_t blocks, const __grid_constant__ held_groups held)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	float2 sum = make_float2(0.0f, 0.0f);

	if (i >= n)
		return;
	for (uint32_t b = 0; b < blocks; b++) {
		const uint32_t bits = held.bits[b];
		float2 part = make_float2(0.0f, 0.0f);

		if (bits == 0)
			continue;
		if (held.stale >> b & 1) {
#pragma unroll 4
			for (uint32_t g = 0; g < side; g++)
				if (bits >> g & 1) {
					const float2 v = parts[(b * side + g) * stride + i];

					part.x += v.x;
					part.y += v.y;
				}
			block[b * stride + i] = part;
		} else {
			part = block[b * stride + i];
		}
		sum.x += part.x;
		sum.y += part.y;
	}
	out[i] = sum;
}

static uint64_t part_bytes(const struct bs_protocol *p)
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
	const uint32_t groups = bs_partial_groups(p);

	return part_bytes(p) * bs_protocol_frames(p) *
	       ((uint64_t)groups + bs_partial_blocks(groups));
}

int bs_partial_cuda_open(struct bs_partial_cuda *w, const struct bs_protocol *p,
			 struct bs_devmem *mem, struct bs_fail *why)
{
	const uint64_t frames = bs_protocol_frames(p);

	memset(w, 0, sizeof(*w));
	w->groups = bs_partial_groups(p);
	w->floats = bs_protocol_voxels(p) * p->coils * 2u;
	w->stride = part_bytes(p) / sizeof(float);
	if (w->groups == 0)
		return 0;
	w->side = bs_partial_side(w->groups);
	w->blocks = bs_partial_blocks(w->groups);
	w->part = (float *)bs_devmem_take(mem, (size_t)bs_partial_cuda_bytes(p));
	w->seen = (uint32_t *)calloc((size_t)frames * w->blocks, sizeof(*w->seen));
	w->stale = (uint32_t *)malloc((size_t)frames * sizeof(*w->stale));
	if (w->part == NULL || w->seen == NULL || w->stale == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "protocol '%s': %u groups of a sliding window",
			       p->name, w->groups);
	w->block = w->part + frames * w->groups * w->stride;
	memset(w->stale, 0xff, (size_t)frames * sizeof(*w->stale));
	return 0;
}

void bs_partial_cuda_close(struct bs_partial_cuda *w)
{
	free(w->seen);
	free(w->stale);
	w->seen = w->stale = NULL;
}

float *bs_partial_cuda_write(struct bs_partial_cuda *w, uint32_t frame, uint32_t group)
{
	w->stale[frame] |= 1u << (group / w->side);
	return w->part + ((uint64_t)frame * w->groups + group) * w->stride;
}

int bs_partial_cuda_sum(struct bs_partial_cuda *w, uint32_t frame, const uint8_t *held, float *out,
			void *stream, struct bs_fail *why)
{
	const uint64_t n = w->floats / 2;
	uint32_t *seen = w->seen + (uint64_t)frame * w->blocks;
	held_groups now;

	memset(&now, 0, sizeof(now));
	for (uint32_t g = 0; g < w->groups; g++)
		if (held[g])
			now.bits[g / w->side] |= 1u << (g % w->side);
	for (uint32_t b = 0; b < w->blocks; b++) {
		if (now.bits[b] != seen[b])
			w->stale[frame] |= 1u << b;
		seen[b] = now.bits[b];
	}
	now.stale = w->stale[frame];
	w->stale[frame] = 0;
	sum_groups<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, (cudaStream_t)stream>>>(
		(float2 *)out, (const float2 *)(w->part + (uint64_t)frame * w->groups * w->stride),
		(float2 *)(w->block + (uint64_t)frame * w->blocks * w->stride), w->stride / 2, n,
		w->side, w->blocks, now);
	return BS_CUDA_RC(cudaGetLastError(), why);
}
